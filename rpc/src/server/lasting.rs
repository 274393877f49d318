//! An answer that lasts: the events of a page, for as long as somebody looks at it.
//!
//! Its client is not idle although it sends nothing: it reads what comes. So it keeps its slot while the answer
//! lasts. How many such answers there may be is up to whoever gives them.

use super::{Body, connection_slots::BusyGuard};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    Response,
    body::{Body as _, Frame, SizeHint},
};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

struct Lasting {
    body: Body,
    _busy: BusyGuard,
}

/// Whether it is not known how long an answer is: it ends when there is nothing more to say.
pub(super) fn is_lasting(response: &Response<Body>) -> bool {
    response.body().size_hint().exact().is_none()
}

/// The same answer; the node works for its client until it has ended, or the client has gone.
pub(super) fn lasting(response: Response<Body>, busy: BusyGuard) -> Response<Body> {
    response.map(|body| Lasting { body, _busy: busy }.boxed_unsync())
}

impl hyper::body::Body for Lasting {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
