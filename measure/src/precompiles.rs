//! What the EVM's costly operations cost in the gas of JAM's virtual machine, for each of their EVM gas.
//!
//! For each there is a contract that does it again and again, with the same input, until two million gas are used. The ratio bounds how much
//! PVM gas a block can make a validator spend. The gas is the same on every machine.

use super::gas::{package_without_limits, refined};
use alloy_consensus::crypto::secp256k1::sign_message;
use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use harness::blocks::{Call, MemoryChain, Wallet};
use pvm::{EngineKind, Machines};
use revm::precompile::{EthPrecompileResult, bls12_381};
use std::{error::Error, fmt};

/// The gas that a transaction has, and what is left of it when a contract stops.
const GAS_LIMIT: u64 = 6_000_000;
const GAS_LEFT: u32 = 4_000_000;
const CONTRACT: Address = Address::repeat_byte(0xc0);

/// An operation's measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The operation and its input.
    pub name: String,
    /// EVM gas of all calls.
    pub evm: u64,
    /// PVM gas of all calls.
    pub pvm: u64,
}

impl Line {
    /// PVM gas per EVM gas.
    pub fn ratio(&self) -> f64 {
        self.pvm as f64 / self.evm as f64
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<24} evm {} pvm {:>10} ratio {:>7.1}", self.name, self.evm, self.pvm, self.ratio())
    }
}

/// What is done in the loop.
#[derive(Clone, Copy)]
enum Operation {
    /// A call of the precompile with this number.
    Call(u16),
    /// The opcode KECCAK256.
    Keccak,
}

/// Copies the input to memory and repeats an operation on it until as much gas as said is left. Reverts if a call fails.
fn contract(operation: Operation, input: &[u8]) -> Bytes {
    let len = u32::try_from(input.len()).expect("inputs are short").to_be_bytes();
    let push_len = [0x63, len[0], len[1], len[2], len[3]];
    let mut body = vec![];
    match operation {
        Operation::Call(number) => {
            let [high, low] = number.to_be_bytes();
            body.extend([0x5f, 0x5f]); // no output
            body.extend(push_len);
            body.extend([0x5f, 0x61, high, low, 0x5a, 0xfa]);
        }
        Operation::Keccak => {
            body.extend(push_len);
            body.extend([0x5f, 0x20]); // what it gives is not zero
        }
    }
    let prefix = 5 + 5 + 1 + 1;
    let left = GAS_LEFT.to_be_bytes();
    let mut end = vec![0x15, 0x60, 0, 0x57]; // zero: revert
    end.extend([0x63, left[0], left[1], left[2], left[3], 0x5a, 0x11, 0x60, prefix, 0x57, 0x00]);
    let revert = prefix as usize + 1 + body.len() + end.len();
    end[2] = revert as u8;
    end.extend([0x5b, 0x5f, 0x5f, 0xfd]);
    let start = (revert + 4) as u32;
    let start = start.to_be_bytes();
    let mut code = push_len.to_vec();
    code.extend([0x63, start[0], start[1], start[2], start[3], 0x5f, 0x39, 0x5b]);
    [&code[..], &body, &end, input].concat().into()
}

/// Measures all; calls back for each.
pub fn measure(mut done: impl FnMut(&Line)) -> Result<Line, Box<dyn Error>> {
    let machines = Machines::new(EngineKind::Auto).map_err(|why| why.to_string())?;
    let mut worst: Option<Line> = None;
    for (name, operation, input) in cases()? {
        let line = line(&machines, name, operation, &input)?;
        done(&line);
        if worst.as_ref().is_none_or(|worst| worst.ratio() < line.ratio()) {
            worst = Some(line);
        }
    }
    worst.ok_or_else(|| "there are no cases".into())
}

fn line(
    machines: &Machines,
    name: String,
    operation: Operation,
    input: &[u8],
) -> Result<Line, Box<dyn Error>> {
    let wallet = Wallet::new(0);
    let ether = U256::from(10).pow(U256::from(20));
    let mut chain = MemoryChain::new(&[
        (wallet.address(), ether, Bytes::new()),
        (CONTRACT, U256::ZERO, contract(operation, input)),
    ]);
    package_without_limits(&mut chain);
    let mut used = |to| -> Result<(u64, u64), Box<dyn Error>> {
        let call = Call { gas_limit: GAS_LIMIT, ..Call::to(to, 0) };
        let sealed = chain.build(&[wallet.eip1559(call)]);
        let receipt = sealed.receipts.first().ok_or("the transaction was refused")?;
        if !receipt.status() {
            return Err(format!("{name}: the call failed").into());
        }
        Ok((receipt.cumulative_gas_used(), refined(machines, &chain, &sealed)?))
    };
    // A transaction that does nothing costs what the signature, the block and its proofs do.
    let (evm_rest, pvm_rest) = used(Address::repeat_byte(0xe0))?;
    let (evm, pvm) = used(CONTRACT)?;
    Ok(Line { evm: evm - evm_rest, pvm: pvm - pvm_rest, name })
}

type Case = (String, Operation, Vec<u8>);

