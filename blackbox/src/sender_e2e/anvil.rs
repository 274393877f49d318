//! A running anvil, with the development accounts that `pectin dev` has too.

use harness::{anvil, child};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

/// Its chain id.
pub(super) const CHAIN_ID: u64 = 31337;

/// A running anvil; ended with its owner.
pub(super) struct Anvil {
    child: Child,
    pub url: String,
}

impl Anvil {
    /// Blocks every second, final after two epochs of one block.
    pub(super) fn start() -> Result<Self, String> {
        let mut command = child::command(anvil::program()?);
        command
            .args(["--port", "0", "--chain-id", "31337", "--block-time", "1", "--slots-in-an-epoch", "1"])
            .args(["--gas-limit", "120000000"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = child::spawn(command).map_err(|why| why.to_string())?;
        let output = BufReader::new(child.stdout.take().ok_or("anvil has no output")?);
        let mut lines = output.lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.strip_prefix("Listening on ")?.to_owned()));
        let url = format!("http://{}", address.ok_or("anvil does not say where it listens")?);
        // It must be able to go on writing.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, url })
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
