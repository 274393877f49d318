//! What the state costs against the hashes that nobody can avoid.
//!
//! The state has a million accounts with a basic data and a code hash leaf each. The floor counts, from the sorted stems
//! alone, every node whose hash must be computed, and hashes as many messages of the same sizes, one after the other,
//! with the function that the tree uses. Ours may hash several side by side, so it can be below 1; the line before the
//! ratio says what the floor is if it does so too.

use super::{Ratio, cost, median_of_pairs};
use alloy_primitives::{Address, KECCAK256_EMPTY, U256};
use state::{
    AccountKeys, BasicData, Blake2b, Hasher, Key, Layer, MemoryValues, PartialTree, Stem, Tree, Value,
    Witness, Writes, witness::VerifyError,
};
use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
    time::Duration,
};

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "state-update", target: 1.5, measure: update },
    Ratio { name: "witness-verify", target: 2.0, measure: witness },
];

const ACCOUNTS: u64 = 1_000_000;
const WRITES: usize = 1_000;
const TRANSFERS: usize = 1_000;
const LAYERS: usize = 64;
const PAIRS: usize = 21;

struct Million {
    layer: Layer<Arc<MemoryValues>>,
    stems: Vec<Stem>,
}

static MILLION: LazyLock<Million> = LazyLock::new(million);

/// Every account has ether; the keys come in order.
fn million() -> Million {
    let before = resident_bytes();
    let basic = BasicData::new(0, 1, U256::from(10).pow(U256::from(18))).expect("an ether fits").encode();
    let mut stems = (0..ACCOUNTS).map(|i| *keys_of(i).basic_data().stem()).collect::<Vec<_>>();
    stems.sort_unstable();
    let leaves =
        || stems.iter().flat_map(|stem| [(Key::of(stem, 0), basic), (Key::of(stem, 1), KECCAK256_EMPTY)]);
    let own = resident_bytes() - before;
    let (spent, tree) = cost(|| Tree::<Blake2b>::default().extend(leaves()));
    let of_tree = resident_bytes() - before - own;
    let values = Arc::new(leaves().collect::<MemoryValues>());
    let of_values = resident_bytes() - before - own - of_tree;
    println!(
        "a million accounts: tree {} MB, values in memory {} MB; tree made from sorted values in {:.2} s of CPU",
        of_tree / 1_000_000,
        of_values / 1_000_000,
        spent.as_secs_f64()
    );
    Million { layer: Layer::new(values, tree, 0), stems }
}

fn keys_of(account: u64) -> AccountKeys<Blake2b> {
    AccountKeys::new(Address::left_padding_from(&account.to_be_bytes()))
}

/// A random sequence, always the same one.
pub(super) fn random(seed: u64) -> impl Iterator<Item = u64> {
    (0_u64..).map(move |i| {
        let mut message = [0; 16];
        message[..8].copy_from_slice(&seed.to_le_bytes());
        message[8..].copy_from_slice(&i.to_le_bytes());
        let hash = Blake2b::hash(&message);
        u64::from_le_bytes(*hash.first_chunk().expect("8 bytes are fewer than 32"))
    })
}

/// New basic data for random accounts.
fn writes(seed: u64) -> Writes {
    let mut writes = Writes::new();
    for n in random(seed) {
        if writes.len() == WRITES {
            break;
        }
        writes.insert(keys_of(n % ACCOUNTS).basic_data(), Value::from(U256::from(n)));
    }
    writes
}

/// The memory that this process has now.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0);
    pages * rustix::param::page_size()
}

/// Hashes that cannot be avoided, by the size of their message: a leaf has 33 bytes, an inner node and a stem 65.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unavoidable {
    leaves: usize,
    below_stems: usize,
    stems: usize,
    inner: usize,
}

impl Unavoidable {
    /// For some stems of the state, each with so many of its leaves 0 and 1: the root of the eight levels is eight
    /// hashes away from both, the stem is one, and above it is each inner node on the way, once.
    pub(super) fn count(all: &[Stem], some: &BTreeSet<Stem>, leaves_each: usize) -> Self {
        let leaves = some.len() * leaves_each;
        Self { leaves, ..Self::above(all, some) }
    }

