//! Any operations on a pool with any small limits: after each of them the pool is what its model says.

use arbitrary::{Result, Unstructured};
use jam::{Params, sample::Source};
use txpool::{
    Config,
    model::{Model, Op, SENDERS, Then, limits},
};

/// Longer runs find nothing that shorter ones do not, and take their time.
const OPS_MAX: usize = 200;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let Ok(config) = config(&mut input) else { return };
    let mut model = Model::new(config);
    for _ in 0..OPS_MAX {
        if input.is_empty() {
            return;
        }
        let Ok(op) = op(&mut input) else { return };
        model.apply(op);
    }
}

fn config(input: &mut Unstructured<'_>) -> Result<Config> {
    let (pending, queued) = (input.int_in_range(1..=8)?, input.int_in_range(0..=5)?);
    let per_sender = input.int_in_range(1..=5)?;
    let bytes = *input.choose(&[1_500, 1 << 20])?;
    Ok(limits(pending, queued, per_sender, bytes))
}

fn op(input: &mut Unstructured<'_>) -> Result<Op> {
    let sender = |input: &mut Unstructured<'_>| input.int_in_range(0..=SENDERS - 1);
    Ok(match input.int_in_range(0..=23_u8)? {
        0 => Op::InsertKnown(input.int_in_range(0..=63)?),
        1..=3 => {
            let then = *input.choose(&[Then::Open, Then::Open, Then::Invalid, Then::Nothing])?;
            Op::Pull { count: input.int_in_range(1..=3)?, then }
        }
        4 => Op::Rewind,
        5 | 6 => Op::Seal,
        7 => Op::Final,
        8 => Op::Release { blocks: input.int_in_range(1..=3)?, accuse: input.arbitrary()? },
        9 => Op::Pass(input.int_in_range(1..=59)?),
        10 => Op::Cleanup,
        11 => Op::Balance { sender: sender(input)?, thousandths: input.int_in_range(0..=29)? },
        12 => Op::Nonce { sender: sender(input)?, by: input.int_in_range(1..=2)? },
        13 => Op::Code { sender: sender(input)?, delegated: input.arbitrary()? },
        14 => Op::BaseFee(input.int_in_range(1..=4)?),
        15 => Op::Remove(input.int_in_range(0..=63)?),
        16 => Op::Limit { sender: sender(input)?, max: input.int_in_range(0..=4)? },
        17 => Op::Restart,
        _ => insert(input)?,
    })
}

fn insert(input: &mut Unstructured<'_>) -> Result<Op> {
    let tip = input.int_in_range(1..=5)?;
    Ok(Op::Insert {
        sender: input.int_in_range(0..=SENDERS - 1)?,
        ahead: input.int_in_range(0..=5)?,
        tip,
        fee: tip + input.int_in_range(0..=7)?,
        data: *input.choose(&[0, 0, 0, 0, 0, 0, 200, 900])?,
        authority: input.int_in_range(0..=4 * SENDERS)?.checked_sub(3 * SENDERS + 1),
    })
}

/// Noise is a sequence of operations too.
pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let noise = |seed| Source::new(&Params::TINY, seed).bytes(120 + 60 * seed as usize);
    (0..4).map(|seed| (format!("walk-{seed}"), noise(seed))).collect()
}
