//! Blocks as peers send them: the follower believes them or has a reason not to, and stays what it promises to be.
//!
//! Each piece is a block; its first byte says what is mended before it is imported. An authored one brings the reports
//! that the piece holds, with the signatures of the validators assigned.

use super::sections::{Sections, joined};
use jam::{
    Block, HeaderHash, PackageHash, Params, WorkReport,
    codec::{Decode, Decoder, Encode},
    follow::{Follower, Limits, Start, Update},
    hash::blake2b,
    sample::{Author, Body, allow_simulated_keys},
};

/// It stands on the best block.
const MEND_PARENT: u8 = 1;
/// Its slot follows the best block's.
const MEND_SLOT: u8 = 2;
/// Its header commits to its body.
const MEND_BODY: u8 = 4;
/// It is authored: the piece holds reports.
const AUTHORED: u8 = 8;
/// The reports are anchored at a recent block.
const MEND_ANCHORS: u8 = 16;
/// The cores' reports become available.
const AVAILABLE: u8 = 32;
/// All validators call the best block's parent final.
const FINALIZE: u8 = 64;

const BLOCKS_MAX: usize = 40;
/// So small that room has to be made.
const LIMITS: Limits = Limits {
    unfinalized_max: 8,
    orphans_max: 4,
    orphan_bytes_max: 1 << 20,
    wanted_max: 3,
    strangers_max: 4,
    refused_max: 4,
};

struct World {
    author: Author,
    follower: Follower,
    made: u64,
}

pub(super) fn run(bytes: &[u8]) {
    live(bytes);
}

/// How it ended.
fn live(bytes: &[u8]) -> World {
    allow_simulated_keys();
    let author = Author::simulated(Params::TINY);
    let follower = Follower::new(Params::TINY, author.start(), LIMITS);
    let mut world = World { author, follower, made: 0 };
    for _ in 0..3 {
        world.authored(0, &[]);
    }
    for piece in Sections(bytes).take(BLOCKS_MAX) {
        let Some((flags, piece)) = piece.split_first() else { continue };
        if flags & AUTHORED != 0 {
            world.authored(*flags, piece)
        } else {
            world.raw(*flags, piece)
        }
        if flags & FINALIZE != 0 {
            world.finalize();
        }
        world.check();
    }
    world.go_on_elsewhere();
    world
}

impl World {
    /// A block as it came.
    fn raw(&mut self, flags: u8, bytes: &[u8]) {
        let Ok(mut block) = Block::decode(bytes, &Params::TINY) else { return };
        let head = self.follower.view().head();
        if flags & MEND_PARENT != 0 {
            block.header.unsealed.parent = head.hash;
        }
        if flags & MEND_SLOT != 0 {
            block.header.unsealed.slot = head.slot + 1;
        }
        if flags & MEND_BODY != 0 {
            block.header.unsealed.extrinsic_hash = block.extrinsic.hash();
        }
        self.import(block);
    }

    /// A block that an author makes of reports.
    fn authored(&mut self, flags: u8, bytes: &[u8]) {
        let mut input = Decoder::new(bytes, &Params::TINY);
        let mut reports = vec![];
        while let Ok(mut report) = WorkReport::decode_from(&mut input) {
            report.core %= Params::TINY.cores;
            if flags & MEND_ANCHORS != 0 {
                self.anchor(&mut report);
            }
            reports.push(report);
        }
        let view = self.follower.view();
        let busy = (0..Params::TINY.cores).filter(|core| view.core(*core).is_some());
        let available = busy.filter(|_| flags & AVAILABLE != 0).collect();
        self.made += 1;
        let body = Body { reports, available, salt: self.made };
        let block = self.author.block(&view, view.head().slot + 1, body);
        self.import(block);
    }

    fn anchor(&self, report: &mut WorkReport) {
        let view = self.follower.view();
        let Some(anchor) = view.recent().nth(1).map(|block| block.hash) else { return };
        let good = self.author.report(&view, report.spec.package, report.core, anchor);
        report.context = good.context;
    }

