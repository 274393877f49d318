//! What is counted.

/// Opcodes are counted each for itself, before everything that has a name.
const OPCODES: usize = 256;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What is counted besides opcodes.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        #[expect(clippy::manual_non_exhaustive, reason = "names are counted on from the last opcode")]
        pub enum Feature {
            #[doc(hidden)]
            LastOpcode = OPCODES - 1,
            $($(#[$doc])* $name,)*
        }

        const NAMES: &[&str] = &[$(stringify!($name)),*];
        /// How many counts there are.
        pub const FEATURES: usize = OPCODES + NAMES.len();
    };
}

features! {
    /// A run: payload, builder's signature, host calls.
    Run,
    /// A block: header, roots of its lists, the contract with the hashes of earlier blocks.
    Block,
    /// Signatures of transactions.
    Signatures,
    /// Who made them, each once.
    Senders,
    /// Additions of points to check them together.
    Additions,
    /// Transactions without a type.
    Legacy,
    /// Transactions of EIP-2930.
    Eip2930,
    /// Transactions of EIP-1559.
    Eip1559,
    /// Transactions of EIP-7702.
    Eip7702,
    /// Bytes of transactions.
    TransactionBytes,
    /// Blocks of Keccak that a transaction fills.
    TransactionBlocks,
    /// Addresses in access lists.
    AccessAddresses,
    /// Slots in access lists.
    AccessSlots,
    /// Authorizations, valid or not.
    Authorizations,
    /// Accounts that a transaction loads.
    Accounts,
    /// Slots that a transaction loads.
    Slots,
    /// Accounts that a transaction touches.
    TouchedAccounts,
    /// Slots that a transaction changes.
    ChangedSlots,
    /// Accounts that the block loads for the first time.
    NewAccounts,
    /// Slots that the block loads for the first time.
    NewSlots,
    /// Codes that the block loads for the first time.
    Codes,
    /// Their bytes.
    CodeBytes,
    /// Bytes of codes that are created.
    CreatedBytes,
    /// Bytes of receipts.
    ReceiptBytes,
    /// Blocks of Keccak that a receipt fills.
    ReceiptBlocks,
    /// Logs in receipts.
    Logs,
    /// Their topics.
    Topics,
    /// Inner nodes of the tree that the witness opens.
    WitnessInner,
    /// Stems in the witness.
    WitnessStems,
    /// Keys in the witness.
    WitnessKeys,
    /// Inner nodes below stems.
    WitnessBelow,
    /// Hashes in the witness.
    WitnessHashes,
    /// Keys, times the logarithm of their number.
    WitnessOrder,
    /// Inner nodes that writing makes.
    WrittenInner,
    /// Stems that are written.
    WrittenStems,
    /// Keys that are written.
    WrittenKeys,
    /// Inner nodes below these stems.
    WrittenBelow,
    /// Words of memory that a frame begins to use.
    MemoryWords,
    /// Words that opcodes copy.
    CopiedWords,
    /// Blocks of Keccak that an opcode hashes.
    KeccakBlocks,
    /// Words in the data of logs.
    LogWords,
    /// Bits of exponents, and those of them that are set.
    ExponentBits,
    /// Steps of division by one limb.
    DivisionShort,
    /// Steps of division by two limbs.
    DivisionTwo,
    /// Steps of division by more limbs,
    DivisionLong,
    /// each times these limbs.
    DivisionLimbs,
    /// Calls, of accounts with and without code.
    Calls,
    /// Frames that execute code.
    Frames,
    /// Words that calls are given.
    InputWords,
    /// Words that frames return.
    OutputWords,
    /// Bytes of code that creates.
    InitBytes,
    /// Calls of precompiles.
    Precompiles,
    /// 0x01 with a signer,
    EcRecover,
    /// and without.
    EcRecoverNone,
    /// Blocks that 0x02 hashes.
    Sha256Blocks,
    /// Blocks that 0x03 hashes.
    RipemdBlocks,
    /// Words that 0x04 copies.
    IdentityWords,
    /// 0x05.
    ModExp,
    /// Bytes of its operands.
    ModExpBytes,
    /// Squarings and multiplications of an odd modulus, times its words,
    ModExpWords,
    /// and times the square of its words.
    ModExpSquares,
    /// The same for an even modulus.
    ModExpEvenWords,
    /// The same for an even modulus.
    ModExpEvenSquares,
    /// 0x06.
    Bn254Add,
    /// 0x07.
    Bn254Mul,
    /// 0x08.
    Bn254Pairing,
    /// Its pairs.
    Bn254Pairs,
    /// 0x09.
    Blake2f,
    /// Its rounds.
    Blake2fRounds,
    /// 0x0a.
    KzgPoint,
    /// 0x0b.
    BlsG1Add,
    /// 0x0c.
    BlsG1Msm,
    /// Its points.
    BlsG1MsmPoints,
    /// 0x0d.
    BlsG2Add,
    /// 0x0e.
    BlsG2Msm,
    /// Its points.
    BlsG2MsmPoints,
    /// 0x0f.
    BlsPairing,
    /// Its pairs.
    BlsPairs,
    /// 0x10.
    BlsMapFp,
    /// 0x11.
    BlsMapFp2,
    /// 0x100.
    P256Verify,
    /// Words that MCOPY copies, which may overlap.
    MovedWords,
}

/// What a count is of.
pub fn name_of(index: usize) -> String {
    match index.checked_sub(OPCODES) {
        Some(named) => NAMES.get(named).map_or_else(String::new, |name| (*name).to_owned()),
        None => format!("op{index:02x}"),
    }
}
