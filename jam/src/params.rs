//! The numbers that one JAM chain differs in from another.

use crate::codec::wire;

/// Bytes of an exported segment.
pub const SEGMENT_BYTES: usize = 4104;
/// Segments whose hashes share one page of proofs.
pub const SEGMENTS_PER_PAGE: usize = 64;
/// Bytes of a work package on the wire, without its extrinsics (CE 133, CE 146).
pub const PACKAGE_BYTES_MAX: usize = 200 * 1024;
/// Guarantors that may share one core.
pub const GUARANTORS_PER_CORE: usize = 3;
/// Guarantors that must agree.
pub const GUARANTEES_MIN: usize = 2;
/// Culprits, faults or verdicts in one block.
pub const OFFENCES_MAX: usize = 16;
/// Bytes that an import adds to a bundle: the segment and the longest proof of it.
pub const IMPORT_BYTES: usize = SEGMENT_BYTES + 12 * 32;

wire! {
    /// The protocol's parameters, in the order in which chain specifications and the `fetch` host call encode them.
    ///
    /// Passed to whoever needs them; nothing is global. The comments give the Gray Paper's letters.
    pub struct Params {
        /// (B_I) Deposit for each item in a service's storage.
        pub deposit_per_item: u64,
        /// (B_L) Deposit for each byte in a service's storage.
        pub deposit_per_byte: u64,
        /// (B_S) Deposit for a service.
        pub deposit_per_account: u64,
        /// (C) Cores.
        pub cores: u16,
        /// (D) Slots after which an unreferenced preimage may go.
        pub preimage_expiry_slots: u32,
        /// (E) Slots of an epoch.
        pub epoch_slots: u32,
        /// (G_A) Gas to accumulate one report.
        pub accumulate_gas_max: u64,
        /// (G_I) Gas to authorize one package.
        pub authorize_gas_max: u64,
        /// (G_R) Gas to refine one package.
        pub refine_gas_max: u64,
        /// (G_T) Gas to accumulate in one block.
        pub block_gas_max: u64,
        /// (H) Blocks that an anchor may be among.
        pub recent_blocks: u16,
        /// (I) Work items of a package.
        pub work_items_max: u16,
        /// (J) Prerequisites and segment-root lookups of a report.
        pub dependencies_max: u16,
        /// (K) Tickets in one block.
        pub tickets_per_block_max: u16,
        /// (L) Slots that a lookup anchor may be old.
        pub lookup_anchor_age_max: u32,
        /// (N) Tickets of one validator in one epoch.
        pub tickets_per_validator: u16,
        /// (O) Authorizers in a core's pool.
        pub auth_pool_max: u16,
        /// (P) Seconds of a slot.
        pub slot_secs: u16,
        /// (Q) Authorizers in a core's queue.
        pub auth_queue_len: u16,
        /// (R) Slots after which guarantors change cores.
        pub rotation_slots: u16,
        /// (T) Extrinsics of a package.
        pub extrinsics_max: u16,
        /// (U) Slots in which a report must become available.
        pub availability_timeout_slots: u16,
        /// (V) Validators.
        pub validators: u16,
        /// (W_A) Bytes of an authorizer's code.
        pub authorizer_code_bytes_max: u32,
        /// (W_B) Bytes of everything that a package brings along.
        pub bundle_bytes_max: u32,
        /// (W_C) Bytes of a service's code.
        pub service_code_bytes_max: u32,
        /// (W_E) Bytes of a piece before it is erasure coded: two for every data shard.
        pub piece_bytes: u32,
        /// (W_M) Imports of a package.
        pub imports_max: u32,
        /// (W_P) Pieces of a segment.
        pub segment_pieces: u32,
        /// (W_R) Bytes of all outputs in a report.
        pub report_output_bytes_max: u32,
        /// (W_T) Bytes of a transfer's memo.
        pub memo_bytes: u32,
        /// (W_X) Exports of a package.
        pub exports_max: u32,
        /// (Y) Slot of an epoch at which the ticket contest ends.
        pub contest_slots: u32,
    }
}

impl Copy for Params {}

