//! What programs fetch of a package (the host call `fetch`, kinds 0 to 13).

use crate::run::{Flow, Guest};
use alloy_primitives::Bytes;
use jam::{Params, WorkItem, WorkPackage, codec::Encode};

/// Which value a program asks for: its kind, and up to two indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) kind: u64,
    first: u64,
    second: u64,
}

impl Wanted {
    pub(crate) fn of(guest: &Guest<'_>) -> Self {
        Self { kind: guest.register(10), first: guest.register(11), second: guest.register(12) }
    }

    /// One of several values.
    pub(crate) fn first<'a, T>(&self, values: &'a [T]) -> Option<&'a T> {
        values.get(usize::try_from(self.first).ok()?)
    }

    /// One of several values in one of several lists.
    pub(crate) fn second<'a, T>(&self, lists: &'a [Vec<T>]) -> Option<&'a T> {
        self.first(lists)?.get(usize::try_from(self.second).ok()?)
    }

    /// What all programs can ask for: the chain's parameters.
    pub(crate) fn parameters(&self, params: &Params) -> Option<Bytes> {
        (self.kind == 0).then(|| params.encode().into())
    }

    /// What authorizers and refine can ask for: the package and its parts.
    pub(crate) fn package(&self, package: &WorkPackage) -> Option<Bytes> {
        match self.kind {
            7 => Some(package.encode().into()),
            8 => Some(package.authorizer_config.clone()),
            9 => Some(package.authorization.clone()),
            10 => Some(package.context.encode().into()),
            11 => Some(package.items.iter().map(Summary).collect::<Vec<_>>().encode().into()),
            12 => self.first(&package.items).map(|item| Summary(item).encode().into()),
            13 => self.first(&package.items).map(|item| item.payload.clone()),
            _ => None,
        }
    }
}

/// Answers a `fetch`.
pub(crate) fn answer(guest: &mut Guest<'_>, value: Option<&Bytes>) -> Flow {
    let (to, from, len) = (guest.register(7), guest.register(8), guest.register(9));
    guest.give(value, to, from, len)
}

/// A work item as `fetch` tells of it.
struct Summary<'a>(&'a WorkItem);

impl Encode for Summary<'_> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        let item = self.0;
        item.service.encode_to(out);
        item.code_hash.encode_to(out);
        (item.refine_gas, item.accumulate_gas).encode_to(out);
        item.export_count.encode_to(out);
        (item.imports.len() as u16, item.extrinsics.len() as u16).encode_to(out);
        (item.payload.len() as u32).encode_to(out);
    }
}
