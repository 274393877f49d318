//! Programs that do one thing many times.

use super::inputs::{self, Input};
use alloy_primitives::{Address, Bytes, U256};
use harness::rng::Rng;

/// Something to do again and again: instructions that leave the stack as it was. The counter of the loop is on top of the stack.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) code: Vec<u8>,
    /// What is in memory, from 0 on.
    pub(super) memory: Vec<u8>,
    /// Roughly what doing it once costs in gas of JAM's machine; how often it is done follows from that.
    pub(super) weight: u64,
    /// Gas of the EVM for doing it once, at most.
    pub(super) evm: u64,
}

/// Who is called by bodies that call.
pub(super) const STOPS: Address = Address::repeat_byte(0xe1);
/// Returns as many bytes as its calldata has, and 1,024 bytes if there is none.
pub(super) const RETURNS: Address = Address::repeat_byte(0xe2);
/// Calls itself until its gas is spent.
pub(super) const DEEP: Address = Address::repeat_byte(0xe3);
pub(super) const RETURNS_CODE: &[u8] = &[0x36, 0x61, 4, 0, 0x17, 0x5f, 0xf3];
pub(super) const DEEP_CODE: &[u8] =
    &[0x5f, 0x5f, 0x5f, 0x5f, 0x5f, 0x30, 0x61, 0x0b, 0xb8, 0x5a, 0x03, 0xf1, 0x50, 0x00];

/// The program, for a contract: `input` is the number of rounds (a word), and then what is to be in memory.
pub(super) fn looped(codes: &[&[u8]]) -> Vec<u8> {
    // CALLDATACOPY(0, 32, CALLDATASIZE - 32), the counter, JUMPDEST
    let mut out = vec![0x60, 32, 0x36, 0x03, 0x60, 32, 0x5f, 0x37, 0x5f, 0x35, 0x5b];
    let start = out.len() - 1;
    codes.iter().for_each(|code| out.extend_from_slice(code));
    // One less; again unless it is zero.
    out.extend([0x60, 1, 0x90, 0x03, 0x80, 0x61, 0, start as u8, 0x57, 0x00]);
    out
}

/// The calldata for some rounds.
pub(super) fn calldata(rounds: u64, memory: &[u8]) -> Bytes {
    [&U256::from(rounds).to_be_bytes::<32>()[..], memory].concat().into()
}

fn push(value: U256) -> Vec<u8> {
    let bytes = value.to_be_bytes_trimmed_vec();
    [vec![0x5f + bytes.len() as u8], bytes].concat()
}

fn number(value: u64) -> Vec<u8> {
    push(U256::from(value))
}

fn body(times: usize, code: &[u8], weight: u64, evm: u64) -> Body {
    let times = times.max(1);
    Body {
        code: code.repeat(times),
        memory: vec![],
        weight: weight * times as u64,
        evm: evm * times as u64 + 40,
    }
}

/// A number with so many limbs.
fn limbs(rng: &mut Rng, limbs: usize) -> U256 {
    let number = U256::from_limbs([rng.bits(), rng.bits(), rng.bits(), rng.bits()]);
    number >> (256 - 64 * limbs)
}

/// One opcode with operands of any size.
fn arithmetic(rng: &mut Rng, bodies: &mut Vec<Body>) {
    let mut operate = |opcode: u8, operands: &[U256], weight: u64, evm: u64| {
        // The last one pushed is the first operand.
        let mut code = operands.iter().rev().flat_map(|operand| push(*operand)).collect::<Vec<_>>();
        code.extend([opcode, 0x50]);
        bodies.push(body(8, &code, weight, evm));
    };
    for opcode in [0x01, 0x02, 0x03, 0x0b, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a] {
        operate(opcode, &[limbs(rng, 4), limbs(rng, 4)], 120, 20);
        operate(opcode, &[U256::from(rng.below(31)), limbs(rng, 4)], 120, 20);
    }
    for opcode in [0x1b, 0x1c, 0x1d, 0x0b, 0x1a] {
        operate(opcode, &[U256::from(rng.below(256)), limbs(rng, 4)], 150, 20);
    }
    for opcode in [0x15, 0x19, 0x1e] {
        operate(opcode, &[limbs(rng, 4)], 80, 20);
        operate(opcode, &[limbs(rng, 1)], 80, 20);
    }
    for opcode in [0x04, 0x05, 0x06, 0x07] {
        for [above, below] in [[1, 1], [4, 1], [2, 2], [4, 2], [3, 3], [4, 3], [4, 4], [2, 4]] {
            operate(opcode, &[limbs(rng, above), limbs(rng, below)], 500, 20);
        }
        operate(opcode, &[limbs(rng, 4), U256::ZERO], 100, 20);
    }
    for opcode in [0x08, 0x09] {
        for below in [1, 2, 3, 4] {
            operate(opcode, &[limbs(rng, 4), limbs(rng, 4), limbs(rng, below)], 900, 30);
            operate(opcode, &[limbs(rng, 2), limbs(rng, 1), limbs(rng, below)], 600, 30);
        }
    }
    for bits in [0_usize, 1, 8, 64, 255] {
        operate(
            0x0a,
            &[limbs(rng, 4), U256::MAX >> (256 - bits)],
            200 + 150 * bits as u64,
            30 + 7 * bits as u64,
        );
        operate(0x0a, &[limbs(rng, 4), U256::ONE << bits], 200 + 80 * bits as u64, 1700);
    }
}

