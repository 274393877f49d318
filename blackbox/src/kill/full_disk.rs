//! The disk is full, in the middle of everything, and has room again later.

use super::{
    child::Heard,
    client::Rpc,
    disk::{SmallDisk, bytes_of, copy_files},
    judge::{BULKER, Judge},
    ledger::Said,
    load,
    moment::Strike,
};
use harness::blocks::Wallet;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// What the small disk has besides what is copied to it: room for the file to double, several times, once the filler is
/// gone.
const ROOM_BYTES: u64 = 64 << 20;
/// Data of a transaction, so that the node's file must grow soon.
const BULK_BYTES: usize = 28_000;
/// So many of them make it grow in any case.
const BULKY_MAX: u64 = 600;
/// The node must notice within this many slots.
const NOTICE_SLOTS: u64 = 100;
/// It is left with a full disk for this long.
const FULL_SLOTS: u64 = 5;

impl Judge {
    /// The life of a node on a disk that becomes full.
    pub(super) fn full_disk(&mut self, strike: Strike) -> Result<(), String> {
        let text = |why: std::io::Error| format!("the small disk: {why}");
        let home = self.recipe.data_dir.clone();
        let size = bytes_of(&home).map_err(text)? + ROOM_BYTES;
        let disk = match SmallDisk::mount(&self.world.directory().join("small-disk"), size) {
            Ok(disk) => disk,
            Err(why) => {
                self.say(format_args!("skipped: a full disk, since no small one can be mounted: {why}"));
                let ready = self.live()?;
                return self.die(strike, ready);
            }
        };
        copy_files(&home, disk.path()).map_err(text)?;
        disk.path().clone_into(&mut self.recipe.data_dir);
        let ready = self.live()?;
        let lived = self.live_on(&disk, strike, ready);
        if lived.is_ok() {
            copy_files(disk.path(), &home).map_err(text)?;
        }
        self.recipe.data_dir = home;
        lived
    }

    fn live_on(
        &mut self,
        disk: &SmallDisk,
        strike: Strike,
        ready: std::time::Duration,
    ) -> Result<(), String> {
        let text = |why: std::io::Error| format!("the small disk: {why}");
        let free = disk.fill().map_err(text)?;
        let enough = Arc::new(AtomicBool::new(false));
        self.send_bulky(&enough);
        let is_full = |line: &str| line.contains("until there is room");
        let heard = self.node()?.hear(is_full, self.world.slots(NOTICE_SLOTS));
        enough.store(true, Ordering::Relaxed);
        if !matches!(heard, Heard::Line(_)) {
            return Err(format!("the disk was full, and the node did not say so: {heard:?}"));
        }
        self.say(format_args!("the disk is full: the last {free} bytes are gone"));
        std::thread::sleep(self.world.slots(FULL_SLOTS));
        // What can be read can be read without room.
        self.status()?;
        if self.rng.chance(500) {
            self.say(format_args!("kill {:>3}  with a full disk", self.kills + 1));
            self.kill()?;
            return disk.empty().map_err(text);
        }
        disk.empty().map_err(text)?;
        let has_room = |line: &str| line.contains("has room again");
        match self.node()?.hear(has_room, self.world.slots(NOTICE_SLOTS)) {
            Heard::Line(_) => self.say("the disk has room again"),
            heard => return Err(format!("the disk has room again, and the node did not say so: {heard:?}")),
        }
        self.die(strike, ready)
    }

    /// Sends large transactions until it is enough.
    fn send_bulky(&mut self, enough: &Arc<AtomicBool>) {
        let (enough, ledger) = (enough.clone(), self.ledger.clone());
        let mut rpc = Rpc::new(self.door.clone());
        self.bulk = Some(std::thread::spawn(move || {
            let wallet = Wallet::new(BULKER);
            for nonce in 0..BULKY_MAX {
                if enough.load(Ordering::Relaxed) {
                    break;
                }
                // A gap would keep all that follow waiting.
                let tx = load::bulky(&wallet, nonce, BULK_BYTES);
                if load::offer(&mut rpc, &ledger, &tx) != Some(Said::Accepted) {
                    break;
                }
            }
        }));
    }
}
