#![no_main]

fuzz::target!("raw_transaction");