fn cases() -> Result<Vec<Case>, Box<dyn Error>> {
    let mut cases = hashes();
    let mut call =
        |name: &str, number, input: Vec<u8>| cases.push((name.into(), Operation::Call(number), input));
    let (key, hash) = (B256::repeat_byte(7), keccak256("signed"));
    let signature = sign_message(key, hash).map_err(|why| why.to_string())?;
    let (r, s) = (signature.r().to_be_bytes::<32>(), signature.s().to_be_bytes::<32>());
    let parity = U256::from(27 + u8::from(signature.v())).to_be_bytes::<32>();
    call("ecrecover", 1, [hash.0, parity, r, s].concat());
    call("p256verify", 0x100, P256.to_vec());
    call("kzg", 10, kzg());
    for (name, number, input) in bn254() {
        call(&name, number, input);
    }
    for (name, number, input) in bls12_381()? {
        call(&name, number, input);
    }
    for (bytes, exponent) in [(32, 32), (64, 64), (256, 3), (1024, 1)] {
        let head = [bytes, exponent, bytes].map(|len: u64| U256::from(len).to_be_bytes::<32>());
        let numbers = vec![0xff; (2 * bytes + exponent) as usize];
        call(&format!("modexp-{bytes}-{exponent}"), 5, [&head.concat()[..], &numbers].concat());
    }
    Ok(cases)
}

fn hashes() -> Vec<Case> {
    let mut cases = vec![];
    for (name, operation) in [
        ("keccak", Operation::Keccak),
        ("sha256", Operation::Call(2)),
        ("ripemd160", Operation::Call(3)),
        ("identity", Operation::Call(4)),
    ] {
        for len in [32, 4096] {
            cases.push((format!("{name}-{len}"), operation, vec![0x5a; len]));
        }
    }
    for rounds in [12_u32, 10_000] {
        let mut input = vec![0x5a; 213];
        input[..4].copy_from_slice(&rounds.to_be_bytes());
        input[212] = 1;
        cases.push((format!("blake2f-{rounds}"), Operation::Call(9), input));
    }
    cases
}

/// A signature of P-256: hash, r, s, x, y.
const P256: &[u8] = &hex!(
    "4cee90eb86eaa050036147a12d49004b6b9c72bd725d39d4785011fe190f0b4d"
    "a73bd4903f0ce3b639bbbf6e8e80d16931ff4bcf5993d58468e8fb19086e8cac"
    "36dbcd03009df8c59286b162af3bd7fcc0450c9aa81be5d10d312af6c66b1d60"
    "4aebd3099c618202fcfe16ae7770b0c49ab5eadf74b754204a3bb6060e44eff3"
    "7618b065f9832de4ca6ca971a7a1adc826d0f7c00181a5fb2ddf79ae00b4e10e"
);

/// An opened commitment: versioned hash, z, y, commitment, proof.
fn kzg() -> Vec<u8> {
    let commitment = hex!(
        "8f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7"
    );
    let rest = hex!(
        "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000"
        "1522a4a7f34e1ea350ae07c29c96c7e79655aa926122e95fe69fcbd932ca49e9"
    );
    let proof = hex!(
        "a62ad71d14c5719385c0686f1871430475bf3a00f0aa3f7b8dd99a9abc2160744faf0070725e00b60ad9a026a15b1a8c"
    );
    let versioned = revm::precompile::kzg_point_evaluation::kzg_to_versioned_hash(&commitment);
    [&versioned[..], &rest, &commitment, &proof].concat()
}

type Input = (String, u16, Vec<u8>);

fn bn254() -> Vec<Input> {
    let point = [U256::ONE, U256::from(2)].map(|number| number.to_be_bytes::<32>()).concat();
    let other = hex!(
        "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
        "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
        "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
        "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"
    );
    let factor = keccak256("factor");
    let mut all = vec![
        ("bn254-add".to_owned(), 6, [&point[..], &point].concat()),
        ("bn254-mul".to_owned(), 7, [&point[..], factor.as_slice()].concat()),
    ];
    for pairs in [1, 2, 8] {
        all.push((format!("bn254-pairing-{pairs}"), 8, [&point[..], &other].concat().repeat(pairs)));
    }
    all
}

fn bls12_381() -> Result<Vec<Input>, Box<dyn Error>> {
    let taken = |result: EthPrecompileResult| {
        result.map(|output| output.bytes.to_vec()).map_err(|why| format!("{why:?}"))
    };
    let element = |seed: u64| {
        let hash = keccak256(seed.to_be_bytes());
        [&[0; 32][..], hash.as_slice()].concat()
    };
    let first = |seed| taken(bls12_381::map_fp_to_g1::map_fp_to_g1(&element(seed), u64::MAX));
    let second = |seed| {
        let element = [element(seed), element(seed + 1000)].concat();
        taken(bls12_381::map_fp2_to_g2::map_fp2_to_g2(&element, u64::MAX))
    };
    let mut all = vec![
        ("bls-g1add".to_owned(), 11, [first(1)?, first(2)?].concat()),
        ("bls-g2add".to_owned(), 13, [second(1)?, second(2)?].concat()),
        ("bls-map-g1".to_owned(), 16, element(3)),
        ("bls-map-g2".to_owned(), 17, [element(3), element(4)].concat()),
    ];
    for pairs in [1, 2, 8] {
        let points = (0..pairs).map(|seed| Ok::<_, String>([first(seed)?, second(seed)?].concat()));
        let points = points.collect::<Result<Vec<_>, _>>()?;
        all.push((format!("bls-pairing-{pairs}"), 15, points.concat()));
    }
    for pairs in [1, 2, 16, 128] {
        let (mut ones, mut twos) = (vec![], vec![]);
        for seed in 0..pairs {
            let factor = keccak256([seed as u8]);
            ones.extend_from_slice(&[&first(seed)?[..], factor.as_slice()].concat());
            twos.extend_from_slice(&[&second(seed)?[..], factor.as_slice()].concat());
        }
        all.extend([(format!("bls-g1msm-{pairs}"), 12, ones), (format!("bls-g2msm-{pairs}"), 14, twos)]);
    }
    Ok(all)
}
