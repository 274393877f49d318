//! Copying and comparing memory, which every program does all the time.
//!
//! Without these, the compiler's own functions are taken. They go byte by byte unless both addresses are multiples of eight, and
//! nearly nothing here is: hashes, keys and addresses are arrays of bytes. A JAM machine reads and writes words at any address
//! for the same gas, so these functions do.
//!
//! No word here reaches over the end of a page, though that is allowed. anan-as 1.2.0 reads a wrong byte after such a read
//! (`docs/anan-as.md`), and the code that it takes to be careful costs a few gas for each call.
//!
//! The compiler would turn a loop that copies into a call of `memcpy`, which is this very loop. The loads and stores are assembly
//! also for that reason.

use core::arch::{asm, naked_asm};

const PAGE: usize = 4096;
const WORD: usize = 8;

/// Whether so many bytes from here on are on one page.
#[inline(always)]
fn on_one_page(at: *const u8, len: usize) -> bool {
    (at as usize % PAGE).wrapping_add(len) <= PAGE
}

#[inline(always)]
unsafe fn load(at: *const u8) -> u64 {
    let word;
    // SAFETY: the caller says that eight bytes are readable; the machine needs no alignment.
    unsafe { asm!("ld {}, 0({})", out(reg) word, in(reg) at, options(nostack, readonly, pure)) };
    word
}

#[inline(always)]
unsafe fn load_byte(at: *const u8) -> u64 {
    let byte;
    // SAFETY: the caller says that the byte is readable.
    unsafe { asm!("lbu {}, 0({})", out(reg) byte, in(reg) at, options(nostack, readonly, pure)) };
    byte
}

#[inline(always)]
unsafe fn store(at: *mut u8, word: u64) {
    // SAFETY: the caller says that eight bytes are writable; the machine needs no alignment.
    unsafe { asm!("sd {}, 0({})", in(reg) word, in(reg) at, options(nostack)) };
}

#[inline(always)]
unsafe fn store_byte(at: *mut u8, byte: u64) {
    // SAFETY: the caller says that the byte is writable.
    unsafe { asm!("sb {}, 0({})", in(reg) byte, in(reg) at, options(nostack)) };
}

/// Copies bytes, the first one first.
#[inline(always)]
unsafe fn copy_bytes(mut to: *mut u8, mut from: *const u8, len: usize) {
    // SAFETY: the caller says that both ranges are there.
    unsafe {
        let end = to.wrapping_add(len);
        while to != end {
            store_byte(to, load_byte(from));
            to = to.wrapping_add(1);
            from = from.wrapping_add(1);
        }
    }
}

/// Copies a range that lies on one page, to one that does, the first byte first.
#[inline(always)]
unsafe fn copy_words(mut to: *mut u8, mut from: *const u8, mut len: usize) {
    // SAFETY: the caller says that both ranges are there.
    unsafe {
        while len >= 4 * WORD {
            store(to, load(from));
            store(to.wrapping_add(8), load(from.wrapping_add(8)));
            store(to.wrapping_add(16), load(from.wrapping_add(16)));
            store(to.wrapping_add(24), load(from.wrapping_add(24)));
            to = to.wrapping_add(4 * WORD);
            from = from.wrapping_add(4 * WORD);
            len -= 4 * WORD;
        }
        while len >= WORD {
            store(to, load(from));
            to = to.wrapping_add(WORD);
            from = from.wrapping_add(WORD);
            len -= WORD;
        }
        copy_bytes(to, from, len);
    }
}

/// Copies a range piece by piece, each of which lies on one page on both sides. Gives where it begins.
#[inline(never)]
unsafe extern "C" fn copy_over_pages(start: *mut u8, mut from: *const u8, mut len: usize) -> *mut u8 {
    let mut to = start;
    if (to as usize | from as usize) % WORD == 0 {
        // Words that are aligned reach over no page.
        // SAFETY: the caller says that both ranges are there.
        unsafe { copy_words(to, from, len) };
        return start;
    }
    while len > 0 {
        let room = PAGE - (to as usize % PAGE).max(from as usize % PAGE);
        let piece = room.min(len);
        // SAFETY: the caller says that both ranges are there, and a piece ends where one of the two pages ends.
        unsafe { copy_words(to, from, piece) };
        to = to.wrapping_add(piece);
        from = from.wrapping_add(piece);
        len -= piece;
    }
    start
}

