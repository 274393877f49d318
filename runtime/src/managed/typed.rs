//! Typed data (EIP-712) as wallets hand it over. Its types come from whoever asks, and what reads them follows them
//! wherever they lead: one array within the other, one struct within the other. So they are measured first.

use alloy_dyn_abi::TypedData;
use serde_json::Value;
use std::collections::BTreeMap;

/// A type's name with all its brackets.
const TYPE_BYTES_MAX: usize = 256;
/// `uint8[][]` has two.
const DIMENSIONS_MAX: usize = 8;
/// Structs that are defined, and the fields of all of them together.
const STRUCTS_MAX: usize = 256;
const FIELDS_MAX: usize = 2_048;
/// Structs within structs.
const NESTING_MAX: usize = 32;
/// Fields when every struct is written out wherever it is used.
const WRITTEN_OUT_MAX: usize = 16_384;

/// Reads typed data, as an object or as its text, and gives what is to be signed: the bytes whose hash EIP-712 names.
pub fn preimage(given: Value) -> Result<Vec<u8>, String> {
    // Some wallets send the object, some its text.
    let object = match given {
        Value::String(text) => serde_json::from_str(&text).map_err(|why| why.to_string())?,
        object => object,
    };
    measure(&object)?;
    let typed = serde_json::from_value::<TypedData>(object).map_err(|why| why.to_string())?;
    let content = typed.hash_struct().map_err(|why| why.to_string())?;
    let mut preimage = vec![0x19, 0x01];
    preimage.extend_from_slice(typed.domain.separator().as_slice());
    preimage.extend_from_slice(content.as_slice());
    Ok(preimage)
}

/// Refuses types that are too large. What has another form is the reader's business.
fn measure(object: &Value) -> Result<(), String> {
    let Some(types) = object.get("types").and_then(Value::as_object) else { return Ok(()) };
    if types.len() > STRUCTS_MAX {
        return Err(format!("there are more than {STRUCTS_MAX} types"));
    }
    let mut structs = Structs::default();
    let mut fields = 0;
    for (name, definition) in types {
        check_name(name)?;
        let mut used = Vec::new();
        for field in definition.as_array().into_iter().flatten() {
            let kind = field.get("type").and_then(Value::as_str).unwrap_or_default();
            check_name(kind)?;
            used.push(kind.split('[').next().unwrap_or_default());
        }
        fields += used.len();
        structs.uses.insert(name, used);
    }
    if fields > FIELDS_MAX {
        return Err(format!("the types have more than {FIELDS_MAX} fields"));
    }
    let primary = object.get("primaryType").and_then(Value::as_str).unwrap_or_default();
    check_name(primary)?;
    for name in types.keys() {
        structs.written_out(name, 0)?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    if name.len() > TYPE_BYTES_MAX {
        return Err(format!("a type has more than {TYPE_BYTES_MAX} bytes"));
    }
    if name.matches('[').count() > DIMENSIONS_MAX {
        return Err(format!("a type is an array of more than {DIMENSIONS_MAX} dimensions"));
    }
    // Solidity's tuples nest too, and EIP-712 has none.
    if name.contains('(') { Err("a type is a tuple".to_owned()) } else { Ok(()) }
}

/// What each struct's fields are made of, and how large it is as far as that is known.
#[derive(Default)]
struct Structs<'a> {
    uses: BTreeMap<&'a str, Vec<&'a str>>,
    known: BTreeMap<&'a str, (usize, usize)>,
}

