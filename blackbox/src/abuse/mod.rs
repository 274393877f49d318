//! Whatever clients do, the node goes on: it neither panics nor runs out of memory, and honest clients are served.
//!
//! ```text
//!   abusers (one thread, low priority) ──▶ pectin dev (a process) ◀── honest clients (three threads)
//!                                          pectin dev, the control ◀── honest clients (three threads)
//!   quiet ▶ bodies ▶ giants ▶ slow ▶ websockets ▶ subscriptions ▶ calls ▶ traces ▶ logs ▶ filters ▶ quiet again
//! ```
//!
//! One honest client asks for the newest block's number every few milliseconds, on a connection that stays; another one
//! comes anew each time. A third one makes calls (`eth_call`); calls run at a low priority, so that it may wait longer, but
//! it must be served. How long they wait is compared with how long the same clients wait at the same time for a second node
//! that is not abused, the control; and what the client and the node's serving threads waited for a processor meanwhile is
//! taken off ([`delays`]). So whatever else keeps the machine busy is no matter: what is judged is the node's own fairness,
//! how much it does for others first, and not that of the system's scheduler. For the same reason abusers have a lower
//! priority: they would not run on the node's machine. What cannot be seen in this way is that the node's own calls have a
//! lower priority than its other work: that is read from the system.

mod bodies;
mod connection;
mod delays;
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
use node::{Control, Node};
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

/// How long honest clients are measured without abuse, before and after.
const QUIET: Duration = Duration::from_secs(8);

/// Runs all kinds of abuse against a node of its own.
pub fn run(options: &Options) -> Result<Verdict, String> {
    let (mut node, control) = (Node::start()?, Control::start()?);
    let (honest, compared) = (Honest::start(node.place()), Honest::start(control.place()));
    let mut verdict = Verdict { start_kib: node.resident_kib()?, ..Verdict::default() };
    let mut phase = |name: &'static str, abuse: &mut dyn FnMut() -> Tally| -> Result<(), String> {
        honest.forget();
        compared.forget();
        let tally = abuse();
        let (served, control) = (honest.take(), compared.take());
        let kind = Kind { name, tally, served, control, resident_kib: node.resident_kib()? };
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
    drop((honest, compared, control));
    verdict.hurried = node.hurried_call_threads()?;
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
