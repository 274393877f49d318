//! The one host call that authorizers need, and how they end.

#[polkavm_derive::polkavm_import]
unsafe extern "C" {
    #[polkavm_import(index = 1)]
    fn host_fetch(out: *mut u8, offset: u64, len: u64, kind: u64, a: u64, b: u64) -> u64;
}

/// What can be fetched.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Fetch {
    #[cfg(feature = "builder")]
    Package = 7,
    Configuration = 8,
    #[cfg(not(feature = "builder"))]
    Token = 9,
    #[cfg(feature = "builder")]
    Context = 10,
}

impl Fetch {
    /// How long the whole is.
    pub(crate) fn len(self) -> usize {
        self.read(0, &mut [])
    }

    /// Copies what begins at `from` into `out`, and gives how long the whole is.
    pub(crate) fn read(self, from: usize, out: &mut [u8]) -> usize {
        // SAFETY: the host writes at most as many bytes as `out` has.
        let len = unsafe { host_fetch(out.as_mut_ptr(), from as u64, out.len() as u64, self as u64, 0, 0) };
        len as usize
    }
}

/// Does not allow the package.
pub(crate) fn refuse() -> ! {
    // SAFETY: the instruction traps, and nothing comes after it.
    unsafe { core::arch::asm!("unimp", options(noreturn)) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    refuse()
}
