//! What the machine needs: entry points, an allocator, a stack, a way to stop.
//!
//! The order of the entry points in the dispatch table is the linker's (`guest/link`): refine, then accumulate.

// The global allocator.
use picoalloc as _;

use crate::{accumulate, refine};
use alloc::vec::Vec;

// Execution of contracts is a loop and not a recursion, but the curves' arithmetic has large frames.
polkavm_derive::min_stack_size!(1024 * 1024);

#[polkavm_derive::polkavm_export]
extern "C" fn refine_ext(arguments: u32, len: u32) -> (u64, u64) {
    leave(refine::refine(bytes(arguments, len)))
}

#[polkavm_derive::polkavm_export]
extern "C" fn accumulate_ext(arguments: u32, len: u32) -> (u64, u64) {
    accumulate::accumulate(bytes(arguments, len));
    (0, 0)
}

/// The arguments, which the host has placed in read-only memory.
fn bytes(at: u32, len: u32) -> &'static [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the machine starts with `len` readable bytes at `at`, and nothing writes to them.
    unsafe { core::slice::from_raw_parts(at as usize as *const u8, len as usize) }
}

/// Leaves an output where the host finds it. Nothing runs after this, so nothing frees it.
fn leave(output: Vec<u8>) -> (u64, u64) {
    let output = output.leak();
    (output.as_ptr() as u64, output.len() as u64)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the instruction traps, and nothing comes after it.
    unsafe { core::arch::asm!("unimp", options(noreturn)) }
}
