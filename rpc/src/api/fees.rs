//! What gas costs and did cost.

use super::{Api, Json, Method};
use crate::{
    Error, Params,
    call::timeout,
    hex::Hex,
    reading::{At, Found, Reading},
};
use alloy_consensus::{ReceiptEnvelope, Transaction as _};
use alloy_primitives::{U64, U128};
use serde::{Serialize, Serializer};
use std::time::Instant;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_gasPrice", Method::Now(gas_price)),
    ("eth_maxPriorityFeePerGas", Method::Now(max_priority_fee)),
    ("eth_baseFee", Method::Now(base_fee)),
    ("eth_blobBaseFee", Method::Now(blob_base_fee)),
    ("eth_feeHistory", Method::Apart(fee_history)),
];

/// The suggestion looks at so many blocks,
const TIP_BLOCKS: usize = 20;
/// at so many of the lowest tips in each,
const TIP_SAMPLES: usize = 3;
/// and takes this percentile of them.
const TIP_PERCENTILE: usize = 60;
/// Percentiles of a fee history.
const PERCENTILES_MAX: usize = 100;

fn gas_price(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    let base = u128::from(api.next_base_fee());
    api.reply(&U128::from(base.saturating_add(api.suggested_tip())))
}

fn max_priority_fee(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    api.reply(&U128::from(api.suggested_tip()))
}

fn base_fee(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    api.reply(&U64::from(api.next_base_fee()))
}

fn blob_base_fee(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    api.reply(&U128::from(api.chain.blob_fee(api.feed.snapshot().latest().header())))
}

impl Api {
    /// The base fee of the block that is being built.
    pub(crate) fn next_base_fee(&self) -> u64 {
        let snapshot = self.feed.snapshot();
        let open = snapshot.pending.as_ref().and_then(|pending| pending.header.base_fee_per_gas);
        open.unwrap_or_else(|| self.chain.next_base_fee(snapshot.latest().header()))
    }

