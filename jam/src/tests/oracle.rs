//! Agreement with the reference implementation of the protocol's types, byte by byte.
//!
//! `jam-types` keeps a chain's parameters in process-wide variables, so everything that it decodes by them happens in
//! one test, one chain after the other.

use crate::{
    Bundle, Ed25519Secret, ErasureCode, Params,
    block::{self, EpochKeys, EpochMark, Header},
    codec::{Decode, Encode},
    hash::{Hash, blake2b, keccak},
    merkle::{MountainRange, SegmentTree},
    package, report,
    rules::statistics::Statistics,
    sample::{Sample, Source},
    state,
};
use jam_codec::{Decode as TheirDecode, Encode as TheirEncode};
use jam_std_common as theirs;
use jam_types::ProtocolParameters;

/// Our encoding is theirs: it decodes there completely and comes back the same.
#[track_caller]
fn agree<Ours: Encode + Sample, Theirs: TheirEncode + TheirDecode>(params: &Params) {
    for seed in 0..40 {
        let bytes = Ours::sample(&mut Source::new(params, seed)).encode();
        let mut rest = &bytes[..];
        let value = Theirs::decode(&mut rest)
            .unwrap_or_else(|e| panic!("{}: seed {seed}: {e:?}", core::any::type_name::<Theirs>()));
        assert!(rest.is_empty(), "{} bytes left", rest.len());
        assert_eq!(value.encode(), bytes, "seed {seed}");
    }
}

#[test]
fn every_type_is_encoded_as_the_reference_does() {
    for (params, reference) in
        [(Params::TINY, ProtocolParameters::tiny()), (Params::FULL, ProtocolParameters::full())]
    {
        reference.apply().unwrap();
        assert_eq!(Encode::encode(&params), TheirEncode::encode(&reference));
        let params = &params;
        agree::<package::RefineContext, jam_types::RefineContext>(params);
        agree::<package::WorkItem, jam_types::WorkItem>(params);
        agree::<package::WorkPackage, jam_types::WorkPackage>(params);
        agree::<report::WorkDigest, jam_types::WorkDigest>(params);
        agree::<report::AvailabilitySpec, theirs::WorkPackageSpec>(params);
        agree::<report::WorkReport, theirs::WorkReport>(params);
        agree::<block::Guarantee, theirs::ReportGuarantee>(params);
        agree::<block::Assurance, theirs::AvailabilityAssurance>(params);
        agree::<block::Disputes, theirs::DisputesXt>(params);
        agree::<block::Extrinsic, theirs::Extrinsic>(params);
        agree::<block::Header, theirs::Header>(params);
        agree::<block::Block, theirs::Block>(params);
        agree::<MountainRange, theirs::Mmr>(params);
        agree::<state::Privileges, theirs::Privileges>(params);
        agree::<Statistics, theirs::Statistics>(params);
        extrinsics_hash_the_same(params);
        bundles_are_laid_out_the_same(params);
    }
    dev_genesis_is_the_one_that_other_nodes_have();
}

fn extrinsics_hash_the_same(params: &Params) {
    for seed in 0..20 {
        let ours = block::Extrinsic::sample(&mut Source::new(params, seed));
        let reference = theirs::Extrinsic::decode(&mut &Encode::encode(&ours)[..]).unwrap();
        assert_eq!(ours.hash().0, reference.hash().0);
    }
}

fn bundles_are_laid_out_the_same(params: &Params) {
    for seed in 0..20 {
        let ours = Bundle::sample(&mut Source::new(params, seed));
        let package = jam_types::WorkPackage::decode(&mut &Encode::encode(&ours.package)[..]).unwrap();
        let imports = ours.imports.iter().map(|import| theirs::ImportData {
            segment: import.segment.to_vec(),
            proof: import.proof.iter().map(|hash| hash.0).collect(),
        });
        let imports = [imports.collect()];
        let (hash, bytes) = theirs::build_encoded_bundle(&package, &ours.extrinsics, &imports);
        assert_eq!(Encode::encode(&ours), bytes);
        assert_eq!(ours.package.hash().0.0, hash.0);
    }
}