/// Opcodes that push, and those that move what is on the stack.
fn stack(bodies: &mut Vec<Body>) {
    let environment =
        (0x30..=0x3f).filter(|at| ![0x31, 0x35, 0x37, 0x39, 0x3b, 0x3c, 0x3e, 0x3f].contains(at));
    for opcode in environment.chain(0x41..=0x48).chain([0x4a, 0x58, 0x59, 0x5a, 0x5f]) {
        bodies.push(body(16, &[opcode, 0x50], 60, 10));
    }
    for size in 1..=32_u8 {
        let code = [&[0x5f + size][..], &vec![0xa7; size.into()], &[0x50]].concat();
        bodies.push(body(16, &code, 60, 6));
    }
    for at in 0..16_u8 {
        let fill = [0x5f; 17];
        let clear = [0x50; 17];
        let duplicate = [&fill[..], &[0x80 + at, 0x50].repeat(40), &clear].concat();
        bodies.push(body(1, &duplicate, 3000, 300));
        let swap = [&fill[..], &[0x90 + at].repeat(40), &clear].concat();
        bodies.push(body(1, &swap, 2500, 200));
    }
    bodies.push(body(16, &[0x5b], 23, 1));
    bodies.push(body(16, &[0x5f, 0x35, 0x50], 90, 8));
    // A jump over nothing: PUSH to the end, JUMP; the target depends on where the code begins, so PC says it.
    bodies.push(body(8, &[0x58, 0x60, 5, 0x01, 0x56, 0x5b], 150, 20));
    bodies.push(body(8, &[0x5f, 0x58, 0x60, 3, 0x01, 0x57], 150, 20));
    bodies.push(body(8, &[0x60, 1, 0x58, 0x60, 5, 0x01, 0x57, 0x5b], 150, 25));
}

fn memory(bodies: &mut Vec<Body>) {
    for offset in [0, 32, 65, 4000] {
        let at = number(offset);
        bodies.push(body(8, &[&at[..], &[0x51, 0x50]].concat(), 150, 15));
        bodies.push(body(8, &[&[0x5f][..], &at, &[0x52]].concat(), 150, 15));
        bodies.push(body(8, &[&[0x5f][..], &at, &[0x53]].concat(), 120, 15));
    }
    // Memory grows word by word, and by many at once.
    bodies.push(body(8, &[0x5f, 0x59, 0x52], 250, 30));
    bodies.push(body(2, &[0x5f, 0x59, 0x61, 3, 0xe0, 0x01, 0x52], 600, 400));
    for size in [0, 31, 32, 64, 200, 1000] {
        let len = number(size);
        let evm = 60 + size / 3;
        bodies.push(body(4, &[&len[..], &[0x5f, 0x20, 0x50]].concat(), 7000 + 50 * size, evm));
        for (opcode, from) in
            [(0x37, 0_u64), (0x37, 5), (0x39, 0), (0x39, 3), (0x5e, 0), (0x5e, 7), (0x37, 100_000)]
        {
            let code = [&len[..], &number(from), &[0x5f, opcode]].concat();
            bodies.push(body(4, &code, 200 + 2 * size, evm));
        }
        let code = [&len[..], &number(2), &[0x5f], &push(RETURNS.into_word().into()), &[0x3c]].concat();
        bodies.push(body(4, &code, 600 + 2 * size, 120 + evm));
        for topics in 0..=4_u8 {
            let code = [&vec![0x5f; topics.into()][..], &len, &[0x5f, 0xa0 + topics]].concat();
            bodies.push(body(1, &code, 20_000 + 70 * size, 2500 + 9 * size));
        }
    }
}

/// What reads and writes the state, at the same place or, by the counter, at another one in each round.
fn state(bodies: &mut Vec<Body>) {
    let place = |code: &[u8]| [&[0x80][..], code].concat();
    bodies.push(body(8, &[0x5f, 0x54, 0x50], 200, 110));
    bodies.push(body(1, &place(&[0x54, 0x50]), 60_000, 2200));
    bodies.push(body(1, &place(&[0x60, 6, 0x1b, 0x54, 0x50]), 90_000, 2200));
    bodies.push(body(4, &[0x5a, 0x5f, 0x55], 400, 3000));
    bodies.push(body(1, &place(&[0x80, 0x55]), 150_000, 22_200));
    bodies.push(body(1, &place(&[0x80, 0x60, 6, 0x1b, 0x55]), 250_000, 22_200));
    bodies.push(body(8, &[0x5f, 0x5c, 0x50], 300, 110));
    bodies.push(body(8, &[0x5a, 0x5f, 0x5d], 400, 110));
    bodies.push(body(4, &place(&[0x80, 0x5d]), 1000, 130));
    bodies.push(body(4, &place(&[0x5c, 0x50]), 500, 130));
    for opcode in [0x31, 0x3b, 0x3f] {
        let warm = [&push(STOPS.into_word().into())[..], &[opcode, 0x50]].concat();
        bodies.push(body(8, &warm, 300, 120));
        bodies.push(body(1, &place(&[0x60, 80, 0x1b, opcode, 0x50]), 120_000, 2700));
    }
    bodies.push(body(1, &[0x60, 1, 0x43, 0x03, 0x40, 0x50], 2000, 40));
}

