//! What travels: requests and answers of every kind, and how they become messages.
//!
//! Large parts are slices of what arrived, and are sent as they are.

mod blocks;
mod data;
mod work;

pub use blocks::{Announcement, BlockId, BlockRequest, Direction, Handshake, StateRange, StateRequest};
pub use data::{AssuranceMessage, SegmentRequest, ShardAnswer, ShardRequest};
pub use work::{BundleSubmission, PackageSubmission, SegmentRoots, SharedBundle, SharedReport};
pub(crate) use work::{cut_extrinsics, read_imports};

use crate::{
    error::StreamError,
    frame::{Input, Message},
    kind::Sizes,
};
use jam::{
    Params,
    codec::{Decode, DecodeError, Decoder, Encode},
};

/// What the chain's parameters say about messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) params: Params,
    pub(crate) sizes: Sizes,
}

impl Rules {
    pub(crate) fn new(params: Params) -> Self {
        Self { params, sizes: Sizes::new(&params) }
    }

    fn decode<T: Decode>(&self, bytes: &[u8]) -> Result<T, StreamError> {
        Ok(T::decode(bytes, &self.params)?)
    }

    /// Values one after the other until the bytes end.
    fn sequence<T: Decode>(&self, bytes: &[u8]) -> Result<Vec<T>, DecodeError> {
        let mut input = Decoder::new(bytes, &self.params);
        let mut values = vec![];
        while input.left() > 0 {
            values.push(T::decode_from(&mut input)?);
        }
        Ok(values)
    }
}

/// A request or an answer.
pub(crate) trait Payload: Sized + Send {
    fn write(&self) -> Vec<Message>;
    async fn read(input: &mut Input, rules: &Rules) -> Result<Self, StreamError>;
}

fn one(value: &impl Encode) -> Vec<Message> {
    vec![vec![value.encode().into()]]
}

/// An answer that says nothing but that all is well.
impl Payload for () {
    fn write(&self) -> Vec<Message> {
        vec![]
    }

    async fn read(_: &mut Input, _: &Rules) -> Result<Self, StreamError> {
        Ok(())
    }
}
