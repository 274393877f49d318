//! What the OpenRPC specification allows as a result.

use jsonschema::Validator;
use serde_json::Value;
use std::{collections::HashMap, io, path::Path};

/// The schema of each method's result.
pub struct Schemas(HashMap<String, Validator>);

impl Schemas {
    /// From `openrpc.json`.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let file = serde_json::from_str::<Value>(&text).map_err(io::Error::other)?;
        let mut schemas = HashMap::new();
        for method in file["methods"].as_array().into_iter().flatten() {
            let Some(name) = method["name"].as_str() else { continue };
            let mut schema = method["result"]["schema"].clone();
            if let Some(object) = schema.as_object_mut() {
                object.insert("components".to_owned(), file["components"].clone());
            }
            let validator = jsonschema::validator_for(&schema).map_err(io::Error::other)?;
            schemas.insert(name.to_owned(), validator);
        }
        Ok(Self(schemas))
    }

    /// Why a result is not allowed; `None` if it is, or if the method is not specified.
    pub fn refuse(&self, method: &str, result: &Value) -> Option<String> {
        let validator = self.0.get(method)?;
        let error = validator.validate(result).err()?;
        Some(format!("{error} at {}", error.instance_path()))
    }

    /// Whether a method is specified.
    pub fn knows(&self, method: &str) -> bool {
        self.0.contains_key(method)
    }
}
