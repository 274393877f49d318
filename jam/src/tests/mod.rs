//! What holds for every type at once: coming back from its encoding, strictness, and agreement with the reference.

mod oracle;
mod roundtrip;
