//! What can be set, once: as a flag, as a variable of the environment, or in the configuration file, under one name.
//!
//! Flags win over the environment, the environment over the file, the file over the defaults.

use alloy_primitives::Address;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use std::{net::IpAddr, path::PathBuf};

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// One JSON object per line.
    Json,
}

/// How anchors are chosen and what a timeout does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Anchor two blocks back; after a timeout the same bytes again while their anchor lives.
    #[default]
    Pectin,
    /// The queue specification to the letter.
    Spec,
}

macro_rules! options {
    ($($(#[doc = $doc:literal])+ $heading:literal $name:ident $long:literal $env:literal : $type:ty = $default:literal,)+) => {
        /// Everything that can be set about a builder. What is not set has its default.
        #[derive(Clone, Debug, Default, Args, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Options {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("[default: ", $default, "]")]
                #[arg(long = $long, env = $env, help_heading = $heading, value_name = "VALUE", hide_env = true)]
                pub $name: Option<$type>,
            )+
        }

        impl Options {
            /// What is set here, else what is set there.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name),)+ }
            }

            /// Name, default, heading and meaning of every option, in order.
            pub const ALL: &'static [(&'static str, &'static str, &'static str, &'static [&'static str])] =
                &[$(($long, $default, $heading, &[$($doc),+]),)+];
        }
    };
}

