//! REST for managed accounts, as its callers meet it: a real process, and every answer held against the document.

mod bad;
mod canaries;
mod flow;
mod hooks;
mod letters;
mod promises;
mod signer;
mod stub;
mod world;
