//! Schemas of texts whose Rust types are not ours, or say more than "a string". `value_type` names them where a
//! field has such a type.

use crate::{FeeCap, RequestId};
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, OneOfBuilder, RefOr, Schema, Type},
};

/// Gives a type the schema of a string with a pattern.
macro_rules! text {
    ($name:ident, $pattern:literal, $description:literal) => {
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some($pattern));
                text.description(Some($description)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    };
}

/// Makes a type that only stands for a schema.
macro_rules! stand_in {
    ($name:ident, $pattern:literal, $description:literal) => {
        #[doc = $description]
        #[derive(Debug)]
        pub enum $name {}

        text!($name, $pattern, $description);
    };
}

stand_in!(Address, "^0x[0-9a-fA-F]{40}$", "An account's address.");
stand_in!(Hash, "^0x[0-9a-fA-F]{64}$", "A hash of 32 bytes.");
stand_in!(Bytes, "^0x([0-9a-fA-F]{2})*$", "Bytes of any length.");
stand_in!(Quantity, "^0x[0-9a-fA-F]{1,64}$", "An amount in wei, or wei per gas.");

text!(FeeCap, "^0x[0-9a-fA-F]{1,32}$", "A price in wei per gas.");
text!(RequestId, "^[A-Za-z0-9_.:-]{1,128}$", "A transaction's name: its idempotency key if there was one.");

/// Whether a request is simulated: `true`, `false` or `"after-parent"`.
#[derive(Debug)]
pub enum Simulate {}

impl PartialSchema for Simulate {
    fn schema() -> RefOr<Schema> {
        let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["after-parent"]));
        let truth = ObjectBuilder::new().schema_type(Type::Boolean);
        OneOfBuilder::new().item(truth).item(name).into()
    }
}

impl ToSchema for Simulate {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Simulate")
    }
}

/// A number, or the same as hexadecimal text.
#[derive(Debug)]
pub enum NumberOrText {}

impl PartialSchema for NumberOrText {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
        let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^0x[0-9a-fA-F]{1,16}$"));
        OneOfBuilder::new().item(number).item(text).into()
    }
}

impl ToSchema for NumberOrText {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("NumberOrText")
    }
}