options! {
    /// The address to serve JSON-RPC on.
    "RPC" http_addr "http-addr" "PECTIN_HTTP_ADDR": IpAddr = "127.0.0.1",
    /// The port to serve JSON-RPC on, HTTP and WebSocket; 0 takes a free one.
    "RPC" http_port "http-port" "PECTIN_HTTP_PORT": u16 = "8545",
    /// Names under which browsers may reach the RPC, besides localhost and plain addresses; separated by commas.
    "RPC" http_hosts "http-hosts" "PECTIN_HTTP_HOSTS": String = "",
    /// Origins of web pages that may use the RPC (`*` for all); separated by commas.
    "RPC" cors_origins "cors-origins" "PECTIN_CORS_ORIGINS": String = "none; * in dev",
    /// Requests per second that one client may make; 0 for no limit.
    "RPC" rate_limit "rate-limit" "PECTIN_RATE_LIMIT": u32 = "0",
    /// A file with the token for admin methods; made with a fresh token if it is missing.
    "RPC" token_file "token-file" "PECTIN_TOKEN_FILE": PathBuf = "admin-token in the data directory",
    /// Gas that one eth_call may use.
    "RPC" call_gas_max "call-gas-max" "PECTIN_CALL_GAS_MAX": u64 = "50000000",
    /// Milliseconds that one eth_call may take.
    "RPC" call_ms_max "call-ms-max" "PECTIN_CALL_MS_MAX": u64 = "5000",

    /// The UDP port that the node takes connections from validators on; 0 takes a free one.
    "Network" p2p_port "p2p-port" "PECTIN_P2P_PORT": u16 = "0",
    /// The address that the node takes connections from validators on.
    "Network" p2p_addr "p2p-addr" "PECTIN_P2P_ADDR": IpAddr = "127.0.0.1",

    /// Where everything durable is kept.
    "Data" data_dir "data-dir" "PECTIN_DATA_DIR": PathBuf = "pectin-data; in dev nothing is kept",
    /// States below the final one that can be asked about.
    "Data" states_kept "states-kept" "PECTIN_STATES_KEPT": u64 = "128",

    /// Who gets the fees.
    "Building" fee_recipient "fee-recipient" "PECTIN_FEE_RECIPIENT": Address = "0x0000000000000000000000000000000000000000",
    /// Milliseconds after its first transaction that a block is sealed while the queue is empty.
    "Building" seal_after_ms "seal-after-ms" "PECTIN_SEAL_AFTER_MS": u64 = "500",
    /// Transactions in a block at most.
    "Building" block_txs_max "block-txs-max" "PECTIN_BLOCK_TXS_MAX": usize = "as many as fit",
    /// Gas of a block at most; the chain's own limit holds in any case.
    "Building" gas_limit "gas-limit" "PECTIN_GAS_LIMIT": u64 = "120000000",
    /// Empty blocks after the last transaction, one per slot, so that whoever waits for confirmations gets them.
    "Building" empty_blocks "empty-blocks" "PECTIN_EMPTY_BLOCKS": u32 = "2",
    /// Build and execute, but never submit: true or false.
    "Building" dry_run "dry-run" "PECTIN_DRY_RUN": bool = "false",

    /// The least maxFeePerGas (gasPrice) that is accepted, in wei.
    "Pool" min_gas_price "min-gas-price" "PECTIN_MIN_GAS_PRICE": u128 = "1000000000",
    /// Transactions that can be executed and wait.
    "Pool" pool_pending_max "pool-pending-max" "PECTIN_POOL_PENDING_MAX": usize = "1000; 100000 in dev",
    /// Transactions that cannot be executed yet and wait.
    "Pool" pool_queued_max "pool-queued-max" "PECTIN_POOL_QUEUED_MAX": usize = "1000; 100000 in dev",
    /// Transactions of one sender.
    "Pool" pool_sender_max "pool-sender-max" "PECTIN_POOL_SENDER_MAX": usize = "16; 1024 in dev",
    /// Seconds that a transaction may wait.
    "Pool" pool_ttl_secs "pool-ttl-secs" "PECTIN_POOL_TTL_SECS": u64 = "3600",
    /// Bytes of one transaction.
    "Pool" tx_bytes_max "tx-bytes-max" "PECTIN_TX_BYTES_MAX": usize = "32768; 131072 in dev",

    /// How anchors are chosen and what a timeout does: pectin or spec.
    "Queue" queue_policy "queue-policy" "PECTIN_QUEUE_POLICY": Policy = "pectin",
    /// Bundles that may wait to be submitted; when they are as many, building waits.
    "Queue" queue_depth_max "queue-depth-max" "PECTIN_QUEUE_DEPTH_MAX": usize = "12",
    /// Bundles that may be submitted and not yet guaranteed, at most one per core.
    "Queue" inflight_max "inflight-max" "PECTIN_INFLIGHT_MAX": usize = "as many as cores",
    /// Versions that may fail before a block is abandoned.
    "Queue" retries_max "retries-max" "PECTIN_RETRIES_MAX": u32 = "3",

    /// Whether accounts are managed here: true or false.
    "Sender" sender "sender" "PECTIN_SENDER": bool = "true",
    /// Where the sender keeps its rows: a file, or a Redis server (redis://..) that several processes share.
    "Sender" sender_store "sender-store" "PECTIN_SENDER_STORE": String = "sender.redb in the data directory; memory if nothing is kept",
    /// What the sender's rows in Redis begin with.
    "Sender" sender_namespace "sender-namespace" "PECTIN_SENDER_NAMESPACE": String = "pectin",
    /// Other chains to send to, as ID=URL|URL, separated by commas.
    "Sender" sender_chains "sender-chains" "PECTIN_SENDER_CHAINS": String = "",
    /// Transactions that a managed account may have in the pool.
    "Sender" sender_pool_slots "sender-pool-slots" "PECTIN_SENDER_POOL_SLOTS": usize = "100",
    /// Transactions in flight per managed account.
    "Sender" sender_in_flight_max "sender-in-flight-max" "PECTIN_SENDER_IN_FLIGHT_MAX": usize = "100",
    /// The highest price per gas that the sender offers, in wei.
    "Sender" sender_fee_cap "sender-fee-cap" "PECTIN_SENDER_FEE_CAP": u128 = "500000000000",
    /// Milliseconds that a transaction stands still before it is made dearer.
    "Sender" sender_stall_ms "sender-stall-ms" "PECTIN_SENDER_STALL_MS": u64 = "60000",
    /// Milliseconds that a gap between nonces may last before it is filled.
    "Sender" sender_gap_grace_ms "sender-gap-grace-ms" "PECTIN_SENDER_GAP_GRACE_MS": u64 = "10000",
    /// Milliseconds after which a transaction that is not mined is cancelled; 0 for never.
    "Sender" sender_cancel_after_ms "sender-cancel-after-ms" "PECTIN_SENDER_CANCEL_AFTER_MS": u64 = "0",
    /// A directory of encrypted keys, one password for all; `pectin account` makes them.
    "Sender" sender_keystore "sender-keystore" "PECTIN_SENDER_KEYSTORE": PathBuf = "keystore in the data directory",
    /// A file with the password of the keystores; without it the password is asked for on the terminal.
    "Sender" sender_password_file "sender-password-file" "PECTIN_SENDER_PASSWORD_FILE": PathBuf = "none",
    /// A remote signer that speaks the HTTP interface of web3signer.
    "Sender" sender_web3signer "sender-web3signer" "PECTIN_SENDER_WEB3SIGNER": String = "",
    /// Networks that webhooks may go to besides public addresses, such as 127.0.0.0/8; separated by commas.
    "Sender" sender_webhook_allow "sender-webhook-allow" "PECTIN_SENDER_WEBHOOK_ALLOW": String = "",
    /// Hours that a request is kept after its end.
    "Sender" sender_retention_hours "sender-retention-hours" "PECTIN_SENDER_RETENTION_HOURS": u64 = "24",

    /// How log lines look: pretty or json.
    "Log" log_format "log-format" "PECTIN_LOG_FORMAT": LogFormat = "pretty",
    /// Which log lines: error, warn, info, debug, trace, or as in RUST_LOG.
    "Log" log "log" "PECTIN_LOG": String = "info",
}
