#![no_main]

fuzz::target!("journal");
