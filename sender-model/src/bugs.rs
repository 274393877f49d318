//! Known mistakes, so that the simulator can show that it finds them. Each is one that a system in use has made.

/// A mistake in a rule that the model holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// A send without an answer counts as not sent: the request gets another nonce.
    TimeoutIsFailure,
    /// A nonce that is used up and a receipt that cannot be had mean that somebody else used it.
    ReceiptErrorIsReplaced,
    /// A reset goes back to the chain's count and forgets what is in flight.
    ResetInFlight,
    /// A replacement is priced from the market alone.
    BumpFromQuote,
    /// Cancelling gives the nonce back although the bytes may be out.
    RecycleAfterSend,
    /// Bytes leave before they are durable.
    SendBeforeRecord,
    /// A request that ended begins again with a copy that somebody read before.
    OldCopyIsNew,
    /// The name of a request is forgotten with its record: the same name sends again.
    NameGoesWithRequest,
    /// Every chain is taken to have EIP-1559.
    DynamicFeesEverywhere,
    /// A node that answers a send with any hash has taken the transaction.
    TrustAnyHash,
    /// Every gas estimate is believed, also one that no transaction can do with.
    ZeroGas,
    /// A provider's error is the chain's answer: no other provider is asked.
    ProviderErrorIsFinal,
    /// Who used a nonce is searched for from the first block on.
    SearchFromZero,
    /// Questions about blocks that are not final leave no room for what is to be sent.
    SweepStarves,
    /// One provider's word is enough, also where another would contradict it.
    OneVoice,
    /// A request that would be reverted now fails, although the one that it needs is not mined yet.
    ParentIgnored,
    /// A provider's budget is halved at every refusal, whatever it takes besides.
    BudgetHalves,
}
