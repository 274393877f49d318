//! What does a work item come to? (Ψ_R, appendix B.3)

use crate::{
    calls::{Call, FULL, WHAT},
    fetch::{self, Wanted},
    inner::Inner,
    machine::{Machines, Speed},
    run::{End, Fault, Flow, Guest, Host, Invocation, Limits},
};
use alloy_primitives::Bytes;
use jam::{
    Hash, Params, WorkError, WorkItem, WorkPackage, WorkResult,
    codec::{Encode, put_natural},
    params::SEGMENT_BYTES,
};

/// A preimage that a service had at a package's lookup anchor (Λ): service and hash.
pub type Lookup<'a> = &'a dyn Fn(u32, Hash) -> Option<Bytes>;

/// Bytes of a log message that are read at most.
const LOG_BYTES_MAX: u64 = 1_000;

/// What refinement depends on, beside the code.
#[derive(Clone, Copy)]
pub struct RefineInput<'a> {
    /// The chain's parameters.
    pub params: &'a Params,
    /// The core.
    pub core: u16,
    /// The package.
    pub package: &'a WorkPackage,
    /// Which of its items.
    pub item: usize,
    /// What the authorizer said.
    pub trace: &'a [u8],
    /// The extrinsics of each item.
    pub extrinsics: &'a [Vec<Bytes>],
    /// The imported segments of each item.
    pub imports: &'a [Vec<Bytes>],
    /// Segments that the items before export.
    pub export_offset: usize,
    /// Bytes that the output may have.
    pub output_bytes_max: usize,
    /// Preimages at the lookup anchor.
    pub lookup: Lookup<'a>,
    /// What this machine gives.
    pub limits: Limits<'a>,
}

/// What an item came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refined {
    /// The output, or the error that the report names.
    pub result: WorkResult,
    /// The gas that it took.
    pub gas_used: u64,
    /// The exported segments; none after an error.
    pub exports: Vec<Bytes>,
}

impl Refined {
    const fn failed(why: WorkError, gas_used: u64) -> Self {
        Self { result: WorkResult::Failed(why), gas_used, exports: Vec::new() }
    }
}

impl RefineInput<'_> {
    fn item(&self) -> Option<&WorkItem> {
        self.package.items.get(self.item)
    }

    fn arguments(&self, item: &WorkItem) -> Vec<u8> {
        let mut out = Vec::with_capacity(item.payload.len() + 64);
        put_natural(self.core.into(), &mut out);
        put_natural(self.item as u64, &mut out);
        put_natural(item.service.into(), &mut out);
        item.payload.encode_to(&mut out);
        self.package.hash().0.encode_to(&mut out);
        out
    }
}

impl Machines {
    /// Refines an item with the code that it names.
    pub fn refine(&self, input: &RefineInput<'_>) -> Result<Refined, Fault> {
        self.refine_logged(input, &mut |_, _| ())
    }

    /// The same; `log` hears what the code says with the host call `log`, and the gas that is left when it says it.
    pub fn refine_logged(
        &self,
        input: &RefineInput<'_>,
        log: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<Refined, Fault> {
        let Some(item) = input.item() else { return Ok(Refined::failed(WorkError::BadCode, 0)) };
        let Some(code) = (input.lookup)(item.service, item.code_hash) else {
            return Ok(Refined::failed(WorkError::BadCode, 0));
        };
        if code.len() > input.params.service_code_bytes_max as usize {
            return Ok(Refined::failed(WorkError::CodeOversize, 0));
        }
        let Ok(program) = self.program(item.code_hash, &code) else {
            return Ok(Refined::failed(WorkError::Panic, 0));
        };
        let invocation = Invocation {
            speed: Speed::Fast,
            entry: 0,
            gas: item.refine_gas,
            arguments: &input.arguments(item),
            output_bytes_max: input.output_bytes_max,
            limits: input.limits,
        };
        let mut asking = Asking { input, item, exports: vec![], inner: Inner::new(self), log };
        let (end, gas_used) = self.run(&program, &invocation, &mut asking)?;
        Ok(match end {
            End::Halt(output) => {
                Refined { result: WorkResult::Output(output), gas_used, exports: asking.exports }
            }
            End::Oversize => Refined::failed(WorkError::OutputOversize, gas_used),
            End::Panic => Refined::failed(WorkError::Panic, gas_used),
            End::OutOfGas => Refined::failed(WorkError::OutOfGas, gas_used),
        })
    }
}

/// What refine can ask for.
struct Asking<'a> {
    input: &'a RefineInput<'a>,
    item: &'a WorkItem,
    exports: Vec<Bytes>,
    inner: Inner<'a>,
    log: &'a mut dyn FnMut(u64, &[u8]),
}

