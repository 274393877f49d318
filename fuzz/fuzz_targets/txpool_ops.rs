#![no_main]

fuzz::target!("txpool_ops");
