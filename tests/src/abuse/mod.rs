//! Whatever clients do, the node goes on: it neither panics nor runs out of memory, and honest clients are served.
//!
//! ```text
//!   abusers (one thread, low priority) ──▶ pectin dev (a process) ◀── honest clients (three threads)
//!   quiet ▶ bodies ▶ giants ▶ slow ▶ websockets ▶ subscriptions ▶ calls ▶ traces ▶ logs ▶ filters ▶ quiet again
//! ```
//!
//! One honest client asks for the newest block's number every few milliseconds, on a connection that stays; another one
//! comes anew each time. How long they wait is compared with how long they wait when nobody else is there. A third one makes
//! calls (`eth_call`); calls run at a low priority, so that it may wait longer, but it must be served. Abusers have a lower
//! priority, since they would not run on the node's machine: the node's own fairness is what is judged, not that of the
//! scheduler between it and the judge.

mod bodies;
mod connection;
mod floods;
mod giants;
mod happening;
mod honest;
mod node;
mod sockets;
mod verdict;

pub use verdict::{Kind, Verdict};

use bodies::Bodies;
use connection::Tally;
use honest::Honest;
use node::Node;
use std::{future::Future, time::Duration};

/// How much abuse.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Random or mutated bodies.
    pub bodies: u64,
    /// Where they come from.
    pub seed: u64,
    /// How long each of the other kinds lasts.
    pub each: Duration,
}

/// How long honest clients are measured alone, before and after.
const QUIET: Duration = Duration::from_secs(8);

/// Runs all kinds of abuse against a node of its own.
pub fn run(options: &Options) -> Result<Verdict, String> {
    let mut node = Node::start()?;
    let honest = Honest::start(node.address);
    let mut verdict = Verdict { start_kib: node.resident_kib()?, ..Verdict::default() };
    let mut phase = |name: &'static str, abuse: &mut dyn FnMut() -> Tally| -> Result<(), String> {
        honest.forget();
        let tally = abuse();
        let kind = Kind { name, tally, served: honest.take(), resident_kib: node.resident_kib()? };
        println!("{kind}");
        verdict.kinds.push(kind);
        Ok(())
    };
    let address = node.address;
    let target = node.target.clone();
    phase("quiet", &mut || {
        std::thread::sleep(QUIET);
        Tally::default()
    })?;
    phase("bodies", &mut || abused(|| Bodies::new(options.seed).send(address, options.bodies)))?;
    phase("giants", &mut || abused(|| giants::send(address, options.each)))?;
    phase("slow", &mut || abused(|| giants::dawdle(address, &target, options.each)))?;
    phase("websockets", &mut || abused(|| sockets::storm(address, options.each)))?;
    phase("subscriptions", &mut || abused(|| sockets::subscribe(address, &target, options.each)))?;
    phase("calls", &mut || abused(|| floods::calls(address, &target, options.each)))?;
    phase("traces", &mut || abused(|| floods::traces(address, options.each)))?;
    phase("logs", &mut || abused(|| floods::logs(address, options.each)))?;
    phase("filters", &mut || abused(|| floods::filters(address, &target, options.each)))?;
    phase("quiet again", &mut || {
        std::thread::sleep(QUIET);
        Tally::default()
    })?;
    drop(honest);
    verdict.peak_kib = node.peak_kib()?;
    verdict.end_kib = node.resident_kib()?;
    verdict.bodies = options.bodies;
    (verdict.panics, verdict.faults) = node.stop()?;
    Ok(verdict)
}

/// The priority of abusers, as `nice` counts it: a third of what others get who want it too.
const NICENESS: i32 = 5;

/// Runs abusers on a thread of their own, at a low priority.
fn abused<F: Future<Output = Tally>>(abuse: impl FnOnce() -> F + Send) -> Tally {
    let run = || {
        // On Linux a thread has a priority of its own; elsewhere the abusers are as important as anybody.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime needs nothing that is not there").block_on(abuse())
    };
    std::thread::scope(|scope| scope.spawn(run).join().expect("the abusers do not panic"))
}
