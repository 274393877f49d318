#![no_main]

fuzz::target!("codec");
