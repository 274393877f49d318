//! The arguments with which the host calls.

use jam::{
    Params,
    codec::{DecodeError, Decoder},
};

/// Of a work item that is to be refined.
pub(crate) struct Refine<'a> {
    pub(crate) item: u64,
    pub(crate) service: u32,
    pub(crate) payload: &'a [u8],
}

/// Of a service that is to accumulate.
pub(crate) struct Accumulate {
    pub(crate) items: u64,
}

/// Core, item, service, payload, hash of the package.
pub(crate) fn refine(bytes: &[u8]) -> Result<Refine<'_>, DecodeError> {
    let input = &mut Decoder::new(bytes, &Params::TINY);
    let _core = input.natural()?;
    let (item, service) = (input.natural()?, input.natural()? as u32);
    let len = input.natural()? as usize;
    Ok(Refine { item, service, payload: input.take(len)? })
}

/// Slot, service, number of items.
pub(crate) fn accumulate(bytes: &[u8]) -> Result<Accumulate, DecodeError> {
    let input = &mut Decoder::new(bytes, &Params::TINY);
    let (_slot, _service) = (input.natural()?, input.natural()?);
    Ok(Accumulate { items: input.natural()? })
}
