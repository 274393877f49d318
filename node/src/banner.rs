//! What `pectin dev` says first.

use crate::{accounts::DevAccount, cli::VERSION};
use alloy_primitives::{Address, hex, utils::format_ether};
use serde_json::{Value, json};
use std::{
    fmt::{self, Write},
    net::SocketAddr,
    path::PathBuf,
};

/// The path on which the accounts are derived.
const PATH: &str = "m/44'/60'/0'/0/i";

/// The operator's token, or the file that it stands in.
#[derive(Clone, Debug)]
pub enum Token {
    /// It is in memory alone.
    Is(String),
    /// It stands in a file.
    In(PathBuf),
}

/// Everything that is said.
#[derive(Clone, Debug)]
pub struct Banner {
    /// Where RPC is served.
    pub http: SocketAddr,
    /// The chain id.
    pub chain_id: u64,
    /// Validators and cores.
    pub network: (u16, u16),
    /// How long a slot lasts.
    pub slot_ms: u64,
    /// Where data is kept, if it is.
    pub data_dir: Option<PathBuf>,
    /// What the operator's orders need.
    pub token: Token,
    /// The accounts that own something.
    pub accounts: Vec<DevAccount>,
    /// What each of them owns, in wei.
    pub balance_wei: u128,
    /// The mnemonic that they come from.
    pub mnemonic: String,
}

impl Banner {
    /// A line that sends one ether from the first account to the second.
    pub fn example(&self) -> Option<String> {
        let from = self.accounts.first()?;
        let to = self.accounts.get(1).map_or(Address::ZERO, |account| account.address);
        let key = hex::encode_prefixed(from.key);
        Some(format!("cast send --rpc-url http://{} --private-key {key} {to} --value 1ether", self.http))
    }
}

impl Banner {
    /// The same for programs.
    pub fn as_json(&self) -> Value {
        let account = |account: &DevAccount| json!({ "address": account.address, "privateKey": hex::encode_prefixed(account.key) });
        let (token, token_file) = match &self.token {
            Token::Is(token) => (Some(token), None),
            Token::In(path) => (None, Some(path)),
        };
        json!({
            "rpcUrl": format!("http://{}", self.http),
            "wsUrl": format!("ws://{}", self.http),
            "chainId": self.chain_id,
            "token": token,
            "tokenFile": token_file,
            "slotMs": self.slot_ms,
            "balanceWei": self.balance_wei.to_string(),
            "mnemonic": self.mnemonic,
            "derivationPath": PATH,
            "accounts": self.accounts.iter().map(account).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (validators, cores) = self.network;
        writeln!(f, "pectin {VERSION}")?;
        writeln!(f, "A development network: its keys are public, its coins are worth nothing.\n")?;
        writeln!(f, "  RPC        http://{0}  ws://{0}", self.http)?;
        writeln!(f, "  Page       http://{}/", self.http)?;
        writeln!(f, "  Chain id   {}", self.chain_id)?;
        writeln!(f, "  JAM        {validators} validators, {cores} cores, slots of {} ms", self.slot_ms)?;
        match &self.data_dir {
            Some(path) => writeln!(f, "  Data       {}", path.display())?,
            None => writeln!(f, "  Data       temporary, gone with the process; --data-dir keeps it")?,
        }
        match &self.token {
            Token::Is(token) => writeln!(f, "  Operator   token {token}")?,
            Token::In(path) => writeln!(f, "  Operator   token in {}", path.display())?,
        }
        let mut table = String::new();
        for (index, account) in self.accounts.iter().enumerate() {
            let key = hex::encode_prefixed(account.key);
            writeln!(table, "  ({index:>2}) {}  {key}", account.address)?;
        }
        if !table.is_empty() {
            writeln!(f, "\nAccounts with {} ETH each, and their keys", format_ether(self.balance_wei))?;
            f.write_str(&table)?;
            writeln!(f, "  mnemonic \"{}\", path {PATH}", self.mnemonic)?;
        }
        match self.example() {
            Some(example) => writeln!(f, "\nTry\n  {example}\n"),
            None => writeln!(f),
        }
    }
}
