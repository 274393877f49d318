//! Blocks: the header and the five kinds of extrinsic.

use crate::{
    Hash, Signature, WorkReport,
    codec::{
        AtMost, CoreBits, Encode, Natural, PerEpochSlot, PerMajority, PerValidator, UpToCores, UpToTickets,
        UpToValidators, wire,
    },
    hash::{HeaderHash, ReportHash, blake2b, hash_of},
    keys::{BandersnatchKey, Ed25519Key, RingSignature, VrfSignature},
    params::{GUARANTORS_PER_CORE, OFFENCES_MAX},
};
use alloy_primitives::Bytes;

wire! {
    /// A claim to author a block in the next epoch.
    pub struct Ticket {
        /// Which of the validator's tries this is.
        pub attempt: u8 => Natural,
        /// Anonymous proof of being a validator.
        pub signature: RingSignature,
    }

    /// A ticket that won.
    pub struct TicketBody {
        /// The score.
        pub id: Hash,
        /// Which of the validator's tries it was.
        pub attempt: u8 => Natural,
    }

    /// Data that a service asked for.
    pub struct Preimage {
        /// The service.
        pub requester: u32,
        /// The data.
        pub blob: Bytes,
    }

    /// A validator's signature, with the place of its key among the validators.
    pub struct ValidatorSignature {
        /// The validator.
        pub validator: u16,
        /// The signature.
        pub signature: Signature,
    }

    /// A report that guarantors vouch for (E_G).
    pub struct Guarantee {
        /// The report.
        pub report: WorkReport,
        /// The slot in which it was signed.
        pub slot: u32,
        /// Two or three signatures, ascending by validator.
        pub signatures: Vec<ValidatorSignature> => AtMost<GUARANTORS_PER_CORE>,
    }

    /// A validator's word on which pending reports it holds its shards of (E_A).
    pub struct Assurance {
        /// The parent block.
        pub anchor: HeaderHash,
        /// One bit per core.
        pub bits: Vec<u8> => CoreBits,
        /// The validator.
        pub validator: u16,
        /// Its signature.
        pub signature: Signature,
    }

    /// A validator's judgement of a report.
    pub struct Judgement {
        /// Whether the report is right.
        pub valid: bool,
        /// The validator.
        pub validator: u16,
        /// Its signature.
        pub signature: Signature,
    }

    /// A super-majority's judgement of a report.
    pub struct Verdict {
        /// The report.
        pub report: ReportHash,
        /// The epoch whose validators judged.
        pub epoch: u32,
        /// Their votes.
        pub votes: Vec<Judgement> => PerMajority,
    }

    /// Proof that somebody guaranteed a wrong report.
    pub struct Culprit {
        /// The report.
        pub report: ReportHash,
        /// Who guaranteed it.
        pub key: Ed25519Key,
        /// The guarantee.
        pub signature: Signature,
    }

    /// Proof that somebody judged against the verdict.
    pub struct Fault {
        /// The report.
        pub report: ReportHash,
        /// The vote.
        pub valid: bool,
        /// Who voted.
        pub key: Ed25519Key,
        /// The vote's signature.
        pub signature: Signature,
    }

    /// Disputes about reports (E_D).
    pub struct Disputes {
        /// What was decided.
        pub verdicts: Vec<Verdict> => AtMost<OFFENCES_MAX>,
        /// Who guaranteed what was wrong.
        pub culprits: Vec<Culprit> => AtMost<OFFENCES_MAX>,
        /// Who voted against the verdict.
        pub faults: Vec<Fault> => AtMost<OFFENCES_MAX>,
    }

    /// What a block brings beside its header.
    pub struct Extrinsic {
        /// Tickets (E_T).
        pub tickets: Vec<Ticket> => UpToTickets,
        /// Preimages (E_P).
        pub preimages: Vec<Preimage>,
        /// Guarantees (E_G).
        pub guarantees: Vec<Guarantee> => UpToCores,
        /// Assurances (E_A).
        pub assurances: Vec<Assurance> => UpToValidators,
        /// Disputes (E_D).
        pub disputes: Disputes,
    }

    /// The two keys of a validator that an epoch mark tells.
    pub struct EpochKeys {
        /// Seals blocks.
        pub bandersnatch: BandersnatchKey,
        /// Signs everything else.
        pub ed25519: Ed25519Key,
    }

    /// Stands in the first block of an epoch: who will validate the next one.
    pub struct EpochMark {
        /// Entropy of the epoch.
        pub entropy: Hash,
        /// Entropy that the epoch's tickets were made with.
        pub tickets_entropy: Hash,
        /// The validators.
        pub validators: Vec<EpochKeys> => PerValidator,
    }

    /// The tickets that won, one per slot of the next epoch.
    pub struct TicketsMark {
        /// The tickets in the order of the slots.
        pub tickets: Vec<TicketBody> => PerEpochSlot,
    }

    /// A block's header without its seal: what the author seals.
    pub struct UnsealedHeader {
        /// The block before.
        pub parent: HeaderHash,
        /// The state root *before* this block.
        pub prior_state_root: Hash,
        /// Hash of the extrinsic.
        pub extrinsic_hash: Hash,
        /// The slot.
        pub slot: u32,
        /// At the start of an epoch: the next validators.
        pub epoch_mark: Option<EpochMark>,
        /// At the end of the contest: the winners.
        pub tickets_mark: Option<TicketsMark>,
        /// Who authored it.
        pub author: u16,
        /// Where the chain's entropy comes from.
        pub entropy_source: VrfSignature,
        /// Who was found to have lied.
        pub offenders: Vec<Ed25519Key> => AtMost<{ 2 * OFFENCES_MAX }>,
    }

    /// A block's header.
    pub struct Header {
        /// Everything that the seal covers.
        pub unsealed: UnsealedHeader,
        /// The author's seal.
        pub seal: VrfSignature,
    }

    /// A block.
    pub struct Block {
        /// The header.
        pub header: Header,
        /// What it brings.
        pub extrinsic: Extrinsic,
    }
}

