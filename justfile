# What CI runs, the same script.
pr:
    bash scripts/test.sh

# Before each commit: format, lints, tests without processes, a few seeds.
quick:
    bash scripts/quick.sh

# Criterion, in detail.
bench *ARGS:
    cargo bench -p benches {{ARGS}}

# The judge programs, on the fixtures if they are there.
vectors DIR:
    cargo run --release -p tests --bin vectors -- {{DIR}}

ratios *ARGS:
    cargo run --profile dist -p tests --bin ratios -- {{ARGS}}

sim *ARGS:
    cargo run --release -p tests --bin sim -- {{ARGS}}

rpc-compat *ARGS:
    cargo run --release -p tests --bin rpc-compat -- {{ARGS}}

sender-sim *ARGS:
    cargo run --release -p tests --bin sender-sim -- {{ARGS}}

sender-store *ARGS:
    cargo run --release -p tests --bin sender-store -- {{ARGS}}

# What ships: target/dist/pectin.
dist:
    cargo build --profile dist --locked -p node --bin pectin

# The product, killed again and again. It is built if need be.
kill *ARGS:
    cargo run --release -p tests --bin kill -- {{ARGS}}

# Lets libFuzzer look for bytes that break a promise of a target; see fuzz/README.md.
fuzz TARGET SECONDS="0":
    mkdir -p fuzz/corpus/{{TARGET}} fuzz/findings/{{TARGET}}
    RUSTC_BOOTSTRAP=1 cargo fuzz run -s none {{TARGET}} fuzz/corpus/{{TARGET}} fuzz/seeds/{{TARGET}} fuzz/findings/{{TARGET}} -- -max_total_time={{SECONDS}} -rss_limit_mb=2048 -timeout=20
# The pictures in docs/screenshots, taken of a real node in headless Chromium.
screenshots:
    cargo test -p tests --test it -- --ignored browser::screenshots