impl<'a> Structs<'a> {
    /// How many structs lie within each other below this one, and its fields when they are all written out. A struct
    /// within itself never ends, and is refused with those that end too late.
    fn written_out(&mut self, name: &'a str, depth: usize) -> Result<(usize, usize), String> {
        if let Some(known) = self.known.get(name) {
            return Ok(*known);
        }
        let too_deep = || format!("structs lie more than {NESTING_MAX} deep within each other");
        if depth > NESTING_MAX {
            return Err(too_deep());
        }
        let (mut below, mut fields) = (0, 0_usize);
        for used in self.uses.get(name).cloned().unwrap_or_default() {
            fields += 1;
            if self.uses.contains_key(used) {
                let (inner, more) = self.written_out(used, depth + 1)?;
                below = below.max(inner + 1);
                fields += more;
            }
            if fields > WRITTEN_OUT_MAX {
                return Err(format!("written out, the types have more than {WRITTEN_OUT_MAX} fields"));
            }
        }
        if below > NESTING_MAX {
            return Err(too_deep());
        }
        self.known.insert(name, (below, fields));
        Ok((below, fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Reads it where a stack that grows with what is sent would soon be at its end.
    fn read(types: impl Into<Value>, primary: &str) -> Result<Vec<u8>, String> {
        let given = json!({ "types": types.into(), "primaryType": primary, "domain": {}, "message": {} });
        let text = Value::String(given.to_string());
        let thread = std::thread::Builder::new().stack_size(256 * 1024);
        thread.spawn(move || preimage(text)).unwrap().join().unwrap()
    }

    fn field(kind: &str) -> Value {
        json!([{ "name": "a", "type": kind }])
    }

    #[test]
    fn what_would_overflow_the_stack_or_the_memory_is_refused() {
        // As much as a body may have.
        let arrays = format!("uint256{}", "[]".repeat(1 << 20));
        assert!(read(json!({ "M": field(&arrays) }), "M").unwrap_err().contains("bytes"));
        assert!(read(json!({ "M": [] }), &arrays).unwrap_err().contains("bytes"));
        let arrays = format!("uint256{}", "[]".repeat(DIMENSIONS_MAX + 1));
        assert!(read(json!({ "M": field(&arrays) }), "M").unwrap_err().contains("dimensions"));
        let tuples = format!("{}uint8{}", "(".repeat(100), ")".repeat(100));
        assert!(read(json!({ "M": field(&tuples) }), "M").unwrap_err().contains("tuple"));
        let name = |index: usize| format!("S{index}");
        let chain = |length: usize| {
            let types = (0..length).map(|index| (name(index), field(&format!("{}[]", name(index + 1)))));
            Value::Object(types.chain([(name(length), field("uint8"))]).collect())
        };
        assert!(read(chain(20_000), "S0").unwrap_err().contains("types"));
        assert!(read(chain(NESTING_MAX + 1), "S0").unwrap_err().contains("deep"));
        assert!(read(json!({ "M": field("M") }), "M").unwrap_err().contains("deep"));
        // Each struct uses the next one twice: thirty of them are a billion fields.
        let twice = |index: usize| json!([{ "name": "a", "type": name(index + 1) }, { "name": "b", "type": name(index + 1) }]);
        let types = (0..30).map(|index| (name(index), twice(index)));
        let doubling = Value::Object(types.chain([(name(30), field("uint8"))]).collect());
        assert!(read(doubling, "S0").unwrap_err().contains("written out"));
        let many = (0..FIELDS_MAX + 1).map(|_| json!({ "name": "a", "type": "uint8" })).collect::<Vec<_>>();
        assert!(read(json!({ "M": many }), "M").unwrap_err().contains("fields"));
    }

    #[test]
    fn what_people_sign_is_read() {
        assert_eq!(read(json!({ "EIP712Domain": [], "M": [] }), "M").unwrap().len(), 66);
        let types = json!({
            "EIP712Domain": [], "Leaf": field("uint8[][3][]"), "M": [],
            "Order": [{ "name": "a", "type": "Leaf[]" }, { "name": "b", "type": "Leaf" }],
        });
        assert_eq!(read(types, "M").unwrap().len(), 66);
        for strange in [json!(1), json!({ "types": 1 }), json!("no json"), json!({ "types": { "M": 1 } })] {
            assert!(preimage(strange).is_err());
        }
    }
}
