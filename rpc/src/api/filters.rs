//! Filters: clients without a lasting connection ask what is new since they last asked.
//!
//! A filter is a cursor in the hub's list of what happened. It forgets nothing and holds nothing; if no client asks for
//! it for a while, or what it still has to tell is no longer kept, it is gone. An answer tells as much as fits into it;
//! the next one goes on from there.

use super::{Api, Caller, Json, LogRequest, Method};
use crate::{
    Error, Limits, Params,
    archive::matching_logs,
    error,
    hub::{Notice, id},
    view::{LogView, TransactionView},
};
use alloy_primitives::B256;
use futures_util::future::{BoxFuture, ready};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_newFilter", Method::Later(|api, params, caller| install(api, caller, logs(api, params)))),
    ("eth_newBlockFilter", Method::Later(|api, params, caller| install(api, caller, blocks(params)))),
    (
        "eth_newPendingTransactionFilter",
        Method::Later(|api, params, caller| install(api, caller, transactions(params))),
    ),
    ("eth_getFilterChanges", Method::Apart(changes)),
    ("eth_getFilterLogs", Method::Apart(filter_logs)),
    ("eth_uninstallFilter", Method::Now(uninstall)),
];

/// About what a log takes in an answer, its topics and its data not counted.
const LOG_BYTES: usize = 512;
/// What a hash takes in an answer.
const HASH_BYTES: usize = 70;
/// About what a transaction takes in an answer, without its own bytes.
const TRANSACTION_BYTES: usize = 1536;
/// How much longer than its bytes a transaction is at most when it is shown.
const TRANSACTION_GROWTH: usize = 5;

#[derive(Clone)]
enum Kind {
    Logs(Arc<LogRequest>),
    Blocks,
    Transactions { full: bool },
}

fn logs(api: &Api, params: &Params) -> Result<Kind, Error> {
    params.at_most(1)?;
    Ok(Kind::Logs(Arc::new(LogRequest::read_ahead(params, 0, &api.config.limits)?)))
}

fn blocks(params: &Params) -> Result<Kind, Error> {
    params.at_most(0)?;
    Ok(Kind::Blocks)
}

fn transactions(params: &Params) -> Result<Kind, Error> {
    params.at_most(1)?;
    Ok(Kind::Transactions { full: params.optional(0)?.unwrap_or(false) })
}

struct Filter {
    kind: Kind,
    /// How far it has answered; locked while a request for it is answered.
    cursor: Arc<Mutex<FilterCursor>>,
    /// Who made it.
    owner: Option<IpAddr>,
    /// When it was asked for, or made.
    asked: Instant,
    /// Whether anybody has ever asked for it.
    is_used: bool,
}

/// How far a filter has answered.
#[derive(Clone, Copy)]
struct FilterCursor {
    /// The last notice that was answered as a whole.
    told: u64,
    /// How much of the next one was answered.
    within: usize,
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

    /// A filter that is asked for, if there is one.
    fn ask(&self, name: &str) -> Result<(Kind, Arc<Mutex<FilterCursor>>), Error> {
        let mut filters = self.filters.lock();
        self.expire(&mut filters);
        let filter = filters.get_mut(name).ok_or_else(not_found)?;
        (filter.asked, filter.is_used) = (Instant::now(), true);
        Ok((filter.kind.clone(), filter.cursor.clone()))
    }
}

/// Removes a filter of the address that has most of them: one that was never asked for, or not for the longest time.
/// So a new client gets its first filter, and filters in use stay.
fn evict_one(filters: &mut HashMap<String, Filter>) {
    let mut counts = HashMap::<Option<IpAddr>, usize>::new();
    for filter in filters.values() {
        *counts.entry(filter.owner).or_default() += 1;
    }
    let Some((most, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { return };
    let owned = filters.iter().filter(|(_, filter)| filter.owner == most);
    let least = owned.min_by_key(|(_, filter)| (filter.is_used, filter.asked)).map(|(name, _)| name.clone());
    if let Some(least) = least {
        filters.remove(&least);
    }
}

fn not_found() -> Error {
    Error::other("filter not found")
}

fn install<'a>(
    api: &'a Api,
    caller: &'a Caller,
    kind: Result<Kind, Error>,
) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(ready(kind.and_then(|kind| add(api, caller, kind))))
}

