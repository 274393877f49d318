//! Each reason by itself, while it lasts and no longer.

use super::*;
use jam::SlotClock;
use types::{BlockId, Duration, Time};

const SLOT: Duration = Duration::from_secs(6);
const BEST: u32 = 100;

/// A healthy node in the slot after its best block.
fn well() -> Facts {
    Facts {
        now: Time::ZERO + SLOT * (BEST + 1),
        standing: Standing::Wall,
        clock: SlotClock::starting_at(Time::ZERO, 6000),
        journal_error: None,
        foreign_head: None,
        executed_twice: 0,
        service_differs: false,
        service_unreadable: false,
        paused: false,
        dry_run: false,
        validators: Validators { connected: 6, of: 6, cores: 2, unreached: 0 },
        jam: Jam {
            best_slot: Some(BEST),
            catching_up: false,
            finality_lag_blocks: 3,
            finality_lag_blocks_max: 12,
        },
        queue: Queue {
            waiting: 4,
            waiting_bytes: 8_000_000,
            is_full: false,
            oldest: Some((7, Time::ZERO + SLOT * (BEST - 4))),
            newest_at: Some(Time::ZERO + SLOT * BEST),
            abandoned: None,
        },
        missed_at: None,
        accounts: Accounts::default(),
    }
}

fn with(change: impl FnOnce(&mut Facts)) -> Health {
    let mut facts = well();
    change(&mut facts);
    Health::of(&facts)
}

/// The level, the only reason and its sentence.
fn only(change: impl FnOnce(&mut Facts)) -> (Level, Code, String) {
    let health = with(change);
    assert_eq!(health.reasons.len(), 1, "{health:?}");
    let Reason { code, text } = health.reasons[0].clone();
    assert_eq!(health.is_ready(), code.level() == Level::Degraded);
    (health.level(), code, text)
}

fn ago(slots: u32) -> Time {
    well().now - SLOT * slots
}

#[test]
fn a_node_that_works_has_no_reason() {
    let health = Health::of(&well());
    assert_eq!((health.level(), health.is_ready()), (Level::Ok, true));
    assert_eq!(health.to_json(), json!({ "ready": true, "level": "ok", "reasons": [] }));
}

#[test]
fn a_journal_that_cannot_write_says_why_and_blames_nothing_else() {
    let full = |facts: &mut Facts| facts.journal_error = Some("the disk is full".to_owned());
    let (level, code, text) = only(full);
    assert_eq!((level, code), (Level::Unready, Code::JournalStalled));
    assert!(text.ends_with("the journal cannot be written: the disk is full."), "{text}");
    // What was last seen before the disk was full is old; it says nothing of validators and chain.
    let (_, code, _) = only(|facts| {
        full(facts);
        facts.now = facts.now + SLOT * 100;
        facts.validators.connected = 0;
    });
    assert_eq!(code, Code::JournalStalled);
    // What lasts is still true.
    let health = with(|facts| {
        full(facts);
        facts.paused = true;
    });
    assert!(health.has(Code::Paused) && health.has(Code::JournalStalled));
}

#[test]
fn no_validators_and_no_guarantors_are_told_apart() {
    let (level, code, text) = only(|facts| {
        facts.validators = Validators { connected: 0, of: 6, cores: 2, unreached: 2 };
    });
    assert_eq!((level, code), (Level::Unready, Code::NoValidators));
    assert!(text.starts_with("None of 6 validators is connected"), "{text}");
    let (level, code, text) = only(|facts| {
        facts.validators = Validators { connected: 1, of: 6, cores: 2, unreached: 2 };
    });
    assert_eq!((level, code), (Level::Unready, Code::NoGuarantors));
    assert!(text.contains("any of the 2 cores"), "{text}");
    let (level, code, text) = only(|facts| {
        facts.validators = Validators { connected: 3, of: 6, cores: 2, unreached: 1 };
    });
    assert_eq!((level, code), (Level::Degraded, Code::FewGuarantors));
    assert!(text.contains("no guarantor of 1 of 2 cores"), "{text}");
    // A validator less does not matter while each core has a guarantor.
    assert_eq!(with(|facts| facts.validators.connected = 5).level(), Level::Ok);
}

