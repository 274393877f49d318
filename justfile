# What CI runs, the same script.
pr:
    bash scripts/test.sh

# Criterion, in detail.
bench *ARGS:
    cargo bench -p benches {{ARGS}}

# The judge programs, on the fixtures if they are there.
vectors DIR:
    cargo run --release -p tests --bin vectors -- {{DIR}}

ratios *ARGS:
    cargo run --release -p tests --bin ratios -- {{ARGS}}

sim *ARGS:
    cargo run --release -p tests --bin sim -- {{ARGS}}

rpc-compat *ARGS:
    cargo run --release -p tests --bin rpc-compat -- {{ARGS}}

sender-sim *ARGS:
    cargo run --release -p tests --bin sender-sim -- {{ARGS}}

sender-store *ARGS:
    cargo run --release -p tests --bin sender-store -- {{ARGS}}

# The real node, killed again and again.
kill *ARGS:
    cargo build --release -p tests -p node --bins
    cargo run --release -p tests --bin kill -- {{ARGS}}

# The pictures in docs/screenshots, taken of a real node in headless Chromium.
screenshots:
    cargo test -p tests --test it -- --ignored browser::screenshots
