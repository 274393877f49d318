//! Against other libraries.

extern crate std;

mod curves;
mod p256;
