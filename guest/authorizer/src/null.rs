//! The null authorizer: the token must be the configuration.

use crate::host::{Fetch, refuse};

/// Bytes that are compared at a time.
const PART: usize = 256;

#[polkavm_derive::polkavm_export]
extern "C" fn is_authorized_ext(_arguments: u32, _len: u32) -> (u64, u64) {
    let len = Fetch::Token.len();
    if Fetch::Configuration.len() != len {
        refuse();
    }
    let mut at = 0;
    while at < len {
        let (mut token, mut configuration) = ([0; PART], [0; PART]);
        Fetch::Token.read(at, &mut token);
        Fetch::Configuration.read(at, &mut configuration);
        if token != configuration {
            refuse();
        }
        at += PART;
    }
    (0, 0)
}
