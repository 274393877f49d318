//! Known mistakes, one of which can be made on purpose, so that the tests show that they would find it.

/// A mistake in checking signatures together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "bugs"), expect(unreachable_pub, reason = "public only with the feature"))]
pub enum Bug {
    /// The weights do not depend on the keys.
    KeysUnbound,
    /// The weights do not depend on one of the two numbers of a signature.
    SUnbound,
    /// The weights do not depend on the hashes.
    HashesUnbound,
    /// All weights are the same, so errors that cancel are not seen.
    EqualWeights,
    /// Weights that a builder can grind have 64 bits.
    ShortWeights,
    /// R's y is believed to be that of a point of the curve.
    PointOffCurve,
    /// A key is believed to be a point of the curve.
    KeyOffCurve,
    /// Coordinates may be p or more.
    CoordinatesBeyondP,
    /// The parity of R's y is not compared.
    ParityIgnored,
    /// A high s is accepted.
    HighS,
    /// R's x may be r + n.
    RPlusN,
    /// The last key's second half is left out of the sum.
    TermLeftOut,
    /// Adding a point to itself gives infinity.
    DoublingForgotten,
}

/// What is checked: everything, unless a bug was planted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    #[cfg(any(test, feature = "bugs"))]
    pub(crate) bug: Option<Bug>,
}

impl Rules {
    /// Is this mistake to be made? Never in a build without the feature.
    #[inline(always)]
    pub(crate) fn has(self, bug: Bug) -> bool {
        #[cfg(any(test, feature = "bugs"))]
        return self.bug == Some(bug);
        #[cfg(not(any(test, feature = "bugs")))]
        {
            let _ = bug;
            false
        }
    }
}
