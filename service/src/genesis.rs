//! The first block, from a `genesis.json` as geth writes and reads them.
//!
//! The accounts of `alloc` with balance, nonce, code and storage are the state; number, timestamp, base fee, gas limit
//! and the rest of the header come from the file too. The file's fork schedule is not looked at: this chain has one set
//! of rules from its first block on. The history contract (EIP-2935) is added where the file does not have it.

use crate::Config;
use alloy_consensus::{
    Header,
    constants::{EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, EMPTY_WITHDRAWALS},
};
use alloy_eips::{
    eip2935::{HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CODE},
    eip7685::EMPTY_REQUESTS_HASH,
};
use alloy_genesis::{Genesis as File, GenesisAccount};
use alloy_primitives::{Address, B256, U256, address};
use state::{AccountError, Blake2b, CodeSet, Layer, MemoryValues, Tree, Writes, account_writes};
use std::sync::Arc;
use types::BlockId;

/// The accounts of the mnemonic "test test test test test test test test test test test junk", which every development
/// tool knows.
pub const DEV_ACCOUNTS: [Address; 10] = [
    address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
    address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
    address!("90F79bf6EB2c4f870365E785982E1f101E93b906"),
    address!("15d34AAf54267DB7D7c367839AAf71A00a2C6A65"),
    address!("9965507D1a55bcC2695C58ba16FB37d819B0A4dc"),
    address!("976EA74026E726554dB657fA54763abd0C3a0aa9"),
    address!("14dC79964da2C08b23698B3D3cc7Ca32193d9955"),
    address!("23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"),
    address!("a0Ee7A142d267C1f36714E4a8F75612F20a79720"),
];

/// What each of [`DEV_ACCOUNTS`] has: ten thousand ether.
pub const DEV_BALANCE_WEI: u128 = 10_000 * 10_u128.pow(18);

/// The first block and its state.
#[derive(Clone, Debug)]
pub struct Genesis {
    /// The header.
    pub header: Header,
    /// Every value of the state.
    pub writes: Writes,
    /// Every code of the state.
    pub codes: CodeSet,
}

/// Why a file is no genesis.
#[derive(Debug, thiserror::Error)]
pub enum GenesisError {
    /// Not the JSON that geth reads.
    #[error("not a genesis file: {0}")]
    Json(#[from] serde_json::Error),
    /// The base fee has more than 64 bits.
    #[error("the base fee {0} is too large")]
    BaseFee(u128),
    /// The file is for another chain.
    #[error("the genesis file is for chain {file}, the configuration for chain {config}")]
    ChainId {
        /// In the file.
        file: u64,
        /// In the configuration.
        config: u64,
    },
    /// An account does not fit into the state.
    #[error("account {0}: {1}")]
    Account(Address, AccountError),
}

impl Genesis {
    /// From a file. Its chain id must be the configuration's.
    pub fn from_json(json: &str, config: &Config) -> Result<Self, GenesisError> {
        let file = serde_json::from_str::<File>(json)?;
        if file.config.chain_id != config.chain_id {
            let (file, config) = (file.config.chain_id, config.chain_id);
            return Err(GenesisError::ChainId { file, config });
        }
        Self::new(file, config)
    }

    /// The development chain: [`DEV_ACCOUNTS`] and the history contract.
    pub fn dev(config: &Config) -> Self {
        Self::funded(config, DEV_ACCOUNTS)
    }

    /// A chain on which these accounts have ten thousand ether each.
    pub fn funded(config: &Config, accounts: impl IntoIterator<Item = Address>) -> Self {
        let account = GenesisAccount { balance: U256::from(DEV_BALANCE_WEI), ..Default::default() };
        let alloc = accounts.into_iter().map(|address| (address, account.clone())).collect();
        let file = File { gas_limit: config.gas_limit, alloc, ..File::default() };
        Self::new(file, config).expect("ten thousand ether fit into an account")
    }

    fn new(mut file: File, config: &Config) -> Result<Self, GenesisError> {
        let history = file.alloc.entry(HISTORY_STORAGE_ADDRESS).or_default();
        if history.code.as_ref().is_none_or(|code| code.is_empty()) {
            history.code = Some(HISTORY_STORAGE_CODE.clone());
            history.nonce = Some(1);
        }
        let mut writes = Writes::new();
        let mut codes = CodeSet::default();
        for (address, account) in &file.alloc {
            let leaves = leaves(*address, account).map_err(|why| GenesisError::Account(*address, why))?;
            writes.extend(leaves);
            account.code.iter().filter(|code| !code.is_empty()).for_each(|code| {
                codes.insert(code.clone());
            });
        }
        let root = Tree::<Blake2b>::default().update(&writes).root();
        Ok(Self { header: header(&file, config, root)?, writes, codes })
    }

    /// Number and hash.
    pub fn id(&self) -> BlockId {
        BlockId::new(self.header.number, self.header.hash_slow())
    }

