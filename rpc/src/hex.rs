//! Numbers and bytes as Ethereum's JSON has them, read as strictly as go-ethereum reads them.
//!
//! Quantities have no leading zeros, data has two digits per byte, and both begin with `0x`. What is written elsewhere
//! in the process with alloy's types has the same form; those types read more than this, which would let through what
//! every other node refuses.

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use serde::{Deserialize, Deserializer, de};
use std::fmt;

/// A value that stands in JSON as a hexadecimal string.
pub(crate) trait FromHex: Sized {
    /// Reads it.
    fn from_hex(text: &str) -> Result<Self, String>;
}

/// Reads a [`FromHex`] with serde.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Hex<T>(pub(crate) T);

impl<'de, T: FromHex> Deserialize<'de> for Hex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);

        impl<T: FromHex> de::Visitor<'_> for Visitor<T> {
            type Value = Hex<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a hexadecimal string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Hex<T>, E> {
                T::from_hex(text).map(Hex).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Visitor(std::marker::PhantomData))
    }
}

fn digits(text: &str) -> Result<&str, String> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or_else(|| match text {
        "" => "empty hex string".to_owned(),
        _ => "hex string without 0x prefix".to_owned(),
    })
}

impl FromHex for U256 {
    fn from_hex(text: &str) -> Result<Self, String> {
        let digits = digits(text)?;
        match digits.as_bytes() {
            [] => Err("hex string \"0x\"".to_owned()),
            [b'0', _, ..] => Err("hex number with leading zero digits".to_owned()),
            digits if digits.len() > 64 => Err("hex number > 256 bits".to_owned()),
            digits if !digits.iter().all(u8::is_ascii_hexdigit) => Err("invalid hex string".to_owned()),
            _ => Self::from_str_radix(digits, 16).map_err(|_| "invalid hex string".to_owned()),
        }
    }
}

impl FromHex for u64 {
    fn from_hex(text: &str) -> Result<Self, String> {
        U256::from_hex(text)?.try_into().map_err(|_| "hex number > 64 bits".to_owned())
    }
}

impl FromHex for u128 {
    fn from_hex(text: &str) -> Result<Self, String> {
        U256::from_hex(text)?.try_into().map_err(|_| "hex number > 128 bits".to_owned())
    }
}

impl FromHex for u8 {
    fn from_hex(text: &str) -> Result<Self, String> {
        U256::from_hex(text)?.try_into().map_err(|_| "hex number > 8 bits".to_owned())
    }
}

fn fixed<const N: usize>(text: &str, what: &str) -> Result<[u8; N], String> {
    let digits = digits(text)?;
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return Err(format!("hex string has length {}, want {} for {what}", digits.len(), 2 * N));
    }
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| format!("invalid hex string for {what}"))?;
    Ok(bytes)
}

impl FromHex for B256 {
    fn from_hex(text: &str) -> Result<Self, String> {
        fixed(text, "common.Hash").map(Self)
    }
}

impl FromHex for Address {
    fn from_hex(text: &str) -> Result<Self, String> {
        fixed(text, "common.Address").map(|bytes| Self(bytes.into()))
    }
}

/// Digits and nothing else: the decoder would take another prefix.
fn decoded(digits: &str) -> Option<Vec<u8>> {
    let plain = !digits.starts_with("0x") && !digits.starts_with("0X");
    plain.then(|| hex::decode(digits).ok())?
}

impl FromHex for Bytes {
    fn from_hex(text: &str) -> Result<Self, String> {
        let digits = digits(text)?;
        if !digits.len().is_multiple_of(2) {
            return Err("hex string of odd length".to_owned());
        }
        decoded(digits).map(Self::from).ok_or_else(|| "invalid hex string".to_owned())
    }
}

/// A slot's number: up to 32 bytes, with or without leading zeros, as every client sends them in its own way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slot(pub(crate) B256);

impl FromHex for Slot {
    fn from_hex(text: &str) -> Result<Self, String> {
        let invalid = || format!("invalid hex in storage key: {text:?}");
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        if digits.len() > 64 {
            let have = digits.len().div_ceil(2);
            return Err(format!("storage key too long (want at most 32 bytes): have {have} bytes"));
        }
        let even = format!("{}{digits}", if digits.len() % 2 == 1 { "0" } else { "" });
        let bytes = decoded(&even).ok_or_else(invalid)?;
        Ok(Self(B256::left_padding_from(&bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_strictly() {
        assert_eq!(u64::from_hex("0x0"), Ok(0));
        assert_eq!(u64::from_hex("0xff"), Ok(255));
        for wrong in
            ["", "0x", "2", "0x00", "0x01", "0xg", "0x-1", "0x+1", "0x1_0", "0x10000000000000000", "-0x1"]
        {
            assert!(u64::from_hex(wrong).is_err(), "{wrong}");
        }
        assert_eq!(U256::from_hex(&format!("0x{}", "f".repeat(64))), Ok(U256::MAX));
        assert!(U256::from_hex(&format!("0x1{}", "0".repeat(64))).is_err());
    }

    #[test]
    fn data_has_its_length_and_its_prefix() {
        assert_eq!(Bytes::from_hex("0x"), Ok(Bytes::new()));
        assert_eq!(Bytes::from_hex("0x0aFF"), Ok(Bytes::from_static(&[10, 255])));
        for wrong in ["", "0a", "0x0", "0xzz", "0x0x12", "0x0X12"] {
            assert!(Bytes::from_hex(wrong).is_err(), "{wrong}");
        }
        assert!(B256::from_hex(&"1".repeat(64)).is_err());
        assert!(Address::from_hex("0x1234").is_err());
        assert_eq!(Slot::from_hex("0x1"), Ok(Slot(B256::with_last_byte(1))));
        assert!(Slot::from_hex("0xasdf").is_err());
        assert!(Slot::from_hex("0x0x12").is_err());
        assert!(Slot::from_hex(&format!("0x{}", "0".repeat(66))).is_err());
    }
}
