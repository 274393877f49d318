#![no_main]

fuzz::target!("signatures");
