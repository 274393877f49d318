//! A chain without a network: all validators' keys in one hand.

use super::*;
use crate::{
    authorizer::Authorizer,
    execution::{Execution, Services},
    genesis,
    genesis::Genesis,
    keys::Keys,
    vrf,
};
use jam::{
    Assurance, Block, Guarantee, Hash, HeaderHash, Purpose, RefineContext, WorkDigest, WorkReport,
    WorkResult,
    block::ValidatorSignature,
    codec::{Decode, Encode},
    report::{AvailabilitySpec, RefineLoad},
    state::{RecentBlocks, StateIndex, state_part},
};
use jam_codec::{Decode as _, Encode as _};
use jam_std_common as theirs;
use pvm::EngineKind;
use service::accumulate::{Claim, ServiceState};
use std::sync::Arc;
use types::BlockId;

fn native() -> Execution {
    Execution::new(EngineKind::Interpreter, Services::Native).unwrap()
}

const HEAD: BlockId = BlockId::new(0, Hash::repeat_byte(5));

struct Bench {
    tree: Tree,
    keys: Vec<Keys>,
    spec: jam::ChainSpec,
}

impl Bench {
    fn new() -> Self {
        let service = service::Config::native(genesis::SERVICE, jam::Ed25519Secret::trivial(99).public());
        let spec = Genesis::new(genesis::params(2), service, HEAD).spec(&[]);
        let rules = Rules { params: spec.params, service, execution: native() };
        let start = Node::given(&rules, spec.genesis_block(), 0, spec.genesis_state.clone()).unwrap();
        let keys = (0..6).map(Keys::trivial).collect();
        Self { tree: Tree::new(rules, TreeLimits::default(), start), keys, spec }
    }

    fn author_on(&self, parent: HeaderHash, slot: u32, ingredients: &Ingredients) -> Block {
        let mut blocks =
            self.keys.iter().filter_map(|keys| self.tree.author(keys, parent, slot, ingredients));
        blocks.next().expect("somebody may author every slot")
    }

    fn grow(&mut self, slot: u32, ingredients: &Ingredients) -> HeaderHash {
        let block = self.author_on(self.tree.best().hash, slot, ingredients);
        let hash = block.header.hash();
        assert_eq!(self.tree.import(Arc::new(block)), Ok(Imported::Best));
        hash
    }

    fn service(&self, hash: HeaderHash) -> ServiceState {
        let entries = self.tree.entries(hash).unwrap();
        ServiceState::from_storage(genesis::SERVICE, |key| entries.get(key).map(|v| &v[..])).unwrap()
    }

    /// A report of a claim, guaranteed by all three guarantors of a core.
    fn guarantee(&self, claim: &Claim, core: u16, slot: u32) -> Guarantee {
        let best = self.tree.best();
        let recent = best.state.recent.blocks.last().unwrap();
        let rules = self.tree.rules();
        let report = WorkReport {
            spec: AvailabilitySpec {
                package: jam::PackageHash(Hash::from_slice(&claim.last.hash[..])),
                bundle_len: 10,
                erasure_root: Hash::ZERO,
                exports_root: jam::SegmentRoot::ZERO,
                exports_count: 0,
            },
            context: RefineContext {
                anchor: best.hash,
                state_root: best.root,
                beefy_root: recent.beefy_root,
                lookup_anchor: best.hash,
                lookup_anchor_slot: best.slot(),
                prerequisites: [].into(),
            },
            core,
            authorizer: Authorizer::Null.hash(&rules.service.builder),
            auth_gas_used: 0,
            auth_output: Default::default(),
            segment_roots: Default::default(),
            digests: vec![WorkDigest {
                service: genesis::SERVICE,
                code_hash: rules.service.code_hash,
                payload_hash: Hash::ZERO,
                accumulate_gas: 1_000_000,
                result: WorkResult::Output(claim.encode().to_vec().into()),
                load: RefineLoad {
                    gas_used: 1,
                    imports: 0,
                    extrinsic_count: 0,
                    extrinsic_bytes: 0,
                    exports: 0,
                },
            }],
        };
        let subject = report.hash().0;
        let assignment = best.state.turned_to(rules, slot).state.epoch.assignment(&rules.params, slot);
        let sign = |validator: u16| ValidatorSignature {
            validator,
            signature: self.keys[usize::from(validator)].ed25519.sign(Purpose::Guarantee, subject),
        };
        let signatures = assignment.guarantors(core).map(sign).collect();
        Guarantee { report, slot, signatures }
    }