impl Params {
    /// The parameters of the real network: 1,023 validators, 341 cores.
    pub const FULL: Self = Self {
        deposit_per_item: 10,
        deposit_per_byte: 1,
        deposit_per_account: 100,
        cores: 341,
        preimage_expiry_slots: 19_200,
        epoch_slots: 600,
        accumulate_gas_max: 10_000_000,
        authorize_gas_max: 50_000_000,
        refine_gas_max: 5_000_000_000,
        block_gas_max: 3_500_000_000,
        recent_blocks: 8,
        work_items_max: 16,
        dependencies_max: 8,
        tickets_per_block_max: 16,
        lookup_anchor_age_max: 14_400,
        tickets_per_validator: 2,
        auth_pool_max: 8,
        slot_secs: 6,
        auth_queue_len: 80,
        rotation_slots: 10,
        extrinsics_max: 128,
        availability_timeout_slots: 5,
        validators: 1023,
        authorizer_code_bytes_max: 64_000,
        bundle_bytes_max: 13_791_360,
        service_code_bytes_max: 4_000_000,
        piece_bytes: 684,
        imports_max: 3072,
        segment_pieces: 6,
        report_output_bytes_max: 48 * 1024,
        memo_bytes: 128,
        exports_max: 3072,
        contest_slots: 500,
    };

    /// The parameters of test networks: six validators, two cores.
    pub const TINY: Self = Self {
        cores: 2,
        preimage_expiry_slots: 32,
        epoch_slots: 12,
        refine_gas_max: 1_000_000_000,
        block_gas_max: 20_000_000,
        tickets_per_block_max: 3,
        lookup_anchor_age_max: 24,
        tickets_per_validator: 3,
        rotation_slots: 4,
        validators: 6,
        piece_bytes: 4,
        segment_pieces: 1026,
        contest_slots: 10,
        ..Self::FULL
    };

    /// More than two thirds of the validators.
    pub const fn super_majority(&self) -> u16 {
        (self.validators as u32 * 2 / 3) as u16 + 1
    }

    /// Shards that are enough to recover the data.
    pub const fn data_shards(&self) -> usize {
        self.piece_bytes as usize / 2
    }

    /// The epoch that a slot belongs to.
    pub const fn epoch_of(&self, slot: u32) -> u32 {
        slot / self.epoch_slots
    }

    /// That the numbers fit together; a chain specification from outside may say anything.
    pub fn check(&self) -> Result<(), &'static str> {
        let rules = [
            (self.validators > 0 && self.cores > 0, "there must be validators and cores"),
            (
                self.epoch_slots > 0 && self.rotation_slots > 0,
                "epoch and rotation must last at least one slot",
            ),
            (
                self.rotation_slots > 0 && self.epoch_slots.is_multiple_of(self.rotation_slots.into()),
                "an epoch must be made of whole rotations",
            ),
            (self.epoch_slots <= u32::from(u16::MAX), "an epoch may last at most 65,535 slots"),
            (self.contest_slots <= self.epoch_slots, "the ticket contest must end within the epoch"),
            (self.recent_blocks > 0 && self.recent_blocks <= 255, "1 to 255 recent blocks can be remembered"),
            (self.slot_secs > 0, "a slot must last"),
            (
                self.piece_bytes >= 2 && self.piece_bytes.is_multiple_of(2),
                "a piece must be an even number of bytes",
            ),
            (
                u64::from(self.piece_bytes) * u64::from(self.segment_pieces) == SEGMENT_BYTES as u64,
                "pieces must make up a segment of 4,104 bytes",
            ),
            (
                self.data_shards() < usize::from(self.validators),
                "there must be fewer data shards than validators",
            ),
            (
                self.cores as usize * GUARANTORS_PER_CORE == self.validators as usize,
                "there must be three validators per core",
            ),
            (
                self.work_items_max <= 16 && self.extrinsics_max <= 128,
                "at most 16 work items and 128 extrinsics",
            ),
            (
                self.imports_max <= 1 << 15 && self.exports_max <= 1 << 15,
                "at most 32,768 imports and exports",
            ),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_and_full_are_consistent() {
        for params in [Params::TINY, Params::FULL] {
            params.check().unwrap();
        }
        assert_eq!(Params::TINY.super_majority(), 5);
        assert_eq!(Params::FULL.super_majority(), 683);
        assert_eq!((Params::TINY.data_shards(), Params::FULL.data_shards()), (2, 342));
    }

    #[test]
    fn parameters_that_would_divide_by_zero_are_refused() {
        assert!(Params { epoch_slots: 0, ..Params::TINY }.check().is_err());
        assert!(Params { piece_bytes: 0, ..Params::TINY }.check().is_err());
        assert!(Params { cores: 1, ..Params::TINY }.check().is_err());
        assert!(Params { rotation_slots: 0, ..Params::TINY }.check().is_err());
    }

    #[test]
    fn parameters_that_the_rules_do_not_foresee_are_refused() {
        // A rotation that runs across the end of an epoch would have two assignments.
        assert!(Params { epoch_slots: 10, contest_slots: 8, ..Params::TINY }.check().is_err());
        assert!(Params { work_items_max: 17, ..Params::TINY }.check().is_err());
        assert!(Params { extrinsics_max: 129, ..Params::TINY }.check().is_err());
    }
}
