//! A running network of validators over QUIC, and a builder with the real bundler and queue.

mod end_to_end;