impl Host for Asking<'_> {
    fn call(&mut self, call: Call, guest: &mut Guest<'_>) -> Result<Flow, Fault> {
        Ok(match call {
            Call::Gas => Flow::Answer(guest.exact_gas().max(0) as u64),
            Call::Fetch => {
                let value = self.value(Wanted::of(guest));
                fetch::answer(guest, value.as_ref())
            }
            Call::HistoricalLookup => self.historical_lookup(guest),
            Call::Export => self.export(guest),
            Call::Machine => self.inner.machine(guest)?,
            Call::Peek => self.inner.peek(guest),
            Call::Poke => self.inner.poke(guest),
            Call::Pages => self.inner.pages(guest)?,
            Call::Invoke => self.inner.invoke(guest)?,
            Call::Expunge => self.inner.expunge(guest),
            Call::Log => self.log(guest),
            _ => Flow::Answer(WHAT),
        })
    }
}

impl Asking<'_> {
    fn value(&self, wanted: Wanted) -> Option<Bytes> {
        let input = self.input;
        let of_item = |lists: &[Vec<Bytes>]| wanted.first(lists.get(input.item)?).cloned();
        match wanted.kind {
            // There is no entropy in a core.
            1 => Some(Bytes::from_static(&[0; 32])),
            2 => Some(Bytes::copy_from_slice(input.trace)),
            3 => wanted.second(input.extrinsics).cloned(),
            4 => of_item(input.extrinsics),
            5 => wanted.second(input.imports).cloned(),
            6 => of_item(input.imports),
            _ => wanted.parameters(input.params).or_else(|| wanted.package(input.package)),
        }
    }

    fn historical_lookup(&self, guest: &mut Guest<'_>) -> Flow {
        let service = match guest.register(7) {
            u64::MAX => Some(self.item.service),
            other => u32::try_from(other).ok(),
        };
        let Some(hash) = guest.read_hash(guest.register(8)) else { return Flow::Panic };
        let value = service.and_then(|service| (self.input.lookup)(service, hash));
        let (to, from, len) = (guest.register(9), guest.register(10), guest.register(11));
        guest.give(value.as_ref(), to, from, len)
    }

    /// Whatever is said, and whether anybody hears it, the answer is the same.
    fn log(&mut self, guest: &Guest<'_>) -> Flow {
        let len = guest.register(11).min(LOG_BYTES_MAX);
        if let Some(text) = guest.read(guest.register(10), len) {
            (self.log)(guest.exact_gas().max(0) as u64, &text);
        }
        Flow::Answer(WHAT)
    }

    fn export(&mut self, guest: &Guest<'_>) -> Flow {
        let len = guest.register(8).min(SEGMENT_BYTES as u64);
        let Some(mut segment) = guest.read(guest.register(7), len) else { return Flow::Panic };
        let index = self.input.export_offset + self.exports.len();
        if index >= self.input.params.exports_max as usize {
            return Flow::Answer(FULL);
        }
        segment.resize(SEGMENT_BYTES, 0);
        self.exports.push(segment.into());
        Flow::Answer(index as u64)
    }
}