fn add(api: &Api, caller: &Caller, kind: Kind) -> Result<Json, Error> {
    let mut filters = api.filters.filters.lock();
    if filters.len() >= api.filters.max {
        api.filters.expire(&mut filters);
    }
    if filters.len() >= api.filters.max {
        evict_one(&mut filters);
    }
    if filters.len() >= api.filters.max {
        return Err(Error::new(error::LIMIT, "too many filters, try again later"));
    }
    let name = id();
    let cursor = Arc::new(Mutex::new(FilterCursor { told: api.hub.newest(), within: 0 }));
    let owner = caller.origin.address;
    filters.insert(name.clone(), Filter { kind, cursor, owner, asked: Instant::now(), is_used: false });
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
    let (kind, cursor) = api.filters.ask(&name)?;
    // Whoever asks twice at once would hear the same twice.
    let Some(mut cursor) = cursor.try_lock() else {
        return Err(Error::new(error::LIMIT, "the filter is being asked for already, wait for its answer"));
    };
    let Some(notices) = api.hub.since(cursor.told) else {
        api.filters.filters.lock().remove(&name);
        return Err(not_found());
    };
    let mut answer = AnswerRoom::new(&api.config.limits);
    match kind {
        Kind::Blocks => {
            let hash = |notice| block_hash(notice).map(|hash| (hash, HASH_BYTES)).into_iter();
            api.reply(&answer.tell(&notices, &mut cursor, hash))
        }
        Kind::Logs(request) => {
            answer.items_left = api.config.limits.logs_max;
            let logs = |notice| logs_of(&request, notice);
            api.reply(&answer.tell(&notices, &mut cursor, logs))
        }
        Kind::Transactions { full: false } => {
            let hash = |tx: &types::Transaction| (tx.hash(), HASH_BYTES);
            api.reply(&answer.tell(&notices, &mut cursor, |notice| transactions_of(notice).iter().map(hash)))
        }
        Kind::Transactions { full: true } => {
            let shown = |tx| (TransactionView::new(tx, None), shown_bytes(tx));
            api.reply(&answer.tell(&notices, &mut cursor, |notice| transactions_of(notice).iter().map(shown)))
        }
    }
}

/// Room in an answer, and time to fill it.
struct AnswerRoom {
    items_left: usize,
    bytes_left: usize,
    until: Instant,
}

impl AnswerRoom {
    fn new(limits: &Limits) -> Self {
        let until = Instant::now() + limits.call_timeout;
        Self { items_left: usize::MAX, bytes_left: limits.response_bytes_max, until }
    }

    /// Tells of notices what there is to tell of each, with about what that takes, as far as there is room and time. At
    /// least one thing is told, so that nothing is in the way for ever.
    fn tell<'a, T, I: Iterator<Item = (T, usize)>>(
        &mut self,
        notices: &'a [Notice],
        cursor: &mut FilterCursor,
        items: impl Fn(&'a Notice) -> I,
    ) -> Vec<T> {
        let mut told = Vec::new();
        for notice in notices {
            for (item, bytes) in items(notice).skip(cursor.within) {
                if !told.is_empty() && (self.items_left == 0 || self.bytes_left < bytes) {
                    return told;
                }
                self.items_left = self.items_left.saturating_sub(1);
                self.bytes_left = self.bytes_left.saturating_sub(bytes);
                told.push(item);
                cursor.within += 1;
            }
            *cursor = FilterCursor { told: cursor.told + 1, within: 0 };
            if Instant::now() >= self.until {
                break;
            }
        }
        told
    }
}

const fn block_hash(notice: &Notice) -> Option<B256> {
    match notice {
        Notice::Block { block, removed: false } => Some(block.block.id().hash),
        _ => None,
    }
}

fn logs_of<'a>(
    request: &'a LogRequest,
    notice: &'a Notice,
) -> impl Iterator<Item = (LogView, usize)> + use<'a> {
    let concerned = match notice {
        Notice::Block { block, removed } if request.concerns(block.block.id()) => Some((block, *removed)),
        _ => None,
    };
    concerned.into_iter().flat_map(|(block, removed)| {
        matching_logs(block, &request.filter).map(move |entry| {
            let (topics, data) = (entry.log.topics().len(), entry.log.data.data.len());
            (LogView::new(&entry, removed), LOG_BYTES + HASH_BYTES * topics + 2 * data)
        })
    })
}

fn transactions_of(notice: &Notice) -> &[types::Transaction] {
    match notice {
        Notice::Transactions(transactions) => transactions,
        _ => &[],
    }
}

fn shown_bytes(tx: &types::Transaction) -> usize {
    TRANSACTION_BYTES + TRANSACTION_GROWTH * tx.encoded().len()
}

fn filter_logs(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let name = params.required::<String>(0)?;
    match api.filters.ask(&name)? {
        (Kind::Logs(request), _) => api.reply(&api.logs(&request)?),
        _ => Err(not_found()),
    }
}
