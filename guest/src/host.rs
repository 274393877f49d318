//! The host calls of the Gray Paper 0.7.2 that the service needs, each behind a safe function.
//!
//! What a call writes to it is given with its length, so no call can write elsewhere; that is the reason for each `unsafe` here.

use alloc::vec::Vec;
use jam::Hash;

#[polkavm_derive::polkavm_import]
unsafe extern "C" {
    #[polkavm_import(index = 1)]
    fn host_fetch(out: *mut u8, offset: u64, len: u64, kind: u64, a: u64, b: u64) -> u64;
    #[polkavm_import(index = 2)]
    fn host_lookup(service: u64, hash: *const u8, out: *mut u8, offset: u64, len: u64) -> u64;
    #[polkavm_import(index = 3)]
    fn host_read(service: u64, key: *const u8, key_len: u64, out: *mut u8, offset: u64, len: u64) -> u64;
    #[polkavm_import(index = 4)]
    fn host_write(key: *const u8, key_len: u64, value: *const u8, len: u64) -> u64;
    #[polkavm_import(index = 5)]
    fn host_info(service: u64, out: *mut u8, offset: u64, len: u64) -> u64;
    #[polkavm_import(index = 6)]
    fn host_historical_lookup(service: u64, hash: *const u8, out: *mut u8, offset: u64, len: u64) -> u64;
    #[polkavm_import(index = 7)]
    fn host_export(segment: *const u8, len: u64) -> u64;
    #[polkavm_import(index = 19)]
    fn host_upgrade(hash: *const u8, min_item_gas: u64, min_memo_gas: u64) -> u64;
    #[polkavm_import(index = 22)]
    fn host_query(hash: *const u8, len: u64) -> (u64, u64);
    #[polkavm_import(index = 23)]
    fn host_solicit(hash: *const u8, len: u64) -> u64;
    #[polkavm_import(index = 100)]
    fn host_log(level: u64, target: *const u8, target_len: u64, text: *const u8, len: u64) -> u64;
}

/// The answer where there is nothing; the other errors are a little below it.
const NONE: u64 = u64::MAX;
/// Answers from here on are errors and no lengths.
const ERRORS: u64 = u64::MAX - 16;
/// What only those want to know who look into a program.
const TRACE: u64 = 4;
/// The service that is running.
const SELF: u64 = u64::MAX;

/// What can be fetched.
#[derive(Clone, Copy)]
pub(crate) enum Fetch {
    /// A blob that comes with this work item.
    Extrinsic(u64),
    /// The view of the chain that the package has.
    Context,
    /// What all work items say of themselves.
    Items,
    /// What one work item says of itself.
    Item(u64),
    /// One of the things to accumulate.
    Accumulated(u64),
}

impl Fetch {
    const fn kind(self) -> (u64, u64) {
        match self {
            Self::Extrinsic(index) => (4, index),
            Self::Context => (10, 0),
            Self::Items => (11, 0),
            Self::Item(index) => (12, index),
            Self::Accumulated(index) => (15, index),
        }
    }

    /// Copies the beginning into `out`, and gives how long the whole is.
    pub(crate) fn into(self, out: &mut [u8]) -> Option<usize> {
        let (kind, index) = self.kind();
        // SAFETY: the host writes at most as many bytes as `out` has.
        length(unsafe { host_fetch(out.as_mut_ptr(), 0, out.len() as u64, kind, index, 0) })
    }

    /// All of it.
    pub(crate) fn all(self) -> Option<Vec<u8>> {
        let len = self.into(&mut [])?;
        let mut out = Vec::<u8>::with_capacity(len);
        let (kind, index) = self.kind();
        // SAFETY: there is room for `len` bytes, and the host, which has just told this length, fills all of it.
        unsafe {
            host_fetch(out.as_mut_ptr(), 0, len as u64, kind, index, 0);
            out.set_len(len);
        }
        Some(out)
    }
}

