//! Random and mutated bodies, from a seed: the same seed sends the same bodies.

use super::connection::{Connection, Tally};
use harness::rng::Rng;
use std::{
    cell::{Cell, RefCell},
    fmt::Write as _,
    net::SocketAddr,
};

/// Connections at once.
const CONNECTIONS: usize = 24;
/// Bodies that are sent before their answers are waited for.
const IN_A_ROW: usize = 4;

/// Requests that are right, before they are mutated.
const RIGHT: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"eth_getBalance","params":["0x00000000000000000000000000000000000a0001","latest"]}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"eth_getBlockByNumber","params":["0x1",true]}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"eth_call","params":[{"to":"0x00000000000000000000000000000000000a0001","data":"0x","gas":"0x186a0"},"latest",{}]}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"eth_estimateGas","params":[{"to":"0x00000000000000000000000000000000000a0003","value":"0x1"}]}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x1","topics":[null,["0x01"]]}]}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"eth_sendRawTransaction","params":["0x02f86b8205390180843b9aca0082520894000000000000000000000000000000000000000080c080a0"]}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"eth_feeHistory","params":["0x4","latest",[1.5,50,99.9]]}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"eth_newFilter","params":[{"address":["0x00000000000000000000000000000000000a0001"]}]}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"eth_getFilterChanges","params":["0x1"]}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"eth_getProof","params":["0x00000000000000000000000000000000000a0001",["0x0"],"latest"]}"#,
    r#"{"jsonrpc":"2.0","id":11,"method":"eth_simulateV1","params":[{"blockStateCalls":[{"calls":[{"to":"0x00000000000000000000000000000000000a0003"}]}]},"latest"]}"#,
    r#"{"jsonrpc":"2.0","id":12,"method":"debug_traceCall","params":[{"to":"0x00000000000000000000000000000000000a0003"},"latest",{"tracer":"callTracer"}]}"#,
    r#"{"jsonrpc":"2.0","id":13,"method":"eth_createAccessList","params":[{"to":"0x00000000000000000000000000000000000a0003"},"pending"]}"#,
    r#"{"jsonrpc":"2.0","id":14,"method":"eth_getStorageAt","params":["0x00000000000000000000000000000000000a0001","0x0","latest"]}"#,
    r#"{"jsonrpc":"2.0","id":15,"method":"txpool_contentFrom","params":["0x00000000000000000000000000000000000a0001"]}"#,
    r#"{"jsonrpc":"2.0","id":16,"method":"builder_transaction","params":["0x0000000000000000000000000000000000000000000000000000000000000001"]}"#,
    r#"{"jsonrpc":"2.0","id":17,"method":"builder_release","params":[1]}"#,
    r#"{"jsonrpc":"2.0","id":18,"method":"eth_subscribe","params":["newHeads"]}"#,
    r#"{"jsonrpc":"2.0","id":19,"method":"web3_sha3","params":["0x68656c6c6f"]}"#,
];

/// What is put in the place of something right.
const WRONG: &[&str] = &[
    "null",
    "true",
    "-1",
    "1e400",
    "0x",
    "\"0x\"",
    "\"0xzz\"",
    "{}",
    "[]",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\u{feff}",
    "\"latest\"",
    "18446744073709551616",
    "0.1",
    "\"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\"",
    "]",
    "}",
    ",",
    "\"",
];

/// A source of bodies.
pub(super) struct Bodies(Rng);

impl Bodies {
    pub(super) fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.0.below(of.len() as u64) as usize]
    }

    /// The next body.
    fn next(&mut self) -> Vec<u8> {
        match self.0.below(10) {
            0 => (0..self.0.below(200)).map(|_| self.0.bits() as u8).collect(),
            1 => {
                let mut text = String::new();
                self.value(&mut text, 4);
                text.into_bytes()
            }
            2 => {
                let calls = (0..self.0.below(12)).map(|_| self.mutated()).collect::<Vec<_>>();
                [b"[".as_slice(), &calls.join(&b","[..]), b"]"].concat()
            }
            3 => self.pick(RIGHT).as_bytes().to_vec(),
            _ => self.mutated(),
        }
    }

    /// A right request with up to three things wrong.
    fn mutated(&mut self) -> Vec<u8> {
        let mut body = self.pick(RIGHT).as_bytes().to_vec();
        for _ in 0..=self.0.below(3) {
            let at = self.0.below(body.len().max(1) as u64) as usize;
            match self.0.below(6) {
                0 if !body.is_empty() => body[at] ^= 1 << self.0.below(8),
                1 => body.truncate(at),
                2 => drop(body.splice(at..at, self.pick(WRONG).bytes())),
                3 => {
                    let end = (at + self.0.below(20) as usize).min(body.len());
                    drop(body.splice(at.min(end)..end, self.pick(WRONG).bytes()));
                }
                4 => {
                    let piece = body[at.min(body.len())..].to_vec();
                    body.extend(piece);
                }
                _ => {
                    let mut value = String::new();
                    self.value(&mut value, 3);
                    drop(body.splice(at..at, value.bytes()));
                }
            }
        }
        body
    }

    /// Some JSON.
    fn value(&mut self, text: &mut String, depth: u32) {
        let _ = match self.0.below(if depth == 0 { 4 } else { 6 }) {
            0 => write!(text, "{}", self.0.bits() as i64),
            1 => write!(text, "\"0x{:x}\"", self.0.bits() >> self.0.below(64)),
            2 | 3 => write!(text, "{}", self.pick(WRONG)),
            4 => {
                text.push('[');
                for index in 0..self.0.below(5) {
                    text.push_str(if index == 0 { "" } else { "," });
                    self.value(text, depth - 1);
                }
                text.write_char(']')
            }
            _ => {
                text.push('{');
                for index in 0..self.0.below(5) {
                    let name = self.pick(&[
                        "to", "from", "data", "topics", "address", "params", "method", "id", "jsonrpc",
                    ]);
                    let _ = write!(text, "{}\"{name}\":", if index == 0 { "" } else { "," });
                    self.value(text, depth - 1);
                }
                text.write_char('}')
            }
        };
    }

    /// Sends so many of them, on connections that stay open.
    pub(super) async fn send(self, node: SocketAddr, count: u64) -> Tally {
        let (source, left) = (RefCell::new(self), Cell::new(count));
        let abuser = || async {
            let mut tally = Tally::default();
            let mut connection = None;
            while left.get() > 0 {
                let some = left.get().min(IN_A_ROW as u64);
                left.set(left.get() - some);
                let bodies = (0..some).map(|_| source.borrow_mut().next()).collect::<Vec<_>>();
                let open = match connection.take() {
                    Some(open) => Ok(open),
                    None => Connection::open(node).await,
                };
                match open {
                    Ok(mut open) => match open.post(&bodies, &mut tally).await {
                        Ok(()) => connection = Some(open),
                        Err(error) => tally.add(&Err(error)),
                    },
                    Err(error) => tally.add(&Err(error)),
                }
            }
            tally
        };
        Tally::sum(&futures_util::future::join_all((0..CONNECTIONS).map(|_| abuser())).await)
    }
}
