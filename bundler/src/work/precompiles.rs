//! What a precompile has to do, by its input.

use super::{Feature, Work};
use alloy_primitives::{Address, U256};

/// Bytes of a word.
const WORD: usize = 32;

/// Bytes that 0x09 takes.
const BLAKE2F_BYTES: usize = 213;

/// Counts a call of a precompile that had enough gas.
pub(super) fn count(work: &mut Work, address: Address, input: &[u8], output: &[u8]) {
    work.add(Feature::Precompiles, 1);
    let [rest @ .., high, low] = address.0.0;
    if rest != [0; 18] {
        return;
    }
    // Merkle–Damgård padding: a bit and the length.
    let hashed_blocks = (input.len() + 9).div_ceil(64);
    match u16::from_be_bytes([high, low]) {
        0x01 if output.is_empty() => work.add(Feature::EcRecoverNone, 1),
        0x01 => work.add(Feature::EcRecover, 1),
        0x02 => work.add(Feature::Sha256Blocks, hashed_blocks),
        0x03 => work.add(Feature::RipemdBlocks, hashed_blocks),
        0x04 => work.add(Feature::IdentityWords, input.len().div_ceil(WORD)),
        0x05 => modexp(work, input),
        0x06 => work.add(Feature::Bn254Add, 1),
        0x07 => work.add(Feature::Bn254Mul, 1),
        0x08 => many(work, Feature::Bn254Pairing, Feature::Bn254Pairs, input.len() / 192),
        0x09 => {
            let rounds = input.first_chunk().filter(|_| input.len() == BLAKE2F_BYTES);
            let rounds = rounds.map_or(0, |rounds| u32::from_be_bytes(*rounds));
            many(work, Feature::Blake2f, Feature::Blake2fRounds, rounds as usize);
        }
        0x0a => work.add(Feature::KzgPoint, 1),
        0x0b => work.add(Feature::BlsG1Add, 1),
        0x0c => many(work, Feature::BlsG1Msm, Feature::BlsG1MsmPoints, input.len() / 160),
        0x0d => work.add(Feature::BlsG2Add, 1),
        0x0e => many(work, Feature::BlsG2Msm, Feature::BlsG2MsmPoints, input.len() / 288),
        0x0f => many(work, Feature::BlsPairing, Feature::BlsPairs, input.len() / 384),
        0x10 => work.add(Feature::BlsMapFp, 1),
        0x11 => work.add(Feature::BlsMapFp2, 1),
        0x100 => work.add(Feature::P256Verify, 1),
        _ => {}
    }
}

fn many(work: &mut Work, once: Feature, each: Feature, count: usize) {
    work.add(once, 1);
    work.add(each, count);
}

/// `length of base | length of exponent | length of modulus | base | exponent | modulus`, with zeros behind the input. The precompile
/// takes no longer ones than 1,024 bytes (EIP-7823).
fn modexp(work: &mut Work, input: &[u8]) {
    let at = |from: usize, len: usize| {
        let from = from.min(input.len());
        &input[from..from.saturating_add(len).min(input.len())]
    };
    let length = |index: usize| {
        let mut bytes = [0; WORD];
        let given = at(index * WORD, WORD);
        bytes[..given.len()].copy_from_slice(given);
        U256::from_be_bytes(bytes).saturating_to::<usize>().min(1024)
    };
    let [base, exponent, modulus] = [0, 1, 2].map(length);
    work.add(Feature::ModExp, 1);
    work.add(Feature::ModExpBytes, base + exponent + modulus);
    let exponent_bytes = at(3 * WORD + base, exponent);
    let leading = exponent_bytes.iter().take_while(|byte| **byte == 0).count();
    let bits = exponent_bytes
        .get(leading)
        .map_or(0, |first| (exponent - leading) * 8 - first.leading_zeros() as usize);
    let modulus_bytes = at(3 * WORD + base + exponent, modulus);
    let used = modulus - modulus_bytes.iter().take_while(|byte| **byte == 0).count().min(modulus);
    let is_odd = modulus_bytes.len() == modulus && modulus_bytes.last().is_some_and(|last| last & 1 == 1);
    let words = used.max(base.min(modulus)).div_ceil(8);
    let (linear, square) = match is_odd {
        true => (Feature::ModExpWords, Feature::ModExpSquares),
        false => (Feature::ModExpEvenWords, Feature::ModExpEvenSquares),
    };
    work.add(linear, (bits + 1) * words);
    work.add(square, (bits + 1) * words * words);
}
