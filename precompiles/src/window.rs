//! Digits of factors: most are zero, the others odd, so that a point is multiplied with few additions.

/// Digits of a number of 256 bits; what is carried at the end needs one more.
pub(crate) const DIGITS: usize = 257;

/// Digits of so many bits, the sign among them, lowest first. Of as many neighbours, at most one is not zero.
pub(crate) fn digits(number: [u64; 4], width: u32) -> [i8; DIGITS] {
    let mut digits = [0; DIGITS];
    let bits = |at: usize| -> u64 {
        let (limb, shift) = (at / 64, at % 64);
        let low = number.get(limb).map_or(0, |limb| limb >> shift);
        let high = if shift == 0 { 0 } else { number.get(limb + 1).map_or(0, |limb| limb << (64 - shift)) };
        low | high
    };
    let (mut at, mut carry) = (0, 0);
    while at < DIGITS {
        let next = bits(at);
        // What is carried makes ones zeros, so it is ones that are skipped then.
        let skipped = if carry == 0 { next.trailing_zeros() } else { next.trailing_ones() };
        if skipped > 0 {
            at += skipped as usize;
            continue;
        }
        let window = (next & ((1 << width) - 1)) + carry;
        carry = window >> (width - 1);
        digits[at] = (window as i64 - ((carry as i64) << width)) as i8;
        at += width as usize;
    }
    digits
}
