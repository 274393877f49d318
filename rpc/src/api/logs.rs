//! Logs: what is asked for, and the search through memory and archive.

use super::{Api, Json, Method};
use crate::{
    Error, Limits, LogFilter, LogLimits, Params,
    archive::{ArchiveError, FoundLogs},
    error,
    hex::{FromHex, Hex},
    reading::{At, Found, Reading},
    view::LogView,
};
use alloy_primitives::{B256, Bloom, BloomInput};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{fmt::Display, time::Instant};
use types::BlockId;

pub(super) const METHODS: &[(&str, Method)] = &[("eth_getLogs", Method::Apart(get_logs))];

/// How many positions a filter may have topics for.
const TOPICS_MAX: usize = 4;

/// Which logs of which blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogRequest {
    pub(crate) blocks: Blocks,
    pub(crate) filter: LogFilter,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Blocks {
    Range(At, At),
    One(B256),
}

impl Default for Blocks {
    fn default() -> Self {
        Self::Range(At::Latest, At::Latest)
    }
}

/// What a client wrote. Each part is read by itself, so that what is wrong can be named.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    from_block: Option<Box<RawValue>>,
    to_block: Option<Box<RawValue>>,
    block_hash: Option<Box<RawValue>>,
    address: Option<Box<RawValue>>,
    topics: Option<Box<RawValue>>,
}

impl LogRequest {
    /// Reads the parameter at `index`.
    pub(crate) fn read(params: &Params, index: usize, limits: &Limits) -> Result<Self, Error> {
        let raw = match params.raw(index) {
            Some(_) => params.object::<Raw>(index)?,
            None => Raw::default(),
        };
        let wrong = |why: String| Error::params(format!("invalid argument {index}: {why}"));
        let addresses = raw.address.map_or(Ok(vec![]), |raw| one_or_many("address", &raw));
        let addresses =
            addresses.map_err(wrong)?.into_iter().enumerate().map(|(at, address)| {
                address.ok_or_else(|| wrong(format!("address[{at}]: null is no address")))
            });
        let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
        let topics = raw.topics.map_or(Ok(vec![]), |raw| positions(&raw)).map_err(wrong)?;
        if topics.len() > TOPICS_MAX {
            return Err(Error::other("exceed max topics"));
        }
        let most = topics.iter().map(Vec::len).max().unwrap_or(0).max(addresses.len());
        if most > limits.filter_items_max {
            let max = limits.filter_items_max;
            return Err(Error::other(format!("exceed max addresses or topics per search position: {max}")));
        }
        let at = |name: &str, raw: Option<Box<RawValue>>| raw.map(|raw| item::<At>(name, &raw)).transpose();
        let (from, to) = (at("fromBlock", raw.from_block), at("toBlock", raw.to_block));
        let blocks = match (raw.block_hash, from.map_err(wrong)?, to.map_err(wrong)?) {
            (Some(hash), None, None) => Blocks::One(item("blockHash", &hash).map_err(wrong)?),
            (Some(_), ..) => {
                let why = "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other";
                return Err(wrong(why.to_owned()));
            }
            (None, from, to) => {
                let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
                if [from, to].contains(&At::Pending) {
                    return Err(Error::other("pending logs are not supported"));
                }
                Blocks::Range(from, to)
            }
        };
        Ok(Self { blocks, filter: LogFilter { addresses, topics } })
    }

    /// Reads the parameter at `index`, for blocks that are still to come.
    pub(crate) fn read_ahead(params: &Params, index: usize, limits: &Limits) -> Result<Self, Error> {
        let request = Self::read(params, index, limits)?;
        let is_wrong = match request.blocks {
            Blocks::One(_) | Blocks::Range(_, At::Latest) => false,
            Blocks::Range(from, to) => match (fixed(from), fixed(to)) {
                (Some(from), Some(to)) => from > to,
                // What is beyond the newest block does not end at a block that is known already.
                _ => true,
            },
        };
        match is_wrong {
            true => Err(invalid_range()),
            false => Ok(request),
        }
    }

    /// Whether the logs of a new block are asked for, or of one that was given up.
    pub(crate) fn concerns(&self, block: BlockId) -> bool {
        match self.blocks {
            Blocks::One(hash) => hash == block.hash,
            Blocks::Range(from, to) => {
                fixed(from).is_none_or(|from| from <= block.number)
                    && fixed(to).is_none_or(|to| block.number <= to)
            }
        }
    }
}

/// A number that stays the same whatever blocks come.
const fn fixed(at: At) -> Option<u64> {
    match at {
        At::Number(number) => Some(number),
        At::Earliest => Some(0),
        _ => None,
    }
}

fn invalid_range() -> Error {
    Error::params("invalid block range params")
}

/// Reads one value, or says which one is wrong and why.
fn item<T: FromHex>(name: impl Display, raw: &RawValue) -> Result<T, String> {
    serde_json::from_str::<Hex<T>>(raw.get()).map(|hex| hex.0).map_err(|error| {
        let text = error.to_string();
        format!("{name}: {}", text.split(" at line ").next().unwrap_or_default())
    })
}

