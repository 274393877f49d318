//! What a service is given to accumulate.

use alloy_primitives::FixedBytes;
use jam::{
    WorkDigest, WorkReport,
    codec::{Encode, put_natural},
};

/// A transfer from one service to another, which arrives in the next round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// From.
    pub source: u32,
    /// To.
    pub destination: u32,
    /// How much.
    pub amount: u64,
    /// What the sender says.
    pub memo: FixedBytes<128>,
    /// Gas for the receiver.
    pub gas: u64,
}

/// A transfer or a work item's result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Work(&'a WorkReport, &'a WorkDigest),
    Transfer(&'a Transfer),
}

impl Operand<'_> {
    pub(crate) fn gas(&self) -> u64 {
        match self {
            Self::Work(_, digest) => digest.accumulate_gas,
            Self::Transfer(transfer) => transfer.gas,
        }
    }
}

impl Encode for Operand<'_> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Work(report, digest) => {
                out.push(0);
                report.spec.package.0.encode_to(out);
                report.spec.exports_root.0.encode_to(out);
                report.authorizer.encode_to(out);
                digest.payload_hash.encode_to(out);
                put_natural(digest.accumulate_gas, out);
                digest.result.encode_to(out);
                report.auth_output.encode_to(out);
            }
            Self::Transfer(transfer) => {
                out.push(1);
                transfer.source.encode_to(out);
                transfer.destination.encode_to(out);
                transfer.amount.encode_to(out);
                transfer.memo.encode_to(out);
                transfer.gas.encode_to(out);
            }
        }
    }
}