    /// The state, in memory.
    pub fn layer(&self) -> Layer<Arc<MemoryValues>> {
        let values = self.writes.iter().map(|(key, value)| (*key, *value)).collect();
        Layer::new(Arc::new(values), Tree::default().update(&self.writes), self.header.number)
    }
}

fn leaves(address: Address, account: &GenesisAccount) -> Result<Writes, AccountError> {
    let code = account.code.clone().unwrap_or_default();
    let slots = account.storage.iter().flatten().map(|(slot, value)| ((*slot).into(), (*value).into()));
    account_writes::<Blake2b>(address, account.nonce.unwrap_or(0), account.balance, &code, slots)
}

fn header(file: &File, config: &Config, state_root: B256) -> Result<Header, GenesisError> {
    let base_fee = file.base_fee_per_gas.unwrap_or(config.base_fee_floor_wei.into());
    Ok(Header {
        parent_hash: file.parent_hash.unwrap_or_default(),
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: file.coinbase,
        state_root,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        difficulty: file.difficulty,
        number: file.number.unwrap_or(0),
        gas_limit: file.gas_limit,
        timestamp: file.timestamp,
        extra_data: file.extra_data.clone(),
        mix_hash: file.mix_hash,
        nonce: file.nonce.into(),
        base_fee_per_gas: Some(u64::try_from(base_fee).map_err(|_| GenesisError::BaseFee(base_fee))?),
        withdrawals_root: Some(EMPTY_WITHDRAWALS),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(EMPTY_REQUESTS_HASH),
        ..Header::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::Ed25519Secret;
    use state::{AccountKeys, BasicData, Values};

    fn config() -> Config {
        Config::new(7, B256::repeat_byte(1), Ed25519Secret::trivial(9).public())
    }

    const FILE: &str = r#"{
        "config": { "chainId": 732846, "londonBlock": 5 },
        "nonce": "0x1", "timestamp": "0x2", "extraData": "0x03", "gasLimit": "0x4", "difficulty": "0x5",
        "mixHash": "0x0600000000000000000000000000000000000000000000000000000000000000",
        "coinbase": "0x0700000000000000000000000000000000000000", "baseFeePerGas": "0x8", "number": "0x9",
        "alloc": {
            "0x00000000000000000000000000000000000000aa": {
                "balance": "0xa", "nonce": "0xb", "code": "0x6001",
                "storage": { "0x0c": "0x0d" }
            },
            "00000000000000000000000000000000000000bb": { "balance": "14" }
        }
    }"#;

    #[test]
    fn a_file_gives_header_accounts_codes_and_storage() {
        let genesis = Genesis::from_json(FILE, &config()).unwrap();
        let header = &genesis.header;
        assert_eq!((header.number, header.timestamp, header.base_fee_per_gas), (9, 2, Some(8)));
        assert_eq!((header.gas_limit, header.beneficiary[0], header.mix_hash[0]), (4, 7, 6));
        let layer = genesis.layer();
        assert_eq!((layer.root(), layer.height()), (header.state_root, 9));

        let keys = |last| AccountKeys::<Blake2b>::new(Address::with_last_byte(last));
        let basic = |last| {
            let value = layer.value(&keys(last).basic_data()).unwrap().unwrap();
            BasicData::decode(&value).unwrap()
        };
        assert_eq!(basic(0xaa), BasicData { version: 0, code_size: 2, nonce: 11, balance: 10 });
        assert_eq!(basic(0xbb), BasicData { version: 0, code_size: 0, nonce: 0, balance: 14 });
        let slot = layer.value(&keys(0xaa).slot(U256::from(12))).unwrap();
        assert_eq!(slot, Some(B256::with_last_byte(13)));
        assert_eq!(genesis.codes.len(), 2, "its code and the history contract's");
    }

    #[test]
    fn what_is_no_genesis_of_this_chain_is_refused() {
        let refused = |from: &str, to: &str| {
            Genesis::from_json(&FILE.replace(from, to), &config()).map(drop).unwrap_err().to_string()
        };
        assert!(refused("{", "[").starts_with("not a genesis file"));
        assert_eq!(
            refused("732846", "1"),
            "the genesis file is for chain 1, the configuration for chain 732846"
        );
        assert!(refused("\"0x8\"", "\"0x10000000000000000\"").starts_with("the base fee"));
        assert!(refused("\"0xa\"", "\"0x100000000000000000000000000000000\"").starts_with("account 0x"));
    }

    #[test]
    fn the_dev_chain_is_always_the_same_and_has_the_known_accounts() {
        let genesis = Genesis::dev(&config());
        assert_eq!(genesis.id(), Genesis::dev(&config()).id());
        assert_eq!(genesis.header.base_fee_per_gas, Some(1_000_000_000));
        // Accounts have two leaves each; the contract has its code in chunks besides.
        assert!(genesis.writes.len() > 2 * (DEV_ACCOUNTS.len() + 1));
        // The checksum in capitals catches a mistyped address.
        assert_eq!(DEV_ACCOUNTS[9].to_string(), "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720");
    }
}
