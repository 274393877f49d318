#![no_main]

fuzz::target!("bundle_refine");
