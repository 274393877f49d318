#![no_main]

fuzz::target!("rpc");
