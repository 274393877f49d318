//! All validators are down for ten minutes of slots. Blocks go on to be sealed and wait, and the node is killed on top of
//! a thousand transactions that wait with them.

use super::{
    judge::{FIRST_FILLER, Judge},
    ledger::Said,
    load::{self, Deed},
    moment::Strike,
};
use harness::blocks::Wallet;
use serde_json::{Value, json};

/// Ten minutes of slots that last six seconds.
const OUTAGE_SLOTS: u32 = 100;
/// Blocks that shall wait to be submitted,
const BLOCKS: u64 = 12;
/// and transactions that are not final, in blocks or in the pool.
const TRANSACTIONS: u64 = 1000;

/// Blocks that no validator has, and transactions that are not final.
fn waiting(status: &Value) -> (u64, u64) {
    let number = |group: &str, name: &str| status[group][name].as_u64().unwrap_or_default();
    let transactions = ["pending", "queued", "bundled"].map(|name| number("pool", name));
    (number("unbundled", "blocks"), transactions.iter().sum())
}

impl Judge {
    /// The life in which validators go down, and the one in which they come back.
    pub(super) fn outage(&mut self, strike: Strike) -> Result<(), String> {
        self.live()?;
        self.await_none_abandoned()?;
        let first = self.world.slot();
        self.world.validators_down();
        self.say("all validators are down");
        self.await_blocks(first)?;
        self.pause_load(true);
        self.fill_pool()?;
        let status = self.status()?;
        let (blocks, transactions) = waiting(&status);
        let number = self.kills + 1;
        self.say(format_args!(
            "kill {number:>3}  with {blocks} blocks and {transactions} transactions waiting"
        ));
        self.kill()?;

        self.spawn()?;
        let ready = self.await_ready()?;
        let now = self.status()?;
        let latest = &status["latest"];
        let again = self.rpc.ask("eth_getBlockByNumber", json!([latest["number"], false]))?;
        if again["hash"] != latest["hash"] || waiting(&now).1 < transactions {
            return Err(format!("before the kill {status}, after the restart {now}"));
        }
        let seconds = ready.as_secs_f64();
        println!("restart: {blocks} blocks {transactions} transactions ready in {seconds:.2} s");
        self.pause_load(false);
        self.world.wait_for_slot(first.saturating_add(OUTAGE_SLOTS));
        self.world.validators_up()?;
        self.say(format_args!("validators are back after {} slots", self.world.slot() - first));
        self.die(strike, ready)
    }

    /// Waits until nothing is given up that is not released yet. That needs validators, and nothing is built before.
    fn await_none_abandoned(&mut self) -> Result<(), String> {
        let first = self.world.slot();
        while self.status()?["queue"]["abandoned"] != 0 {
            if self.world.slot() > first + OUTAGE_SLOTS {
                return Err(format!("what was given up is not released: {}", self.status()?));
            }
            self.hear_of_progress(self.world.slots(1))?;
        }
        Ok(())
    }

    /// Waits until blocks wait.
    fn await_blocks(&mut self, first: u32) -> Result<(), String> {
        while waiting(&self.status()?).0 < BLOCKS {
            if self.world.slot() > first + OUTAGE_SLOTS * 3 / 4 {
                return Err(format!("no blocks were sealed while validators were down: {}", self.status()?));
            }
            // The accounts may have sent all that they may, and a block needs something to hold.
            self.send_transfers(1)?;
            self.hear_of_progress(self.world.slots(1))?;
        }
        Ok(())
    }

    /// Sends until a thousand wait.
    fn fill_pool(&mut self) -> Result<(), String> {
        loop {
            let (_, transactions) = waiting(&self.status()?);
            if transactions >= TRANSACTIONS {
                return Ok(());
            }
            self.send_transfers(TRANSACTIONS - transactions)?;
        }
    }

    /// Sends transfers of accounts that do nothing else.
    fn send_transfers(&mut self, count: u64) -> Result<(), String> {
        let fillers = self.filler_nonces.len();
        let mut transactions = vec![];
        for index in 0..count as usize {
            let filler = index % fillers;
            let wallet = Wallet::new(FIRST_FILLER + filler as u64);
            let nonce = self.filler_nonces[filler];
            transactions.push(load::transaction(&wallet, nonce, Deed::Transfer(nonce + 1), 0));
            self.filler_nonces[filler] += 1;
        }
        let noted = transactions.iter().map(|tx| self.ledger.note(tx)).collect::<Vec<_>>();
        let calls = noted.iter().map(|(_, raw)| ("eth_sendRawTransaction", json!([raw])));
        let answers = self.rpc.batch(&calls.collect::<Vec<_>>()).ok_or("the node does not answer")?;
        for ((hash, _), answer) in noted.iter().zip(answers) {
            answer.map_err(|why| format!("the pool was not full and refused a transfer: {why}"))?;
            self.ledger.heard(hash, Said::Accepted);
        }
        Ok(())
    }
}
