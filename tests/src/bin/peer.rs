//! `peer INDEX`: a validator for the network tests, in a process of its own.
//!
//! Prints `listening NAME ADDRESS`, then a line for whatever it is told. A line on its standard input makes it announce
//! its next block; when the input ends, so does it.

use harness::network::{Validator, World, config};
use network::{Announcement, Endpoint, Limits, Role};
use std::{
    error::Error,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let index = std::env::args().nth(1).and_then(|index| index.parse().ok());
    let Some(index) = index else { return Err("usage: peer INDEX".into()) };
    let (lines, told) = unbounded_channel();
    std::thread::spawn(move || print_all(told));
    let world = World::new();
    let genesis = world.genesis();
    let validator = Arc::new(Validator { world, height: AtomicUsize::new(10), lines: lines.clone() });
    let limits = Limits::default();
    let endpoint = Endpoint::bind(&config(index, Role::Node, genesis.hash, limits), validator.clone())?;
    lines.send(format!("listening {} {}", endpoint.key().certificate_name(), endpoint.local_addr()?))?;
    let mut orders = orders();
    while orders.recv().await.is_some() {
        let height = validator.height.fetch_add(1, Ordering::SeqCst);
        let header = validator.world.chain[height].header.clone();
        endpoint.announce(&Announcement { header, finalized: genesis });
    }
    endpoint.shutdown().await;
    Ok(())
}

fn print_all(mut lines: UnboundedReceiver<String>) {
    while let Some(line) = lines.blocking_recv() {
        println!("{line}");
        // A reader that is gone does not need it.
        let _ = std::io::stdout().flush();
    }
}

/// The lines of the standard input.
fn orders() -> UnboundedReceiver<()> {
    let (sender, orders) = unbounded_channel();
    std::thread::spawn(move || {
        for _ in std::io::stdin().lines().map_while(Result::ok) {
            if sender.send(()).is_err() {
                return;
            }
        }
    });
    orders
}
