//! Everything that a peer can send: both halves of every kind of stream, and its certificate. What is read is what was
//! sent, byte by byte; what cannot be read is an error of the stream.

use super::MIB;
use alloy_primitives::Bytes;
use jam::{
    Block, Bundle, Ed25519Secret, Guarantee, Header, Params, WorkPackage,
    codec::Encode,
    hash::blake2b,
    package::ExtrinsicSpec,
    params::SEGMENT_BYTES,
    sample::{Sample, Source},
};
use network::{
    Kind, StreamError,
    certificate::peer_of,
    offline::{Half, reread},
};
use tokio::runtime::{Builder, Runtime};

/// The first byte that means a certificate.
const CERTIFICATE: u8 = 0x7f;

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().expect("it needs no thread");
}

pub(super) fn run(bytes: &[u8]) {
    let Some((which, stream)) = bytes.split_first() else { return };
    if *which == CERTIFICATE {
        let _ = peer_of(stream);
        return;
    }
    let params = if which & 0x80 == 0 { Params::TINY } else { Params::FULL };
    let Some(kind) = Kind::ALL.get(usize::from(which & 0x7f) / 2).copied() else { return };
    let half = if which & 1 == 0 { Half::Request } else { Half::Answer };
    let read = reread(&params, kind, half, Bytes::copy_from_slice(stream).into());
    match RUNTIME.with(|runtime| runtime.block_on(read)) {
        Ok(written) => assert!(written == stream, "another encoding of {kind:?}, {half:?}"),
        Err(StreamError::Lost(_) | StreamError::Timeout { .. }) => panic!("nobody else is there"),
        Err(StreamError::Oversized { max, .. }) => assert!(max <= 64 * MIB),
        Err(_) => {}
    }
}

fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = vec![];
    for message in messages {
        stream.extend_from_slice(&(message.len() as u32).to_le_bytes());
        stream.extend_from_slice(message);
    }
    stream
}

/// A bundle that is small: no imports, little blobs.
fn small_bundle(source: &mut Source<'_>) -> Bundle {
    let mut bundle = Bundle::sample(source);
    bundle.package = WorkPackage::sample(source);
    bundle.imports.clear();
    bundle.extrinsics.clear();
    for item in &mut bundle.package.items {
        item.imports.clear();
        let blob = Bytes::from_static(b"a blob");
        item.extrinsics = vec![ExtrinsicSpec { hash: blake2b(&[&blob]), len: blob.len() as u32 }];
        bundle.extrinsics.push(blob);
    }
    bundle
}

/// The messages of both halves of each kind.
fn streams(source: &mut Source<'_>) -> Vec<(Kind, Half, Vec<Vec<u8>>)> {
    let (header, block) = (Header::sample(source), Block::sample(source));
    let bundle = small_bundle(source);
    let hash = source.bytes(32);
    let id = [&hash[..], &7_u32.to_le_bytes()].concat();
    let greeting = [&id[..], &[1], &id].concat();
    let key = vec![1; 31];
    let core = [1, 0];
    let blobs = bundle.extrinsics.concat();
    let package = bundle.package.encode();
    let entry = [&key[..], &[3, 1, 2, 3]].concat();
    let (segment, proof) = (vec![7; SEGMENT_BYTES], [&[1], &hash[..]].concat());
    vec![
        (Kind::Announcements, Half::Request, vec![greeting, [header.encode(), id].concat()]),
        (Kind::Blocks, Half::Request, vec![[&hash[..], &[1, 9, 0, 0, 0]].concat()]),
        (Kind::Blocks, Half::Answer, vec![block.encode()]),
        (Kind::State, Half::Request, vec![[&hash[..], &key, &key, &[0, 0, 1, 0]].concat()]),
        (Kind::State, Half::Answer, vec![vec![5; 64], entry]),
        (Kind::Package, Half::Request, vec![[&core[..], &package].concat(), blobs.clone()]),
        (Kind::Share, Half::Request, vec![[&core[..], &[0]].concat(), bundle.encode()]),
        (Kind::Share, Half::Answer, vec![[&hash[..], &[3; 64]].concat()]),
        (Kind::Report, Half::Request, vec![Guarantee::sample(source).encode()]),
        (Kind::Shard, Half::Request, vec![[&hash[..], &core].concat()]),
        (Kind::Shard, Half::Answer, vec![vec![1; 8], vec![], [&[0], &hash[..]].concat()]),
        (Kind::Assurance, Half::Request, vec![[&hash[..], &[3], &[4; 64]].concat()]),
        (Kind::Assurance, Half::Answer, vec![]),
        (Kind::Bundle, Half::Request, vec![[&core[..], &[0]].concat(), package, blobs, vec![], vec![]]),
        (Kind::Segments, Half::Request, vec![[&hash[..], &[2, 0, 0, 5, 0]].concat()]),
        (Kind::Segments, Half::Answer, vec![segment, proof]),
    ]
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut source = Source::new(&Params::TINY, 6);
    let seed = |(kind, half, messages): (Kind, Half, Vec<Vec<u8>>)| {
        let place = Kind::ALL.iter().position(|other| *other == kind).unwrap_or_default();
        let which = 2 * place as u8 + u8::from(half == Half::Answer);
        let name = format!("{kind:?}-{half:?}").to_lowercase();
        (name, [vec![which], framed(&messages)].concat())
    };
    let mut seeds = streams(&mut source).into_iter().map(seed).collect::<Vec<_>>();
    seeds.push(("certificate".into(), [vec![CERTIFICATE], certificate()].concat()));
    seeds
}

/// A certificate as far as it is looked at: the key, and the name that it must have.
fn certificate() -> Vec<u8> {
    let key = Ed25519Secret::trivial(1).public();
    let name = der(0x30, &[der(0x82, &[key.certificate_name().into_bytes()])]);
    let extension = der(0x30, &[der(0x06, &[vec![0x55, 0x1d, 0x11]]), der(0x04, &[name])]);
    let info = der(
        0x30,
        &[der(0x30, &[der(0x06, &[vec![0x2b, 0x65, 0x70]])]), der(0x03, &[vec![0], key.as_slice().to_vec()])],
    );
    let empty = der(0x30, &[]);
    let fields = [vec![2, 1, 1], empty.clone(), empty.clone(), empty.clone(), empty, info];
    let body = [&fields[..], &[der(0xa3, &[der(0x30, &[extension])])]].concat();
    der(0x30, &[der(0x30, &body)])
}

/// Tag, length, content.
fn der(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let content = parts.concat();
    let len = content.len() as u8;
    let head = if len < 0x80 { vec![tag, len] } else { vec![tag, 0x81, len] };
    [head, content].concat()
}
