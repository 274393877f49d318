//! Every type comes back from its encoding, and no bytes make a decoder panic.

use crate::{
    block::*,
    bundle::Bundle,
    codec::{Decode, Encode},
    hash::blake2b,
    merkle::MountainRange,
    package::*,
    params::Params,
    report::*,
    sample::{Sample, Source},
};
use alloy_primitives::Bytes;
use core::fmt::Debug;
use proptest::prelude::*;

/// Runs `check` for every type that travels.
macro_rules! for_every_type {
    ($check:ident($($argument:expr),*)) => {
        $check::<Params>($($argument),*)?;
        $check::<RefineContext>($($argument),*)?;
        $check::<ExtrinsicSpec>($($argument),*)?;
        $check::<ImportSpec>($($argument),*)?;
        $check::<WorkItem>($($argument),*)?;
        $check::<WorkPackage>($($argument),*)?;
        $check::<AvailabilitySpec>($($argument),*)?;
        $check::<RefineLoad>($($argument),*)?;
        $check::<WorkResult>($($argument),*)?;
        $check::<WorkDigest>($($argument),*)?;
        $check::<WorkReport>($($argument),*)?;
        $check::<Ticket>($($argument),*)?;
        $check::<TicketBody>($($argument),*)?;
        $check::<Preimage>($($argument),*)?;
        $check::<ValidatorSignature>($($argument),*)?;
        $check::<Guarantee>($($argument),*)?;
        $check::<Assurance>($($argument),*)?;
        $check::<Judgement>($($argument),*)?;
        $check::<Verdict>($($argument),*)?;
        $check::<Culprit>($($argument),*)?;
        $check::<Fault>($($argument),*)?;
        $check::<Disputes>($($argument),*)?;
        $check::<Extrinsic>($($argument),*)?;
        $check::<EpochMark>($($argument),*)?;
        $check::<TicketsMark>($($argument),*)?;
        $check::<UnsealedHeader>($($argument),*)?;
        $check::<Header>($($argument),*)?;
        $check::<Block>($($argument),*)?;
        $check::<MountainRange>($($argument),*)?;
    };
}

type Outcome = Result<(), TestCaseError>;

fn comes_back<T: Encode + Decode + Sample + PartialEq + Debug>(params: &Params, seed: u64) -> Outcome {
    let value = T::sample(&mut Source::new(params, seed));
    let bytes = value.encode();
    prop_assert!(bytes.len() >= T::MIN_BYTES);
    prop_assert_eq!(T::decode(&bytes, params), Ok(value));
    // Neither less nor more is accepted.
    prop_assert!(T::decode(&bytes[..bytes.len() - 1], params).is_err());
    prop_assert!(T::decode(&[&bytes[..], &[0]].concat(), params).is_err());
    Ok(())
}

fn has_one_encoding<T: Encode + Decode>(params: &Params, bytes: &[u8]) -> Outcome {
    if let Ok(value) = T::decode(bytes, params) {
        prop_assert_eq!(value.encode(), bytes);
    }
    Ok(())
}

/// Changed at a few places, an encoding is refused or is the only encoding of another value.
fn survives_mutation<T: Encode + Decode + Sample>(params: &Params, seed: u64) -> Outcome {
    let mut source = Source::new(params, seed);
    let mut bytes = T::sample(&mut source).encode();
    for _ in 0..=source.below(3) {
        let at = source.below(bytes.len());
        match source.below(3) {
            0 => bytes[at] ^= 1 << source.below(8),
            1 => bytes[at] = [0, 0x7f, 0x80, 0xff][source.below(4)],
            _ => drop(bytes.drain(at..(at + 1 + source.below(9)).min(bytes.len()))),
        }
        if bytes.is_empty() {
            return Ok(());
        }
    }
    has_one_encoding::<T>(params, &bytes)
}

