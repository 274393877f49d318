//! Small files out of large ones that repeat themselves: what the fixtures of data directories are kept in.
//!
//! A store's file is mostly zeros and old copies of the same pages. It is kept as pieces of new bytes and copies of what
//! came before, each length a number of seven bits a byte, the lowest first:
//!
//! ```text
//!   length of the file │ length, new bytes │ length, distance back │ length, new bytes │ …
//! ```
//!
//! A copy may reach into itself: a thousand zeros are one zero, and a copy of 999 bytes from one byte before. It may also reach
//! back into bytes that both sides know: a program that is in each of several files.

use std::collections::HashMap;

/// A copy of fewer bytes is not worth its two numbers.
const COPY_MIN: usize = 8;
/// No fixture is larger; a damaged length does not take all memory.
const BYTES_MAX: u64 = 64 << 20;

/// Packs what comes after bytes that are known.
pub fn pack(known: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![];
    number(&mut packed, bytes.len());
    let mut seen = HashMap::<&[u8], usize>::new();
    for at in 0..known.len().saturating_sub(COPY_MIN) {
        seen.insert(&known[at..at + COPY_MIN], at);
    }
    let (mut at, mut literal) = (known.len(), known.len());
    let bytes = &[known, bytes].concat();
    while at < bytes.len() {
        let key = bytes.get(at..at + COPY_MIN);
        let before = key.and_then(|key| seen.insert(key, at));
        let length = before.map_or(0, |before| {
            bytes[at..].iter().zip(&bytes[before..]).take_while(|(one, other)| one == other).count()
        });
        let Some(before) = before.filter(|_| length >= COPY_MIN) else {
            at += 1;
            continue;
        };
        number(&mut packed, at - literal);
        packed.extend_from_slice(&bytes[literal..at]);
        number(&mut packed, length);
        number(&mut packed, at - before);
        at += length;
        literal = at;
    }
    if literal < bytes.len() {
        number(&mut packed, bytes.len() - literal);
        packed.extend_from_slice(&bytes[literal..]);
    }
    packed
}

/// Unpacks; `None` if it is not what [`pack`] made with these known bytes.
pub fn unpack(known: &[u8], mut packed: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(take_number(&mut packed)?).ok()? + known.len();
    let mut bytes = known.to_vec();
    while bytes.len() < length {
        let new = usize::try_from(take_number(&mut packed)?).ok()?;
        bytes.extend_from_slice(packed.split_off(..new)?);
        if bytes.len() < length {
            let copied = usize::try_from(take_number(&mut packed)?).ok()?;
            let from = bytes.len().checked_sub(usize::try_from(take_number(&mut packed)?).ok()?)?;
            if from == bytes.len() || bytes.len() + copied > length {
                return None;
            }
            for at in from..from + copied {
                bytes.push(bytes[at]);
            }
        }
    }
    (bytes.len() == length && packed.is_empty()).then(|| bytes.split_off(known.len()))
}

fn number(packed: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        packed.push(value as u8 | 0x80);
        value >>= 7;
    }
    packed.push(value as u8);
}

fn take_number(packed: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = *packed.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value).filter(|value| *value <= BYTES_MAX);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_again() {
        let zeros = vec![0; 1 << 20];
        let pages = [vec![7; 4096], (0..=255).cycle().take(4096).collect(), vec![7; 4096]].concat();
        for bytes in [&b""[..], b"a", b"abcabcabcabcabcabcabc", &zeros, &pages] {
            assert_eq!(unpack(b"", &pack(b"", bytes)).as_deref(), Some(bytes));
        }
        assert!(pack(b"", &zeros).len() < 16 && pack(b"", &pages).len() < 300);
    }

    #[test]
    fn known_bytes_are_not_repeated() {
        let known = (0..1000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>();
        let bytes = [b"before", &known[..], b"after"].concat();
        let packed = pack(&known, &bytes);
        assert!(packed.len() < 30, "{}", packed.len());
        assert_eq!(unpack(&known, &packed), Some(bytes));
        assert_eq!(unpack(b"", &packed), None, "they are needed");
    }

    #[test]
    fn damage_is_noticed() {
        let packed = pack(b"", &[[1; 100], [2; 100]].concat());
        for end in 0..packed.len() {
            assert_eq!(unpack(b"", &packed[..end]), None);
        }
        assert_eq!(unpack(b"", &[0xff; 20]), None);
        assert_eq!(unpack(b"", &[10, 1, 5, 9, 9]), None, "a copy from before the beginning");
    }
}
