#![no_main]

fuzz::target!("block_import");
