//! The limits, each with its unit in its name, and what a client may do.

use std::{collections::BTreeSet, fmt, time::Duration};

/// Limits on what one client can make the node do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The body of a request, or a WebSocket message.
    pub body_bytes_max: usize,
    /// Calls in a batch.
    pub batch_calls_max: usize,
    /// The answer to a request, a batch included.
    pub response_bytes_max: usize,
    /// Connections at once, WebSockets included. At the limit the connection that has been idle longest is closed for the
    /// next one.
    pub connections_max: usize,
    /// A connection that has been idle for less than this is not closed at the limit.
    pub evict_idle_after: Duration,
    /// WebSockets among them, which are never closed at the limit.
    pub websockets_max: usize,
    /// Large answers of all clients that wait to be read. When there is no room for another one, one that its client should
    /// have read is evicted, first of the address that holds most.
    pub answers_bytes_max: usize,
    /// Subscriptions of one connection.
    pub subscriptions_max: usize,
    /// Answers and notifications that wait for a slow WebSocket client before it is cut off.
    pub outgoing_messages_max: usize,
    /// The same in bytes; also what its messages may take that are worked on.
    pub outgoing_bytes_max: usize,
    /// Filters of all clients. At the limit a filter of the client that has most of them is removed for the next one.
    pub filters_max: usize,
    /// How long a filter lives that nobody asks for.
    pub filter_ttl: Duration,
    /// What is kept in memory of what filters have not told yet.
    pub notices_bytes_max: usize,
    /// The time for the headers of a request to arrive, and for a WebSocket client to show signs of life.
    pub idle_timeout: Duration,
    /// Gas of a call.
    pub call_gas_max: u64,
    /// Gas of JAM's virtual machine that one package has: a transaction that needs more to be refined is not estimated.
    pub refine_gas_max: u64,
    /// Time of a call, an estimate, a trace or a search.
    pub call_timeout: Duration,
    /// Calls that run at once, besides one of a client that has hardly called lately.
    pub calls_running_max: usize,
    /// Calls that wait for their turn; more are refused, first those of who has most of them.
    pub calls_waiting_max: usize,
    /// Blocks in a range of logs.
    pub log_blocks_max: u64,
    /// Logs in an answer.
    pub logs_max: usize,
    /// Addresses in a filter, and topics at one of its positions.
    pub filter_items_max: usize,
    /// Blocks in a fee history.
    pub fee_history_blocks_max: u64,
    /// Slots in a proof or a list of values.
    pub slots_max: usize,
    /// How long `eth_sendRawTransactionSync` waits if the client does not say, and at most.
    pub receipt_timeout: Duration,
    /// The longest that a client may ask it to wait.
    pub receipt_timeout_max: Duration,
    /// Calls of one client (by address); `None` is no limit.
    pub rate: Option<Rate>,
    /// Whether clients on this machine are limited too.
    pub rate_on_loopback: bool,
}

/// How often a client may call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// Calls in a second, in the long run.
    pub calls_per_second: u32,
    /// Calls at once after a pause.
    pub burst_calls: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 2 * 1024 * 1024,
            batch_calls_max: 1_000,
            response_bytes_max: 10_000_000,
            connections_max: 256,
            evict_idle_after: Duration::from_millis(1),
            websockets_max: 128,
            answers_bytes_max: 128 * 1024 * 1024,
            subscriptions_max: 64,
            outgoing_messages_max: 1024,
            outgoing_bytes_max: 4 * 1024 * 1024,
            filters_max: 1024,
            filter_ttl: Duration::from_secs(300),
            notices_bytes_max: 64 * 1024 * 1024,
            idle_timeout: Duration::from_secs(60),
            call_gas_max: 50_000_000,
            refine_gas_max: jam::Params::FULL.refine_gas_max,
            call_timeout: Duration::from_secs(5),
            calls_running_max: std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2)),
            calls_waiting_max: 256,
            log_blocks_max: 100_000,
            logs_max: 20_000,
            filter_items_max: 1_000,
            fee_history_blocks_max: 1_024,
            slots_max: 1_024,
            receipt_timeout: Duration::from_secs(20),
            receipt_timeout_max: Duration::from_secs(60),
            rate: Some(Rate { calls_per_second: 5_000, burst_calls: 10_000 }),
            rate_on_loopback: false,
        }
    }
}

/// Who may talk to the node, and how much.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The limits.
    pub limits: Limits,
    /// Host names that requests may be addressed to, without port. `localhost` and addresses always may; `*` allows
    /// all. A page in a browser that lets its own name point to this machine is stopped by this.
    pub hosts: BTreeSet<String>,
    /// Origins whose pages may read answers (CORS); `*` allows all. None by default.
    pub origins: BTreeSet<String>,
    /// What the operator's methods need in `Authorization: Bearer`; without it there are none.
    pub token: Option<String>,
    /// The least tip that is suggested, in wei.
    pub tip_min_wei: u128,
}

impl fmt::Debug for Config {
    /// Whether there is a token may be known, which one it is may not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("limits", &self.limits)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("has_token", &self.token.is_some())
            .field("tip_min_wei", &self.tip_min_wei)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_not_printed() {
        let config = Config { token: Some("hunter2".to_owned()), ..Config::default() };
        let printed = format!("{config:?}");
        assert!(printed.contains("has_token: true") && !printed.contains("hunter2"), "{printed}");
    }
}
