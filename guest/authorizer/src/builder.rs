//! The builder's authorizer: the token must be a signature of the package by the key in the configuration.

use crate::{
    CONTEXT, SIGNATURE_BYTES,
    host::{Fetch, refuse},
};
use ed25519_zebra::{Signature, VerificationKey};

/// Bytes of a package. No longer one can be submitted: its message has 200 KiB at most.
const PACKAGE_BYTES_MAX: usize = 208 << 10;
/// What stands in a package before its context: the service that keeps the authorizer, and its code's hash.
const BEFORE_CONTEXT: usize = 4 + 32;

/// The signed message: [`CONTEXT`], then the package.
static mut MESSAGE: [u8; CONTEXT.len() + PACKAGE_BYTES_MAX] = [0; CONTEXT.len() + PACKAGE_BYTES_MAX];

// Verifying takes more than the smallest stack.
polkavm_derive::min_stack_size!(64 * 1024);

#[polkavm_derive::polkavm_export]
extern "C" fn is_authorized_ext(_arguments: u32, _len: u32) -> (u64, u64) {
    // SAFETY: there is one thread, and this is the only place that touches it.
    let message = unsafe { &mut *core::ptr::addr_of_mut!(MESSAGE) };
    if is_signed(message).is_none() {
        refuse();
    }
    (0, 0)
}

fn is_signed(message: &mut [u8]) -> Option<()> {
    let (context, package) = message.split_at_mut_checked(CONTEXT.len())?;
    context.copy_from_slice(CONTEXT);
    let len = Fetch::Package.read(0, package);
    let package = package.get_mut(..len)?;
    // The token's length stands before it, in one byte.
    let at = BEFORE_CONTEXT.checked_add(Fetch::Context.len())?;
    if usize::from(*package.get(at)?) != SIGNATURE_BYTES {
        return None;
    }
    let place = package.get_mut(at + 1..)?.first_chunk_mut::<SIGNATURE_BYTES>()?;
    let signature = Signature::from_bytes(place);
    *place = [0; SIGNATURE_BYTES];
    let mut key = [0; 32];
    if Fetch::Configuration.read(0, &mut key) != key.len() {
        return None;
    }
    let key = VerificationKey::try_from(key).ok()?;
    key.verify(&signature, message.get(..CONTEXT.len() + len)?).ok()
}
