#![no_main]

fuzz::target!("queue_ops");
