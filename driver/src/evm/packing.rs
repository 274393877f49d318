//! Runs of blocks, packed into bundles away from the thread that decides.
//!
//! What a block adds to a bundle ([`Piece`]) is kept from its seal until its run is sent, as long as there is room for it;
//! otherwise, and after a restart, the job executes the blocks again.

use super::{Built, EvmBlocks, EvmCodes};
use crate::{Broken, PackJob, PackOutcome, evm::past::Folded};
use bundler::{Bundler, Draft, PackError, Packaged, PackedRun, Parent, Piece, RebuildError, Refined};
use core::fmt::{self, Debug};
use jam::{Bundle, RefineContext};
use state::{Codes, Values};
use std::{collections::BTreeMap, sync::Arc};
use types::{BlockId, RefineGas, Run};

/// Memory that pieces may take: those of a few full packages. Pieces beyond are made again when they are needed.
const PIECES_BYTES_MAX: usize = 48 << 20;

/// What packing needs and made.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// What all versions of a run have in common, by its first block.
    runs: BTreeMap<u64, Refined>,
    /// Of blocks whose run was not sent yet.
    pieces: BTreeMap<u64, Piece>,
    pieces_bytes: usize,
}

impl Packed {
    /// Keeps what a sealed block adds, if there is room.
    pub(super) fn keep(&mut self, piece: Piece) {
        let bytes = piece.memory_bytes();
        if self.pieces_bytes + bytes <= PIECES_BYTES_MAX {
            self.pieces_bytes += bytes;
            self.pieces.insert(piece.id().number, piece);
        }
    }

    /// The pieces of all blocks of a run, if they are here.
    fn pieces(&self, run: Run) -> Option<Vec<Piece>> {
        run.numbers().map(|number| self.pieces.get(&number).cloned()).collect()
    }

    fn forget_pieces(&mut self, run: Run) {
        for number in run.numbers() {
            let bytes = self.pieces.remove(&number).map_or(0, |piece| piece.memory_bytes());
            self.pieces_bytes -= bytes;
        }
    }

    /// A run is not going to be sent soon.
    pub(super) fn rest(&mut self, run: Run) {
        self.runs.remove(&run.first.number);
        self.forget_pieces(run);
    }

    /// Blocks from a number on are not here any more.
    pub(super) fn release(&mut self, from: u64) {
        self.runs.retain(|_, refined| refined.run().last.number < from);
        let gone = self.pieces.split_off(&from);
        self.pieces_bytes -= gone.values().map(Piece::memory_bytes).sum::<usize>();
    }
}

/// Where the pieces of a run come from.
enum Source {
    Pieces(Vec<Piece>),
    Drafts(Vec<Draft>),
}

/// The service's program, which knows exactly what it takes to refine a bundle.
pub trait Program: Debug + Send + Sync {
    /// The gas that the program uses for a bundle; `None` if it cannot be run here.
    fn refine_gas(&self, bundle: &Bundle, bundler: &Bundler) -> Option<u64>;
}

/// Blocks that are to be packed, and everything that this takes.
pub struct EvmPacking<V, C> {
    bundler: Bundler,
    program: Option<Arc<dyn Program>>,
    parent: Parent<V>,
    /// What was asked for begins here.
    first: BlockId,
    run: Run,
    is_fixed: bool,
    source: Source,
    codes: EvmCodes<C>,
    /// What a known mistake builds other blocks with.
    #[cfg(feature = "bugs")]
    anew: Option<(bundler::Opening, jam::Ed25519Secret)>,
}

impl<V, C> Debug for EvmPacking<V, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvmPacking").field("run", &self.run).field("is_fixed", &self.is_fixed).finish()
    }
}

/// A run that was packed, or could not be.
#[derive(Clone, Debug)]
pub struct EvmPacked {
    first: BlockId,
    packed: Result<Refined, String>,
    /// What the program takes to refine it, if it was run.
    refine_gas: Option<u64>,
    refused: Vec<(Run, String)>,
}

