#!/usr/bin/env bash
# Before each commit: format, lints, tests that start no process, and a few seeds of the simulators. `just quick` calls this.
# The whole check is scripts/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lanes.sh

tests() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --locked --profile quick --status-level fail --final-status-level slow
  else
    cargo test --workspace --locked --lib --quiet
  fi
}

seeds() {
  cargo build --release --locked --quiet -p tests --bin sim --bin sender-sim
  for name in sim sender-sim; do
    "${CARGO_TARGET_DIR:-target}/release/$name" --seeds "${PECTIN_SIM_SEEDS:-300}"
  done
}

phase "words" bash scripts/words.sh
phase "format" cargo fmt --check
phase "lints" cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
phase "tests" tests
phase "seeds" seeds
say "done"
seconds