    /// A tip with which a transaction is soon in a block: what others paid who soon were.
    pub(crate) fn suggested_tip(&self) -> u128 {
        let snapshot = self.feed.snapshot();
        let mut tips = Vec::with_capacity(TIP_BLOCKS * TIP_SAMPLES);
        for block in snapshot.blocks().iter().rev().take(TIP_BLOCKS) {
            let base = block.header().base_fee_per_gas.unwrap_or(0);
            let transactions = block.block.block.transactions().iter();
            let mut paid = transactions.filter_map(|tx| tx.effective_tip_per_gas(base)).collect::<Vec<_>>();
            if paid.len() > TIP_SAMPLES {
                paid.select_nth_unstable(TIP_SAMPLES);
                paid.truncate(TIP_SAMPLES);
            }
            tips.extend(paid);
        }
        tips.sort_unstable();
        let middle = tips.len().saturating_sub(1) * TIP_PERCENTILE / 100;
        tips.get(middle).copied().unwrap_or(0).max(self.config.tip_min_wei)
    }
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct FeeHistory {
    oldest_block: U64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reward: Option<Vec<Vec<U128>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_fee_per_gas: Vec<U64>,
    /// Nothing at all if nothing was asked for.
    gas_used_ratio: Option<Vec<Ratio>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_fee_per_blob_gas: Vec<U128>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blob_gas_used_ratio: Vec<Ratio>,
}

/// How much of what there was has been used. All and nothing are whole numbers.
#[derive(Clone, Copy)]
struct Ratio(f64);

impl Ratio {
    fn new(used: u64, limit: u64) -> Self {
        Self(if limit == 0 { 0.0 } else { used as f64 / limit as f64 })
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 {
            return serializer.serialize_u64(self.0 as u64);
        }
        serializer.serialize_f64(self.0)
    }
}

/// The number of blocks, in hexadecimal or, as many clients send it, in decimal.
fn block_count(params: &Params) -> Result<u64, Error> {
    match params.raw(0) {
        Some(text) if !text.starts_with('"') => params.required(0),
        Some(text) => match text.trim_matches('"').parse() {
            Ok(count) => Ok(count),
            Err(_) => params.hex(0),
        },
        None => params.hex(0),
    }
}

fn fee_history(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(3)?;
    let count = block_count(params)?.min(api.config.limits.fee_history_blocks_max);
    let Hex(newest) = params.required::<Hex<At>>(1)?;
    let percentiles = params.optional::<Vec<f64>>(2)?.unwrap_or_default();
    if count == 0 {
        return api.reply(&FeeHistory::default());
    }
    check_percentiles(&percentiles)?;
    let reading = api.reading();
    let newest = match newest {
        At::Number(number) if number > reading.latest().number => {
            let head = reading.latest().number;
            let why = format!("request beyond head block: requested {number}, head {head}");
            return Err(Error::other(why));
        }
        at => reading.number(at)?.unwrap_or(reading.latest().number),
    };
    let genesis = api.chain.genesis.number;
    let oldest = newest.saturating_sub(count - 1).max(genesis);
    let mut history = FeeHistory { oldest_block: U64::from(oldest), ..FeeHistory::default() };
    let mut rewards = Vec::new();
    let deadline = Instant::now() + api.config.limits.call_timeout;
    for number in oldest..=newest {
        if Instant::now() >= deadline {
            return Err(timeout());
        }
        let found = reading.existing(At::Number(number))?;
        history.add(api, &found);
        rewards.push(reward(&found, &percentiles));
        if number == newest {
            history.base_fee_per_gas.push(U64::from(api.chain.next_base_fee(found.header())));
            history.base_fee_per_blob_gas.push(U128::from(next_blob_fee(&reading, &found)));
        }
    }
    history.reward = (!percentiles.is_empty()).then_some(rewards);
    api.reply(&history)
}

fn next_blob_fee(reading: &Reading<'_>, found: &Found) -> u128 {
    match found.header().excess_blob_gas {
        Some(_) => reading.chain.next_blob_fee(found.header()),
        None => 0,
    }
}

impl FeeHistory {
    fn add(&mut self, api: &Api, found: &Found) {
        let header = found.header();
        self.base_fee_per_gas.push(U64::from(header.base_fee_per_gas.unwrap_or(0)));
        let ratios = self.gas_used_ratio.get_or_insert_default();
        ratios.push(Ratio::new(header.gas_used, header.gas_limit));
        let blob_fee = header.excess_blob_gas.map_or(0, |_| api.chain.blob_fee(header));
        self.base_fee_per_blob_gas.push(U128::from(blob_fee));
        let blob_gas = header.blob_gas_used.unwrap_or(0);
        let blob_gas_max = api.chain.blobs(header).max_blob_gas_per_block();
        self.blob_gas_used_ratio.push(Ratio::new(blob_gas, blob_gas_max));
    }
}

fn check_percentiles(percentiles: &[f64]) -> Result<(), Error> {
    if percentiles.len() > PERCENTILES_MAX {
        let why = format!("invalid reward percentile: over the query limit {PERCENTILES_MAX}");
        return Err(Error::other(why));
    }
    if let Some(wrong) = percentiles.iter().find(|percentile| !(0.0..=100.0).contains(*percentile)) {
        return Err(Error::other(format!("invalid reward percentile: {wrong}")));
    }
    if let Some(pair) = percentiles.windows(2).find(|pair| pair[1] <= pair[0]) {
        let why = format!("invalid reward percentile: {} is not above {}", pair[1], pair[0]);
        return Err(Error::other(why));
    }
    Ok(())
}

/// The tips that the given parts of the block's gas paid at most.
fn reward(found: &Found, percentiles: &[f64]) -> Vec<U128> {
    let base = found.header().base_fee_per_gas.unwrap_or(0);
    let before = [0].into_iter().chain(found.receipts().iter().map(ReceiptEnvelope::cumulative_gas_used));
    let gas = found
        .receipts()
        .iter()
        .zip(before)
        .map(|(receipt, before)| receipt.cumulative_gas_used().saturating_sub(before));
    let tips = found.transactions().iter().map(|tx| tx.effective_tip_per_gas(base).unwrap_or(0));
    let mut paid = tips.zip(gas).collect::<Vec<_>>();
    paid.sort_unstable();
    let mut rewards = Vec::with_capacity(percentiles.len());
    let (mut index, mut sum) = (0, paid.first().map_or(0, |(_, gas)| *gas));
    for percentile in percentiles {
        let threshold = (found.header().gas_used as f64 * percentile / 100.0) as u64;
        while sum < threshold && index + 1 < paid.len() {
            index += 1;
            sum += paid[index].1;
        }
        rewards.push(U128::from(paid.get(index).map_or(0, |(tip, _)| *tip)));
    }
    rewards
}
