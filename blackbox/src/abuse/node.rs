//! The node under abuse, with something in it to ask for.

use alloy_primitives::{Address, address};
use harness::{
    blocks::{Call, Wallet},
    http::Client,
    process::{Pectin, call},
};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// Emits 500 logs when it is called.
const LOGS: Address = address!("00000000000000000000000000000000000a0001");
const LOGS_CODE: &str = "0x6101f45b600160006000a1600190038060035700";
/// Never ends by itself.
pub(super) const SPIN: Address = address!("00000000000000000000000000000000000a0002");
const SPIN_CODE: &str = "0x5b600056";
/// Reads slot after slot, and never ends by itself.
pub(super) const READ: Address = address!("00000000000000000000000000000000000a0004");
const READ_CODE: &str = "0x5f5b805450600101600156";
/// Returns 64 KiB, which costs little.
const MUCH: Address = address!("00000000000000000000000000000000000a0005");
const MUCH_CODE: &str = "0x620100005ff3";
/// Calls that for ever.
pub(super) const CALL: Address = address!("00000000000000000000000000000000000a0006");
const CALL_CODE: &str = "0x5b5f5f5f5f5f7300000000000000000000000000000000000a00055af1505f56";
/// Returns 42, as an honest client asks for.
pub(super) const ANSWER: Address = address!("00000000000000000000000000000000000a0007");
const ANSWER_CODE: &str = "0x602a5f5260205ff3";
/// Filters that are polled.
const FILTERS: usize = 32;
/// Calls that emit logs: together nearly as many as one answer may have.
const LOG_CALLS: u64 = 36;

/// What abusers need to know.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// A transaction that takes its time to be traced.
    pub(super) transaction: Value,
    /// Transactions that nobody has sent yet, of one sender, in order.
    pub(super) unsent: Vec<String>,
    /// The same of another sender; each emits many logs.
    pub(super) unsent_logs: Vec<String>,
    /// Filters for everything.
    pub(super) filters: Vec<Value>,
}

/// A node that runs until it is stopped.
pub(super) struct Node {
    pectin: Pectin,
    pub(super) address: SocketAddr,
    pub(super) target: Target,
}

fn genesis() -> Value {
    let balance =
        |wallet: Wallet| (wallet.address().to_string(), json!({ "balance": "0x21e19e0c9bab2400000" }));
    let mut alloc = (0..4).map(|n| balance(Wallet::new(n))).collect::<serde_json::Map<_, _>>();
    for (address, code) in [
        (LOGS, LOGS_CODE),
        (SPIN, SPIN_CODE),
        (READ, READ_CODE),
        (MUCH, MUCH_CODE),
        (CALL, CALL_CODE),
        (ANSWER, ANSWER_CODE),
    ] {
        alloc.insert(address.to_string(), json!({ "balance": "0x0", "code": code }));
    }
    json!({ "config": { "chainId": 732846 }, "gasLimit": "0x7270e00", "difficulty": "0x0", "alloc": alloc })
}

/// Starts a node with a chain of its own, and gives its address.
fn start() -> Result<(Pectin, SocketAddr), String> {
    let file = tempfile::NamedTempFile::new().map_err(|why| why.to_string())?;
    std::fs::write(file.path(), genesis().to_string()).map_err(|why| why.to_string())?;
    let path = file.path().display().to_string();
    let arguments = ["dev", "--http-port", "0", "--slot-ms", "1000", "--genesis", &path];
    let mut pectin = Pectin::start(arguments).map_err(|why| why.to_string())?;
    let line = pectin.wait_for("RPC ")?;
    pectin.wait_for("ready in")?;
    let url = line.split_whitespace().nth(1).unwrap_or_default();
    let address = url.trim_start_matches("http://").parse().map_err(|why| format!("{url}: {why}"))?;
    Ok((pectin, address))
}

/// A node that is not abused, until this is dropped.
pub(super) struct Control {
    pectin: Pectin,
    address: SocketAddr,
}

impl Control {
    pub(super) fn start() -> Result<Self, String> {
        start().map(|(pectin, address)| Self { pectin, address })
    }

