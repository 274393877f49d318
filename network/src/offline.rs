//! Every stream of the protocol, read from memory by the functions that read it from a peer.
//!
//! What is read is written again: a message has one encoding, so whoever has the bytes can compare.

use crate::{
    Caller, Kind, Limits, Silent,
    error::StreamError,
    frame::{Input, Message},
    message::{
        Announcement, AssuranceMessage, BlockRequest, BundleSubmission, Direction, Handshake,
        PackageSubmission, Payload, Rules, SegmentRequest, ShardAnswer, ShardRequest, SharedBundle,
        SharedReport, StateRange, StateRequest,
    },
    serve::{Failure, Request},
};
use bytes::Bytes;
use jam::{Block, Ed25519Secret, Guarantee, Params, bundle::Import, spec::StateKey};
use std::net::{Ipv4Addr, SocketAddr};

/// Which half of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// What the one who opened it says, after the kind. Of announcements, what either says.
    Request,
    /// What the other one answers.
    Answer,
}

/// Reads one half of a stream of a kind, and writes it again.
pub async fn reread(params: &Params, kind: Kind, half: Half, stream: Bytes) -> Result<Vec<u8>, StreamError> {
    let mut input = Input::recorded(stream);
    let rules = Rules::new(*params);
    let messages = match half {
        Half::Request => request(&mut input, &rules, kind).await?,
        Half::Answer => answer(&mut input, &rules, kind).await?,
    };
    Ok(framed(messages))
}

fn framed(messages: Vec<Message>) -> Vec<u8> {
    let mut stream = vec![];
    for message in messages {
        let len = message.iter().map(Bytes::len).sum::<usize>();
        stream.extend_from_slice(&(len as u32).to_le_bytes());
        message.iter().for_each(|piece| stream.extend_from_slice(piece));
    }
    stream
}

impl From<Failure> for StreamError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::Refused(refusal),
            Failure::Stream(error) => error,
        }
    }
}

async fn request(input: &mut Input, rules: &Rules, kind: Kind) -> Result<Vec<Message>, StreamError> {
    let caller = Caller {
        key: Ed25519Secret::trivial(0).public(),
        addr: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
        builder: true,
    };
    let limits = Limits::default();
    let (receive, handle) = (limits.receive(), limits.handle());
    let mut request = Request { input, rules, caller: &caller, service: &Silent, receive, handle };
    Ok(match kind {
        Kind::Announcements => announcements(request.input, rules).await?,
        Kind::Blocks => request.read::<BlockRequest>().await?.write(),
        Kind::State => request.read::<StateRequest>().await?.write(),
        Kind::Package => {
            let PackageSubmission { core, package, extrinsics } = request.package().await?;
            PackageSubmission::messages(core, &package, &extrinsics)
        }
        Kind::Bundle => {
            let BundleSubmission { core, segment_roots, bundle } = request.bundle().await?;
            BundleSubmission::messages(core, &segment_roots, &bundle)
        }
        Kind::Share => request.read::<SharedBundle>().await?.write(),
        Kind::Report => request.read::<Guarantee>().await?.write(),
        Kind::Shard => request.read::<ShardRequest>().await?.write(),
        Kind::Assurance => request.read::<AssuranceMessage>().await?.write(),
        Kind::Segments => request.read::<SegmentRequest>().await?.write(),
    })
}

async fn announcements(input: &mut Input, rules: &Rules) -> Result<Vec<Message>, StreamError> {
    let mut messages = Handshake::read(input, rules).await?.write();
    while let Some(announcement) = Announcement::next(input, rules).await? {
        messages.extend(announcement.write());
    }
    Ok(messages)
}

/// What the one who asked does with an answer is done too: checking that it answers the question.
async fn answer(input: &mut Input, rules: &Rules, kind: Kind) -> Result<Vec<Message>, StreamError> {
    Ok(match kind {
        Kind::Blocks => {
            let blocks = whole::<Vec<Block>>(input, rules).await?;
            let ends = [(Direction::Descending, blocks.first()), (Direction::Ascending, blocks.last())];
            for (direction, block) in ends {
                let hash = block.map(|block| block.header.hash()).unwrap_or_default();
                let _ = BlockRequest { hash, direction, max: u32::MAX }.check(&blocks);
            }
            blocks.write()
        }
        Kind::State => {
            let range = whole::<StateRange>(input, rules).await?;
            let _ = range.root(StateKey::ZERO, StateKey::repeat_byte(0xff));
            range.write()
        }
        Kind::Share => whole::<SharedReport>(input, rules).await?.write(),
        Kind::Shard => whole::<ShardAnswer>(input, rules).await?.write(),
        Kind::Segments => {
            let imports = whole::<Vec<Import>>(input, rules).await?;
            let indices = (0..imports.len() as u16).collect();
            let _ = SegmentRequest { trees: vec![(Default::default(), indices)] }.check(&imports);
            imports.write()
        }
        Kind::Announcements => announcements(input, rules).await?,
        Kind::Package | Kind::Bundle | Kind::Report | Kind::Assurance => {
            whole::<()>(input, rules).await?.write()
        }
    })
}

async fn whole<A: Payload>(input: &mut Input, rules: &Rules) -> Result<A, StreamError> {
    let answer = A::read(input, rules).await?;
    input.end().await?;
    Ok(answer)
}
