//! Where things live in the tree.
//!
//! A key is a stem of 31 bytes, which is a path through the tree, and a sub-index, which is one of the 256 leaves below
//! the stem. An account's basic data, code hash, first 64 slots and first 128 code chunks share one stem.

use crate::hash::Hasher;
use alloy_primitives::{Address, U256};
use core::{cmp::Ordering, fmt, marker::PhantomData};

/// The path to a group of 256 leaves.
pub type Stem = [u8; 31];

/// The depth of the deepest stem.
pub const STEM_BITS: usize = 248;

const BASIC_DATA: u8 = 0;
const CODE_HASH: u8 = 1;
const HEADER_SLOTS: u8 = 64;
const HEADER_CHUNKS: u8 = 128;
const _: () = assert!(CODE_HASH < HEADER_SLOTS && HEADER_SLOTS < HEADER_CHUNKS);

/// A place for one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// The order of the bytes. Sorted keys are everywhere, and to compare them as two numbers is quicker than byte by byte, but not in
/// JAM's virtual machine, where numbers would be read byte by byte and `memcmp` reads words.
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if cfg!(feature = "std") { self.halves().cmp(&other.halves()) } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    /// A key from its 32 bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of a leaf below a stem.
    pub fn of(stem: &Stem, sub: u8) -> Self {
        let mut bytes = [sub; 32];
        bytes[..31].copy_from_slice(stem);
        Self(bytes)
    }

    /// The first 31 bytes.
    pub fn stem(&self) -> &Stem {
        self.0.first_chunk().expect("31 bytes are fewer than 32")
    }

    /// The last byte.
    pub const fn sub(&self) -> u8 {
        self.0[31]
    }

    fn halves(&self) -> [u128; 2] {
        let half = |at: usize| *self.0[at..].first_chunk().expect("there are 16 bytes from 0 and from 16");
        [0, 16].map(|at| u128::from_be_bytes(half(at)))
    }

    /// All 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Whether a stem goes right at a depth.
pub(crate) fn goes_right(stem: &Stem, depth: usize) -> bool {
    stem[depth / 8] >> (7 - depth % 8) & 1 == 1
}

/// The keys of one account; its first stem, which most of them share, is computed once.
pub struct AccountKeys<H> {
    address: Address,
    header: Stem,
    hasher: PhantomData<fn() -> H>,
}

impl<H> Clone for AccountKeys<H> {
    fn clone(&self) -> Self {
        Self { address: self.address, header: self.header, hasher: PhantomData }
    }
}

impl<H> fmt::Debug for AccountKeys<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AccountKeys").field(&self.address).finish()
    }
}

impl<H: Hasher> AccountKeys<H> {
    /// The keys of the account at an address.
    pub fn new(address: Address) -> Self {
        Self { address, header: stem::<H>(address, U256::ZERO), hasher: PhantomData }
    }

    /// The key of [`BasicData`](crate::BasicData).
    pub fn basic_data(&self) -> Key {
        Key::of(&self.header, BASIC_DATA)
    }

    /// The key of the code's keccak hash.
    pub fn code_hash(&self) -> Key {
        Key::of(&self.header, CODE_HASH)
    }

    /// The key of a chunk of the code.
    pub fn chunk(&self, index: u32) -> Key {
        let position = u64::from(HEADER_CHUNKS) + u64::from(index);
        self.at(U256::from(position / 256), (position % 256) as u8)
    }

    /// The keys of the first `count` chunks of the code, in order; every stem is computed once.
    pub fn chunks(&self, count: u32) -> impl Iterator<Item = Key> {
        let mut last = self.chunk(0);
        (0..count).map(move |index| {
            let sub = ((u64::from(HEADER_CHUNKS) + u64::from(index)) % 256) as u8;
            last = if sub == 0 { self.chunk(index) } else { Key::of(last.stem(), sub) };
            last
        })
    }

    /// The key of a storage slot.
    pub fn slot(&self, slot: U256) -> Key {
        if slot < U256::from(HEADER_CHUNKS - HEADER_SLOTS) {
            return Key::of(&self.header, HEADER_SLOTS + slot.byte(0));
        }
        // Main storage begins at 256^31. The sum may need 257 bits, its upper part never does: so shift, then add.
        self.at((slot >> 8) + (U256::from(1) << 240), slot.byte(0))
    }

    fn at(&self, tree_index: U256, sub: u8) -> Key {
        if tree_index.is_zero() {
            return Key::of(&self.header, sub);
        }
        Key::of(&stem::<H>(self.address, tree_index), sub)
    }
}

fn stem<H: Hasher>(address: Address, tree_index: U256) -> Stem {
    let mut message = [0; 64];
    message[12..32].copy_from_slice(address.as_slice());
    message[32..].copy_from_slice(&tree_index.to_be_bytes::<32>());
    *H::position(&message).first_chunk().expect("31 bytes are fewer than 32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Blake2b;
    use alloc::vec::Vec;

    #[test]
    fn header_slots_and_chunks_share_the_stem_and_others_do_not() {
        let keys = AccountKeys::<Blake2b>::new(Address::repeat_byte(7));
        let header = *keys.basic_data().stem();
        assert_eq!((*keys.slot(U256::from(63)).stem(), keys.slot(U256::from(63)).sub()), (header, 127));
        assert_eq!((*keys.chunk(127).stem(), keys.chunk(127).sub()), (header, 255));
        assert_ne!(*keys.slot(U256::from(64)).stem(), header);
        assert_ne!(*keys.chunk(128).stem(), header);
        assert_eq!(keys.slot(U256::from(64)).sub(), 64);
    }

    #[test]
    fn slots_whose_position_has_257_bits_do_not_wrap_into_the_header() {
        let keys = AccountKeys::<Blake2b>::new(Address::repeat_byte(7));
        let wrapping = U256::from(0xff) << 248;
        assert_ne!(keys.slot(wrapping).stem(), keys.basic_data().stem());
        assert_ne!(keys.slot(U256::MAX), keys.slot(U256::MAX >> 8));
    }

    #[test]
    fn chunk_keys_in_a_row_are_those_one_by_one() {
        let keys = AccountKeys::<Blake2b>::new(Address::repeat_byte(9));
        let row = keys.chunks(800).collect::<Vec<_>>();
        assert!(row.iter().enumerate().all(|(i, key)| *key == keys.chunk(i as u32)));
    }

    #[test]
    fn keys_are_in_the_order_of_their_bytes() {
        for at in 0..32 {
            let mut bytes = [7; 32];
            bytes[at..].fill(0);
            bytes[at] = 200;
            assert!(Key::new([7; 32]) < Key::new(bytes), "{at}");
        }
        assert!(Key::new([7; 32]) >= Key::new([7; 32]));
    }

    #[test]
    fn bits_are_read_from_the_top() {
        let mut stem = [0; 31];
        stem[0] = 0b1000_0001;
        stem[30] = 1;
        let set = (0..STEM_BITS).filter(|&depth| goes_right(&stem, depth)).collect::<Vec<_>>();
        assert_eq!(set, [0, 7, 247]);
    }
}
