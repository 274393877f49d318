//! The binary as users meet it.

mod dev;
mod refusals;
mod stop;