    fn assurances(&self, bits: u8) -> Vec<Assurance> {
        let anchor = self.tree.best().hash;
        let subject = Assurance::subject(anchor, &[bits]);
        let sign = |(validator, keys): (u16, &Keys)| Assurance {
            anchor,
            bits: vec![bits],
            validator,
            signature: keys.ed25519.sign(Purpose::Available, subject),
        };
        (0..).zip(&self.keys).map(sign).collect()
    }
}

fn claim(number: u64) -> Claim {
    let hash = |number: u64| if number == 0 { HEAD.hash } else { Hash::repeat_byte(100 + number as u8) };
    Claim::of_run(hash(number - 1), number, types::BlockId::new(number, hash(number)))
}

/// Forty slots with a report in every second one, and the blocks that they made.
fn busy_chain() -> (Bench, Vec<Block>) {
    let mut bench = Bench::new();
    // Dev chains begin at a slot of today.
    let mut slot = 10_000_003;
    bench.grow(slot, &Ingredients::default());
    for number in 1..=18 {
        slot += 1;
        let guarantees = vec![bench.guarantee(&claim(number), (number % 2) as u16, slot)];
        bench.grow(slot, &Ingredients { guarantees, assurances: vec![] });
        slot += 1 + u32::from(number % 5 == 0);
        let assurances = bench.assurances(1 << (number % 2));
        let hash = bench.grow(slot, &Ingredients { guarantees: vec![], assurances });
        assert_eq!(bench.service(hash).head(), claim(number).last);
    }
    let mut blocks =
        bench.tree.up(bench.tree.best().hash).map(|node| Block::clone(&node.block)).collect::<Vec<_>>();
    blocks.reverse();
    (bench, blocks)
}

#[test]
fn blocks_come_back_byte_by_byte_from_the_reference() {
    let (_, blocks) = busy_chain();
    jam_types::ProtocolParameters::tiny().apply().unwrap();
    for block in &blocks {
        let bytes = Encode::encode(block);
        let mut rest = &bytes[..];
        let reference = theirs::Block::decode(&mut rest).unwrap();
        assert!(rest.is_empty());
        assert_eq!(reference.encode(), bytes);
        assert_eq!(reference.header.hash().0, block.header.hash().0.0);
        assert_eq!(reference.extrinsic.hash().0, block.extrinsic.hash().0);
    }
    assert_eq!(blocks.len(), 38);
}

#[test]
fn a_follower_reproduces_the_state_of_the_authors() {
    use jam::follow::{Follower, Limits, Start};
    let (bench, blocks) = busy_chain();
    let spec = &bench.spec;
    let start = Start::from_state(&spec.params, spec.genesis_hash(), &spec.genesis_state).unwrap();
    let mut follower = Follower::new(spec.params, start, Limits::default());
    let mut service = ServiceState::new(HEAD);
    for block in &blocks[1..] {
        let hash = block.header.hash();
        let update = follower.import(block.clone());
        assert_eq!((update.refused, follower.view().head().hash), (vec![], hash));
        let entries = bench.tree.entries(hash).unwrap();
        // The roots that only the state tells must not contradict what was believed.
        let recent = state_part::<RecentBlocks>(entries, StateIndex::RecentBlocks, &spec.params).unwrap();
        follower.learn_roots(&recent);
        let node = bench.tree.get(hash).unwrap();
        let view = follower.view();
        assert_eq!(view.epoch(), &*node.state.epoch);
        for (core, pending) in (0..).zip(&node.state.pending) {
            let theirs = view.core(core).map(|occupied| (occupied.package, occupied.since_slot));
            assert_eq!(theirs, pending.as_ref().map(|waiting| (waiting.report.package(), waiting.slot)));
        }
        for (ours, told) in view.recent().zip(recent.blocks.iter().rev()) {
            assert_eq!((ours.hash, &*ours.reported), (told.hash, &told.reported));
            assert!(ours.state_root.is_none_or(|root| root == told.state_root));
        }
        for report in follower.accumulated(hash) {
            for digest in &report.report.digests {
                let claim = service::accumulate::claim_of(digest, genesis::SERVICE);
                service.apply(&claim.unwrap());
            }
        }
        assert_eq!(service, bench.service(hash));
    }
}

