//! Words out of bytes, and bytes out of words, at any address.
//!
//! An array of bytes may lie anywhere, so a compiler that knows nothing of alignment reads a word of it byte by byte: some twenty
//! instructions. A JAM machine reads a word at any address by one instruction. Natively these functions are what the standard
//! library has.
//!
//! In the machine no word is read or written over the end of a page. That is allowed, but anan-as 1.2.0 reads wrong bytes after it
//! (`docs/anan-as.md`).

/// Four words, the first byte lowest.
#[inline(always)]
pub fn load(bytes: &[u8; 32]) -> [u64; 4] {
    #[cfg(target_env = "polkavm")]
    if machine::on_one_page(bytes) {
        return machine::load(bytes);
    }
    let (words, _) = bytes.as_chunks::<8>();
    core::array::from_fn(|at| u64::from_le_bytes(words[at]))
}

/// The bytes of four words, the first byte lowest.
#[inline(always)]
pub fn store(words: [u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    #[cfg(target_env = "polkavm")]
    if machine::on_one_page(&bytes) {
        machine::store(&mut bytes, words);
        return bytes;
    }
    let (places, _) = bytes.as_chunks_mut::<8>();
    places.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
    bytes
}

/// Four words, the last byte lowest, and the lowest word first.
#[inline(always)]
pub fn load_big_endian(bytes: &[u8; 32]) -> [u64; 4] {
    let [a, b, c, d] = load(bytes);
    [d.swap_bytes(), c.swap_bytes(), b.swap_bytes(), a.swap_bytes()]
}

/// Whether all bytes are zero.
#[inline(always)]
pub fn is_zero(bytes: &[u8; 32]) -> bool {
    let [a, b, c, d] = load(bytes);
    a | b | c | d == 0
}

#[cfg(target_env = "polkavm")]
#[allow(unsafe_code, reason = "the compiler does not know that this machine reads words at any address")]
mod machine {
    use core::arch::asm;

    const PAGE: usize = 4096;

    #[inline(always)]
    pub(super) fn on_one_page(bytes: &[u8; 32]) -> bool {
        bytes.as_ptr() as usize % PAGE <= PAGE - 32
    }

    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 32]) -> [u64; 4] {
        let (a, b, c, d);
        // SAFETY: all 32 bytes are read, and the machine needs no alignment.
        unsafe {
            asm!(
                "ld {a}, 0({at})", "ld {b}, 8({at})", "ld {c}, 16({at})", "ld {d}, 24({at})",
                a = out(reg) a, b = out(reg) b, c = out(reg) c, d = lateout(reg) d, at = in(reg) bytes.as_ptr(),
                options(nostack, readonly, pure),
            );
        }
        [a, b, c, d]
    }

    #[inline(always)]
    pub(super) fn store(bytes: &mut [u8; 32], [a, b, c, d]: [u64; 4]) {
        // SAFETY: all 32 bytes are written, and the machine needs no alignment.
        unsafe {
            asm!(
                "sd {a}, 0({at})", "sd {b}, 8({at})", "sd {c}, 16({at})", "sd {d}, 24({at})",
                a = in(reg) a, b = in(reg) b, c = in(reg) c, d = in(reg) d, at = in(reg) bytes.as_mut_ptr(),
                options(nostack),
            );
        }
    }
}