/// The genesis header that JamBrains/jam-docs publishes for tiny chains: six trivial validators, no entropy.
fn dev_genesis_is_the_one_that_other_nodes_have() {
    let keys = (0..6).map(|i| {
        let secret = theirs::SecretKeyset::trivial(i);
        assert_eq!(Ed25519Secret::trivial(i).public().0.0, *secret.ed25519.public().as_bytes());
        EpochKeys {
            bandersnatch: Hash::from_slice(&secret.bandersnatch.public().encode()),
            ed25519: Ed25519Secret::trivial(i).public(),
        }
    });
    let mark = EpochMark { entropy: Hash::ZERO, tickets_entropy: Hash::ZERO, validators: keys.collect() };
    let mut header = Header::genesis(Some(mark));
    // The published header names validator 0 as its author, the reference nobody (0xffff).
    header.unsealed.author = 0;
    let published = "0xe864d485113737c28c2fef3b2aed39cb2f289a369b15c54e9c44720bcfdc0ca0";
    assert_eq!(header.hash().to_string(), published);
}

#[test]
fn peers_have_the_names_that_the_reference_gives_them() {
    for index in 0..20 {
        let key = Ed25519Secret::trivial(index).public();
        let reference = theirs::PeerId(key.0.0.into());
        assert_eq!(key.certificate_name(), reference.to_string());
    }
}

#[test]
fn segments_are_proved_as_the_reference_does() {
    for count in [0, 1, 2, 5, 64, 65, 128, 200] {
        let mut source = Source::new(&Params::TINY, count as u64);
        let segments = (0..count).map(|_| source.bytes(4104)).collect::<Vec<_>>();
        let tree = SegmentTree::new(&segments);
        let arrays = segments.iter().map(|s| <&[u8; 4104]>::try_from(&s[..]).unwrap());
        let arrays = arrays.map(jam_types::SegmentBytes::from).collect::<Vec<_>>();
        let (proofs, root) = theirs::import_proofs(&arrays);
        assert_eq!(tree.root().0.0, root.0);
        for (index, proof) in proofs.iter().enumerate() {
            assert_eq!(tree.proof(index), proof.iter().map(|hash| Hash::from(*hash)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn the_mountain_range_grows_as_the_reference_does() {
    let (mut ours, mut reference) = (MountainRange::EMPTY, theirs::Mmr::new());
    for entry in 0..100_u8 {
        ours.append(Hash::repeat_byte(entry));
        reference.append([entry; 32]);
        assert_eq!(ours.root().0, reference.root().0);
        assert_eq!(Encode::encode(&ours), TheirEncode::encode(&reference));
    }
}

#[test]
fn hashes_are_those_of_the_reference() {
    assert_eq!(blake2b(&[b"jam"]).0, theirs::hash_raw(b"jam"));
    assert_eq!(keccak(&[b"jam"]).0, theirs::keccak(b"jam"));
}

#[test]
fn a_refused_value_is_refused_by_the_reference_too() {
    // The strictness that both share: the order of a set.
    let mut context = package::RefineContext::sample(&mut Source::new(&Params::TINY, 0));
    context.prerequisites = [1, 2].map(|i| crate::PackageHash(Hash::repeat_byte(i))).into();
    let mut bytes = Encode::encode(&context);
    let at = bytes.len() - 64;
    bytes[at..].rotate_left(32);
    assert!(<package::RefineContext as Decode>::decode(&bytes, &Params::TINY).is_err());
    assert!(jam_types::RefineContext::decode(&mut &bytes[..]).is_err());
    assert_eq!(ErasureCode::new(&Params::FULL).shard_len(13_791_360), 40_326);
}