const BOTH: [Params; 2] = [Params::TINY, Params::FULL];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn values_come_back(seed: u64, which in 0_usize..2) {
        for_every_type!(comes_back(&BOTH[which], seed));
    }

    #[test]
    fn mutated_encodings_are_refused_or_mean_one_thing(seed: u64, which in 0_usize..2) {
        for_every_type!(survives_mutation(&BOTH[which], seed));
    }

    #[test]
    fn bundles_come_back(seed: u64) {
        let bundle = Bundle::sample(&mut Source::new(&Params::TINY, seed));
        let bytes = Bytes::from(bundle.encode());
        prop_assert_eq!(Bundle::decode(&bytes, &Params::TINY), Ok(bundle));
        prop_assert!(Bundle::decode(&bytes.slice(..bytes.len() - 1), &Params::TINY).is_err());
        prop_assert!(Bundle::decode(&[&bytes[..], &[0]].concat().into(), &Params::TINY).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000), which in 0_usize..2) {
        for_every_type!(has_one_encoding(&BOTH[which], &bytes));
        if let Ok(bundle) = Bundle::decode(&bytes.clone().into(), &BOTH[which]) {
            prop_assert_eq!(bundle.encode(), bytes);
        }
    }
}

#[test]
fn a_declared_length_reserves_nothing_that_is_not_there() {
    // A package that says its extrinsics are four gigabytes each.
    let mut source = Source::new(&Params::TINY, 1);
    let mut package = WorkPackage::sample(&mut source);
    package.items = vec![WorkItem::sample(&mut source)];
    package.items[0].extrinsics = vec![ExtrinsicSpec { hash: blake2b(&[]), len: u32::MAX }; 128];
    let error = Bundle::decode(&package.encode().into(), &Params::TINY).unwrap_err();
    assert!(error.to_string().ends_with("shorter than its package says"), "{error}");
}

#[test]
fn a_bundle_must_hold_what_its_package_names() {
    use crate::{
        BundleError, ImportRoot, ImportSpec, bundle::Import, merkle::SegmentTree, params::SEGMENT_BYTES,
    };
    let mut source = Source::new(&Params::TINY, 2);
    let segments = [source.bytes(SEGMENT_BYTES), source.bytes(SEGMENT_BYTES)];
    let tree = SegmentTree::new(&segments);
    let mut item = WorkItem::sample(&mut source);
    let blob = Bytes::from_static(b"blob");
    item.extrinsics = vec![ExtrinsicSpec { hash: blake2b(&[&blob]), len: 4 }];
    item.imports = vec![ImportSpec { root: ImportRoot::Segments(tree.root()), index: 1 }];
    let package = WorkPackage { items: vec![item], ..WorkPackage::sample(&mut source) };
    let import = Import { segment: segments[1].clone().into(), proof: tree.proof(1) };
    let good = Bundle { package, extrinsics: vec![blob], imports: vec![import] };
    assert_eq!(good.check(&[].into()), Ok(()));

    let with = |change: fn(&mut Bundle)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        bundle.check(&[].into())
    };
    assert_eq!(with(|b| b.extrinsics[0] = Bytes::from_static(b"blub")), Err(BundleError::Extrinsic(0)));
    assert_eq!(with(|b| b.extrinsics.push(Bytes::new())), Err(BundleError::Extrinsic(1)));
    assert_eq!(with(|b| b.extrinsics.clear()), Err(BundleError::Extrinsic(0)));
    assert_eq!(with(|b| b.imports[0].proof[0].0[0] ^= 1), Err(BundleError::Import(0)));
    assert_eq!(with(|b| b.imports.clear()), Err(BundleError::Import(0)));
    assert_eq!(with(|b| b.package.items[0].imports[0].index = 0), Err(BundleError::Import(0)));
}

#[test]
fn a_package_keeps_to_the_limits_of_its_chain() {
    let mut source = Source::new(&Params::TINY, 3);
    let mut item = WorkItem::sample(&mut source);
    (item.refine_gas, item.accumulate_gas, item.export_count) = (1, 1, 1);
    item.extrinsics.clear();
    item.imports.clear();
    let good = WorkPackage { items: vec![item], ..WorkPackage::sample(&mut source) };
    assert_eq!(good.check(&Params::TINY), Ok(()));
    let with = |change: fn(&mut WorkPackage)| {
        let mut package = good.clone();
        change(&mut package);
        package.check(&Params::TINY).unwrap_err().to_string()
    };
    assert_eq!(with(|p| p.items.clear()), "0 work items, 1 to 16 allowed");
    assert_eq!(with(|p| p.items[0].export_count = 3073), "3073 exports, at most 3072 allowed");
    assert_eq!(
        with(|p| p.items[0].refine_gas = u64::MAX),
        "18446744073709551615 gas to refine, at most 1000000000 allowed"
    );
    assert!(with(|p| p.authorization = vec![0; 13_791_361].into()).contains("bytes in the bundle"));
}
