//! Faults on demand, for whoever wants to see the queue heal. Only in development, where the validators are ours.
//!
//! A page of another origin must not be able to do this. A browser sends the header that is asked for here to another
//! origin only after asking that origin for permission, which is never given; and it says which origin a request is from.

use super::{json_answer, plain};
use devnet::{
    Devnet,
    faults::{Fork, SubmissionFault},
};
use http_body_util::{BodyExt, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, header};
use rpc::Body;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// The header that only our own page sends.
const HEADER: &str = "x-pectin-page";
/// What is asked for is short.
const BODY_BYTES_MAX: usize = 1024;
/// The longest that a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Slots that may be skipped in one go, and blocks that a fork may lose.
const COUNT_MAX: u32 = 20;

/// What somebody wants to go wrong, or right again.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "fault", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Wish {
    /// A validator goes down, or comes back.
    Validator { index: u16, down: bool },
    /// What happens to submissions: `dropped`, `silent`, `refused`, or nothing.
    Submissions { how: Option<How> },
    /// The next slots have no block.
    Skip { slots: u32 },
    /// The next block with a report is lost, and some on top of it.
    Fork { depth: u32 },
    /// Nobody assures anything.
    Unavailable { on: bool },
    /// Finality stands still.
    Stall { on: bool },
    /// Half of the validators do not hear the other half.
    Partition { on: bool },
    /// All is well again; validators that are down come back.
    Heal,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum How {
    Dropped,
    Silent,
    Refused,
}

pub(super) async fn answer(devnet: Option<&Arc<Devnet>>, request: Request<Incoming>) -> Response<Body> {
    let Some(devnet) = devnet else {
        return plain(StatusCode::NOT_FOUND, "there are faults on demand only in `pectin dev`\n");
    };
    if request.method() != Method::POST {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only POST\n");
    }
    if !is_own(&request) {
        return plain(StatusCode::FORBIDDEN, "only the page of this node may do this\n");
    }
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    let wish = match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => serde_json::from_slice::<Wish>(&body.to_bytes()).map_err(|why| why.to_string()),
        Ok(Err(why)) => Err(why.to_string()),
        Err(_) => Err("it did not arrive in time".to_owned()),
    };
    let done = match wish {
        Ok(wish) => carry_out(devnet, wish).await,
        Err(why) => Err(why),
    };
    match done {
        Ok(()) => json_answer(StatusCode::OK, &view(devnet)),
        Err(why) => json_answer(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    }
}

/// Whether a request comes from our own page, or from a program that knows what it does.
fn is_own<T>(request: &Request<T>) -> bool {
    let value = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let origin = value(header::ORIGIN.as_str())
        .map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    let same_origin = origin.is_none() || origin == value(header::HOST.as_str());
    value(HEADER).is_some() && same_origin
}

async fn carry_out(devnet: &Devnet, wish: Wish) -> Result<(), String> {
    let faults = devnet.faults();
    let validators = devnet.status().len() as u16;
    match wish {
        Wish::Validator { index, .. } if index >= validators => {
            return Err(format!("there are {validators} validators, counted from 0"));
        }
        Wish::Validator { index, down: true } => {
            devnet.stop_validator(index).await;
        }
        Wish::Validator { index, down: false } => {
            devnet.start_validator(index).await.map_err(|why| why.to_string())?;
        }
        Wish::Submissions { how } => faults.submissions(how.map(|how| match how {
            How::Dropped => SubmissionFault::Dropped,
            How::Silent => SubmissionFault::Silent,
            How::Refused => SubmissionFault::Refused,
        })),
        Wish::Skip { slots } => devnet.skip_slots(slots.clamp(1, COUNT_MAX)),
        Wish::Fork { depth } => faults.fork(depth.clamp(1, COUNT_MAX).into()),
        Wish::Unavailable { on } => faults.no_availability(on),
        Wish::Stall { on } => faults.stall_finality(on),
        Wish::Partition { on: false } => faults.reunite(),
        Wish::Partition { on: true } => {
            let half = validators / 2;
            faults.partition(&[(0..half).collect(), (half..validators).collect()]);
        }
        Wish::Heal => heal(devnet).await?,
    }
    Ok(())
}

async fn heal(devnet: &Devnet) -> Result<(), String> {
    devnet.faults().clear();
    for index in devnet.faults().view().down {
        devnet.start_validator(index).await.map_err(|why| why.to_string())?;
    }
    Ok(())
}

/// What is wrong at the moment.
pub(super) fn view(devnet: &Devnet) -> Value {
    let view = devnet.faults().view();
    let how = view.submissions.values().next().map(|fault| match fault {
        SubmissionFault::Dropped => "dropped",
        SubmissionFault::Silent => "silent",
        SubmissionFault::Refused => "refused",
        SubmissionFault::Delayed(_) => "delayed",
        SubmissionFault::Doubled => "doubled",
    });
    let fork = view.fork.map(|fork| match fork {
        Fork::Armed { depth } => json!({ "depth": depth, "running": false }),
        Fork::Running { depth, .. } => json!({ "depth": depth, "running": true }),
    });
    json!({
        "validators": devnet.status().len(),
        "down": view.down,
        "submissions": how,
        "skipped": [view.skipped.start, view.skipped.end],
        "fork": fork,
        "unavailable": view.unavailable,
        "stalled": view.stalled,
        "parted": !view.groups.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_page_may() {
        let request = |headers: &[(&str, &str)]| {
            let mut request = Request::builder().header("host", "127.0.0.1:8545");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            is_own(&request.body(()).unwrap())
        };
        assert!(request(&[(HEADER, "1"), ("origin", "http://127.0.0.1:8545")]));
        assert!(request(&[(HEADER, "1")]), "a program");
        assert!(!request(&[("origin", "http://127.0.0.1:8545")]), "a form");
        assert!(!request(&[(HEADER, "1"), ("origin", "http://evil.example")]));
        assert!(!request(&[(HEADER, "1"), ("origin", "null")]));
    }

    #[test]
    fn what_is_asked_for_is_read_strictly() {
        let read = |text: &str| serde_json::from_str::<Wish>(text);
        assert_eq!(read(r#"{"fault":"fork","depth":2}"#).unwrap(), Wish::Fork { depth: 2 });
        assert_eq!(
            read(r#"{"fault":"submissions","how":"silent"}"#).unwrap(),
            Wish::Submissions { how: Some(How::Silent) }
        );
        assert_eq!(read(r#"{"fault":"heal"}"#).unwrap(), Wish::Heal);
        for wrong in
            [r#"{"fault":"melt"}"#, r#"{"fault":"fork"}"#, r#"{"fault":"fork","depth":-1}"#, "[]", ""]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
