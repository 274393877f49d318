#![no_main]

fuzz::target!("config_file");
