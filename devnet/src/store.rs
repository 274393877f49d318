//! What a validator keeps on disk: the finalized state, blocks, and exported segments.
//!
//! One file (redb), every step one transaction. What a validator signed itself is durable before it leaves; what others
//! told it becomes durable with the next such step, and can be asked for again. Everything that is read back is
//! checked against a hash, so a damaged file is refused and never half-read.

use crate::chain::{Entries, Node, Rules, Tree, TreeLimits};
use alloy_primitives::Bytes;
use jam::{
    Block, ChainSpec, Hash, HeaderHash, SegmentRoot,
    codec::{Decode, Encode},
    hash::blake2b,
    merkle::SegmentTree,
    params::SEGMENT_BYTES,
    spec::StateKey,
};
use parking_lot::Mutex;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Finalized blocks by height.
const FINAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("final");
/// Blocks above the finalized one, by hash.
const BLOCKS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("blocks");
/// Exported segments behind their root, by the order in which they came.
const SEGMENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("segments");
/// Packages whose segments are kept; the oldest go.
const EXPORTS_MAX: u64 = 4096;
/// Memory for pages of the file. There are six of them in one process, and little of them is read.
const CACHE_BYTES: usize = 4 << 20;

/// An entry of the state that is not written with each finalized state unless it changed.
const LARGE_BYTES: usize = 32 << 10;

const CHAIN: &str = "chain";
const STATE: &str = "state";
/// The layout of the file.
const VERSION: &[u8] = b"pectin-validator/2";

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        error: Box<redb::Error>,
    },
    /// The directory cannot be made.
    #[error("{path}: {error}")]
    Directory {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        error: std::io::Error,
    },
    /// It belongs to another chain or another version.
    #[error(
        "{path} belongs to another chain or another version; start with the settings it was made with, or name another --data-dir"
    )]
    Foreign {
        /// Which one.
        path: PathBuf,
    },
    /// What it holds is not what was written.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// Which one.
        path: PathBuf,
        /// Where.
        what: String,
    },
}

/// The file of one validator.
#[derive(Debug)]
pub struct Store {
    db: Database,
    path: PathBuf,
    /// The large entries of the chain specification; those that did not change are not written again.
    large: Entries,
    /// Where the exported segments with some root are.
    exported: Mutex<HashMap<Hash, u64>>,
}

/// The root that stands before exported segments.
fn root_of(bytes: &[u8]) -> Hash {
    Hash::from_slice(bytes.get(..32).unwrap_or(&[0; 32]))
}

type Outcome<T> = Result<T, Box<redb::Error>>;

fn boxed(error: impl Into<redb::Error>) -> Box<redb::Error> {
    Box::new(error.into())
}

impl Store {
    /// Opens or creates the file in a directory, for a chain.
    pub fn open(directory: &Path, spec: &ChainSpec) -> Result<Self, StoreError> {
        std::fs::create_dir_all(directory)
            .map_err(|error| StoreError::Directory { path: directory.into(), error })?;
        let path = directory.join("validator.redb");
        let db = Database::builder().set_cache_size(CACHE_BYTES).create(&path);
        let db = db.map_err(|error| StoreError::File { path: path.clone(), error: boxed(error) })?;
        let large = spec.genesis_state.iter().filter(|(_, value)| value.len() >= LARGE_BYTES);
        let large = large.map(|(key, value)| (*key, value.clone())).collect();
        let mut store = Self { db, path, large, exported: Mutex::default() };
        let state = jam::trie::root(&spec.genesis_state);
        let identity = [VERSION, spec.genesis_hash().as_slice(), state.as_slice()].concat();
        match store.run(|| store.meta(CHAIN))? {
            None => store.run(|| store.put_meta(CHAIN, &identity))?,
            Some(found) if found == identity => {}
            Some(_) => return Err(StoreError::Foreign { path: store.path }),
        }
        store.exported = Mutex::new(store.run(|| store.exported())?);
        Ok(store)
    }

