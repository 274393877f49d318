//! What can be set, once: as a flag, as a variable of the environment, or in the configuration file, under one name.
//!
//! Flags win over the environment, the environment over the file, the file over the defaults.

use super::per_chain::PerChain;
use alloy_primitives::{Address, B256, Bytes};
use clap::{Args, ValueEnum};
use observe::Wording;
use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr, path::PathBuf};

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// A time, a level, a message and its fields.
    #[default]
    #[value(alias = "pretty")]
    #[serde(alias = "pretty")]
    Text,
    /// One JSON object per line.
    Json,
    /// Like text, with the queue's events in the exact words of the queue specification.
    Spec,
}

impl LogFormat {
    /// How events are worded in it.
    pub const fn wording(self) -> Wording {
        match self {
            Self::Text | Self::Json => Wording::Fields,
            Self::Spec => Wording::Spec,
        }
    }
}

/// How anchors are chosen and what a timeout does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Anchor two blocks back; after a timeout the same bytes again while their anchor lives.
    #[default]
    Pectin,
    /// The queue specification to the letter.
    Spec,
}

/// What becomes of a request whose nonce was used by a transaction that is not ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Foreign {
    /// It is queued again, in its old place.
    #[default]
    Requeue,
    /// It fails.
    Fail,
}

impl From<Foreign> for sender_model::OnForeign {
    fn from(foreign: Foreign) -> Self {
        match foreign {
            Foreign::Requeue => Self::Requeue,
            Foreign::Fail => Self::Fail,
        }
    }
}

/// What is known about one setting, for its reference.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Its name, as a flag and in the file.
    pub key: &'static str,
    /// What it is if it is not set, in words where it is not one value.
    pub default: &'static str,
    /// A value that it could have.
    pub example: &'static str,
    /// What it belongs to.
    pub heading: &'static str,
    /// What it means, in lines.
    pub meaning: &'static [&'static str],
}

/// What a setting can be.
trait Setting {
    /// Itself, if it is a path.
    fn path(&mut self) -> Option<&mut PathBuf> {
        None
    }
}

impl Setting for PathBuf {
    fn path(&mut self) -> Option<&mut PathBuf> {
        Some(self)
    }
}

macro_rules! no_paths {
    ($($type:ty),+) => { $(impl Setting for $type {})+ };
}
no_paths!(
    bool, u8, u16, u32, u64, usize, String, IpAddr, Address, B256, Bytes, Foreign, LogFormat, Policy,
    PerChain
);

/// The example if there is one, else the default.
macro_rules! example {
    ($default:literal) => {
        $default
    };
    ($default:literal $example:literal) => {
        $example
    };
}

/// Settings that may hold secrets: URLs with passwords and keys, and what convinces the authorizer.
pub(super) const SECRET: [&str; 4] =
    ["sender-store", "sender-chains", "sender-web3signer", "authorizer-token"];

// Each line: heading, field, name, variable, type, [more for clap], default in words, and a value to show if the default
// is none.
macro_rules! options {
    ($($(#[doc = $doc:literal])+ $heading:literal $name:ident $long:literal $env:literal : $type:ty
        $([$($clap:tt)*])? = $default:literal $(like $example:literal)?,)+) => {
        /// Everything that can be set about a builder. What is not set has its default.
        #[derive(Clone, Default, Args, Deserialize, Serialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Options {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("[default: ", $default, "]")]
                #[arg(long = $long, env = $env, help_heading = $heading, value_name = "VALUE", hide_env = true $(, $($clap)*)?)]
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )+
        }

        impl fmt::Debug for Options {
            /// What is set; of what may hold a secret only that it is.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut shown = f.debug_struct("Options");
                $(match &self.$name {
                    Some(_) if SECRET.contains(&$long) => { shown.field($long, &"set"); }
                    Some(value) => { shown.field($long, value); }
                    None => {}
                })+
                shown.finish()
            }
        }

        impl Options {
            /// What is set here, else what is set there.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name),)+ }
            }

            /// The paths among them.
            pub(super) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
                [$(self.$name.as_mut().and_then(Setting::path),)+].into_iter().flatten()
            }

            /// Every option, in order.
            pub const ALL: &'static [Described] = &[$(Described {
                key: $long,
                default: $default,
                example: example!($default $($example)?),
                heading: $heading,
                meaning: &[$($doc),+],
            },)+];
        }
    };
}

