//! The numbers, with their units, and the defaults of the specification.

use super::Speeds;
use types::Duration;

/// What happens to a request whose nonce was used up by a transaction that is not ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnForeign {
    /// It is queued again, in its old position.
    #[default]
    Requeue,
    /// It fails.
    Fail,
}

/// What no transaction of a chain may exceed, as far as it is known. A request that does could never be mined, and would
/// only use a nonce up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Bytes of a transaction, encoded.
    pub tx_bytes_max: Option<usize>,
    /// Bytes of the code that makes a contract.
    pub init_code_bytes_max: Option<usize>,
    /// Gas of a transaction.
    pub gas_max: Option<u64>,
}

/// How accounts are run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Transactions in flight per account; the target's own limit per sender may be lower.
    pub in_flight_max: usize,
    /// The target's limit per sender.
    pub pool_slots: usize,
    /// Nonces that are bound or mined, but not final, per account.
    pub unfinal_max: usize,
    /// The same in bytes: what their transactions take in memory.
    pub unfinal_bytes_max: usize,
    /// Free nonces above which no new nonce is given out.
    pub free_max: usize,
    /// Nonces on loan to outside signers at once.
    pub leased_max: usize,
    /// Requests waiting per account.
    pub queue_max: usize,
    /// Call data and access list of one request.
    pub intent_bytes_max: usize,
    /// What the chain takes.
    pub limits: Limits,
    /// How often one request may lose its nonce to a foreign transaction before it fails.
    pub rebinds_max: u32,
    /// How long a nonce must stand still before its fees are bumped.
    pub stall_ms: u64,
    /// The least time between an attempt and its replacement, whoever asks for it.
    pub replacement_interval_ms: u64,
    /// How much a fee bump adds, in percent.
    pub bump_percent: u32,
    /// Replacements per nonce.
    pub bumps_max: usize,
    /// How much more gas than estimated is allowed, in percent.
    pub gas_margin_percent: u32,
    /// The gas limit of a noop.
    pub noop_gas: u64,
    /// The highest price per gas, in wei.
    pub fee_cap: u128,
    /// What each speed offers.
    pub speeds: Speeds,
    /// How long a gap may stay before a noop fills it.
    pub gap_grace_ms: u64,
    /// When a transaction that is not mined is cancelled; none by default.
    pub cancel_after_ms: Option<u64>,
    /// How often what is in flight is broadcast again.
    pub rebroadcast_ms: u64,
    /// How long an answer is waited for before the question is asked again.
    pub answer_ms: u64,
    /// The first delay after a failed send; it doubles up to `backoff_max_ms`.
    pub backoff_ms: u64,
    /// The longest delay after failed sends.
    pub backoff_max_ms: u64,
    /// How often questions without an answer are asked again.
    pub sweep_ms: u64,
    /// How often the chain is looked at when nothing else says so.
    pub look_ms: u64,
    /// How old a look at the chain may be for a nonce to be bound on it.
    pub view_age_max_ms: u64,
    /// How long a simulation holds.
    pub simulation_age_max_ms: u64,
    /// Simulations and signatures ahead of binding.
    pub drafts_max: usize,
    /// Questions and sends per pass.
    pub actions_max: usize,
    /// How long records are kept after their end.
    pub retention_ms: u64,
    /// How long after its end the name of a request cannot be used again, if the record is not kept for longer.
    pub name_retention_ms: u64,
    /// How long a delivery that was given up is kept, and with it what it is about.
    pub dead_letter_ms: u64,
    /// What happens when a nonce is lost to a foreign transaction.
    pub on_foreign: OnForeign,
    /// Whether we hold the key; otherwise nothing can be signed and a lost loan needs someone to act.
    pub holds_key: bool,
    /// The webhook endpoints that are told.
    pub endpoints: Vec<String>,
    /// A known mistake, put back.
    #[cfg(feature = "bugs")]
    pub mistake: Option<super::Mistake>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            in_flight_max: 100,
            pool_slots: 100,
            unfinal_max: 100_000,
            unfinal_bytes_max: 64 << 20,
            free_max: 50,
            leased_max: 50,
            queue_max: 10_000,
            intent_bytes_max: 128 * 1024,
            limits: Limits::default(),
            rebinds_max: 10,
            stall_ms: 60_000,
            replacement_interval_ms: 10_000,
            bump_percent: 20,
            bumps_max: 10,
            gas_margin_percent: 20,
            noop_gas: 21_000,
            fee_cap: 500_000_000_000,
            speeds: Speeds::default(),
            gap_grace_ms: 10_000,
            cancel_after_ms: None,
            rebroadcast_ms: 30_000,
            answer_ms: 10_000,
            backoff_ms: 500,
            backoff_max_ms: 30_000,
            sweep_ms: 2_000,
            look_ms: 2_000,
            view_age_max_ms: 30_000,
            simulation_age_max_ms: 60_000,
            drafts_max: 16,
            actions_max: 64,
            retention_ms: 24 * 3600 * 1000,
            name_retention_ms: 30 * 24 * 3600 * 1000,
            dead_letter_ms: 7 * 24 * 3600 * 1000,
            on_foreign: OnForeign::Requeue,
            holds_key: true,
            endpoints: vec![],
            #[cfg(feature = "bugs")]
            mistake: None,
        }
    }
}

impl Config {
    /// How many transactions may be in flight.
    pub fn in_flight_limit(&self) -> usize {
        self.in_flight_max.min(self.pool_slots)
    }

    /// The pause after so many failures in a row before this one: it doubles with each.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        let ms = self.backoff_ms.saturating_mul(1 << failures.min(20));
        Duration::from_millis(ms.min(self.backoff_max_ms))
    }

    #[cfg(feature = "bugs")]
    pub(super) fn makes(&self, mistake: super::Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}
