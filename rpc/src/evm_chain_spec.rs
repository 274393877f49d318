//! Which chain this is: its id, its forks, and what follows from them.
//!
//! Our own chain has one set of rules from its first block on. A recorded chain of Ethereum has a schedule; it is served
//! by the same code.

use alloy_consensus::Header;
use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS,
    eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
    eip7840::BlobParams,
};
use alloy_genesis::ChainConfig;
use alloy_primitives::{Address, B256, U64, hex};
use revm::primitives::hardfork::SpecId;
use serde::Serialize;
use service::execution::{Blobs, Rules};
use std::collections::BTreeMap;
use types::BlockId;

/// How many times its target a block of Ethereum may use.
const ELASTICITY: u64 = 2;

/// From where on a fork's rules hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Block(u64),
    Time(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fork {
    from: From,
    spec: SpecId,
    blobs: Option<BlobParams>,
}

/// The chain.
#[derive(Clone, Debug)]
pub struct EvmChainSpec {
    /// What transactions are signed for.
    pub chain_id: u64,
    /// The first block.
    pub genesis: BlockId,
    /// The base fee never falls below it, in wei.
    pub base_fee_floor_wei: u64,
    /// The gas at which the base fee stays as it is; half of the limit where that is not said.
    pub gas_target: Option<u64>,
    /// Who gets the fees of new blocks.
    pub beneficiary: Address,
    /// What `web3_clientVersion` says.
    pub version: String,
    forks: Vec<Fork>,
    contracts: BTreeMap<&'static str, Address>,
}

impl EvmChainSpec {
    /// Our own chain: Osaka without blobs.
    pub fn new(config: &service::Config, genesis: BlockId, beneficiary: Address, version: String) -> Self {
        Self {
            chain_id: config.chain_id,
            genesis,
            base_fee_floor_wei: config.base_fee_floor_wei,
            gas_target: Some(config.gas_target),
            beneficiary,
            version,
            forks: vec![Fork { from: From::Time(0), spec: SpecId::OSAKA, blobs: None }],
            contracts: BTreeMap::from([("HISTORY_STORAGE_ADDRESS", HISTORY_STORAGE_ADDRESS)]),
        }
    }

    /// A recorded chain of Ethereum, with the schedule of its genesis file.
    pub fn recorded(file: &ChainConfig, genesis: BlockId, version: String) -> Self {
        let deposits = file.deposit_contract_address.unwrap_or_default();
        Self {
            chain_id: file.chain_id,
            genesis,
            base_fee_floor_wei: 0,
            gas_target: None,
            beneficiary: Address::ZERO,
            version,
            forks: schedule(file),
            contracts: BTreeMap::from([
                ("BEACON_ROOTS_ADDRESS", BEACON_ROOTS_ADDRESS),
                ("CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS", CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
                ("DEPOSIT_CONTRACT_ADDRESS", deposits),
                ("HISTORY_STORAGE_ADDRESS", HISTORY_STORAGE_ADDRESS),
                ("WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS", WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
            ]),
        }
    }

    fn fork(&self, number: u64, time: u64) -> &Fork {
        let active = |fork: &&Fork| match fork.from {
            From::Block(from) => from <= number,
            From::Time(from) => from <= time,
        };
        self.forks.iter().rfind(active).unwrap_or(&self.forks[0])
    }

    /// The rules of a block.
    pub fn rules(&self, number: u64, time: u64) -> Rules {
        let fork = self.fork(number, time);
        let blobs = fork.blobs.map(|blobs| Blobs {
            per_transaction_max: blobs.max_blobs_per_tx,
            update_fraction: u64::try_from(blobs.update_fraction).unwrap_or(u64::MAX),
        });
        Rules { spec: fork.spec, chain_id: self.chain_id, blobs }
    }

    /// How blobs are priced in a block. Where there are none, they have the least price.
    pub fn blobs(&self, header: &Header) -> BlobParams {
        self.fork(header.number, header.timestamp).blobs.unwrap_or(BlobParams::osaka())
    }

    /// What blob gas costs in a block, in wei.
    pub fn blob_fee(&self, header: &Header) -> u128 {
        self.blobs(header).calc_blob_fee(header.excess_blob_gas.unwrap_or(0))
    }

    /// What blob gas costs in the block after this one, in wei.
    pub fn next_blob_fee(&self, parent: &Header) -> u128 {
        self.blobs(parent).calc_blob_fee(self.next_excess_blob_gas(parent))
    }

    /// How much more blob gas than aimed at was used up to the block after this one.
    pub fn next_excess_blob_gas(&self, parent: &Header) -> u64 {
        let (excess, used) = (parent.excess_blob_gas.unwrap_or(0), parent.blob_gas_used.unwrap_or(0));
        let base_fee = parent.base_fee_per_gas.unwrap_or(0);
        self.blobs(parent).next_block_excess_blob_gas_osaka(excess, used, base_fee)
    }

    /// The base fee of the block after this one; zero where there is none yet.
    pub fn next_base_fee(&self, parent: &Header) -> u64 {
        match self.rules(parent.number.saturating_add(1), parent.timestamp).spec {
            spec if !spec.is_enabled_in(SpecId::LONDON) => 0,
            _ => match parent.base_fee_per_gas {
                None => service::config::BASE_FEE_FLOOR_WEI,
                Some(_) => {
                    let target = self.gas_target.unwrap_or(parent.gas_limit / ELASTICITY);
                    service::header::next_base_fee(parent, target, self.base_fee_floor_wei)
                }
            },
        }
    }

    /// The forks now and next, as EIP-7910 shows them.
    pub fn forks(&self, latest: &Header) -> Forks {
        let times = self.forks.iter().filter_map(|fork| match fork.from {
            From::Time(time) => Some((time, fork)),
            From::Block(_) => None,
        });
        let (past, future): (Vec<_>, Vec<_>) = times.partition(|(time, _)| *time <= latest.timestamp);
        let show = |(time, fork): &(u64, &Fork)| self.shown(*time, fork);
        let last = future.last().map(show);
        Forks { current: past.last().map(show), next: future.first().map(show), last }
    }

    fn shown(&self, time: u64, fork: &Fork) -> ForkShown {
        let blobs = fork.blobs.unwrap_or(BlobParams {
            target_blob_count: 0,
            max_blob_count: 0,
            ..BlobParams::osaka()
        });
        ForkShown {
            activation_time: time,
            blob_schedule: BlobsShown {
                target: blobs.target_blob_count,
                max: blobs.max_blob_count,
                base_fee_update_fraction: blobs.update_fraction,
            },
            chain_id: U64::from(self.chain_id),
            fork_id: format!("0x{}", hex::encode(self.fork_id(time).to_be_bytes())),
            precompiles: precompiles(fork.spec),
            system_contracts: self.contracts.clone(),
        }
    }

    /// The checksum of the genesis and of all forks up to a time (EIP-2124).
    fn fork_id(&self, until: u64) -> u32 {
        let mut passed = self
            .forks
            .iter()
            .map(|fork| match fork.from {
                From::Block(block) => (0, block),
                From::Time(time) => (1, time),
            })
            .filter(|(kind, at)| *at > 0 && (*kind == 0 || *at <= until))
            .collect::<Vec<_>>();
        passed.dedup();
        let forks = passed.into_iter().flat_map(|(_, at)| at.to_be_bytes());
        crc32(self.genesis.hash.0.into_iter().chain(forks))
    }
}

fn schedule(file: &ChainConfig) -> Vec<Fork> {
    let by_block = [
        (file.homestead_block, SpecId::HOMESTEAD),
        (file.eip150_block, SpecId::TANGERINE),
        (file.eip155_block, SpecId::SPURIOUS_DRAGON),
        (file.eip158_block, SpecId::SPURIOUS_DRAGON),
        (file.byzantium_block, SpecId::BYZANTIUM),
        (file.constantinople_block, SpecId::PETERSBURG),
        (file.petersburg_block, SpecId::PETERSBURG),
        (file.istanbul_block, SpecId::ISTANBUL),
        (file.muir_glacier_block, SpecId::ISTANBUL),
        (file.berlin_block, SpecId::BERLIN),
        (file.london_block, SpecId::LONDON),
        (file.arrow_glacier_block, SpecId::LONDON),
        (file.gray_glacier_block, SpecId::LONDON),
        (file.merge_netsplit_block, SpecId::MERGE),
    ];
    let blobs = &file.blob_schedule;
    let cancun = blobs.get("cancun").copied().unwrap_or(BlobParams::cancun());
    let prague = blobs.get("prague").copied().unwrap_or(BlobParams::prague());
    let osaka = blobs.get("osaka").copied().unwrap_or(BlobParams::osaka());
    let mut by_time = vec![
        (file.shanghai_time, SpecId::SHANGHAI, None),
        (file.cancun_time, SpecId::CANCUN, Some(cancun)),
        (file.prague_time, SpecId::PRAGUE, Some(prague)),
        (file.osaka_time, SpecId::OSAKA, Some(osaka)),
    ];
    let later = [file.bpo1_time, file.bpo2_time, file.bpo3_time, file.bpo4_time, file.bpo5_time];
    for (number, time) in (1..).zip(later) {
        let params = blobs.get(&format!("bpo{number}")).copied();
        by_time.push((time.filter(|_| params.is_some()), SpecId::OSAKA, params));
    }
    let blocks = by_block
        .into_iter()
        .filter_map(|(block, spec)| Some(Fork { from: From::Block(block?), spec, blobs: None }));
    let times = by_time.into_iter().filter_map(|(time, spec, blobs)| {
        let blobs = blobs.map(|blobs| blobs.with_max_blobs_per_tx(6.min(blobs.max_blob_count)));
        Some(Fork { from: From::Time(time?), spec, blobs })
    });
    let forks = blocks.chain(times).collect::<Vec<_>>();
    match forks.is_empty() {
        true => vec![Fork { from: From::Block(0), spec: SpecId::HOMESTEAD, blobs: None }],
        false => forks,
    }
}

/// The answer to `eth_config`.
#[derive(Clone, Debug, Serialize)]
pub struct Forks {
    current: Option<ForkShown>,
    next: Option<ForkShown>,
    last: Option<ForkShown>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ForkShown {
    activation_time: u64,
    blob_schedule: BlobsShown,
    chain_id: U64,
    fork_id: String,
    precompiles: BTreeMap<&'static str, Address>,
    system_contracts: BTreeMap<&'static str, Address>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BlobsShown {
    target: u64,
    max: u64,
    base_fee_update_fraction: u128,
}

fn precompiles(spec: SpecId) -> BTreeMap<&'static str, Address> {
    let all = [
        ("ECREC", 1, SpecId::FRONTIER),
        ("SHA256", 2, SpecId::FRONTIER),
        ("RIPEMD160", 3, SpecId::FRONTIER),
        ("ID", 4, SpecId::FRONTIER),
        ("MODEXP", 5, SpecId::BYZANTIUM),
        ("BN254_ADD", 6, SpecId::BYZANTIUM),
        ("BN254_MUL", 7, SpecId::BYZANTIUM),
        ("BN254_PAIRING", 8, SpecId::BYZANTIUM),
        ("BLAKE2F", 9, SpecId::ISTANBUL),
        ("KZG_POINT_EVALUATION", 10, SpecId::CANCUN),
        ("BLS12_G1ADD", 11, SpecId::PRAGUE),
        ("BLS12_G1MSM", 12, SpecId::PRAGUE),
        ("BLS12_G2ADD", 13, SpecId::PRAGUE),
        ("BLS12_G2MSM", 14, SpecId::PRAGUE),
        ("BLS12_PAIRING_CHECK", 15, SpecId::PRAGUE),
        ("BLS12_MAP_FP_TO_G1", 16, SpecId::PRAGUE),
        ("BLS12_MAP_FP2_TO_G2", 17, SpecId::PRAGUE),
        ("P256VERIFY", 256, SpecId::OSAKA),
    ];
    let active = all.into_iter().filter(|(_, _, from)| spec.is_enabled_in(*from));
    active
        .map(|(name, number, _)| (name, Address::from_word(B256::from(alloy_primitives::U256::from(number)))))
        .collect()
}

/// The checksum that Ethernet uses too (IEEE 802.3).
fn crc32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1));
    !bytes.into_iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_well_known_one() {
        assert_eq!(crc32(*b"123456789"), 0xcbf4_3926);
    }
}