/// Copies a range to another that it does not overlap.
///
/// Assembly, since half of what a compiler makes of it is to keep the address that is returned. Most copies are of a hash, so these
/// are looked at first. What remains behind whole words is copied by a word that overlaps them.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    naked_asm!(
        // Both on one page?
        "li t2, 4095",
        "and a3, a0, t2",
        "add a3, a3, a2",
        "and a4, a1, t2",
        "add a4, a4, a2",
        "li t2, 4096",
        "bltu t2, a3, 90f",
        "bltu t2, a4, 90f",
        "li t2, 32",
        "bne a2, t2, 10f",
        "ld a3, 0(a1)",
        "ld a4, 8(a1)",
        "sd a3, 0(a0)",
        "sd a4, 8(a0)",
        "ld a3, 16(a1)",
        "ld a4, 24(a1)",
        "sd a3, 16(a0)",
        "sd a4, 24(a0)",
        "ret",
        "10:",
        "mv a3, a0",
        "bltu a2, t2, 30f",
        "20:",
        "ld a4, 0(a1)",
        "ld a5, 8(a1)",
        "sd a4, 0(a3)",
        "sd a5, 8(a3)",
        "ld a4, 16(a1)",
        "ld a5, 24(a1)",
        "sd a4, 16(a3)",
        "sd a5, 24(a3)",
        "addi a1, a1, 32",
        "addi a3, a3, 32",
        "addi a2, a2, -32",
        "bgeu a2, t2, 20b",
        "30:",
        "beqz a2, 60f",
        "li t2, 8",
        "bltu a2, t2, 50f",
        // From 8 to 31 bytes: words, and the last eight bytes.
        "add t0, a1, a2",
        "add t1, a3, a2",
        "ld t0, -8(t0)",
        "40:",
        "ld a5, 0(a1)",
        "sd a5, 0(a3)",
        "addi a1, a1, 8",
        "addi a3, a3, 8",
        "addi a2, a2, -8",
        "bgeu a2, t2, 40b",
        "sd t0, -8(t1)",
        "ret",
        "50:",
        "lbu a4, 0(a1)",
        "sb a4, 0(a3)",
        "addi a1, a1, 1",
        "addi a3, a3, 1",
        "addi a2, a2, -1",
        "bnez a2, 50b",
        "60:",
        "ret",
        "90:",
        "tail {over_pages}",
        over_pages = sym copy_over_pages,
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: this is what the compiler calls it for. The first byte is copied first unless that would write over what is still to be
    // read; then the last one is. Where the ranges are less than a word apart, words would do so too.
    unsafe {
        let ahead = (to as usize).wrapping_sub(from as usize);
        let behind = ahead.wrapping_neg();
        if ahead < len {
            move_up(to, from, len);
        } else if behind < WORD {
            copy_bytes(to, from, len);
        } else {
            memcpy(to, from, len);
        }
    }
    to
}

/// Copies to a higher address, the last byte first.
#[inline(never)]
unsafe fn move_up(to: *mut u8, from: *const u8, mut len: usize) {
    // SAFETY: the caller says that both ranges are there.
    unsafe {
        let by_words = to as usize - from as usize >= WORD && on_one_page(to, len) && on_one_page(from, len);
        while by_words && len >= WORD {
            len -= WORD;
            store(to.wrapping_add(len), load(from.wrapping_add(len)));
        }
        while len > 0 {
            len -= 1;
            store_byte(to.wrapping_add(len), load_byte(from.wrapping_add(len)));
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    let mut at = 0;
    // SAFETY: this is what the compiler calls it for.
    unsafe {
        if on_one_page(one, len) && on_one_page(other, len) {
            while len - at >= WORD {
                let (a, b) = (load(one.wrapping_add(at)), load(other.wrapping_add(at)));
                if a != b {
                    return if a.swap_bytes() < b.swap_bytes() { -1 } else { 1 };
                }
                at += WORD;
            }
        }
        while at < len {
            let (a, b) = (load_byte(one.wrapping_add(at)), load_byte(other.wrapping_add(at)));
            if a != b {
                return a as i32 - b as i32;
            }
            at += 1;
        }
    }
    0
}