impl std::ops::Deref for Header {
    type Target = UnsealedHeader;

    fn deref(&self) -> &UnsealedHeader {
        &self.unsealed
    }
}

impl Header {
    /// BLAKE2b-256 of the encoding: the block's identity.
    pub fn hash(&self) -> HeaderHash {
        HeaderHash(hash_of(self))
    }

    /// The header that a chain starts with.
    pub fn genesis(epoch_mark: Option<EpochMark>) -> Self {
        let unsealed = UnsealedHeader {
            parent: HeaderHash::ZERO,
            prior_state_root: Hash::ZERO,
            extrinsic_hash: Hash::ZERO,
            slot: 0,
            epoch_mark,
            tickets_mark: None,
            author: u16::MAX,
            entropy_source: VrfSignature::ZERO,
            offenders: vec![],
        };
        Self { unsealed, seal: VrfSignature::ZERO }
    }
}

impl Guarantee {
    /// How the guarantee enters the extrinsic's hash: the report by its own hash.
    fn prehash_to(&self, out: &mut Vec<u8>) {
        self.report.hash().encode_to(out);
        self.slot.encode_to(out);
        self.signatures.encode_to(out);
    }
}

impl Assurance {
    /// Whether it vouches for the report on `core`.
    pub fn has(&self, core: u16) -> bool {
        self.bits.get(usize::from(core / 8)).is_some_and(|byte| byte >> (core % 8) & 1 == 1)
    }
}

impl Disputes {
    /// No disputes.
    pub const NONE: Self = Self { verdicts: vec![], culprits: vec![], faults: vec![] };

    /// Whose keys were used against the rules, in the order of the header's mark.
    pub fn offenders(&self) -> impl Iterator<Item = Ed25519Key> {
        let culprits = self.culprits.iter().map(|culprit| culprit.key);
        culprits.chain(self.faults.iter().map(|fault| fault.key))
    }
}

impl Extrinsic {
    /// Nothing.
    pub const EMPTY: Self = Self {
        tickets: vec![],
        preimages: vec![],
        guarantees: vec![],
        assurances: vec![],
        disputes: Disputes::NONE,
    };

    /// What the header commits to: a hash over the hashes of the five kinds.
    pub fn hash(&self) -> Hash {
        let mut guarantees = Vec::new();
        crate::codec::put_natural(self.guarantees.len() as u64, &mut guarantees);
        self.guarantees.iter().for_each(|guarantee| guarantee.prehash_to(&mut guarantees));
        let parts = [
            hash_of(&self.tickets),
            hash_of(&self.preimages),
            blake2b(&[&guarantees]),
            hash_of(&self.assurances),
            hash_of(&self.disputes),
        ];
        blake2b(&parts.each_ref().map(|part| part.as_slice()))
    }
}