    /// Where the exported segments with some root are.
    fn exported(&self) -> Outcome<HashMap<Hash, u64>> {
        let read = self.db.begin_read().map_err(boxed)?;
        let table = read.open_table(SEGMENTS).map_err(boxed)?;
        let entries = table.iter().map_err(boxed)?.map(|entry| {
            let (place, bytes) = entry.map_err(boxed)?;
            Ok((root_of(bytes.value()), place.value()))
        });
        entries.collect()
    }

    fn run<T>(&self, act: impl FnOnce() -> Outcome<T>) -> Result<T, StoreError> {
        act().map_err(|error| StoreError::File { path: self.path.clone(), error })
    }

    fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what: what.into() }
    }

    fn meta(&self, name: &str) -> Outcome<Option<Vec<u8>>> {
        let read = self.db.begin_read().map_err(boxed)?;
        let table = match read.open_table(META) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(boxed(error)),
        };
        Ok(table.get(name).map_err(boxed)?.map(|value| value.value().to_vec()))
    }

    fn put_meta(&self, name: &str, value: &[u8]) -> Outcome<()> {
        let write = self.db.begin_write().map_err(boxed)?;
        write.open_table(META).map_err(boxed)?.insert(name, value).map_err(boxed)?;
        write.open_table(FINAL).map_err(boxed)?;
        write.open_table(BLOCKS).map_err(boxed)?;
        write.open_table(SEGMENTS).map_err(boxed)?;
        write.commit().map_err(boxed)
    }

    /// Writes a block. `durable`: it is on disk when this returns.
    pub fn put_block(&self, hash: HeaderHash, block: &Block, durable: bool) -> Result<(), StoreError> {
        self.run(|| {
            let mut write = self.db.begin_write().map_err(boxed)?;
            if !durable {
                write.set_durability(Durability::None).map_err(boxed)?;
            }
            let mut blocks = write.open_table(BLOCKS).map_err(boxed)?;
            blocks.insert(hash.as_slice(), &block.encode()[..]).map_err(boxed)?;
            drop(blocks);
            write.commit().map_err(boxed)
        })
    }

    /// Writes that blocks became final, the last of them with its state; what stands beside them goes.
    pub fn finalize(&self, became: &[Node], tree: &Tree, limits: &TreeLimits) -> Result<(), StoreError> {
        let Some(last) = became.last() else { return Ok(()) };
        self.run(|| {
            let mut write = self.db.begin_write().map_err(boxed)?;
            write.set_durability(Durability::None).map_err(boxed)?;
            let mut chain = write.open_table(FINAL).map_err(boxed)?;
            let mut blocks = write.open_table(BLOCKS).map_err(boxed)?;
            for node in became {
                chain.insert(node.height, &node.block.encode()[..]).map_err(boxed)?;
            }
            let oldest = last.height.saturating_sub(limits.finalized_max as u64);
            chain.retain(|height, _| height >= oldest).map_err(boxed)?;
            let stays = |hash: &[u8]| {
                let hash = HeaderHash(Hash::from_slice(hash));
                hash != last.hash && tree.get(hash).is_some()
            };
            blocks.retain(|hash, _| stays(hash)).map_err(boxed)?;
            let mut meta = write.open_table(META).map_err(boxed)?;
            meta.insert(STATE, &checkpoint(last, &self.large)[..]).map_err(boxed)?;
            drop((chain, blocks, meta));
            write.commit().map_err(boxed)
        })
    }

    /// Writes exported segments.
    pub fn put_segments(&self, segments: &[Bytes]) -> Result<(), StoreError> {
        let root = SegmentTree::new(segments).root();
        let bytes = [root.to_vec(), segments.concat()].concat();
        self.run(|| {
            let mut write = self.db.begin_write().map_err(boxed)?;
            write.set_durability(Durability::None).map_err(boxed)?;
            let mut table = write.open_table(SEGMENTS).map_err(boxed)?;
            let next = table.last().map_err(boxed)?.map_or(0, |(newest, _)| newest.value() + 1);
            table.insert(next, &bytes[..]).map_err(boxed)?;
            let oldest = match next.checked_sub(EXPORTS_MAX) {
                Some(oldest) => table.remove(oldest).map_err(boxed)?.map(|bytes| root_of(bytes.value())),
                None => None,
            };
            drop(table);
            write.commit().map_err(boxed)?;
            let mut exported = self.exported.lock();
            exported.insert(root.0, next);
            oldest.map(|root| exported.remove(&root));
            Ok(())
        })
    }

    /// Makes everything that was written so far durable.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.run(|| self.db.begin_write().map_err(boxed)?.commit().map_err(boxed))
    }

    /// Whether segments with this root are here.
    pub fn has_segments(&self, root: &SegmentRoot) -> bool {
        self.exported.lock().contains_key(&root.0)
    }

    /// The exported segments with this root.
    pub fn segments(&self, root: &SegmentRoot) -> Result<Option<Vec<Bytes>>, StoreError> {
        let Some(place) = self.exported.lock().get(&root.0).copied() else { return Ok(None) };
        let bytes = self.run(|| {
            let read = self.db.begin_read().map_err(boxed)?;
            let table = read.open_table(SEGMENTS).map_err(boxed)?;
            let bytes = table.get(place).map_err(boxed)?;
            Ok(bytes.map(|bytes| Bytes::copy_from_slice(bytes.value())))
        })?;
        let Some(bytes) = bytes else { return Ok(None) };
        let bytes = bytes.slice(bytes.len().min(32)..);
        let count = bytes.len() / SEGMENT_BYTES;
        let cut = |i: usize| bytes.slice(i * SEGMENT_BYTES..(i + 1) * SEGMENT_BYTES);
        let segments = (0..count).map(cut).collect::<Vec<_>>();
        let whole = SegmentTree::new(&segments).root() == *root;
        if whole { Ok(Some(segments)) } else { Err(self.damaged(format!("segments {place}"))) }
    }

    /// The tree as it was left, or a new one. Blocks above the finalized one are checked again.
    pub fn load(&self, rules: &Rules, limits: TreeLimits, spec: &ChainSpec) -> Result<Tree, StoreError> {
        let genesis = || Node::given(rules, spec.genesis_block(), 0, spec.genesis_state.clone());
        let start = match self.run(|| self.meta(STATE))? {
            None => genesis().map_err(|error| self.damaged(error.to_string()))?,
            Some(bytes) => self.read_checkpoint(rules, &bytes)?,
        };
        let (start_hash, start_height) = (start.hash, start.height);
        let mut tree = Tree::new(rules.clone(), limits, start);
        let finalized = self.finalized(rules)?;
        if start_hash != spec.genesis_hash() && finalized.first().is_some_and(|(height, _)| *height == 1) {
            tree.remember(0, Arc::new(spec.genesis_block()));
        }
        for (height, block) in finalized {
            if height < start_height {
                tree.remember(height, Arc::new(block));
            }
        }
        let mut above = self.above(rules)?;
        above.sort_by_key(|block| block.header.slot);
        for block in above {
            // Its parent may have been lost with what was not durable; then it will be asked for again.
            let _ = tree.import(Arc::new(block));
        }
        Ok(tree)
    }

    fn read_checkpoint(&self, rules: &Rules, bytes: &[u8]) -> Result<Node, StoreError> {
        let damaged = || self.damaged("the finalized state");
        let (sum, rest) = bytes.split_first_chunk::<32>().ok_or_else(damaged)?;
        if blake2b(&[rest]) != *sum {
            return Err(damaged());
        }
        let decoded = <(u64, (Block, Vec<(StateKey, Option<Bytes>)>))>::decode(rest, &rules.params);
        let (height, (block, entries)) = decoded.map_err(|_| damaged())?;
        let whole = |(key, value): (StateKey, Option<Bytes>)| {
            Some((key, value.or_else(|| self.large.get(&key).cloned())?))
        };
        let entries = entries.into_iter().map(whole).collect::<Option<_>>().ok_or_else(damaged)?;
        Node::given(rules, block, height, entries).map_err(|_| damaged())
    }

    fn finalized(&self, rules: &Rules) -> Result<Vec<(u64, Block)>, StoreError> {
        let raw = self.run(|| {
            let read = self.db.begin_read().map_err(boxed)?;
            let table = read.open_table(FINAL).map_err(boxed)?;
            let entries = table.iter().map_err(boxed)?.map(|entry| {
                let (height, bytes) = entry.map_err(boxed)?;
                Ok((height.value(), bytes.value().to_vec()))
            });
            entries.collect::<Outcome<Vec<_>>>()
        })?;
        let mut blocks = Vec::with_capacity(raw.len());
        let mut parent: Option<HeaderHash> = None;
        for (height, bytes) in raw {
            let block = self.whole(rules, &bytes, &format!("finalized block {height}"))?;
            if parent.is_some_and(|parent| block.header.parent != parent) {
                return Err(
                    self.damaged(format!("finalized block {height} does not stand on the one before"))
                );
            }
            parent = Some(block.header.hash());
            blocks.push((height, block));
        }
        Ok(blocks)
    }

    fn above(&self, rules: &Rules) -> Result<Vec<Block>, StoreError> {
        let raw = self.run(|| {
            let read = self.db.begin_read().map_err(boxed)?;
            let table = read.open_table(BLOCKS).map_err(boxed)?;
            let entries = table.iter().map_err(boxed)?.map(|entry| {
                let (hash, bytes) = entry.map_err(boxed)?;
                Ok((Hash::from_slice(hash.value()), bytes.value().to_vec()))
            });
            entries.collect::<Outcome<Vec<_>>>()
        })?;
        let read = |(hash, bytes): (Hash, Vec<u8>)| {
            let name = format!("block {hash}");
            let block = self.whole(rules, &bytes, &name)?;
            if block.header.hash().0 == hash { Ok(block) } else { Err(self.damaged(name)) }
        };
        raw.into_iter().map(read).collect()
    }

    /// A block whose header commits to its extrinsic.
    fn whole(&self, rules: &Rules, bytes: &[u8], name: &str) -> Result<Block, StoreError> {
        let block =
            Block::decode(bytes, &rules.params).map_err(|error| self.damaged(format!("{name}: {error}")))?;
        let whole = block.header.extrinsic_hash == block.extrinsic.hash();
        if whole { Ok(block) } else { Err(self.damaged(name)) }
    }
}

