#![no_main]

fuzz::target!("hints");
