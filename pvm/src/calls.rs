//! The numbers of the host calls, and what they answer (appendix B.1).

/// Gas of every host call.
pub(crate) const CALL_GAS: u64 = 10;

/// There is no such thing.
pub(crate) const NONE: u64 = u64::MAX;
/// There is no such host call.
pub(crate) const WHAT: u64 = u64::MAX - 1;
/// The inner machine's memory is not accessible there.
pub(crate) const OOB: u64 = u64::MAX - 2;
/// There is no such service or machine.
pub(crate) const WHO: u64 = u64::MAX - 3;
/// No more fits, or it is there already.
pub(crate) const FULL: u64 = u64::MAX - 4;
/// There is no such core.
pub(crate) const CORE: u64 = u64::MAX - 5;
/// The balance does not suffice.
pub(crate) const CASH: u64 = u64::MAX - 6;
/// The gas does not suffice for the receiver.
pub(crate) const LOW: u64 = u64::MAX - 7;
/// This cannot be done, or not by this service.
pub(crate) const HUH: u64 = u64::MAX - 8;
/// It is done.
pub(crate) const OK: u64 = 0;

/// The host calls of the Gray Paper, and `log` of JIP-1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Call {
    Gas = 0,
    Fetch = 1,
    Lookup = 2,
    Read = 3,
    Write = 4,
    Info = 5,
    HistoricalLookup = 6,
    Export = 7,
    Machine = 8,
    Peek = 9,
    Poke = 10,
    Pages = 11,
    Invoke = 12,
    Expunge = 13,
    Bless = 14,
    Assign = 15,
    Designate = 16,
    Checkpoint = 17,
    New = 18,
    Upgrade = 19,
    Transfer = 20,
    Eject = 21,
    Query = 22,
    Solicit = 23,
    Forget = 24,
    Yield = 25,
    Provide = 26,
    Log = 100,
}

impl Call {
    const ALL: [Self; 27] = [
        Self::Gas,
        Self::Fetch,
        Self::Lookup,
        Self::Read,
        Self::Write,
        Self::Info,
        Self::HistoricalLookup,
        Self::Export,
        Self::Machine,
        Self::Peek,
        Self::Poke,
        Self::Pages,
        Self::Invoke,
        Self::Expunge,
        Self::Bless,
        Self::Assign,
        Self::Designate,
        Self::Checkpoint,
        Self::New,
        Self::Upgrade,
        Self::Transfer,
        Self::Eject,
        Self::Query,
        Self::Solicit,
        Self::Forget,
        Self::Yield,
        Self::Provide,
    ];

    /// The call of a number; `None` if there is none.
    pub(crate) fn of(number: u32) -> Option<Self> {
        match Self::ALL.get(number as usize) {
            Some(call) => Some(*call),
            None => (number == Self::Log as u32).then_some(Self::Log),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_numbers() {
        for (number, call) in (0..).zip(Call::ALL) {
            assert_eq!(call as u32, number);
        }
        assert_eq!((Call::of(26), Call::of(27)), (Some(Call::Provide), None));
        assert_eq!((Call::of(100), Call::of(u32::MAX)), (Some(Call::Log), None));
    }
}
