//! Every type that travels or is kept: no bytes make its decoder panic or allocate much, and whatever is read is written
//! as the same bytes.

use alloy_primitives::Bytes;
use jam::{
    Bundle, Params,
    block::*,
    codec::{Decode, Encode},
    follow::Start,
    merkle::MountainRange,
    package::*,
    report::*,
    sample::{Author, Sample, Source},
    state::{DisputeRecords, PendingReports, ReadyQueue, RecentBlocks, Safrole},
};
use queue::Record;
use service::{accumulate::Claim, payload::Payload};
use state::CodeSet;
use types::Reason;

/// A type's check, and an encoding of it.
type Entry = (fn(&[u8], &Params), fn(&mut Source<'_>) -> Vec<u8>);

fn check<T: Decode + Encode>(bytes: &[u8], params: &Params) {
    if let Ok(value) = T::decode(bytes, params) {
        assert!(value.encode() == bytes, "another encoding of {}", std::any::type_name::<T>());
    }
}

fn sample<T: Sample + Encode>(source: &mut Source<'_>) -> Vec<u8> {
    T::sample(source).encode()
}

macro_rules! entries {
    ($($sampled:ty)*; $($other:ty)*) => {
        &[$((check::<$sampled>, sample::<$sampled>),)* $((check::<$other>, |_| vec![0]),)*]
    };
}

const TYPES: &[Entry] = entries!(
    Params RefineContext ExtrinsicSpec ImportSpec WorkItem WorkPackage AvailabilitySpec RefineLoad WorkResult WorkDigest
    WorkReport Ticket TicketBody Preimage ValidatorSignature Guarantee Assurance Judgement Verdict Culprit Fault Disputes
    Extrinsic EpochMark TicketsMark UnsealedHeader Header Block MountainRange;
    Safrole DisputeRecords PendingReports RecentBlocks ReadyQueue
);

/// What has functions of its own instead.
const OTHERS: &[Entry] = &[
    (check_bundle, sample::<Bundle>),
    (check::<Start>, |_| Author::new(Params::TINY).start().encode()),
    (check_record, |_| Record::Abandoned { from: 7, by: types::ReleasedBy::Chain }.to_bytes()),
    (check_payload, |_| {
        let header = alloy_consensus::Header::default();
        Payload { parent: header, blocks: 1, last: Default::default(), signature: Default::default() }
            .encode()
            .to_vec()
    }),
    (check_claim, |_| Claim::default().encode().to_vec()),
    (check_codes, |_| CodeSet::from_iter([Bytes::from_static(b"code")]).encode()),
    (check_reason, |_| Reason::Expired.to_bytes()),
];

fn check_bundle(bytes: &[u8], params: &Params) {
    if let Ok(bundle) = Bundle::decode(&Bytes::copy_from_slice(bytes), params) {
        assert!(bundle.encode() == bytes, "another encoding of a bundle");
        let _ = (bundle.check(&Default::default()), bundle.package.check(params));
    }
}

fn check_record(bytes: &[u8], _: &Params) {
    if let Ok(record) = Record::from_bytes(bytes) {
        assert!(record.to_bytes() == bytes, "another encoding of a record");
    }
}

fn check_payload(bytes: &[u8], _: &Params) {
    if let Ok(payload) = Payload::decode(bytes) {
        assert!(*payload.encode() == *bytes, "another encoding of a payload");
    }
}

fn check_claim(bytes: &[u8], _: &Params) {
    if let Some(claim) = Claim::decode(bytes) {
        assert!(claim.encode() == bytes, "another encoding of a claim");
    }
}

fn check_codes(bytes: &[u8], _: &Params) {
    if let Ok(codes) = CodeSet::decode(bytes) {
        assert!(codes.encode() == bytes, "another encoding of codes");
    }
}

fn check_reason(bytes: &[u8], _: &Params) {
    if let Ok(reason) = Reason::from_bytes(bytes) {
        assert!(reason.to_bytes() == bytes, "another encoding of a reason");
    }
}

fn all() -> impl Iterator<Item = &'static Entry> {
    TYPES.iter().chain(OTHERS)
}

/// The first byte says which type of which chain.
pub(super) fn run(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let params = if which & 0x80 == 0 { &Params::TINY } else { &Params::FULL };
    if let Some((check, _)) = all().nth(usize::from(which & 0x7f)) {
        check(bytes, params);
    }
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut source = Source::new(&Params::TINY, 16);
    let seed = |(which, (_, sample)): (u8, &Entry)| {
        let bytes = [vec![which], sample(&mut source)].concat();
        (format!("type-{which:02}"), bytes)
    };
    (0..).zip(all()).map(seed).filter(|(_, bytes)| bytes.len() < 8 << 10).collect()
}