impl<V, C> PackJob for EvmPacking<V, C>
where
    V: Values + Clone + Debug,
    C: Codes + Clone + Debug,
{
    type Done = EvmPacked;

    fn pack(self) -> EvmPacked {
        let (first, mut refused) = (self.first, vec![]);
        let packed = self.pieces().map_err(|why| why.to_string());
        let packed = packed.and_then(|pieces| self.pack_pieces(&pieces, &mut refused));
        let refine_gas = packed.as_ref().ok().and_then(|(_, gas)| *gas);
        EvmPacked { first, packed: packed.map(|(refined, _)| refined), refine_gas, refused }
    }
}

impl<V, C> EvmPacking<V, C>
where
    V: Values + Clone + Debug,
    C: Codes + Clone + Debug,
{
    fn pieces(&self) -> Result<Vec<Piece>, RebuildError> {
        #[cfg(feature = "bugs")]
        if let (Some((opening, secret)), Source::Drafts(drafts)) = (&self.anew, &self.source) {
            return self.bundler.anew(drafts, &self.parent, self.codes.clone(), *opening, secret);
        }
        match &self.source {
            Source::Pieces(pieces) => Ok(pieces.clone()),
            Source::Drafts(drafts) => self.bundler.replay_run(drafts, &self.parent, self.codes.clone()),
        }
    }

    /// Packs the run, or, if it need not be exactly this one and validators would refuse it, a shorter one. Gives the gas that the
    /// program takes for it, too.
    fn pack_pieces(
        &self,
        pieces: &[Piece],
        refused: &mut Vec<(Run, String)>,
    ) -> Result<(Refined, Option<u64>), String> {
        if self.is_fixed {
            let refined = self.bundler.pack_exactly(&self.parent, pieces).map_err(|why| why.to_string())?;
            return Ok((refined, None));
        }
        let (mut pieces, max) = (pieces, self.bundler.params.refine_gas_max);
        loop {
            let (why, last) = match self.bundler.pack(&self.parent, pieces) {
                Ok(PackedRun { refined, .. }) => match self.refine_gas(&refined) {
                    Some(gas) if gas > max => {
                        let estimate = refined.work().gas();
                        let why = format!("it takes {gas} gas of {max}, and {estimate} were expected");
                        (why, refined.run().last)
                    }
                    gas => return Ok((refined, gas)),
                },
                Err(PackError::Refine(why)) => {
                    (why.to_string(), pieces.last().map_or(self.run.last, Piece::id))
                }
                Err(why) => return Err(why.to_string()),
            };
            let count = pieces.iter().position(|piece| piece.id() == last).map_or(pieces.len(), |at| at + 1);
            if count < 2 {
                return Err(why);
            }
            refused.push((Run { last, ..self.run }, why));
            pieces = &pieces[..count / 2];
        }
    }

    /// The gas that the program takes for a run. Versions of the run differ in nothing that costs gas.
    fn refine_gas(&self, refined: &Refined) -> Option<u64> {
        let context = RefineContext {
            anchor: jam::HeaderHash::ZERO,
            state_root: jam::Hash::ZERO,
            beefy_root: jam::Hash::ZERO,
            lookup_anchor: jam::HeaderHash::ZERO,
            // Late enough for any block.
            lookup_anchor_slot: u32::MAX,
            prerequisites: Default::default(),
        };
        let program = self.program.as_ref()?;
        program.refine_gas(&self.bundler.package(refined, context).bundle, &self.bundler)
    }
}

