//! Crashes at every storage operation: the real driver and the real store, on a disk that stops at the n-th operation.
//!
//! One scripted run has everything in it that is ever written: accepted transactions, replacements, sealed blocks,
//! submissions, guarantees, finality, folding, an abandoned block and its release. It is run once for each operation of
//! its disk, and dies there. Whatever is found afterwards must be the state before the interrupted commit or the one
//! after it, exactly as the run that never crashed had it; and then the run goes on, and everything accepted becomes
//! final once or ends with a reason.

mod jam_chain;
mod run;

pub use run::{Outcome, fresh, run};

use store::{Base, CodeTable, faults::Fault};

/// The driver of a node, over the real store.
pub type Driver = driver::Driver<driver::EvmBlocks<Base, CodeTable>>;

/// What came of all runs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Operations of the disk in a run without a crash.
    pub operations: u64,
    /// Runs that crashed and went on.
    pub crashes: u64,
    /// Transactions that were accepted in the run without a crash.
    pub accepted: usize,
    /// What was wrong: the operation, the fault, and a sentence.
    pub wrong: Vec<(u64, Fault, String)>,
}

/// Crashes at every `every`-th operation, in both ways in which a disk can stop.
///
/// `progress` hears how many operations were tried, of how many.
pub fn everywhere(every: u64, mut progress: impl FnMut(u64, u64)) -> Report {
    let twin = match run(None) {
        Ok(twin) => twin,
        Err(why) => {
            return Report {
                wrong: vec![(0, Fault::Error, format!("without a crash: {why}"))],
                ..Report::default()
            };
        }
    };
    let mut report = Report { operations: twin.operations, accepted: twin.accepted, ..Report::default() };
    // The file is made before the run begins; what happens then is the store's own business.
    progress(0, twin.operations);
    for operation in (twin.first_operation..twin.operations).step_by(every.max(1) as usize) {
        let fault = if operation.is_multiple_of(2) { Fault::Crash } else { Fault::Torn };
        match run(Some((operation, fault))) {
            Ok(outcome) => report.crashes += u64::from(outcome.crashed),
            Err(why) => report.wrong.push((operation, fault, why)),
        }
        progress(operation, twin.operations);
    }
    report
}