#[test]
fn an_old_best_block_is_told_and_so_is_none_at_all() {
    let (level, code, text) = only(|facts| facts.now = facts.now + SLOT * SILENT_SLOTS_MAX);
    assert_eq!((level, code), (Level::Unready, Code::JamSilent));
    assert_eq!(text, "No block of JAM has arrived for 9 slots.");
    assert_eq!(with(|facts| facts.now = facts.now + SLOT * (SILENT_SLOTS_MAX - 1)).level(), Level::Ok);
    for none in [None, Some(0)] {
        let (_, code, text) = only(|facts| facts.jam.best_slot = none);
        assert_eq!((code, &*text), (Code::JamSilent, "No block of JAM has arrived since the start."));
    }
    let (level, code, _) = only(|facts| facts.jam.catching_up = true);
    assert_eq!((level, code), (Level::Unready, Code::CatchingUp));
}

#[test]
fn a_clock_that_is_not_followed_is_a_reason() {
    let (level, code, text) = only(|facts| facts.standing = Standing::Holding { wall_ahead_ms: 3_600_000 });
    assert_eq!((level, code), (Level::Degraded, Code::ClockJumped));
    assert!(text.starts_with("The machine's clock jumped to 3600 s ahead;"), "{text}");
    let (_, code, text) = only(|facts| facts.standing = Standing::Validators { wall_ahead_ms: -3_600_000 });
    assert_eq!(code, Code::ClockWrong);
    assert!(
        text.starts_with("The machine's clock is 3600 s behind, and blocks of more than a third"),
        "{text}"
    );
}

#[test]
fn finality_may_lag_a_little() {
    assert_eq!(with(|facts| facts.jam.finality_lag_blocks = 11).level(), Level::Ok);
    let (level, code, text) = only(|facts| facts.jam.finality_lag_blocks = 12);
    assert_eq!((level, code), (Level::Degraded, Code::FinalityLags));
    assert_eq!(text, "Finality is 12 blocks behind the best block.");
}

#[test]
fn abandoned_blocks_stop_sealing_and_the_lowest_one_is_named() {
    let (level, code, text) = only(|facts| {
        facts.queue.abandoned = Some(Abandoned { from: 7, blocks: 16 });
        // A full queue follows from it.
        (facts.queue.waiting, facts.queue.newest_at) = (16, Some(ago(25)));
    });
    assert_eq!((level, code), (Level::Unready, Code::BlocksAbandoned));
    assert!(text.starts_with("Block 7 was abandoned together with 15 that stand on it"), "{text}");
    let (_, _, text) = only(|facts| facts.queue.abandoned = Some(Abandoned { from: 7, blocks: 1 }));
    assert!(text.starts_with("Block 7 was abandoned, and no block is sealed"), "{text}");
}

#[test]
fn a_pause_is_the_operators_wish_and_leaves_the_node_ready() {
    let (level, code, _) = only(|facts| facts.paused = true);
    assert_eq!((level, code), (Level::Degraded, Code::Paused));
}

#[test]
fn what_must_never_happen_is_told() {
    let head = BlockId::new(9, [9; 32].into());
    let (level, code, text) = only(|facts| facts.foreign_head = Some(head));
    assert_eq!((level, code), (Level::Unready, Code::ForeignHead));
    assert!(text.contains(&head.to_string()), "{text}");
    let (level, code, text) = only(|facts| facts.executed_twice = 2);
    assert_eq!(
        (level, code, &*text),
        (Level::Unready, Code::ExecutedTwice, "2 transactions became final twice.")
    );
    assert_eq!(only(|facts| facts.service_differs = true).1, Code::ServiceDiffers);
    assert_eq!(only(|facts| facts.service_unreadable = true).1, Code::ServiceUnreadable);
}

