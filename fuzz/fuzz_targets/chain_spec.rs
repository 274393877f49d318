#![no_main]

fuzz::target!("chain_spec");