    /// For some leaves of the state, wherever they are.
    pub(super) fn of_keys<'a>(all: &[Stem], keys: impl Iterator<Item = &'a Key> + Clone) -> Self {
        Self { leaves: keys.clone().count(), ..Self::above(all, &stems_of(keys)) }
    }

    fn above(all: &[Stem], some: &BTreeSet<Stem>) -> Self {
        let mut inner = BTreeSet::new();
        for stem in some {
            for depth in 0..depth_of(all, stem) {
                inner.insert((depth, prefix(stem, depth)));
            }
        }
        let stems = some.len();
        Self { leaves: 0, below_stems: stems * 8, stems, inner: inner.len() }
    }

    fn long(&self) -> usize {
        self.below_stems + self.stems + self.inner
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            leaves: self.leaves + other.leaves,
            below_stems: self.below_stems + other.below_stems,
            stems: self.stems + other.stems,
            inner: self.inner + other.inner,
        }
    }

    /// The CPU time of so many hashes, one after the other.
    pub(super) fn cost(&self) -> Duration {
        let hash_all = |n: usize, message: &mut [u8]| {
            for i in 0..n {
                message[..8].copy_from_slice(&i.to_le_bytes());
                std::hint::black_box(Blake2b::hash(std::hint::black_box(message)));
            }
        };
        cost(|| {
            hash_all(self.leaves, &mut [1; 33]);
            hash_all(self.long(), &mut [1; 65]);
        })
        .0
    }

    /// The same, sixteen at a time, which lets the CPU use wide registers.
    fn cost_side_by_side(&self) -> Duration {
        let messages = [[1; 65]; 16];
        let mut hashes = [Value::ZERO; 16];
        let mut hash_all = |n: usize, size: usize| {
            let slices = messages.each_ref().map(|message| &message[..size]);
            for _ in 0..n.div_ceil(16) {
                Blake2b::hash_many(std::hint::black_box(&slices), &mut hashes);
                std::hint::black_box(&hashes);
            }
        };
        cost(|| {
            hash_all(self.leaves, 33);
            hash_all(self.long(), 65);
        })
        .0
    }
}

/// A stem stands where no other shares its bits: one below the longest prefix that it shares with a neighbour.
fn depth_of(all: &[Stem], stem: &Stem) -> usize {
    let at = all.partition_point(|other| other < stem);
    let neighbours = [at.checked_sub(1), Some(at + usize::from(all.get(at) == Some(stem)))];
    let shared =
        neighbours.iter().flatten().filter_map(|i| all.get(*i)).map(|other| shared_bits(stem, other));
    shared.max().map_or(0, |bits| bits + 1)
}

fn shared_bits(a: &Stem, b: &Stem) -> usize {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    same * 8 + a.get(same).map_or(0, |byte| (byte ^ b[same]).leading_zeros() as usize)
}

fn prefix(stem: &Stem, depth: usize) -> u64 {
    let first = u64::from_be_bytes(*stem.first_chunk().expect("8 bytes are fewer than 31"));
    first.checked_shr(64 - depth as u32).unwrap_or(0)
}

fn stems_of<'a>(keys: impl Iterator<Item = &'a Key>) -> BTreeSet<Stem> {
    keys.map(|key| *key.stem()).collect()
}

/// Milliseconds of one turn.
fn mean(total: Duration) -> f64 {
    total.as_secs_f64() * 1e3 / (PAIRS + 1) as f64
}

/// Updating 1,000 random keys, with the root.
fn update() -> f64 {
    let Million { layer, stems } = &*MILLION;
    let updates = (1..=PAIRS as u64 + 1)
        .map(|seed| {
            let writes = writes(seed);
            let hashes = Unavoidable::count(stems, &stems_of(writes.keys()), 1);
            (writes, hashes)
        })
        .collect::<Vec<_>>();
    println!("update of {WRITES} keys: hashes {:?}", updates[0].1);
    let (mut turns, mut floor_turns) = (updates.iter(), updates.iter());
    let (mut ours, mut floors) = (Duration::ZERO, [Duration::ZERO; 2]);
    let ratio = median_of_pairs(
        PAIRS,
        || {
            let (writes, _) = turns.next().expect("one for each turn");
            let (spent, tree) = cost(|| layer.tree().update(writes));
            assert_ne!(tree.root(), layer.root());
            ours += spent;
            spent
        },
        || {
            let (_, hashes) = floor_turns.next().expect("one for each turn");
            let one_by_one = hashes.cost();
            floors = [floors[0] + one_by_one, floors[1] + hashes.cost_side_by_side()];
            one_by_one
        },
    );
    let [ours, one_by_one, side_by_side] = [ours, floors[0], floors[1]].map(mean);
    println!("update {ours:.2} ms; floor {one_by_one:.2} ms one by one, {side_by_side:.2} ms side by side");
    layers(layer);
    ratio
}

