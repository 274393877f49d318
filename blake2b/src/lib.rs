//! BLAKE2b of a few words, for programs in which each instruction costs gas.
//!
//! A general hasher copies its input into a buffer, counts its bytes and fits its loops to any length. In the PVM that costs
//! half as much again as the rounds themselves. Here the input is words that the caller has anyway:
//!
//! - [`one_block`] hashes up to 128 bytes in one compression, for instance a node of a tree (a tag and two hashes: 65
//!   bytes). Its length is a constant, so words that are zero are left out of the rounds.
//! - [`Hasher`] takes any number of words, for transcripts.
//! - [`words`] makes words of bytes and bytes of words, which takes more than hashing if it is done byte by byte.
//!
//! The results are those of standard BLAKE2b (RFC 7693), unkeyed; tests compare them with `blake2b_simd`. Natively
//! `blake2b_simd` is faster.

#![no_std]

#[cfg(test)]
mod tests;
pub mod words;

/// What the state begins with: the square roots of the first primes.
const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// In which order each round takes the words of a block. The eleventh and twelfth rounds begin again.
const ORDER: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The state before the first block, for so many bytes of hash.
const fn initial(hash_bytes: u64) -> [u64; 8] {
    let mut state = START;
    state[0] ^= 0x0101_0000 ^ hash_bytes;
    state
}

#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}

/// One round, by a constant order, so that the compiler sees which word goes where (and which one is zero).
#[inline(always)]
fn round<const R: usize>(v: &mut [u64; 16], m: &[u64; 16]) {
    let o = const { &ORDER[R % 10] };
    mix(v, [0, 4, 8, 12], m[o[0]], m[o[1]]);
    mix(v, [1, 5, 9, 13], m[o[2]], m[o[3]]);
    mix(v, [2, 6, 10, 14], m[o[4]], m[o[5]]);
    mix(v, [3, 7, 11, 15], m[o[6]], m[o[7]]);
    mix(v, [0, 5, 10, 15], m[o[8]], m[o[9]]);
    mix(v, [1, 6, 11, 12], m[o[10]], m[o[11]]);
    mix(v, [2, 7, 8, 13], m[o[12]], m[o[13]]);
    mix(v, [3, 4, 9, 14], m[o[14]], m[o[15]]);
}

/// The state after a block, of which `bytes` and all before it are `total`.
#[inline(always)]
fn compress(state: &[u64; 8], m: &[u64; 16], total: u64, last: bool) -> [u64; 8] {
    let mut v = [0; 16];
    v[..8].copy_from_slice(state);
    v[8..].copy_from_slice(&START);
    v[12] ^= total;
    if last {
        v[14] = !v[14];
    }
    round::<0>(&mut v, m);
    round::<1>(&mut v, m);
    round::<2>(&mut v, m);
    round::<3>(&mut v, m);
    round::<4>(&mut v, m);
    round::<5>(&mut v, m);
    round::<6>(&mut v, m);
    round::<7>(&mut v, m);
    round::<8>(&mut v, m);
    round::<9>(&mut v, m);
    round::<10>(&mut v, m);
    round::<11>(&mut v, m);
    core::array::from_fn(|at| state[at] ^ v[at] ^ v[at + 8])
}

/// BLAKE2b-256 of the first `BYTES` bytes of these words (little-endian), at most 128. Bytes of the last word beyond
/// `BYTES` must be zero; the result is otherwise the hash of nothing that exists.
///
/// Not inlined: it is thousands of instructions, once for each number of words.
#[inline(never)]
pub fn one_block<const WORDS: usize, const BYTES: usize>(words: &[u64; WORDS]) -> [u64; 4] {
    const { assert!(WORDS <= 16 && WORDS * 8 >= BYTES && WORDS * 8 < BYTES + 8) };
    let mut block = [0; 16];
    block[..WORDS].copy_from_slice(words);
    let state = compress(&const { initial(32) }, &block, BYTES as u64, true);
    core::array::from_fn(|at| state[at])
}

/// 64 bytes of BLAKE2b-512 of at most sixteen words; meant for making numbers out of a seed and a counter.
#[inline(never)]
pub fn expand<const WORDS: usize>(words: &[u64; WORDS]) -> [u64; 8] {
    const { assert!(WORDS <= 16) };
    let mut block = [0; 16];
    block[..WORDS].copy_from_slice(words);
    compress(&const { initial(64) }, &block, WORDS as u64 * 8, true)
}

/// BLAKE2b-256 of words, one after the other.
#[derive(Clone, Debug)]
pub struct Hasher {
    state: [u64; 8],
    block: [u64; 16],
    filled: usize,
    compressed: u64,
}

impl Default for Hasher {
    fn default() -> Self {
        Self { state: const { initial(32) }, block: [0; 16], filled: 0, compressed: 0 }
    }
}

impl Hasher {
    /// Takes more words.
    #[inline]
    pub fn update(&mut self, words: &[u64]) {
        for word in words {
            // A full block waits for a word behind it, since the last block is compressed differently.
            if self.filled == self.block.len() {
                self.block();
            }
            self.block[self.filled] = *word;
            self.filled += 1;
        }
    }

    #[inline(never)]
    fn block(&mut self) {
        self.compressed += 128;
        self.state = compress(&self.state, &self.block, self.compressed, false);
        self.filled = 0;
    }

    /// The hash of all words.
    pub fn finish(mut self) -> [u64; 4] {
        self.block[self.filled..].fill(0);
        let total = self.compressed + self.filled as u64 * 8;
        let state = compress(&self.state, &self.block, total, true);
        core::array::from_fn(|at| state[at])
    }
}
