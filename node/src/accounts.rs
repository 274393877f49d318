//! The accounts of a development chain, derived from a mnemonic as every tool does it.

use alloy_primitives::{Address, B256};
use alloy_signer_local::{MnemonicBuilder, coins_bip39::English};

/// The mnemonic that development chains use. Its keys are public: they are worth nothing anywhere else.
pub const DEV_MNEMONIC: &str = "test test test test test test test test test test test junk";

/// How many accounts may be asked for.
pub const ACCOUNTS_MAX: u32 = 1000;

/// An account whose key everybody knows.
#[derive(Clone, Debug)]
pub struct DevAccount {
    /// Its address.
    pub address: Address,
    /// Its key.
    pub key: B256,
}

/// A mnemonic is not one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the mnemonic gives no accounts: {0}")]
pub struct MnemonicError(String);

/// The first accounts of a mnemonic, on the path `m/44'/60'/0'/0/i`.
pub fn derive(mnemonic: &str, count: u32) -> Result<Vec<DevAccount>, MnemonicError> {
    let wrong = |why: &dyn std::fmt::Display| MnemonicError(why.to_string());
    let account = |index| {
        let builder = MnemonicBuilder::<English>::default().phrase(mnemonic);
        let signer = builder.index(index).map_err(|why| wrong(&why))?.build().map_err(|why| wrong(&why))?;
        Ok(DevAccount { address: signer.address(), key: signer.to_bytes() })
    };
    (0..count.min(ACCOUNTS_MAX)).map(account).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{address, b256};

    #[test]
    fn the_first_account_is_the_one_that_everybody_knows() {
        let accounts = derive(DEV_MNEMONIC, 2).unwrap();
        assert_eq!(accounts[0].address, address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
        assert_eq!(
            accounts[0].key,
            b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
        );
        assert_eq!(accounts[1].address, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
        assert!(derive("not a mnemonic", 1).is_err());
    }
}
