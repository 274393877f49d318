#![no_main]

fuzz::target!("precompiles");