options! {
    /// The address to serve JSON-RPC on.
    "RPC" http_addr "http-addr" "PECTIN_HTTP_ADDR": IpAddr = "127.0.0.1",
    /// The port to serve JSON-RPC on, HTTP and WebSocket; 0 takes a free one.
    "RPC" http_port "http-port" "PECTIN_HTTP_PORT": u16 = "8545",
    /// Names under which browsers may reach the RPC, besides localhost and plain addresses; separated by commas.
    "RPC" http_hosts "http-hosts" "PECTIN_HTTP_HOSTS": String = "none" like "builder.example.org",
    /// Origins of web pages that may use the RPC (`*` for all); separated by commas.
    "RPC" cors_origins "cors-origins" "PECTIN_CORS_ORIGINS": String = "none; * in dev" like "https://app.example.org",
    /// Requests per second that one client may make; 0 for no limit.
    "RPC" rate_limit "rate-limit" "PECTIN_RATE_LIMIT": u32 = "5000, and none for this machine" like "200",
    /// A file with the token for admin methods; made with a fresh token if it is missing.
    "RPC" token_file "token-file" "PECTIN_TOKEN_FILE": PathBuf = "admin-token in the data directory" like "/etc/pectin/admin-token",
    /// Gas that one eth_call may use.
    "RPC" call_gas_max "call-gas-max" "PECTIN_CALL_GAS_MAX": u64 = "50000000",
    /// Milliseconds that one eth_call may take.
    "RPC" call_ms_max "call-ms-max" "PECTIN_CALL_MS_MAX": u64 = "5000",

    /// Bytes of a request, or of a WebSocket message.
    "RPC" http_body_bytes_max "http-body-bytes-max" "PECTIN_HTTP_BODY_BYTES_MAX": usize = "2097152",
    /// Calls in a batch.
    "RPC" http_batch_max "http-batch-max" "PECTIN_HTTP_BATCH_MAX": usize = "1000",
    /// Bytes of an answer.
    "RPC" http_response_bytes_max "http-response-bytes-max" "PECTIN_HTTP_RESPONSE_BYTES_MAX": usize = "10000000",
    /// Connections at once, WebSockets included.
    "RPC" http_connections_max "http-connections-max" "PECTIN_HTTP_CONNECTIONS_MAX": usize = "256",
    /// Subscriptions of one WebSocket.
    "RPC" http_subscriptions_max "http-subscriptions-max" "PECTIN_HTTP_SUBSCRIPTIONS_MAX": usize = "64",
    /// Blocks in a range of logs.
    "RPC" log_blocks_max "log-blocks-max" "PECTIN_LOG_BLOCKS_MAX": u64 = "100000",
    /// Logs in an answer.
    "RPC" logs_max "logs-max" "PECTIN_LOGS_MAX": usize = "20000",

    /// Validators to connect to, besides those of the chain specification: key@ip:port, separated by commas.
    "Network" peers "peers" "PECTIN_PEERS": String
        = "none" like "e3r2oc62zwfj3crnuifuvsxvbtlzetk4o5qyhetkhagsc2fgl2oka@203.0.113.7:40000",
    /// The number of the service that blocks are for; a chain specification with another one is refused.
    "Network" service_id "service-id" "PECTIN_SERVICE_ID": u32 = "the one in the chain specification" like "7",
    /// Codes that the service may get while the node runs (`pectin service export`): files, separated by commas.
    "Network" service_codes "service-codes" "PECTIN_SERVICE_CODES": String = "none" like "next.code",
    /// Keys that sign blocks under those codes, where they name another builder: files, separated by commas.
    "Network" builder_keys "builder-keys" "PECTIN_BUILDER_KEYS": String = "none" like "next-builder.key",
    /// The service that keeps the code of the authorizer, which lets packages onto cores.
    "Network" authorizer_host "authorizer-host" "PECTIN_AUTHORIZER_HOST": u32 = "the service" like "7",
    /// The hash of the authorizer's code.
    "Network" authorizer_code_hash "authorizer-code-hash" "PECTIN_AUTHORIZER_CODE_HASH": B256
        = "that of the authorizer in the chain specification"
        like "0xf8d86b97d65319a078e5840f1614c296a5254217794dcc910e72ca174e3c2e86",
    /// What the authorizer was set up with, in hexadecimal.
    "Network" authorizer_config "authorizer-config" "PECTIN_AUTHORIZER_CONFIG": Bytes
        = "the builder's key, if that is what the chain specification's authorizer asks for; 0x" like "0x",
    /// What convinces the authorizer, in hexadecimal.
    "Network" authorizer_token "authorizer-token" "PECTIN_AUTHORIZER_TOKEN": Bytes
        = "the builder's signature of each package, if that is what the authorizer asks for; 0x" like "0x",
    /// Connections that validators may open to this node.
    "Network" p2p_incoming_max "p2p-incoming-max" "PECTIN_P2P_INCOMING_MAX": usize = "64",
    /// The UDP port that the node takes connections from validators on; 0 takes a free one.
    "Network" p2p_port "p2p-port" "PECTIN_P2P_PORT": u16 = "0",
    /// The address that the node takes connections from validators on.
    "Network" p2p_addr "p2p-addr" "PECTIN_P2P_ADDR": IpAddr = "127.0.0.1",

    /// Where everything durable is kept.
    "Data" data_dir "data-dir" "PECTIN_DATA_DIR": PathBuf = "pectin-data; in dev a temporary one" like "pectin-data",
    /// Blocks below the newest whose states can be read (eth_call, eth_getBalance, traces, ..). Unfinished blocks always can.
    "Data" history "history" "PECTIN_HISTORY": u64 = "all" like "1000000",
    /// The newest blocks whose states are in memory with their trees: eth_getProof is for these.
    "Data" proof_window "proof-window" "PECTIN_PROOF_WINDOW": u64 = "256",
    /// Bytes of memory for pages of the data file.
    "Data" cache_bytes "cache-bytes" "PECTIN_CACHE_BYTES": usize = "67108864",

    /// Who gets the fees.
    "Building" fee_recipient "fee-recipient" "PECTIN_FEE_RECIPIENT": Address = "0x0000000000000000000000000000000000000000",
    /// Milliseconds between two blocks, while there are transactions. 0: a block as soon as one comes, every 4 ms at most.
    "Building" block_ms "block-ms" "PECTIN_BLOCK_MS": u64 = "150; 0 in dev" like "150",
    /// Milliseconds after its first transaction that a block is sealed while the queue is empty, with --queue-policy spec.
    "Building" seal_after_ms "seal-after-ms" "PECTIN_SEAL_AFTER_MS": u64 = "500",
    /// Transactions in a block at most.
    "Building" block_txs_max "block-txs-max" "PECTIN_BLOCK_TXS_MAX": usize = "as many as fit" like "1000",
    /// Gas of a block at most; the chain's own limit holds in any case.
    "Building" gas_limit "gas-limit" "PECTIN_GAS_LIMIT": u64 = "36000000",
    /// Empty blocks after the last transaction, one per slot, for clients that wait for confirmations. More follow while
    /// the base fee is above its floor.
    "Building" empty_blocks "empty-blocks" "PECTIN_EMPTY_BLOCKS": u32 = "12",
    /// Build and execute, but never submit: true or false.
    "Building" dry_run "dry-run" "PECTIN_DRY_RUN": bool [num_args = 0..=1, require_equals = true, default_missing_value = "true"] = "false",

    /// The least maxFeePerGas (gasPrice) that is accepted, in wei.
    "Pool" min_gas_price "min-gas-price" "PECTIN_MIN_GAS_PRICE": u64 = "1000000000",
    /// Transactions that can be executed and wait.
    "Pool" pool_pending_max "pool-pending-max" "PECTIN_POOL_PENDING_MAX": usize = "1000",
    /// Transactions that cannot be executed yet and wait.
    "Pool" pool_queued_max "pool-queued-max" "PECTIN_POOL_QUEUED_MAX": usize = "1000",
    /// Transactions of one sender.
    "Pool" pool_sender_max "pool-sender-max" "PECTIN_POOL_SENDER_MAX": usize = "16; 1024 in dev" like "16",
    /// Seconds that a transaction may wait.
    "Pool" pool_ttl_secs "pool-ttl-secs" "PECTIN_POOL_TTL_SECS": u64 = "3600",
    /// Bytes of one transaction.
    "Pool" tx_bytes_max "tx-bytes-max" "PECTIN_TX_BYTES_MAX": usize = "32768; 131072 in dev" like "32768",
    /// Bytes of all transactions that wait.
    "Pool" pool_bytes_max "pool-bytes-max" "PECTIN_POOL_BYTES_MAX": usize = "33554432",
    /// How far a transaction's nonce may be ahead of its account.
    "Pool" pool_nonce_gap_max "pool-nonce-gap-max" "PECTIN_POOL_NONCE_GAP_MAX": u64 = "64; 1024 in dev" like "64",
    /// Percent that a transaction must offer more than the one that it replaces, on both fees.
    "Pool" pool_price_bump "pool-price-bump" "PECTIN_POOL_PRICE_BUMP": u8 = "10",

    /// How blocks are bundled, how anchors are chosen and what a timeout does: pectin, or spec for the queue specification to the
    /// letter (a bundle is one block).
    "Queue" queue_policy "queue-policy" "PECTIN_QUEUE_POLICY": Policy = "pectin",
    /// Blocks that may wait to be submitted; when they are as many, building waits.
    "Queue" queue_depth_max "queue-depth-max" "PECTIN_QUEUE_DEPTH_MAX": usize = "no limit; 12 with --queue-policy spec" like "12",
    /// Bundles that may be submitted and not yet guaranteed, at most one per core.
    "Queue" inflight_max "inflight-max" "PECTIN_INFLIGHT_MAX": usize = "as many as cores" like "2",
    /// Versions that may fail before a bundle is abandoned.
    "Queue" retries_max "retries-max" "PECTIN_RETRIES_MAX": u32 = "3",
    /// Megabytes of sealed blocks that may wait to be submitted, and a quarter of what may be not yet final. From half of it on
    /// blocks come slower and grow; at all of it building waits. A transfer takes about 1,600 bytes.
    "Queue" unsent_mb_max "unsent-mb-max" "PECTIN_UNSENT_MB_MAX": u64 = "1500",
    /// Milliseconds without a guarantee after which a bundle is sent again. Defaults of times are for slots of 6000 ms,
    /// and scale with the slot.
    "Queue" guarantee_timeout_ms "guarantee-timeout-ms" "PECTIN_GUARANTEE_TIMEOUT_MS": u64 = "18000",
    /// Milliseconds before a slot at which the window opens in which bundles are sent.
    "Queue" window_opens_ms "window-opens-ms" "PECTIN_WINDOW_OPENS_MS": u64 = "3000",
    /// Milliseconds before a slot at which it closes.
    "Queue" window_closes_ms "window-closes-ms" "PECTIN_WINDOW_CLOSES_MS": u64 = "1000",

    /// Whether accounts are managed here: true or false.
    "Sender" sender "sender" "PECTIN_SENDER": bool = "true",
    /// Where the sender keeps its rows: a file, or a Redis server (redis://..) that several processes share.
    "Sender" sender_store "sender-store" "PECTIN_SENDER_STORE": String = "sender.redb in the data directory; memory if nothing is kept" like "redis://127.0.0.1/0",
    /// What the sender's rows in Redis begin with.
    "Sender" sender_namespace "sender-namespace" "PECTIN_SENDER_NAMESPACE": String = "pectin",
    /// Where other nodes that share the store reach this one: http://HOST:PORT. What only the node that runs an account can answer
    /// is passed on to it; all of them need the same token.
    "Sender" sender_advertise "sender-advertise" "PECTIN_SENDER_ADVERTISE": String = "none" like "http://10.0.0.5:8545",
    /// Other chains to send to, as ID=URL|URL, separated by commas.
    "Sender" sender_chains "sender-chains" "PECTIN_SENDER_CHAINS": String = "none" like "1=https://rpc.example.org",
    /// Settings of single chains, in a file as tables ([sender-chain.137]): fee-cap, bump-percent, stall-ms, confirmations (where
    /// there is no tag finalized), finality-depth (instead of that tag), speeds, calls-per-second, poll-ms.
    "Sender" sender_chain "sender-chain" "PECTIN_SENDER_CHAIN": PerChain = "none" like "137:confirmations=64,stall-ms=30000",
    /// Transactions that a managed account may have in the pool.
    "Sender" sender_pool_slots "sender-pool-slots" "PECTIN_SENDER_POOL_SLOTS": usize = "100",
    /// Transactions in flight per managed account.
    "Sender" sender_in_flight_max "sender-in-flight-max" "PECTIN_SENDER_IN_FLIGHT_MAX": usize = "100",
    /// The highest price per gas that the sender offers, in wei.
    "Sender" sender_fee_cap "sender-fee-cap" "PECTIN_SENDER_FEE_CAP": u64 = "500000000000",
    /// Milliseconds that a transaction stands still before it is made dearer.
    "Sender" sender_stall_ms "sender-stall-ms" "PECTIN_SENDER_STALL_MS": u64 = "60000",
    /// Milliseconds between an attempt and its replacement at least, whoever asks for it.
    "Sender" sender_replacement_ms "sender-replacement-ms" "PECTIN_SENDER_REPLACEMENT_MS": u64 = "10000",
    /// Percent by which a replacement is dearer; at least 10.
    "Sender" sender_bump_percent "sender-bump-percent" "PECTIN_SENDER_BUMP_PERCENT": u32 = "20",
    /// Replacements of one transaction at most.
    "Sender" sender_bumps_max "sender-bumps-max" "PECTIN_SENDER_BUMPS_MAX": usize = "10",
    /// Free nonces of an account above which no new nonce is given out.
    "Sender" sender_free_max "sender-free-max" "PECTIN_SENDER_FREE_MAX": usize = "50",
    /// What becomes of a request whose nonce was used by somebody else: requeue or fail.
    "Sender" sender_on_foreign "sender-on-foreign" "PECTIN_SENDER_ON_FOREIGN": Foreign = "requeue",
    /// Milliseconds that a gap between nonces may last before it is filled.
    "Sender" sender_gap_grace_ms "sender-gap-grace-ms" "PECTIN_SENDER_GAP_GRACE_MS": u64 = "10000",
    /// Milliseconds after which a transaction that is not mined is cancelled; 0 for never.
    "Sender" sender_cancel_after_ms "sender-cancel-after-ms" "PECTIN_SENDER_CANCEL_AFTER_MS": u64 = "0",
    /// A directory of encrypted keys, one password for all; `pectin account` makes them.
    "Sender" sender_keystore "sender-keystore" "PECTIN_SENDER_KEYSTORE": PathBuf = "keystore in the data directory" like "keys",
    /// A file with the password of the keystores; without it the password is asked for on the terminal.
    "Sender" sender_password_file "sender-password-file" "PECTIN_SENDER_PASSWORD_FILE": PathBuf = "asked for on the terminal" like "password.txt",
    /// A remote signer that speaks the HTTP interface of web3signer.
    "Sender" sender_web3signer "sender-web3signer" "PECTIN_SENDER_WEB3SIGNER": String = "none" like "http://127.0.0.1:9000",
    /// Certificates (PEM) that are believed besides the usual ones, by webhooks and for the remote signer.
    "Sender" sender_ca_file "sender-ca-file" "PECTIN_SENDER_CA_FILE": PathBuf = "none" like "ca.pem",
    /// Networks that webhooks may go to besides public addresses, such as 127.0.0.0/8; separated by commas.
    "Sender" sender_webhook_allow "sender-webhook-allow" "PECTIN_SENDER_WEBHOOK_ALLOW": String = "none" like "127.0.0.0/8",
    /// Days after its end in which a request's idempotency key cannot be used again, also when its record was removed.
    "Sender" sender_idempotency_days "sender-idempotency-days" "PECTIN_SENDER_IDEMPOTENCY_DAYS": u64 = "30",
    /// Hours that a request is kept after its end.
    "Sender" sender_retention_hours "sender-retention-hours" "PECTIN_SENDER_RETENTION_HOURS": u64 = "24",

    /// How log lines look: text (a message with fields), json, or spec (the words of the queue specification).
    "Log" log_format "log-format" "PECTIN_LOG_FORMAT": LogFormat = "text",
    /// Which log lines: error, warn, info, debug, trace, or by target as in RUST_LOG, such as info,pool=debug.
    "Log" log "log" "PECTIN_LOG": String = "info",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_hold_a_secret_is_not_printed() {
        let url = || Some("https://user:hunter2@host.example/hunter2".to_owned());
        let options = Options {
            http_port: Some(7),
            sender_store: url(),
            sender_chains: url(),
            sender_web3signer: url(),
            ..Options::default()
        };
        let printed = format!("{options:?}");
        assert!(printed.contains("http-port: 7") && printed.contains("sender-store"), "{printed}");
        assert!(!printed.contains("hunter2"), "{printed}");
        for name in SECRET {
            assert!(Options::ALL.iter().any(|described| described.key == name), "{name}");
        }
    }
}