#[test]
fn a_missed_window_is_held_against_the_node_for_ten_slots_if_it_could_have_sent() {
    let (level, code, text) = only(|facts| facts.missed_at = Some(ago(10)));
    assert_eq!((level, code), (Level::Unready, Code::WindowMissed));
    assert!(text.starts_with("A submission window was missed 10 slots ago"), "{text}");
    let (_, _, text) = only(|facts| facts.missed_at = Some(ago(1)));
    assert!(text.starts_with("A submission window was missed 1 slot ago"), "{text}");
    assert_eq!(with(|facts| facts.missed_at = Some(ago(11))).level(), Level::Ok);
    // Without a validator there was nothing to be late for.
    let (_, code, _) = only(|facts| {
        facts.missed_at = Some(ago(1));
        facts.validators.connected = 0;
    });
    assert_eq!(code, Code::NoValidators);
}

#[test]
fn a_queue_is_full_once_it_has_taken_no_block_for_long() {
    let full = |facts: &mut Facts| {
        (facts.queue.is_full, facts.queue.newest_at) = (true, Some(ago(21)));
    };
    let (level, code, text) = only(full);
    assert_eq!((level, code), (Level::Degraded, Code::QueueFull));
    assert!(text.starts_with("4 blocks of 8 MB wait"), "{text}");
    let recently = |facts: &mut Facts| {
        full(facts);
        facts.queue.newest_at = Some(ago(20));
    };
    assert_eq!(with(recently).level(), Level::Ok, "a moment ago there was room");
    let idle = |facts: &mut Facts| facts.queue.newest_at = Some(ago(21));
    assert_eq!(with(idle).level(), Level::Ok, "there is room and nothing to seal");
}

#[test]
fn a_bundle_is_stuck_after_thirty_slots_unless_nothing_is_submitted_at_all() {
    let stuck = |slots| move |facts: &mut Facts| facts.queue.oldest = Some((7, ago(slots)));
    let (level, code, text) = only(stuck(31));
    assert_eq!((level, code), (Level::Degraded, Code::BundleStuck));
    assert_eq!(text, "Block 7 is not final 31 slots after it was sealed.");
    assert_eq!(with(stuck(30)).level(), Level::Ok);
    let dry = with(|facts| {
        stuck(31)(facts);
        (facts.queue.waiting, facts.queue.newest_at) = (12, Some(ago(31)));
        facts.dry_run = true;
    });
    assert_eq!(dry.level(), Level::Ok);
}

#[test]
fn managed_accounts_with_a_problem_are_told() {
    let (level, code, _) = only(|facts| facts.accounts.degraded = 2);
    assert_eq!((level, code), (Level::Degraded, Code::SenderDegraded));
    let (level, code, text) = only(|facts| facts.accounts.stuck = 3);
    assert_eq!((level, code), (Level::Degraded, Code::SenderStuck));
    assert!(text.contains("of 3 managed accounts"), "{text}");
    let (_, code, text) = only(|facts| facts.accounts.store_error = Some("no answer".to_owned()));
    assert_eq!(code, Code::SenderStore);
    assert!(text.ends_with("no answer."), "{text}");
}

#[test]
fn the_gravest_reason_comes_first_and_decides() {
    let health = with(|facts| {
        facts.paused = true;
        facts.jam.finality_lag_blocks = 20;
        facts.validators = Validators { connected: 0, of: 6, cores: 2, unreached: 2 };
    });
    let codes = health.reasons.iter().map(|reason| reason.code).collect::<Vec<_>>();
    assert_eq!(codes, [Code::NoValidators, Code::FinalityLags, Code::Paused]);
    assert_eq!((health.level(), health.is_ready()), (Level::Unready, false));
    let shown = health.to_json();
    assert_eq!(shown["level"], "unready");
    assert_eq!(shown["reasons"][2]["code"], "paused");
    assert_eq!(shown["reasons"][2]["action"], Code::Paused.action());
}
