//! Filters: clients without a lasting connection ask what is new since they last asked.
//!
//! A filter is a place in the hub's list of what happened. It forgets nothing and holds nothing; if nobody asks for it
//! for a while, or what it still has to tell is no longer kept, it is gone.

use super::{Api, Json, LogRequest, Method};
use crate::{
    Error, Limits, Params,
    archive::matching_logs,
    hub::{Notice, id},
    view::{LogView, TransactionView},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

pub(super) const METHODS: &[(&str, Method)] = &[
    (
        "eth_newFilter",
        Method::Now(|api, params| {
            params.at_most(1)?;
            install(api, Kind::Logs(Box::new(LogRequest::read(params, 0, &api.config.limits)?)))
        }),
    ),
    (
        "eth_newBlockFilter",
        Method::Now(|api, params| {
            params.at_most(0)?;
            install(api, Kind::Blocks)
        }),
    ),
    (
        "eth_newPendingTransactionFilter",
        Method::Now(|api, params| {
            params.at_most(1)?;
            install(api, Kind::Transactions { full: params.optional(0)?.unwrap_or(false) })
        }),
    ),
    ("eth_getFilterChanges", Method::Apart(changes)),
    ("eth_getFilterLogs", Method::Apart(filter_logs)),
    ("eth_uninstallFilter", Method::Now(uninstall)),
];

#[derive(Clone)]
enum Kind {
    Logs(Box<LogRequest>),
    Blocks,
    Transactions { full: bool },
}

struct Filter {
    kind: Kind,
    /// The last notice that was told.
    told: u64,
    asked: Instant,
}

/// All filters.
pub(crate) struct Filters {
    filters: Mutex<HashMap<String, Filter>>,
    max: usize,
    ttl: Duration,
}

impl Filters {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { filters: Mutex::default(), max: limits.filters_max, ttl: limits.filter_ttl }
    }

    fn expire(&self, filters: &mut HashMap<String, Filter>) {
        filters.retain(|_, filter| filter.asked.elapsed() < self.ttl);
    }
}

fn not_found() -> Error {
    Error::other("filter not found")
}

fn install(api: &Api, kind: Kind) -> Result<Json, Error> {
    let mut filters = api.filters.filters.lock();
    if filters.len() >= api.filters.max {
        api.filters.expire(&mut filters);
    }
    if filters.len() >= api.filters.max {
        return Err(Error::new(crate::error::LIMIT, "too many filters, try again later"));
    }
    let name = id();
    let told = api.hub.newest();
    filters.insert(name.clone(), Filter { kind, told, asked: Instant::now() });
    api.reply(&name)
}

fn uninstall(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let name = params.required::<String>(0)?;
    let mut filters = api.filters.filters.lock();
    api.filters.expire(&mut filters);
    api.reply(&filters.remove(&name).is_some())
}

fn changes(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let name = params.required::<String>(0)?;
    let (kind, notices) = {
        let mut filters = api.filters.filters.lock();
        api.filters.expire(&mut filters);
        let filter = filters.get_mut(&name).ok_or_else(not_found)?;
        let Some((newest, notices)) = api.hub.since(filter.told) else {
            filters.remove(&name);
            return Err(not_found());
        };
        filter.told = newest;
        filter.asked = Instant::now();
        (filter.kind.clone(), notices)
    };
    match kind {
        Kind::Blocks => {
            let hashes = notices.iter().filter_map(|notice| match notice {
                Notice::Block { block, removed: false } => Some(block.block.id().hash),
                _ => None,
            });
            api.reply(&hashes.collect::<Vec<_>>())
        }
        Kind::Logs(request) => {
            let logs = notices.iter().filter_map(|notice| match notice {
                Notice::Block { block, removed } => Some((block, *removed)),
                _ => None,
            });
            let logs = logs.flat_map(|(block, removed)| {
                matching_logs(block, &request.filter).map(move |entry| LogView::new(&entry, removed))
            });
            api.reply(&logs.collect::<Vec<_>>())
        }
        Kind::Transactions { full } => {
            let transactions = notices.iter().filter_map(|notice| match notice {
                Notice::Transactions(transactions) => Some(&**transactions),
                _ => None,
            });
            let transactions = transactions.flatten();
            match full {
                true => api.reply(&transactions.map(|tx| TransactionView::new(tx, None)).collect::<Vec<_>>()),
                false => api.reply(&transactions.map(types::Transaction::hash).collect::<Vec<_>>()),
            }
        }
    }
}

fn filter_logs(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let name = params.required::<String>(0)?;
    let request = {
        let mut filters = api.filters.filters.lock();
        api.filters.expire(&mut filters);
        let filter = filters.get_mut(&name).ok_or_else(not_found)?;
        filter.asked = Instant::now();
        match &filter.kind {
            Kind::Logs(request) => request.clone(),
            _ => return Err(not_found()),
        }
    };
    api.reply(&api.logs(&request)?)
}
