//! Every refusal, with the transaction that causes it.
