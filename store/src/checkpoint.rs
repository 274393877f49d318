//! Where following begins, as bytes. The service's state is kept in the form in which the service itself stores it.

use crate::values;
use driver::journal::Checkpoint;
use jam::{
    Params,
    codec::{Bytes, Decode, DecodeError, Decoder, Encode, Malformed},
    follow::Start,
};
use queue::ServiceCode;
use service::accumulate::{Orders, ServiceState};

/// The service's number is known from elsewhere; here its entries only need names.
const SERVICE: u32 = 0;

pub(crate) fn encode(start: &[u8], service: &ServiceState, code: &ServiceCode) -> Vec<u8> {
    let [head, waiting] = service.storage(SERVICE).map(|(_, value)| value.unwrap_or_default());
    let mut out = Vec::with_capacity(start.len() + head.len() + waiting.len() + 32);
    head.encode_to(&mut out);
    waiting.encode_to(&mut out);
    code.hash.encode_to(&mut out);
    Bytes::from(code.orders.encode()).encode_to(&mut out);
    out.extend_from_slice(start);
    values::sealed(out)
}

pub(crate) fn decode(bytes: &[u8], params: &Params) -> Result<Checkpoint, DecodeError> {
    let mut input = Decoder::new(values::unsealed(bytes)?, params);
    let (head, waiting) = (Bytes::decode_from(&mut input)?, Bytes::decode_from(&mut input)?);
    let names = ServiceState::new(Default::default()).storage(SERVICE).map(|(name, _)| name);
    let service = ServiceState::from_storage(SERVICE, |name| match () {
        () if *name == names[0] => Some(&head[..]),
        () if *name == names[1] && !waiting.is_empty() => Some(&waiting[..]),
        () => None,
    });
    let service = service.map_err(|_| input.error(Malformed::Inconsistent("no state of the service")))?;
    let (hash, orders) = (Decode::decode_from(&mut input)?, Bytes::decode_from(&mut input)?);
    let orders = Orders::decode(&orders).ok_or_else(|| input.error(Malformed::Inconsistent("no orders")))?;
    let start = Start::decode_from(&mut input)?;
    input.finish()?;
    Ok(Checkpoint { start, service, code: ServiceCode { hash, orders } })
}