/// Copies the beginning of a preimage of this service at the lookup anchor into `out`, and gives how long the whole is.
pub(crate) fn historical_preimage(hash: &Hash, out: &mut [u8]) -> Option<usize> {
    let (hash, len) = (hash.as_ptr(), out.len() as u64);
    // SAFETY: a hash has 32 bytes; the host writes at most as many bytes as `out` has.
    length(unsafe { host_historical_lookup(SELF, hash, out.as_mut_ptr(), 0, len) })
}

/// Copies the beginning of a preimage of this service into `out`, and gives how long the whole is.
pub(crate) fn preimage(hash: &Hash, out: &mut [u8]) -> Option<usize> {
    // SAFETY: a hash has 32 bytes; the host writes at most as many bytes as `out` has.
    length(unsafe { host_lookup(SELF, hash.as_ptr(), out.as_mut_ptr(), 0, out.len() as u64) })
}

/// Exports a segment.
pub(crate) fn export(segment: &[u8]) {
    // SAFETY: the host reads as many bytes as the segment has.
    unsafe { host_export(segment.as_ptr(), segment.len() as u64) };
}

/// Says something to those who look into the program. A host without such a call (JIP-1) does nothing, for the same gas.
pub(crate) fn log(text: &str) {
    // SAFETY: the host reads as many bytes as the text has, and no target.
    unsafe { host_log(TRACE, core::ptr::null(), 0, text.as_ptr(), text.len() as u64) };
}

/// An entry of this service's storage.
pub(crate) fn read(key: &[u8]) -> Option<Vec<u8>> {
    let (at, key_len) = (key.as_ptr(), key.len() as u64);
    // SAFETY: the host reads the key and writes nothing.
    let len = length(unsafe { host_read(SELF, at, key_len, core::ptr::null_mut(), 0, 0) })?;
    let mut out = Vec::<u8>::with_capacity(len);
    // SAFETY: there is room for `len` bytes, and the host, which has just told this length, fills all of it.
    unsafe {
        host_read(SELF, at, key_len, out.as_mut_ptr(), 0, len as u64);
        out.set_len(len);
    }
    Some(out)
}

/// Writes an entry of this service's storage; an empty value removes it.
pub(crate) fn write(key: &[u8], value: &[u8]) {
    // SAFETY: the host reads key and value.
    unsafe { host_write(key.as_ptr(), key.len() as u64, value.as_ptr(), value.len() as u64) };
}

/// Copies the beginning of what the chain knows of this service into `out`.
pub(crate) fn info(out: &mut [u8]) {
    // SAFETY: the host writes at most as many bytes as `out` has.
    unsafe { host_info(SELF, out.as_mut_ptr(), 0, out.len() as u64) };
}

/// Makes a preimage the service's code.
pub(crate) fn upgrade(hash: &Hash, min_item_gas: u64, min_memo_gas: u64) {
    // SAFETY: a hash has 32 bytes.
    unsafe { host_upgrade(hash.as_ptr(), min_item_gas, min_memo_gas) };
}

/// What became of a request for a preimage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requested {
    /// There is no such request.
    No,
    /// It is there.
    Available,
    /// It is not there, or not any more.
    Missing,
}

/// Asks what became of a request for a preimage.
pub(crate) fn query(hash: &Hash, len: u32) -> Requested {
    // SAFETY: a hash has 32 bytes.
    match unsafe { host_query(hash.as_ptr(), len.into()) }.0 {
        NONE => Requested::No,
        // In the low half stands how often the preimage came or went.
        answer if matches!(answer as u32, 1 | 3) => Requested::Available,
        _ => Requested::Missing,
    }
}

/// Asks for a preimage; whether it is asked for, or there, now.
pub(crate) fn solicit(hash: &Hash, len: u32) -> bool {
    // SAFETY: a hash has 32 bytes.
    let answer = unsafe { host_solicit(hash.as_ptr(), len.into()) };
    answer == 0 || query(hash, len) != Requested::No
}

fn length(answer: u64) -> Option<usize> {
    (answer < ERRORS).then_some(answer as usize)
}