/// A finalized block with its state, and a hash over both.
///
/// Large entries of the chain specification that did not change, such as a service's code, are only named.
fn checkpoint(node: &Node, large: &Entries) -> Vec<u8> {
    let entries: &Entries = &node.entries;
    let mut bytes = node.height.encode();
    node.block.encode_to(&mut bytes);
    let differs = |key: &StateKey, value: &&Bytes| large.get(key) != Some(*value);
    let entries =
        entries.iter().map(|(key, value)| (*key, Some(value).filter(|value| differs(key, value)).cloned()));
    entries.collect::<Vec<_>>().encode_to(&mut bytes);
    let mut out = blake2b(&[&bytes]).to_vec();
    out.append(&mut bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chain::Ingredients,
        execution::{Execution, Services},
        genesis::{self, Genesis},
        keys::Keys,
    };

    use pvm::EngineKind;

    fn spec(head: u8) -> ChainSpec {
        let service = service::Config::native(genesis::SERVICE, jam::Ed25519Secret::trivial(99).public());
        Genesis::new(genesis::params(2), service, types::BlockId::new(0, Hash::repeat_byte(head))).spec(&[])
    }

    fn rules(spec: &ChainSpec) -> Rules {
        let execution = Execution::new(EngineKind::Interpreter, Services::Native).unwrap();
        Rules { params: spec.params, service: genesis::service_of(spec).unwrap().0, execution }
    }

    /// Blocks of so many slots, each written, all but the last two final.
    fn grow(store: &Store, tree: &mut Tree, slots: std::ops::Range<u32>) {
        let keys = (0..6).map(Keys::trivial).collect::<Vec<_>>();
        for slot in slots {
            let parent = tree.best().hash;
            let mut made =
                keys.iter().filter_map(|keys| tree.author(keys, parent, slot, &Ingredients::default()));
            let block = made.next().unwrap();
            drop(made);
            store.put_block(block.header.hash(), &block, true).unwrap();
            tree.import(Arc::new(block)).unwrap();
            let word = tree.candidate(2).hash;
            keys.iter().for_each(|keys| tree.note_word(keys.ed25519.public(), word));
            let became = tree.finalize();
            store.finalize(&became, tree, &TreeLimits::default()).unwrap();
        }
        store.flush().unwrap();
    }

    fn place(tree: &Tree) -> [(HeaderHash, u64, Hash); 2] {
        [tree.best(), tree.finalized()].map(|node| (node.hash, node.height, node.root))
    }

    #[test]
    fn a_tree_comes_back_and_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let spec = spec(1);
        let load = |store: &Store| store.load(&rules(&spec), TreeLimits::default(), &spec).unwrap();
        let store = Store::open(directory.path(), &spec).unwrap();
        let mut tree = load(&store);
        let segments = vec![Bytes::from(vec![7; SEGMENT_BYTES]), Bytes::from(vec![8; SEGMENT_BYTES])];
        store.put_segments(&segments).unwrap();
        grow(&store, &mut tree, 5..20);
        drop(store);
        let store = Store::open(directory.path(), &spec).unwrap();
        let mut again = load(&store);
        assert_eq!(place(&again), place(&tree));
        let root = SegmentTree::new(&segments).root();
        assert_eq!(store.segments(&root).unwrap(), Some(segments));
        assert!(store.has_segments(&root) && !store.has_segments(&SegmentRoot(Hash::ZERO)));
        // All of the chain can still be asked for.
        let mut below = again.block(again.best().hash).unwrap().clone();
        while below.header.slot > 0 {
            below = again.block(below.header.parent).unwrap().clone();
        }
        assert_eq!(below.header.hash(), spec.genesis_hash());
        grow(&store, &mut again, 20..25);
        drop(store);
        let store = Store::open(directory.path(), &spec).unwrap();
        assert_eq!(place(&load(&store)), place(&again));
    }

    #[test]
    fn what_is_damaged_or_foreign_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let spec = spec(1);
        let store = Store::open(directory.path(), &spec).unwrap();
        let mut tree = store.load(&rules(&spec), TreeLimits::default(), &spec).unwrap();
        grow(&store, &mut tree, 5..10);
        assert!(matches!(Store::open(directory.path(), &spec), Err(StoreError::File { .. })), "in use");

        let mut checkpoint = store.meta(STATE).unwrap().unwrap();
        checkpoint[100] ^= 1;
        store.put_meta(STATE, &checkpoint).unwrap();
        let damaged = store.load(&rules(&spec), TreeLimits::default(), &spec).unwrap_err().to_string();
        assert!(damaged.ends_with("is damaged: the finalized state"), "{damaged}");
        drop(store);

        assert!(matches!(Store::open(directory.path(), &self::spec(2)), Err(StoreError::Foreign { .. })));
        std::fs::write(directory.path().join("validator.redb"), b"no database at all").unwrap();
        assert!(matches!(Store::open(directory.path(), &spec), Err(StoreError::File { .. })));
    }
}
