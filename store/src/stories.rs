//! What became of transactions that came back from blocks. A row stays as long as its transaction is known: in the journal,
//! in a final block, or among those whose end is remembered. A transaction without a row was never in a block that was
//! given up.

use crate::{
    Result,
    commit::{Failure, StepWriter, refused},
    reader::Reader,
    tables::STORIES,
    values::{inconsistent, put_id, sealed, take_id, unsealed, whole},
};
use alloy_primitives::B256;
use jam::codec::{Decode, DecodeError, Decoder, Encode, put_natural};
use redb::ReadableTable;
use types::{Release, ReleasedBy, Story, Time};

/// So many releases of one transaction are remembered one by one.
const RELEASES_MAX: usize = 32;
/// What one of them takes.
const RELEASE_BYTES: usize = 57;

pub(crate) fn encode(story: &Story) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + story.releases.len() * RELEASE_BYTES);
    story.accepted_at.map(Time::as_millis).encode_to(&mut out);
    (story.attempts, story.forgotten).encode_to(&mut out);
    put_natural(story.releases.len() as u64, &mut out);
    for release in &story.releases {
        put_id(release.block, &mut out);
        (release.sealed_at.as_millis(), release.released_at.as_millis()).encode_to(&mut out);
        (release.by == ReleasedBy::Operator).encode_to(&mut out);
    }
    sealed(out)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Story, DecodeError> {
    whole(unsealed(bytes)?, |input| {
        let accepted_at = Option::<u64>::decode_from(input)?.map(Time::from_millis);
        let (attempts, forgotten) = Decode::decode_from(input)?;
        let start = input.clone();
        let len = input.length(RELEASE_BYTES, usize::MAX)?;
        if len > RELEASES_MAX {
            return Err(inconsistent(&start, "more releases of a transaction than are remembered"));
        }
        let releases = (0..len).map(|_| take_release(input)).collect::<Result<Vec<_>, _>>()?;
        Ok(Story { accepted_at, attempts, releases, forgotten })
    })
}

fn take_release(input: &mut Decoder<'_>) -> Result<Release, DecodeError> {
    let block = take_id(input)?;
    let (sealed_at, released_at) = Decode::decode_from(input)?;
    let by = if Decode::decode_from(input)? { ReleasedBy::Operator } else { ReleasedBy::Chain };
    Ok(Release {
        block,
        sealed_at: Time::from_millis(sealed_at),
        released_at: Time::from_millis(released_at),
        by,
    })
}

impl StepWriter<'_> {
    /// Changes what is remembered of a transaction.
    pub(crate) fn tell_story(&mut self, hash: &B256, tell: impl FnOnce(&mut Story)) -> Result<(), Failure> {
        let known = {
            let row = self.tables.stories()?.get(&hash.0)?;
            row.map(|row| decode(row.value()))
        };
        let Ok(mut story) = known.unwrap_or_else(|| Ok(Story::default())) else {
            return refused(format!("what became of transaction {hash} does not decode"));
        };
        tell(&mut story);
        if story.releases.len() > RELEASES_MAX {
            story.releases.remove(0);
            story.forgotten = story.forgotten.saturating_add(1);
        }
        self.tables.stories()?.insert(&hash.0, &encode(&story)[..])?;
        Ok(())
    }

    /// The end of a transaction is forgotten; so is its story, unless it came back since.
    pub(crate) fn forget_story(&mut self, hash: &[u8; 32]) -> Result<(), Failure> {
        if self.arrivals.get(&B256::from(*hash)).is_none() && self.tables.places()?.get(hash)?.is_none() {
            self.tables.stories()?.remove(hash)?;
        }
        Ok(())
    }
}

impl Reader {
    /// What became of a transaction in blocks that were given up; `None` if there was no such block.
    pub fn story(&self, hash: &B256) -> Result<Option<Story>> {
        let row = self.table(STORIES)?.get(&hash.0).map_err(|error| self.error(error))?;
        row.map(|row| self.decode_story(hash, row.value())).transpose()
    }

    fn decode_story(&self, hash: &B256, row: &[u8]) -> Result<Story> {
        let what = |error| self.shared.engine.damaged(format!("what became of transaction {hash}: {error}"));
        decode(row).map_err(what)
    }

    /// That every row can be read.
    pub(crate) fn check_stories(&self) -> Result<()> {
        let stories = self.table(STORIES)?;
        for entry in stories.range::<&[u8; 32]>(..).map_err(|error| self.error(error))? {
            let (hash, row) = entry.map_err(|error| self.error(error))?;
            self.decode_story(&B256::new(*hash.value()), row.value())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use types::BlockId;

    proptest! {
        #[test]
        fn stories_come_back(
            accepted_at in any::<Option<u64>>(),
            (attempts, forgotten) in any::<(u32, u32)>(),
            releases in proptest::collection::vec(any::<(u64, [u8; 32], u64, u64, bool)>(), 0..=RELEASES_MAX),
        ) {
            let release = |(number, hash, sealed, released, operator): (u64, [u8; 32], u64, u64, bool)| Release {
                block: BlockId::new(number, hash.into()),
                sealed_at: Time::from_millis(sealed),
                released_at: Time::from_millis(released),
                by: if operator { ReleasedBy::Operator } else { ReleasedBy::Chain },
            };
            let releases = releases.into_iter().map(release).collect();
            let story = Story { accepted_at: accepted_at.map(Time::from_millis), attempts, releases, forgotten };
            let bytes = encode(&story);
            prop_assert_eq!(decode(&bytes), Ok(story));
            prop_assert!(decode(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn any_bytes_are_a_story_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let with_checksum = sealed(bytes);
            if let Ok(story) = decode(&with_checksum) {
                prop_assert_eq!(encode(&story), with_checksum);
            }
        }
    }
}
