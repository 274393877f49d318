//! The network protocol over loopback: between processes, against hostile peers, and against a node that somebody
//! else wrote.

mod process;
mod two_processes;