fn layers(base: &Layer<Arc<MemoryValues>>) {
    let before = resident_bytes();
    let mut chain = vec![base.clone()];
    for seed in 0..LAYERS as u64 {
        chain.push(chain[chain.len() - 1].child(&writes(1_000_000 + seed)));
    }
    let grown = resident_bytes() - before;
    println!(
        "{LAYERS} layers of {WRITES} writes: {} MB, {} bytes per write",
        grown / 1_000_000,
        grown / LAYERS / WRITES
    );
}

/// Verifying the witness of 1,000 transfers and computing the root after them.
fn witness() -> f64 {
    let Million { layer, stems } = &*MILLION;
    let transfers = (1..=PAIRS as u64 + 1).map(|seed| Transfers::new(layer, stems, seed)).collect::<Vec<_>>();
    let bytes = transfers.iter().map(|t| t.witness.len()).sum::<usize>() / transfers.len();
    println!(
        "witness of {TRANSFERS} transfers: {bytes} bytes, {} per transfer; hashes {:?}",
        bytes / TRANSFERS,
        transfers[0].hashes
    );
    let (mut turns, mut floor_turns) = (transfers.iter(), transfers.iter());
    let (mut ours, mut floors) = ([Duration::ZERO; 2], [Duration::ZERO; 2]);
    let ratio = median_of_pairs(
        PAIRS,
        || {
            let transfers = turns.next().expect("one for each turn");
            let (verify, partial) = cost(|| transfers.verify());
            let mut partial = partial.expect("the witness was made for this root");
            let (update, root) = cost(|| partial.update(&transfers.writes));
            assert_eq!(root, Ok(transfers.post_root));
            ours = [ours[0] + verify, ours[1] + update];
            verify + update
        },
        || {
            let hashes = floor_turns.next().expect("one for each turn").hashes;
            let one_by_one = hashes.cost();
            floors = [floors[0] + one_by_one, floors[1] + hashes.cost_side_by_side()];
            one_by_one
        },
    );
    let [verify, update, one_by_one, side_by_side] = [ours[0], ours[1], floors[0], floors[1]].map(mean);
    println!(
        "verify {verify:.2} ms, root after {update:.2} ms; \
         floor {one_by_one:.2} ms one by one, {side_by_side:.2} ms side by side"
    );
    ratio
}

/// Transfers between random accounts that exist, as a validator gets them.
struct Transfers {
    pre_root: Value,
    post_root: Value,
    witness: Vec<u8>,
    writes: Writes,
    hashes: Unavoidable,
}

impl Transfers {
    fn new(layer: &Layer<Arc<MemoryValues>>, stems: &[Stem], seed: u64) -> Self {
        let accounts =
            random(seed << 32).take(2 * TRANSFERS).map(|n| keys_of(n % ACCOUNTS)).collect::<Vec<_>>();
        let touched = accounts.iter().flat_map(|keys| [keys.basic_data(), keys.code_hash()]).collect();
        let changed = accounts.iter().map(|keys| (keys.basic_data(), Value::repeat_byte(seed as u8)));
        let writes = changed.collect::<Writes>();
        let some = stems_of(writes.keys());
        // To verify takes both leaves of every account; after the writes one of them is new, and all that is above.
        let hashes = Unavoidable::count(stems, &some, 2).plus(Unavoidable::count(stems, &some, 1));
        let witness = layer.witness(&touched).expect("values in memory").encode();
        Self {
            pre_root: layer.root(),
            post_root: layer.tree().update(&writes).root(),
            witness,
            writes,
            hashes,
        }
    }

    fn verify(&self) -> Result<PartialTree, VerifyError> {
        Witness::decode(&self.witness).expect("it was just made").verify(self.pre_root)
    }
}
