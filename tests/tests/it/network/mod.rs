//! The network protocol over loopback: between processes, against hostile peers, and against a node that somebody
//! else wrote.

mod hostile;
mod process;
mod two_processes;
mod typeberry;
