//! The hashes of new nodes, named before they are known.
//!
//! A change to the tree names its new nodes bottom-up: each is the hash of two halves, and a half is a hash that is
//! known or one that an earlier job gives. There are two plans with one interface:
//!
//! - With `std` a plan gathers jobs and hashes independent ones side by side (`lanes`), which takes about a third of the time on a CPU with
//!   wide registers.
//! - In JAM's virtual machine, which has none, each job is hashed at once (`eager`): to keep jobs for later would cost gas.

#[cfg(any(test, not(feature = "std")))]
mod eager;
#[cfg(feature = "std")]
mod lanes;

#[cfg(not(feature = "std"))]
pub(crate) use eager::Plan;
#[cfg(feature = "std")]
pub(crate) use lanes::Plan;

use crate::{
    hash::{Hash, Hasher},
    key::{Key, Stem},
};
use blake2b::words::is_zero;

/// A hash that is known, or the job that gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ref<'a> {
    Known(&'a Hash),
    Job(JobId),
}

/// A job, by its level and its place in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobId {
    level: u32,
    index: u32,
}

impl Ref<'_> {
    pub(crate) const EMPTY: Self = Self::Known(&Hash::ZERO);

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Ref::Known(hash) if is_zero(hash))
    }
}

/// The tags of the three kinds of nodes.
const LEAF: u8 = 0;
const INNER: u8 = 1;
const STEM: u8 = 2;

/// The hash of two nodes, at once.
pub(crate) fn inner<H: Hasher>(left: &Hash, right: &Hash) -> Hash {
    if is_zero(left) && is_zero(right) {
        return Hash::ZERO;
    }
    H::node(INNER, left, right)
}

/// A stem as the half of a node.
fn half_of(stem: &Stem) -> Hash {
    Hash::from(*Key::of(stem, 0).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Blake2b, Value};

    /// The same with each kind of plan.
    macro_rules! with_each_plan {
        ($($name:ident => $test:ident),*) => {$(
            #[cfg(feature = "std")]
            #[test]
            fn $name() {
                $test!(lanes::Plan);
                $test!(eager::Plan);
            }
        )*};
    }

    macro_rules! chained {
        ($plan:path) => {{
            use $plan as Plan;
            let mut plan = Plan::<Blake2b>::new();
            let leaf = plan.leaf(&Value::repeat_byte(1));
            let mut chain = leaf;
            for _ in 0..40 {
                chain = plan.inner(leaf, chain);
            }
            let stem = plan.stem(&[7; 31], chain);
            plan.run();
            let mut message = alloc::vec![0];
            message.extend([1; 32]);
            let mut hash = Blake2b::hash(&message);
            assert_eq!(plan.resolve(leaf), hash);
            for _ in 0..40 {
                hash = inner::<Blake2b>(&plan.resolve(leaf), &hash);
            }
            let mut message = alloc::vec![2];
            message.extend([7; 31]);
            message.push(0);
            message.extend(hash);
            assert_eq!(plan.resolve(stem), Blake2b::hash(&message));
            assert_eq!(plan.len(), 42);
            plan.clear();
            assert_eq!(plan.len(), 0);
        }};
    }

    macro_rules! empty {
        ($plan:path) => {{
            use $plan as Plan;
            let mut plan = Plan::<Blake2b>::new();
            assert!(plan.inner(Ref::EMPTY, Ref::EMPTY).is_empty());
            assert_eq!(plan.len(), 0);
        }};
    }

    with_each_plan! {
        jobs_see_the_results_of_earlier_ones_whatever_their_level => chained,
        two_empty_nodes_are_empty_and_take_no_hash => empty
    }

    #[test]
    fn two_empty_hashes_are_empty() {
        assert_eq!(inner::<Blake2b>(&Hash::ZERO, &Hash::ZERO), Hash::ZERO);
    }
}
