//! What the OpenRPC specification allows as a result.

use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::Value;
use std::{collections::HashMap, io, path::Path, sync::Arc};

/// The schema of each method's result.
pub struct Schemas {
    schemas: HashMap<String, Value>,
    /// Made when they are first needed: to make all takes seconds.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Schemas {
    /// From `openrpc.json`.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let mut file = serde_json::from_str::<Value>(&text).map_err(io::Error::other)?;
        let mut schemas = HashMap::new();
        for method in file["methods"].as_array_mut().into_iter().flatten() {
            if let Some(name) = method["name"].as_str().map(str::to_owned) {
                schemas.insert(name, method["result"]["schema"].take());
            }
        }
        Ok(Self { schemas, validators: Mutex::default() })
    }

    fn validator(&self, method: &str) -> Option<Arc<Validator>> {
        let schema = self.schemas.get(method)?;
        let mut validators = self.validators.lock();
        if let Some(validator) = validators.get(method) {
            return Some(validator.clone());
        }
        let validator = jsonschema::validator_for(schema);
        let validator = Arc::new(validator.unwrap_or_else(|error| panic!("{method}: {error}")));
        validators.insert(method.to_owned(), validator.clone());
        Some(validator)
    }

    /// Why a result is not allowed; `None` if it is, or if the method is not specified.
    ///
    /// # Panics
    ///
    /// If the specification is not one.
    pub fn refuse(&self, method: &str, result: &Value) -> Option<String> {
        let validator = self.validator(method)?;
        let error = validator.validate(result).err()?;
        Some(format!("{error} at {}", error.instance_path()))
    }
}

/// What the specification's schemas do not foresee, and every node does: an empty list matches several alternatives of
/// which one must, what waits has no block, the open block has no hash, and a trace looks as its tracer makes it.
pub fn is_exempt(method: &str, result: &Value) -> bool {
    match method {
        "eth_getFilterChanges" | "eth_getFilterLogs" => result.as_array().is_some_and(Vec::is_empty),
        "eth_getTransactionByHash" => result["blockHash"].is_null(),
        "eth_getBlockByNumber" => result["hash"].is_null(),
        "debug_traceCall" | "debug_traceTransaction" => result.get("structLogs").is_none(),
        _ => false,
    }
}
