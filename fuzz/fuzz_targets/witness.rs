#![no_main]

fuzz::target!("witness");
