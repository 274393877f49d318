//! The binary as users meet it, and the driver inside it.

mod dev;
mod nonces;
mod refusals;
mod stop;
