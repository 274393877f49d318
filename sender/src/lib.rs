//! Managed accounts: from a request to finality, with nothing lost and nothing done twice.
pub mod model;
pub mod store;
