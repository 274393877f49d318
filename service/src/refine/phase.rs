//! The parts of the work of refining a run, so that what each costs can be told.

/// A part of the work, named when it is done. Those of a block come once for each block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The package is read: sizes, the builder's signature, the chain of headers.
    Package,
    /// The signatures of all transactions are checked.
    Signatures,
    /// The witness is proved.
    Witness,
    /// The transactions of a block are executed.
    Execution,
    /// The root of the state after a block is known.
    StateRoot,
    /// The roots of a block's transactions and receipts are known, and its header.
    Lists,
}

impl Phase {
    /// All of them, in the order in which they come first.
    pub const ALL: [Self; 6] =
        [Self::Package, Self::Signatures, Self::Witness, Self::Execution, Self::StateRoot, Self::Lists];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Signatures => "signatures",
            Self::Witness => "witness",
            Self::Execution => "execution",
            Self::StateRoot => "state-root",
            Self::Lists => "lists",
        }
    }
}