    fn import(&mut self, block: Block) {
        let (hash, before) = (block.header.hash(), self.follower.view().head());
        let known = self.follower.contains(hash);
        let update = self.follower.import(block);
        for (refused, why) in &update.refused {
            assert!(known || !self.follower.contains(*refused), "{refused} is refused ({why}) and believed");
        }
        assert!(
            update.best_moved || self.follower.view().head() == before,
            "the best block moved in silence"
        );
    }

    fn finalize(&mut self) {
        let view = self.follower.view();
        let Some(target) = view.recent().nth(1).map(|block| block.hash) else { return };
        let Some(slot) = self.follower.view_from(target).map(|view| view.head().slot) else { return };
        let mut update = Update::default();
        for signer in self.author.secrets().to_vec() {
            update.merge(self.follower.claim_final(signer.public(), target, slot));
        }
        assert_eq!(
            update.finalized_moved,
            self.follower.finalized().hash == target && update.finalized_moved
        );
    }

    /// Whatever came: what is kept is bounded, and the best block stands on the finalized one.
    fn check(&self) {
        let (believed, waiting, _) = self.follower.size();
        assert!(believed <= LIMITS.unfinalized_max + 1, "{believed} blocks are believed");
        assert!(waiting <= LIMITS.orphans_max, "{waiting} blocks wait");
        assert!(self.follower.wanted().len() <= LIMITS.wanted_max);
        let (head, finalized) = (self.follower.view().head(), self.follower.finalized());
        assert!(head.height >= finalized.height && head.slot >= finalized.slot);
        let mut here = head.hash;
        while let Some(parent) = self.follower.parent(here) {
            here = parent;
        }
        assert_eq!(here, finalized.hash, "the best block does not stand on the finalized one");
    }

    /// What is known can be written down, and another follower goes on with it.
    fn go_on_elsewhere(&self) {
        let start = self.follower.checkpoint();
        let read = Start::decode(&start.encode(), &Params::TINY).expect("what was written can be read");
        assert_eq!(read, start);
        let other = Follower::new(Params::TINY, read, LIMITS);
        assert_eq!(other.finalized(), self.follower.finalized());
    }
}

fn report(author: &Author, follower: &Follower, core: u16, anchor: HeaderHash) -> Vec<u8> {
    let package = PackageHash(blake2b(&[b"package", &core.to_le_bytes()]));
    author.report(&follower.view(), package, core, anchor).encode()
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    allow_simulated_keys();
    let author = Author::simulated(Params::TINY);
    let follower = Follower::new(Params::TINY, author.start(), LIMITS);
    let empty = author.block(&follower.view(), 1, Body::default()).encode();
    let genesis = follower.finalized().hash;
    let reports = [report(&author, &follower, 0, genesis), report(&author, &follower, 1, genesis)];
    let with = |flags: u8, content: &[u8]| [&[flags], content].concat();
    let authored = AUTHORED | MEND_ANCHORS;
    let life = [
        with(authored, &reports[0]),
        with(authored | AVAILABLE, &reports[1]),
        with(authored | AVAILABLE | FINALIZE, &[]),
        with(authored | FINALIZE, &reports[0]),
        with(MEND_PARENT | MEND_SLOT | MEND_BODY, &empty),
        with(AUTHORED | FINALIZE, &[]),
    ];
    let long = (0..14).map(|_| with(AUTHORED | FINALIZE, &[]));
    vec![
        ("raw".into(), joined([with(0, &empty), with(MEND_BODY | MEND_PARENT | MEND_SLOT, &empty)])),
        ("life".into(), joined(life)),
        ("epoch".into(), joined(long)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise what is close to a seed would never be believed.
    #[test]
    fn seeds_come_as_far_as_they_should() {
        let before = Follower::new(Params::TINY, Author::simulated(Params::TINY).start(), LIMITS);
        for (name, bytes) in seeds() {
            let world = live(&bytes);
            let blocks = world.follower.view().head().height - before.view().head().height;
            let expected = match &name[..] {
                "raw" => (4, 0),
                // One is refused, because it reports a package again.
                "life" => (8, 2),
                _ => (17, 0),
            };
            assert_eq!((blocks, world.follower.size().2), expected, "{name}");
        }
    }
}
