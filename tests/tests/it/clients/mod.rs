//! Real clients against the real node: what people use must work, with nothing but its own ways to do things.
//!
//! ```text
//!   cast, forge, viem, ethers, Hardhat, web3.py ──▶ wire, which counts ──▶ pectin dev
//!   alloy (in this program)                     ──▶
//! ```
//!
//! Each client has a folder in `tests/clients` with a flow: it deploys a token, reads and writes, waits for receipts and
//! confirmations, looks at logs, filters and subscriptions, estimates fees, understands why something fails, sends fifty
//! transactions in a row, delegates, and uses access lists. Besides these, `ignition`, `uniswap` and `idle` do what once
//! failed. A flow ends with an error at the first thing that is not as
//! expected. How many calls it made is counted outside of it, where all answers are compared with the specification too.

mod alloy;
mod count;
mod install;
mod metamask;
mod wire;

use harness::{openrpc::Schemas, process::Pectin};
use install::Installed;
use std::{
    path::Path,
    process::{Command, Stdio},
};
use wire::Wire;

/// A flow takes seconds; one that hangs has failed.
const FLOW_SECS_MAX: &str = "240";

/// A node with quick slots, and the wire to it.
struct Network {
    pectin: Pectin,
    wire: Wire,
    /// The keys of the accounts that own something.
    keys: Vec<String>,
}

impl Network {
    fn start() -> Self {
        let mut pectin = Pectin::start(["dev", "--http-port", "0", "--slot-ms", "1000"]).unwrap();
        let line = pectin.wait_for("RPC ").unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let wire = Wire::start(address.parse().unwrap());
        pectin.wait_for("ready in").unwrap();
        let accounts = pectin.log.iter().filter(|line| line.starts_with("  ("));
        let keys = accounts.filter_map(|line| Some(line.split_whitespace().last()?.to_owned())).collect();
        Self { pectin, wire, keys }
    }

    fn http(&self) -> String {
        format!("http://{}", self.wire.address())
    }

    fn ws(&self) -> String {
        format!("ws://{}", self.wire.address())
    }

    /// Says how many calls a client has made. A node that had to say `internal error` has failed it all the same.
    fn conclude(mut self, client: &str) {
        self.pectin.terminate();
        assert!(self.pectin.wait().unwrap().success(), "{:#?}", self.pectin.log);
        let counted = self.wire.counted();
        let methods = counted.methods.iter().map(|(method, calls)| format!("{method} {calls}"));
        println!("{}", methods.collect::<Vec<_>>().join(", "));
        assert_eq!(counted.unread, 0, "every request was understood");
        assert!(counted.total() > 0, "the client did go through the wire");
        if let Some(folder) = harness::fixtures::folder("rpc-compat") {
            let schemas = Schemas::read(&folder.join("openrpc.json")).unwrap();
            let refused = counted.refused(&schemas);
            assert!(refused.is_empty(), "the specification does not allow: {refused:#?}");
        }
        let is_fault = |line: &&String| line.contains("a call failed") || line.contains("panicked");
        let failed = self.pectin.log.iter().filter(is_fault).collect::<Vec<_>>();
        assert!(failed.is_empty(), "{failed:#?}");
        println!("client {client}: {} calls, all as expected", counted.total());
    }
}

/// Runs a client's flow: a command in its folder.
fn flow(client: &str, command: impl FnOnce(&Installed) -> Command) {
    let Some(installed) = install::installed() else { return };
    let network = Network::start();
    let given = command(&installed);
    // The flow and all that it starts end with the time that it has.
    let mut timed = Command::new("timeout");
    timed.args(["--kill-after", "5", FLOW_SECS_MAX]).arg(given.get_program()).args(given.get_args());
    timed.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    timed.current_dir(installed.folder(client)).stdin(Stdio::null());
    timed.env("PECTIN_HTTP", network.http()).env("PECTIN_WS", network.ws());
    timed.env("PECTIN_KEYS", network.keys.join(","));
    let output = timed.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let words = format!("{}{}", said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{client}: {}\n{words}", output.status);
    network.conclude(client);
}

fn script(client: &str) {
    flow(client, |installed| {
        let mut command = Command::new(installed.node());
        command.arg("flow.mjs");
        command
    });
}

/// Accounts whose keys the node holds, used by clients as by any other wallet (`eth_sendTransaction`).
mod managed {
    use super::*;

    fn script(name: &str) {
        flow("managed", |installed| {
            let mut command = Command::new(installed.node());
            command.arg(name);
            command
        });
    }

    #[test]
    fn viem() {
        script("viem.mjs");
    }

    #[test]
    fn ethers() {
        script("ethers.mjs");
    }

    #[test]
    fn web3py() {
        let Some(python) = install::python() else { return };
        flow("managed", |_| {
            let mut command = Command::new(python);
            command.arg("web3py.py");
            command
        });
    }
}

#[test]
fn cast() {
    script("cast");
}

#[test]
fn forge() {
    script("forge");
}

#[test]
fn viem() {
    script("viem");
}

#[test]
fn ethers() {
    script("ethers");
}

fn hardhat_script(folder: &str) {
    flow(folder, |installed| {
        let mut command = Command::new(installed.node());
        command.arg(installed.module("hardhat/dist/src/cli.js"));
        command.args(["run", "--network", "pectin", "flow.mjs"]);
        command
    });
}

#[test]
fn hardhat() {
    hardhat_script("hardhat");
}

/// It waits for five confirmations of each transaction: with two empty blocks after the last one it hung for ever.
#[test]
fn ignition() {
    hardhat_script("ignition");
}

/// A swap right after liquidity was added was estimated without it, and ran out of gas.
#[test]
fn uniswap() {
    script("uniswap");
}

/// A time lock that had expired on a chain without new blocks could not be estimated.
#[test]
fn idle() {
    script("idle");
}

#[test]
fn web3py() {
    let Some(python) = install::python() else { return };
    flow("web3py", |_| {
        let mut command = Command::new(python);
        command.arg(Path::new("flow.py"));
        command
    });
}