#[test]
fn a_state_comes_back_from_its_entries_with_the_same_root() {
    let (bench, _) = busy_chain();
    let node = bench.tree.best();
    let again = State::from_entries(&bench.spec.params, &node.entries).unwrap();
    assert_eq!(again.entries(), *node.entries);
    assert_eq!(jam::trie::root(&again.entries()), node.root);
    let next = bench.author_on(node.hash, node.slot() + 1, &Ingredients::default());
    assert_eq!(next.header.prior_state_root, node.root);
}

#[test]
fn what_is_wrong_with_a_block_is_said() {
    let mut bench = Bench::new();
    bench.grow(5, &Ingredients::default());
    let best = bench.tree.best().hash;
    let good = bench.author_on(best, 6, &Ingredients::default());
    let keys = bench.keys.iter().find(|keys| bench.tree.may_author(keys, best, 6)).unwrap();
    let other = bench.keys.iter().position(|keys| !bench.tree.may_author(keys, best, 6)).unwrap();
    let entropy = &bench.tree.best().state.turned_to(bench.tree.rules(), 6).state.entropy;
    let resealed = |change: &dyn Fn(&mut Block)| {
        let mut block = good.clone();
        change(&mut block);
        block.header = seal::seal(keys, entropy, block.header.unsealed).unwrap();
        block
    };
    let cases: [(Block, BlockRefusal); 8] = [
        (resealed(&|b| b.header.unsealed.slot = 5), BlockRefusal::Slot),
        (resealed(&|b| b.header.unsealed.prior_state_root = Hash::ZERO), BlockRefusal::StateRoot),
        (resealed(&|b| b.header.unsealed.extrinsic_hash = Hash::ZERO), BlockRefusal::Extrinsic),
        (resealed(&|b| b.header.unsealed.parent = HeaderHash::ZERO), BlockRefusal::Parent),
        (resealed(&|b| b.header.unsealed.author = other as u16), BlockRefusal::Author),
        (resealed(&|b| b.header.unsealed.author = 77), BlockRefusal::Author),
        (
            resealed(&|b| {
                b.header.unsealed.entropy_source = vrf::VrfSecret::trivial(9).sign(&[b"x"], b"").unwrap()
            }),
            BlockRefusal::EntropySource,
        ),
        (
            Block { header: jam::Header { seal: Default::default(), ..good.header.clone() }, ..good.clone() },
            BlockRefusal::Seal,
        ),
    ];
    for (block, refusal) in cases {
        assert_eq!(bench.tree.import(Arc::new(block)), Err(refusal));
    }
    assert_eq!(bench.tree.best().hash, best);
    let block = Block::decode(&Encode::encode(&good), &bench.spec.params).unwrap();
    assert_eq!(bench.tree.import(Arc::new(block)), Ok(Imported::Best));
}

#[test]
fn the_longer_branch_wins_and_two_thirds_make_it_final() {
    let mut bench = Bench::new();
    let base = bench.grow(5, &Ingredients::default());
    let lost = bench.grow(6, &Ingredients::default());
    let mut tip = base;
    for slot in [7, 8] {
        let block = bench.author_on(tip, slot, &Ingredients::default());
        tip = block.header.hash();
        bench.tree.import(Arc::new(block)).unwrap();
    }
    assert_eq!(bench.tree.best().hash, tip);
    let word = bench.tree.candidate(1).hash;
    for index in 0..4 {
        bench.tree.note_word(bench.keys[index].ed25519.public(), word);
        assert!(bench.tree.finalize().is_empty(), "four of six are not more than two thirds");
    }
    bench.tree.note_word(jam::Ed25519Secret::trivial(50).public(), word);
    assert!(bench.tree.finalize().is_empty(), "strangers have no word");
    bench.tree.note_word(bench.keys[4].ed25519.public(), tip);
    let became = bench.tree.finalize();
    assert_eq!(became.iter().map(|node| node.hash).collect::<Vec<_>>(), [base, word]);
    assert!(!bench.tree.contains(lost));
    assert!(bench.tree.entries(base).is_some() && bench.tree.block(base).is_some());
    assert_eq!(bench.tree.next(base).unwrap().header.hash(), word);
    assert!(bench.tree.is_ancestor(tip, 5, base));
    let late = bench.tree.block(base).unwrap().clone();
    assert_eq!(bench.tree.import(late), Ok(Imported::Known));
}
