//! The queue on a real follower and a real service, in virtual time. Nothing here sleeps; after every input the
//! indexes are compared with the bundles, the journal with the queue, and the states with a full recomputation.

mod abandon;
mod chain_view;
mod code;
mod flow;
mod harness;
mod limits;
mod requeue;
mod restore;
mod runs;
mod slow;
mod table;
mod walk;