/// A call with the memory from 0 as input.
fn calling(opcode: u8, to: Address, input: usize, output: usize, gas: u64) -> Vec<u8> {
    let mut code = [number(output as u64), number(4096), number(input as u64), vec![0x5f]].concat();
    if matches!(opcode, 0xf1 | 0xf2) {
        code.push(0x5f);
    }
    code.extend(push(to.into_word().into()));
    code.extend(number(gas));
    code.extend([opcode, 0x50]);
    code
}

fn calls(bodies: &mut Vec<Body>) {
    for opcode in [0xf1, 0xf2, 0xf4, 0xfa] {
        bodies.push(body(2, &calling(opcode, STOPS, 0, 0, 1000), 3000, 200));
        bodies.push(body(2, &calling(opcode, Address::repeat_byte(0x77), 0, 0, 1000), 2000, 200));
        for (input, output) in [(32, 32), (1000, 0), (0, 1024)] {
            bodies.push(body(2, &calling(opcode, RETURNS, input, output, 5000), 6000, 900));
        }
    }
    // With value, to the same account and to a new one in each round.
    let pay = |to: &[u8]| [&[0x5f, 0x5f, 0x5f, 0x5f, 0x60, 1][..], to, &[0x61, 8, 0, 0xf1, 0x50]].concat();
    bodies.push(body(1, &pay(&push(STOPS.into_word().into())), 4000, 9200));
    bodies.push(body(1, &pay(&[0x85, 0x60, 90, 0x1b]), 200_000, 37_000));
    bodies.push(body(1, &calling(0xf1, DEEP, 0, 0, 150_000), 150_000, 160_000));
    bodies.push(body(1, &calling(0xf1, DEEP, 0, 0, 3_000_000), 3_000_000, 3_050_000));
    // What a call returned, copied.
    let copied = [&calling(0xfa, RETURNS, 0, 0, 5000)[..], &[0x61, 4, 0, 0x5f, 0x5f, 0x3e]].concat();
    bodies.push(body(1, &copied, 5000, 1200));
    bodies.push(body(4, &[0x3d, 0x50], 60, 10));
    for (opcode, salt) in [(0xf0, &[][..]), (0xf5, &[0x80][..])] {
        // Nothing, what returns nothing, and a code of a thousand bytes.
        for size in [0_u64, 40] {
            let code = [salt, &number(size), &[0x5f, 0x5f, opcode, 0x50]].concat();
            bodies.push(body(1, &code, 250_000, 60_000));
        }
        let code = [salt, &number(1011), &[0x5f, 0x5f, opcode, 0x50]].concat();
        let mut made = body(1, &code, 900_000, 280_000);
        made.memory = harness::blocks::contracts::deploy(&[0x5b; 1000]).to_vec();
        bodies.push(made);
        let code = [salt, &number(20_000), &[0x5f, 0x5f, opcode, 0x50]].concat();
        let mut long = body(1, &code, 1_500_000, 60_000);
        long.memory = [&[0][..], &[0x5b; 200], &[0x60; 200]].concat();
        bodies.push(long);
    }
    let destroyed = harness::blocks::contracts::destroyed_at_once();
    let code = [&number(destroyed.len() as u64)[..], &[0x5f, 0x5f, 0xf0, 0x50]].concat();
    bodies.push(Body { memory: destroyed.to_vec(), ..body(1, &code, 300_000, 90_000) });
}

/// A call of a precompile in each round.
pub(super) fn precompile(input: &Input) -> Body {
    let Input { number, bytes } = input;
    let (gas, weight) = match number {
        0x01 | 0x06 => (3_500, 1_000_000),
        0x02..=0x04 => (6_000, 50_000),
        0x05 => (300_000, 300_000),
        0x07 => (6_500, 1_500_000),
        0x08 => (250_000, 10_000_000),
        0x09 => (2_000, 50_000),
        0x0a => (50_500, 18_000_000),
        0x0b | 0x0d => (1_000, 200_000),
        0x0c | 0x0e => (150_000, 10_000_000),
        0x0f => (250_000, 30_000_000),
        _ => (25_000, 6_000_000),
    };
    let code = calling(0xfa, inputs::address(*number), bytes.len(), 0, gas);
    Body { memory: bytes.clone(), ..body(1, &code, weight, gas + 200) }
}

/// Everything that is done, each with operands of this seed.
pub(super) fn all(rng: &mut Rng) -> Vec<Body> {
    let mut bodies = vec![body(1, &[], 100, 30)];
    arithmetic(rng, &mut bodies);
    stack(&mut bodies);
    memory(&mut bodies);
    state(&mut bodies);
    calls(&mut bodies);
    bodies.extend(inputs::all(rng).iter().map(precompile));
    bodies
}
