//! Taking a block: whether it is believed, where it belongs, and what has to go for it.

use super::{
    Follower, Refused, Update,
    claims::credible,
    node::{BlockOutcome, Node, Seen},
};
use crate::{Block, HeaderHash, PackageHash};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

impl Follower {
    /// Takes a block, in any order; and with it the blocks that waited for it.
    pub fn import(&mut self, block: Block) -> Update {
        let mut update = Update::default();
        let hash = block.header.hash();
        if self.contains(hash) || self.orphans.contains(&hash) {
            return update;
        }
        match self.admit(&block) {
            Ok(()) => self.attach_all(hash, block, &mut update),
            Err(refused) => self.refuse(hash, refused, &mut update),
        }
        update
    }

    /// What can be said of a block without knowing its parent's state.
    fn admit(&self, block: &Block) -> Result<(), Refused> {
        let header = &block.header;
        if self.slot_now.is_some_and(|now| header.slot > now) {
            return Err(Refused::Future);
        }
        if header.slot <= self.finalized().slot {
            return Err(Refused::Stale);
        }
        // A wrong body says nothing about the header; all that follows does.
        if header.extrinsic_hash != block.extrinsic.hash() {
            return Err(Refused::Extrinsic);
        }
        if !self.contains(header.parent) && self.refused.contains(&header.parent) {
            return Err(Refused::Parent);
        }
        Ok(())
    }

    fn attach_all(&mut self, hash: HeaderHash, block: Block, update: &mut Update) {
        let mut due = VecDeque::from([(hash, block)]);
        let mut named = false;
        while let Some((hash, block)) = due.pop_front() {
            match self.attach(hash, block, update) {
                Ok(true) => {
                    named |= self.claims.name(&hash);
                    self.consider_best(hash, update);
                    due.extend(self.orphans.children_of(hash));
                }
                Ok(false) => {}
                Err(refused) => self.refuse(hash, refused, update),
            }
        }
        // A block that nobody names supports nothing.
        if named {
            self.finalize(update);
        }
    }

    /// Puts a block on its parent; whether the parent is there.
    fn attach(&mut self, hash: HeaderHash, block: Block, update: &mut Update) -> Result<bool, Refused> {
        let parent = block.header.parent;
        let Some(node) = self.nodes.get(&parent) else {
            self.wait(hash, block);
            return Ok(false);
        };
        let height = node.height + 1;
        let seen = Seen { book: &self.book, branch: self.branch(parent), height };
        let BlockOutcome { state, fates, accumulated } =
            node.state.after(&self.params, hash, &block, &seen)?;
        self.make_room(parent, update)?;
        self.book.note(hash, height, &fates);
        update.changed.extend(fates.iter().map(|(package, _)| *package));
        self.nodes.entry(parent).and_modify(|node| node.children.push(hash));
        self.leaves.remove(&(height - 1, parent));
        self.leaves.insert((height, hash));
        self.nodes.insert(hash, Node { parent, height, children: vec![], fates, accumulated, state });
        self.refused.forget(hash);
        Ok(true)
    }

    /// Keeps a block until its parent comes, if necessary at the cost of one that waits farther ahead; least likely of
    /// those that lead to a block which validators call final.
    fn wait(&mut self, hash: HeaderHash, block: Block) {
        self.orphans.insert(hash, block);
        if self.orphans.exceed(&self.limits) {
            let named = self.named_final();
            let needed = named.into_iter().flat_map(|hash| self.orphans.ancestry(hash)).collect();
            self.drop_orphans(&needed);
        }
    }

    fn drop_orphans(&mut self, needed: &HashSet<HeaderHash>) {
        while self.orphans.exceed(&self.limits) {
            self.orphans.drop_farthest(needed);
        }
    }

    fn refuse(&mut self, hash: HeaderHash, refused: Refused, update: &mut Update) {
        if refused.is_lasting() {
            self.note_refused(hash);
        }
        update.refused.push((hash, refused));
    }

    /// Notes that a block will never be believed, nor whatever waits for it: what comes on top of those is not to be asked
    /// about either.
    pub(super) fn note_refused(&mut self, hash: HeaderHash) {
        for hash in self.orphans.drop_with_descendants(hash) {
            self.refused.note(hash, self.limits.refused_max);
        }
    }

    /// Makes room for a block on `parent`, if necessary at the cost of a block that nothing builds on: of those that
    /// the fewest validators call final, the lowest; never one that more than a third of them do.
    fn make_room(&mut self, parent: HeaderHash, update: &mut Update) -> Result<(), Refused> {
        if self.nodes.len() <= self.limits.unfinalized_max {
            return Ok(());
        }
        let words = self.words_on_blocks();
        let words_on = |hash: &HeaderHash| words.get(hash).copied().unwrap_or(0);
        let spare = self.leaves.iter().filter(|(_, hash)| *hash != parent && *hash != self.finalized);
        // The lowest come first, and the first one without any word will do.
        let mut victim = None;
        for (_, hash) in spare {
            let words = words_on(hash);
            if words < victim.map_or(credible(&self.params), |(_, fewest)| fewest) {
                victim = Some((*hash, words));
            }
            if words == 0 {
                break;
            }
        }
        let (victim, _) = victim.ok_or(Refused::Full)?;
        self.evict(victim, update);
        Ok(())
    }

    /// How many validators whose words count name each block.
    fn words_on_blocks(&self) -> HashMap<HeaderHash, usize> {
        let mut words = HashMap::<_, usize>::new();
        for ((hash, _), count) in self.trusted_sets().iter().flat_map(|set| self.claims.count(set)) {
            let most = words.entry(hash).or_default();
            *most = count.max(*most);
        }
        words
    }

    /// Removes a block that nothing builds on. It may come again.
    fn evict(&mut self, hash: HeaderHash, update: &mut Update) {
        if hash == self.best {
            let Some(parent) = self.nodes.get(&hash).map(|node| node.parent) else { return };
            self.switch_to(parent, update);
            update.best_moved = true;
        }
        self.remove(hash, &mut update.changed);
        self.elect(update);
    }

    /// Removes a block and what was known through it.
    pub(super) fn remove(&mut self, hash: HeaderHash, changed: &mut BTreeSet<PackageHash>) {
        let Some(node) = self.nodes.remove(&hash) else { return };
        changed.extend(node.fates.iter().map(|(package, _)| *package));
        self.book.forget(hash, &node.fates);
        self.leaves.remove(&(node.height, hash));
        if let Some(parent) = self.nodes.get_mut(&node.parent) {
            parent.children.retain(|child| *child != hash);
            if parent.children.is_empty() {
                self.leaves.insert((parent.height, node.parent));
            }
        }
    }
}