impl<V: Folded + Clone + Debug, C: Codes + Clone + Debug> EvmBlocks<V, C> {
    /// Prepares packing of a run.
    pub(super) fn packing(&mut self, run: Run, is_fixed: bool) -> Result<EvmPacking<V, C>, Broken> {
        let first_asked = run.first;
        #[cfg(feature = "bugs")]
        let run = self.overlapping(run, is_fixed);
        let layer = self.layer_before(run.first.number)?;
        let first = self.unfinished_block(run.first)?;
        self.unfinished_block(run.last)?;
        let parent = Parent {
            hash: first.draft.block.header().parent_hash,
            header: first.draft.parent.clone(),
            layer,
        };
        let source = match self.packed.pieces(run) {
            Some(pieces) => Source::Pieces(pieces),
            None => Source::Drafts(self.drafts(run)),
        };
        let (bundler, codes) = (self.builder.bundler.clone(), self.codes.clone());
        let program = self.builder.program.clone();
        #[cfg(feature = "bugs")]
        if is_fixed && self.mistake == Some(bundler::Mistake::DissolvedBlocksChange) {
            let build = 1 << 40 | run.first.number;
            let opening = bundler::Opening { now_secs: 0, beneficiary: self.builder.beneficiary, build };
            let anew = Some((opening, self.builder.secret.clone()));
            let source = Source::Drafts(self.drafts(run));
            return Ok(EvmPacking {
                bundler,
                program,
                parent,
                first: first_asked,
                run,
                is_fixed,
                source,
                codes,
                anew,
            });
        }
        Ok(EvmPacking {
            bundler,
            program,
            parent,
            first: first_asked,
            run,
            is_fixed,
            source,
            codes,
            #[cfg(feature = "bugs")]
            anew: None,
        })
    }

    /// A new run with the block before it, if that mistake is made.
    #[cfg(feature = "bugs")]
    fn overlapping(&self, run: Run, is_fixed: bool) -> Run {
        let is_made = self.mistake == Some(bundler::Mistake::RunOverlaps) && !is_fixed;
        let before = run.first.number.checked_sub(1).and_then(|number| self.unfinished.get(&number));
        before.filter(|_| is_made).map_or(run, |before| Run { first: before.draft.id(), ..run })
    }

    /// The drafts of the blocks of a run.
    pub(super) fn drafts(&self, run: Run) -> Vec<Draft> {
        let blocks = self.unfinished.range(run.first.number..=run.last.number);
        blocks.map(|(_, Built { draft, .. })| draft.clone()).collect()
    }

    /// Takes what packing came to, unless the blocks are not here any more.
    pub(super) fn take_packed(&mut self, done: EvmPacked) -> PackOutcome {
        let EvmPacked { first, packed, refine_gas, refused } = done;
        // What was packed for another code of the service is packed again.
        let code_hash = self.builder.bundler.config.code_hash;
        let is_for_code = packed.as_ref().map_or(true, |refined| refined.code_hash() == code_hash);
        let is_here = self.unfinished_block(first).is_ok() && is_for_code;
        let packed = packed.map_err(|why| Broken::Rebuild { number: first.number, why });
        let packed = packed.map(|refined| {
            let run = Run { first, ..refined.run() };
            let is_here = self.unfinished_block(run.last).is_ok();
            #[cfg(feature = "bugs")]
            let is_here = is_here || self.mistake.is_some();
            if is_here {
                let gas = RefineGas { estimate: refined.work().gas(), exact: refine_gas };
                self.refine_gas.insert(run, gas);
                self.packed.runs.insert(first.number, refined);
            }
            is_here.then_some(run)
        });
        PackOutcome { first, packed: packed.transpose().filter(|_| is_here), refused }
    }

    /// A version of a run that was packed, if its blocks are not dated too late for this context.
    pub(super) fn package_run(
        &mut self,
        run: Run,
        context: RefineContext,
    ) -> Result<Option<Packaged>, Broken> {
        let number = run.first.number;
        let not_packed = || Broken::Rebuild { number, why: format!("the run {run} is not packed") };
        let refined = self.packed.runs.get(&number);
        #[cfg(feature = "bugs")]
        let refined = refined.filter(|refined| refined.run() == run || self.mistake.is_some());
        #[cfg(not(feature = "bugs"))]
        let refined = refined.filter(|refined| refined.run() == run);
        let code_hash = self.builder.bundler.config.code_hash;
        let refined = refined.filter(|refined| refined.code_hash() == code_hash);
        let refined = refined.ok_or_else(not_packed)?;
        let bundler = &self.builder.bundler;
        let timestamp = self.unfinished_block(run.last)?.draft.block.header().timestamp;
        if timestamp > bundler.latest_timestamp(&context) {
            return Ok(None);
        }
        let packaged = bundler.package(refined, context);
        // From now on it is fixed; another version needs what is packed and nothing else.
        self.packed.forget_pieces(run);
        Ok(Some(packaged))
    }
}
