#!/usr/bin/env bash
# The whole check: set-up, format, lints, tests, judges. `just pr`, CI and the README call this and nothing else.
# Needs a Rust toolchain and the package registries; what else it needs it installs. Quick when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

say "set-up"
command -v cargo >/dev/null || { echo "A Rust toolchain is needed: cargo is not on the PATH." >&2; exit 2; }
if ! command -v cc >/dev/null; then
  echo "installing a C compiler (libsecp256k1 and others are built from C)"
  (apt-get update -qq && apt-get install -y -qq gcc libc6-dev) >"$log/apt" 2>&1 || { cat "$log/apt" >&2; exit 2; }
fi
if ! command -v redis-server >/dev/null; then
  echo "installing redis-server (one of the sender's stores is tested against a real one)"
  (apt-get update -qq && apt-get install -y -qq redis-server) >"$log/apt" 2>&1 \
    || echo "not installed; what needs it is skipped and counted"
fi
if ! ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1; then
  echo "installing libfaketime (the judge kill sets the node's wall clock wrong)"
  (apt-get update -qq && apt-get install -y -qq libfaketime) >"$log/apt" 2>&1 \
    || echo "not installed; kill says that it leaves these faults out"
fi
if ! command -v chromium >/dev/null; then
  echo "installing chromium (the operator's page is tested in a real browser)"
  (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) >"$log/apt" 2>&1 \
    || echo "not installed; what needs it is skipped and counted"
fi
if ! command -v npm >/dev/null || ! python3 -m venv --help >/dev/null 2>&1; then
  echo "installing npm and Python's venv (real clients are tested against the node)"
  (apt-get update -qq && apt-get install -y -qq npm python3-venv) >"$log/apt" 2>&1 \
    || echo "not installed; what needs it is skipped and counted"
fi
if [ -n "${PECTIN_FIXTURES:-}" ]; then
  echo "fixtures: $PECTIN_FIXTURES"
else
  echo "fixtures: none (PECTIN_FIXTURES is not set; what needs them is skipped and counted)"
fi

say "format and lints"
if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check; else echo "skipped: no rustfmt"; fi
if cargo clippy --version >/dev/null 2>&1; then
  cargo clippy --workspace --all-targets --locked -- -D warnings
else
  echo "skipped: no clippy"
fi
# What may run inside a constrained virtual machine one day is checked for one that has no operating system.
bare=riscv64imac-unknown-none-elf
if rustup target add "$bare" >"$log/bare" 2>&1; then
  cargo check -p state --no-default-features --locked --target "$bare"
else
  echo "no $bare here: without the standard library, but for this system"
  cargo check -p state --no-default-features --locked
fi
if cargo deny --version >/dev/null 2>&1; then cargo deny check bans licenses sources; else echo "skipped: no cargo-deny"; fi
# The fuzz targets are no part of the workspace; that they can be built is checked where libFuzzer can.
if command -v c++ >/dev/null; then
  if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check --manifest-path fuzz/Cargo.toml; fi
  cargo check --quiet --locked --manifest-path fuzz/Cargo.toml
else
  echo "skipped: no C++ compiler for the fuzz targets"
fi

say "tests"
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --workspace --locked --no-fail-fast --success-output final 2>&1 | tee "$log/tests" \
    | grep -E '^ +(FAIL|SLOW|Summary|SIGABRT|TIMEOUT|TRY)|^ *client [a-z0-9]+: |^error|panicked' || { cat "$log/tests"; exit 1; }
  cargo test --workspace --locked --doc --quiet
  passed=$(grep -E '^ +Summary' "$log/tests" | grep -oE '[0-9]+ passed' | tail -n 1)
else
  cargo test --workspace --locked -- --nocapture 2>&1 | tee "$log/tests"
  passed=$(grep -E '^test result' "$log/tests" | grep -oE '[0-9]+ passed' | awk '{n += $1} END {print n + 0 " passed"}')
fi
skipped=$(grep -cE '^ *skipped: ' "$log/tests" || true)

# The judges run optimised. They are built together, so that nothing is built twice.
say "judges"
cargo build --profile judge --locked --quiet --workspace --bins
judge() {
  local name=$1
  shift
  if [ "${1:-}" = -- ]; then shift; fi
  "${CARGO_TARGET_DIR:-target}/judge/$name" "$@"
}
if [ -n "${PECTIN_FIXTURES:-}" ]; then
  judge vectors -- "$PECTIN_FIXTURES/vectors"
  judge rpc-compat
  judge rpc-compat -- --dev | tail -n 1
fi
judge sim -- --seeds "${PECTIN_SIM_SEEDS:-5000}"
judge validator -- idle 20
judge validator -- straight 200000 300
judge validator -- straight 11900000 6000
judge sim -- --crashes
# A simulator that cannot fail is worth nothing: each known mistake must be found.
for bug in $(judge sim -- --list-bugs); do
  judge sim -- --seeds 1000 --bug "$bug" >"$log/bug" 2>&1 || { cat "$log/bug"; echo "the mistake $bug was not found"; exit 1; }
  echo "found $bug: $(grep -E '^seed' "$log/bug" | head -n 1 | cut -c1-120)"
done
judge kill -- --kills 25

judge sender-sim -- --seeds "${PECTIN_SIM_SEEDS:-5000}"
for bug in $(judge sender-sim -- --list-bugs); do
  judge sender-sim -- --seeds 1000 --bug "$bug" >"$log/bug" 2>&1 || { cat "$log/bug"; echo "the mistake $bug was not found"; exit 1; }
  echo "found $bug: $(grep -E '^seed' "$log/bug" | head -n 1 | cut -c1-120)"
done
judge sender-store -- bench
judge abuse -- --bodies "${PECTIN_ABUSE_BODIES:-1000000}"
judge sender-e2e -- --target pectin
judge sender-e2e -- --target anvil

say "done"
echo "$passed, 0 failed, $skipped skipped"
