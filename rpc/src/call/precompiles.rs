//! Precompiles at other addresses than usual, as a client may pretend them to be.

use alloy_primitives::{Address, map::AddressMap};
use revm::{
    context_interface::{Cfg, ContextTr},
    handler::{EthPrecompiles, PrecompileProvider},
    interpreter::{CallInputs, InterpreterResult},
    primitives::{AddressSet, hardfork::SpecId},
};

/// The precompiles of a fork, each where it is pretended to be.
#[derive(Clone, Debug)]
pub(crate) struct Precompiled {
    inner: EthPrecompiles,
    /// For each address the precompile that is there, by its usual address.
    at: AddressMap<Address>,
}

impl Precompiled {
    pub(crate) fn new(spec: SpecId) -> Self {
        let inner = EthPrecompiles::new(spec);
        let at = inner.warm_addresses().iter().map(|address| (*address, *address)).collect();
        Self { inner, at }
    }

    /// Whether a precompile is at this address.
    pub(crate) fn is_at(&self, address: &Address) -> bool {
        self.at.contains_key(address)
    }

    /// Takes the precompile at an address away; which one it was.
    pub(crate) fn take(&mut self, address: &Address) -> Option<Address> {
        self.at.remove(address)
    }

    /// Puts a precompile to an address.
    pub(crate) fn put(&mut self, address: Address, precompile: Address) {
        self.at.insert(address, precompile);
    }
}

impl<CTX: ContextTr> PrecompileProvider<CTX> for Precompiled {
    type Output = InterpreterResult;

    fn set_spec(&mut self, _: <CTX::Cfg as Cfg>::Spec) -> bool {
        true
    }

    fn run(&mut self, context: &mut CTX, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        match self.at.get(&inputs.bytecode_address) {
            None => Ok(None),
            Some(usual) if *usual == inputs.bytecode_address => self.inner.run(context, inputs),
            Some(usual) => {
                let inputs = CallInputs { bytecode_address: *usual, ..inputs.clone() };
                self.inner.run(context, &inputs)
            }
        }
    }

    /// The usual ones are warm, wherever the precompiles are: a transaction does not know what is pretended.
    fn warm_addresses(&self) -> &AddressSet {
        self.inner.warm_addresses()
    }

    fn contains(&self, address: &Address) -> bool {
        self.is_at(address)
    }
}