    /// Where it listens, and which process it is.
    pub(super) fn place(&self) -> (SocketAddr, u32) {
        (self.address, self.pectin.id())
    }
}

impl Node {
    /// Starts it, and lets it make blocks with many logs.
    pub(super) fn start() -> Result<Self, String> {
        let (mut pectin, address) = start()?;
        let mut client = Client::connect(&format!("http://{address}")).map_err(|why| why.to_string())?;
        let wallet = Wallet::new(1);
        let mut transaction = Value::Null;
        let logging =
            |wallet: &Wallet, nonce| wallet.eip1559(Call { gas_limit: 1_000_000, ..Call::to(LOGS, nonce) });
        for nonce in 0..LOG_CALLS {
            let tx = logging(&wallet, nonce);
            transaction = call(&mut client, "eth_sendRawTransaction", &json!([tx.encoded()]))?;
        }
        while call(&mut client, "eth_getTransactionReceipt", &json!([transaction]))?.is_null() {
            pectin.wait_for("block sealed")?;
        }
        let other = Wallet::new(2);
        let unsent = (0..4_000).map(|nonce| other.eip1559(Call::transfer(wallet.address(), nonce, 1)));
        let unsent = unsent.map(|tx| tx.encoded().to_string()).collect();
        let third = Wallet::new(3);
        let unsent_logs = (0..1_000).map(|nonce| logging(&third, nonce).encoded().to_string()).collect();
        let filters = (0..FILTERS).map(|_| call(&mut client, "eth_newFilter", &json!([{}])));
        let filters = filters.collect::<Result<_, _>>()?;
        Ok(Self { pectin, address, target: Target { transaction, unsent, unsent_logs, filters } })
    }

    fn status(&self, field: &str) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.pectin.id());
        let text = std::fs::read_to_string(path).map_err(|why| format!("the node has ended: {why}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.ok_or_else(|| format!("{field} cannot be read"))
    }

    /// The memory that it has now.
    pub(super) fn resident_kib(&self) -> Result<u64, String> {
        self.status("VmRSS")
    }

    /// The most memory that it ever had.
    pub(super) fn peak_kib(&self) -> Result<u64, String> {
        self.status("VmHWM")
    }

    /// Where it listens, and which process it is.
    pub(super) fn place(&self) -> (SocketAddr, u32) {
        (self.address, self.pectin.id())
    }

    /// How many of its threads for calls have the same priority as its others, so that calls delay all else.
    pub(super) fn hurried_call_threads(&self) -> Result<usize, String> {
        if !cfg!(target_os = "linux") {
            return Ok(0);
        }
        let path = format!("/proc/{}/task", self.pectin.id());
        let ended = |why: std::io::Error| format!("the node has ended: {why}");
        let mut found = 0;
        let mut hurried = 0;
        for thread in std::fs::read_dir(path).map_err(ended)?.flatten() {
            // Threads come and go.
            let Ok(text) = std::fs::read_to_string(thread.path().join("stat")) else { continue };
            // Behind the name, which may contain anything, the niceness is the 17th field.
            let Some((name, fields)) = text.rsplit_once(')') else { continue };
            if name.contains("(pectin-call-") {
                found += 1;
                let nice = fields.split_whitespace().nth(16).and_then(|nice| nice.parse::<i32>().ok());
                hurried += usize::from(nice.is_none_or(|nice| nice <= 0));
            }
        }
        if found > 0 { Ok(hurried) } else { Err("the node has no threads for calls".to_owned()) }
    }

    /// Stops it; says how often it panicked, and how often it blamed itself for an answer.
    pub(super) fn stop(&mut self) -> Result<(usize, usize), String> {
        self.pectin.terminate();
        let ended = self.pectin.wait().map_err(|why| why.to_string())?;
        let count = |text: &str| self.pectin.log.iter().filter(|line| line.contains(text)).count();
        for line in
            self.pectin.log.iter().filter(|line| line.contains("panicked") || line.contains("a call failed"))
        {
            println!("{line}");
        }
        match ended.success() {
            true => Ok((count("panicked"), count("a call failed"))),
            false => Err(format!("the node ended with {ended}")),
        }
    }
}