/// Reads one value or a list of them, in which there may be nulls.
fn one_or_many<T: FromHex>(name: &str, raw: &RawValue) -> Result<Vec<Option<T>>, String> {
    if !raw.get().starts_with('[') {
        return item(name, raw).map(|one| vec![Some(one)]);
    }
    let many = list(name, raw)?;
    let many = many.into_iter().enumerate().map(|(at, raw)| match raw.get() {
        "null" => Ok(None),
        _ => item(format_args!("{name}[{at}]"), raw).map(Some),
    });
    many.collect()
}

fn list<'a>(name: &str, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, String> {
    serde_json::from_str(raw.get()).map_err(|_| format!("{name}: a list is expected"))
}

/// For each position one topic, several, or any; a null among several is any too.
fn positions(raw: &RawValue) -> Result<Vec<Vec<B256>>, String> {
    let positions = list("topics", raw)?.into_iter().enumerate().map(|(at, raw)| match raw.get() {
        "null" => Ok(vec![]),
        _ => {
            let topics = one_or_many(&format!("topics[{at}]"), raw)?;
            Ok(topics.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default())
        }
    });
    positions.collect()
}

fn get_logs(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    if params.raw(0).is_none() {
        return Err(Error::params("missing value for required argument 0"));
    }
    let request = LogRequest::read(params, 0, &api.config.limits)?;
    api.reply(&api.logs(&request)?)
}

impl Api {
    /// The logs that are asked for, as clients see them.
    pub(crate) fn logs(&self, request: &LogRequest) -> Result<Vec<LogView>, Error> {
        let reading = self.reading();
        let limits = &self.config.limits;
        let most = limits.logs_max;
        // Data is written with two digits for a byte.
        let bytes = limits.response_bytes_max / 2;
        let until = Instant::now() + limits.call_timeout;
        let mut found = FoundLogs::new(LogLimits { logs: most + 1, bytes, until });
        match request.blocks {
            Blocks::One(hash) => {
                let block = reading.block(At::Hash(hash))?.ok_or_else(|| Error::other("unknown block"))?;
                if let Found::Sealed { block, .. } = &block {
                    found.look(block, &request.filter).map_err(failed)?;
                }
            }
            Blocks::Range(from, to) => {
                self.logs_between(&reading, (from, to), &request.filter, &mut found)?;
            }
        }
        if found.is_too_large() {
            return Err(Error::new(error::TOO_LARGE, "response too large"));
        }
        let entries = found.into_logs();
        if entries.len() > most {
            let why = format!("query returned more than {most} results; ask for fewer blocks");
            return Err(Error::new(error::LIMIT, why));
        }
        Ok(entries.iter().map(|entry| LogView::new(entry, false)).collect())
    }

    fn logs_between(
        &self,
        reading: &Reading<'_>,
        (from, to): (At, At),
        filter: &LogFilter,
        found: &mut FoundLogs,
    ) -> Result<(), Error> {
        let latest = reading.latest().number;
        let number = |at| Ok::<_, Error>(reading.number(at)?.unwrap_or(latest));
        let (from, to) = (number(from)?, number(to)?);
        if from > to {
            return Err(invalid_range());
        }
        if to > latest {
            return Err(Error::params("block range extends beyond current head block"));
        }
        let (limits, blocks) = (&self.config.limits, to - from);
        if blocks >= limits.log_blocks_max {
            let max = limits.log_blocks_max;
            return Err(Error::params(format!("exceed maximum block range: {max}")));
        }
        let memory = reading.snapshot.blocks()[0].id().number;
        if from < memory {
            let range = from..=to.min(memory - 1);
            let archived = self.archive.logs(range, filter, found.limits()).map_err(failed)?;
            archived.into_iter().for_each(|entry| found.push(entry));
        }
        for block in from.max(memory)..=to {
            if found.is_enough() {
                break;
            }
            let Some(block) = reading.snapshot.by_number(block) else { continue };
            if may_match(&block.header().logs_bloom, filter) {
                found.look(&block.block, filter).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Why there are no logs.
fn failed(why: ArchiveError) -> Error {
    match why {
        ArchiveError::TooLong => {
            let why = "query timeout exceeded; ask for fewer blocks, or name an address or a topic";
            Error::new(error::TIMEOUT, why)
        }
        why => Error::internal(why),
    }
}

/// Whether a block with this bloom can have such logs.
pub(crate) fn may_match(bloom: &Bloom, filter: &LogFilter) -> bool {
    let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
    let address = filter.addresses.is_empty() || filter.addresses.iter().any(|address| has(&address[..]));
    address && filter.topics.iter().all(|any| any.is_empty() || any.iter().any(|topic| has(&topic[..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_takes_too_long_says_what_to_do() {
        let error = failed(ArchiveError::TooLong);
        assert_eq!(error.code, error::TIMEOUT);
        assert!(
            error.message.starts_with("query timeout exceeded; ask for fewer blocks"),
            "{}",
            error.message
        );
    }
}
