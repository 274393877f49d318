//! Logs: what is asked for, and the search through memory and archive.

use super::{Api, Json, Method};
use crate::{
    Error, Limits, LogEntry, LogFilter, Params,
    archive::matching_logs,
    error,
    hex::Hex,
    reading::{At, Reading},
    view::LogView,
};
use alloy_primitives::{Address, B256, Bloom, BloomInput};
use serde::Deserialize;

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

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// One topic, several, or any; a null among several is any too.
type Position = Option<OneOrMany<Option<Hex<B256>>>>;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    from_block: Option<Hex<At>>,
    to_block: Option<Hex<At>>,
    block_hash: Option<Hex<B256>>,
    address: Option<OneOrMany<Hex<Address>>>,
    topics: Option<Vec<Position>>,
}

impl LogRequest {
    /// Reads the parameter at `index`.
    pub(crate) fn read(params: &Params, index: usize, limits: &Limits) -> Result<Self, Error> {
        let raw = match params.raw(index) {
            Some(_) => params.object::<Raw>(index)?,
            None => Raw::default(),
        };
        let blocks = match (raw.block_hash, raw.from_block, raw.to_block) {
            (Some(Hex(hash)), None, None) => Blocks::One(hash),
            (Some(_), ..) => {
                let why = "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other";
                return Err(Error::params(format!("invalid argument {index}: {why}")));
            }
            (None, from, to) => {
                let or_latest = |at: Option<Hex<At>>| at.map_or(At::Latest, |hex| hex.0);
                Blocks::Range(or_latest(from), or_latest(to))
            }
        };
        let addresses = raw.address.map_or_else(Vec::new, OneOrMany::into_vec);
        let topics = raw.topics.unwrap_or_default();
        if topics.len() > TOPICS_MAX {
            return Err(Error::params("exceed max topics"));
        }
        let topics = topics.into_iter().map(any_of).collect::<Vec<_>>();
        let most = topics.iter().map(Vec::len).max().unwrap_or(0).max(addresses.len());
        if most > limits.filter_items_max {
            let max = limits.filter_items_max;
            return Err(Error::params(format!("exceed max addresses or topics per search position: {max}")));
        }
        let addresses = addresses.into_iter().map(|hex| hex.0).collect();
        Ok(Self { blocks, filter: LogFilter { addresses, topics } })
    }
}

/// A null anywhere at a position allows everything there.
fn any_of(position: Position) -> Vec<B256> {
    let topics = position.map_or_else(Vec::new, OneOrMany::into_vec);
    topics.into_iter().map(|topic| topic.map(|hex| hex.0)).collect::<Option<Vec<_>>>().unwrap_or_default()
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
        let entries = match request.blocks {
            Blocks::One(hash) => {
                let found = reading.block(At::Hash(hash))?.ok_or_else(|| Error::other("unknown block"))?;
                match &found {
                    crate::reading::Found::Sealed { block, .. } => {
                        matching_logs(block, &request.filter).collect()
                    }
                    crate::reading::Found::Pending(_) => Vec::new(),
                }
            }
            Blocks::Range(from, to) => self.logs_between(&reading, from, to, &request.filter)?,
        };
        Ok(entries.iter().map(|entry| LogView::new(entry, false)).collect())
    }

    fn logs_between(
        &self,
        reading: &Reading<'_>,
        from: At,
        to: At,
        filter: &LogFilter,
    ) -> Result<Vec<LogEntry>, Error> {
        let latest = reading.latest().number;
        let number = |at| Ok::<_, Error>(reading.number(at)?.unwrap_or(latest));
        let (from, to) = (number(from)?, number(to)?);
        if from > to {
            return Err(Error::params("invalid block range params"));
        }
        if to > latest {
            return Err(Error::params("block range extends beyond current head block"));
        }
        let (limits, blocks) = (&self.config.limits, to - from);
        if blocks >= limits.log_blocks_max {
            let max = limits.log_blocks_max;
            return Err(Error::params(format!("exceed maximum block range: {max}")));
        }
        let most = limits.logs_max;
        let memory = reading.snapshot.blocks()[0].id().number;
        let mut entries = match from < memory {
            true => {
                let range = from..=to.min(memory - 1);
                self.archive.logs(range, filter, most + 1).map_err(Error::internal)?
            }
            false => Vec::new(),
        };
        for block in from.max(memory)..=to {
            let Some(block) = reading.snapshot.by_number(block) else { continue };
            if may_match(&block.header().logs_bloom, filter) {
                entries.extend(matching_logs(&block.block, filter).take(most + 1 - entries.len().min(most)));
            }
            if entries.len() > most {
                break;
            }
        }
        if entries.len() > most {
            let why = format!("query returned more than {most} results; ask for fewer blocks");
            return Err(Error::new(error::LIMIT, why));
        }
        Ok(entries)
    }
}

/// Whether a block with this bloom can have such logs.
pub(crate) fn may_match(bloom: &Bloom, filter: &LogFilter) -> bool {
    let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
    let address = filter.addresses.is_empty() || filter.addresses.iter().any(|address| has(&address[..]));
    address && filter.topics.iter().all(|any| any.is_empty() || any.iter().any(|topic| has(&topic[..])))
}
