//! The store with real blocks: what a restart finds, what a crash leaves, what is refused, and which logs are found.

mod crash;
mod flow;
mod history;
mod journal;
mod logs;
mod refusals;
mod script;
mod stories;
