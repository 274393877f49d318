#!/usr/bin/env bash
# The whole check: set-up, format, lints, tests, judges. `just pr`, CI and the README call this and nothing else.
# Needs a Rust toolchain and the package registries; what else it needs it installs. Quick when all is there.
#
#   set-up ▶ lints ▶ build of the tests │ build of the product ▶ tests │ build of the judges ▶ judges, in two lanes ▶ table
#
# Each profile is built once: the tests as `dev`, the judges as `release`, the product as `dist`. Tests and judges that run a
# node run that product, which is what ships.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lanes.sh

mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
export target CARGO_TARGET_DIR="$target"
export PECTIN_BINARY="$target/product/dist/pectin"

# install WHAT-FOR PACKAGE…: from Debian's packages, if that can be done.
install() {
  local why=$1
  shift
  echo "installing $* ($why)"
  (apt-get update -qq && apt-get install -y -qq "$@") >"$log/apt" 2>&1
}

set_up() {
  local missing="not installed; what needs it is skipped and counted"
  command -v cargo >/dev/null || { echo "A Rust toolchain is needed: cargo is not on the PATH." >&2; exit 2; }
  if ! command -v cc >/dev/null; then
    install "libsecp256k1 and others are built from C" gcc libc6-dev || { cat "$log/apt" >&2; exit 2; }
  fi
  if ! command -v redis-server >/dev/null; then
    install "one of the sender's stores is tested against a real one" redis-server || echo "$missing"
  fi
  if ! ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1; then
    install "the judge kill sets the node's wall clock wrong" libfaketime \
      || echo "not installed; kill says that it leaves these faults out"
  fi
  if ! command -v chromium >/dev/null; then
    install "the operator's page is tested in a real browser" --no-install-recommends chromium || echo "$missing"
  fi
  if ! command -v npm >/dev/null || ! python3 -m venv --help >/dev/null 2>&1; then
    install "real clients are tested against the node" npm python3-venv || echo "$missing"
  fi
  if [ -n "${PECTIN_FIXTURES:-}" ]; then
    echo "fixtures: $PECTIN_FIXTURES"
  else
    echo "fixtures: none (PECTIN_FIXTURES is not set; what needs them is skipped and counted)"
  fi
}

lints() {
  if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check; else echo "skipped: no rustfmt"; fi
  if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy --workspace --all-targets --locked -- -D warnings
  else
    echo "skipped: no clippy"
  fi
  # What becomes code for JAM's virtual machine is checked for a machine that has no operating system.
  local bare=riscv64imac-unknown-none-elf
  if rustup target add "$bare" >"$log/bare" 2>&1; then
    cargo check -p state --no-default-features --locked --target "$bare"
    cargo check -p service --no-default-features --locked --target "$bare"
  else
    echo "no $bare here: without the standard library, but for this system"
    cargo check -p state --no-default-features --locked
    cargo check -p service --no-default-features --locked
  fi
  if cargo deny --version >/dev/null 2>&1; then
    cargo deny check bans licenses sources
  else
    echo "skipped: no cargo-deny"
  fi
  # The fuzz targets are no part of the workspace; that they can be built is checked where libFuzzer can.
  if command -v c++ >/dev/null; then
    if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check --manifest-path fuzz/Cargo.toml; fi
    cargo check --quiet --locked --manifest-path fuzz/Cargo.toml
  else
    echo "skipped: no C++ compiler for the fuzz targets"
  fi
}

has_nextest() { cargo nextest --version >/dev/null 2>&1; }

build_tests() {
  if has_nextest; then
    cargo nextest run --workspace --locked --no-run
  else
    cargo test --workspace --locked --no-run --quiet
  fi
}

build_product() { cargo build --profile dist --locked --quiet -p node --bin pectin --target-dir "$target/product"; }

# The committed program of the service is what its sources compile to.
guest() { scripts/guest.sh --check; }

# Beside tests that keep to a clock, which come first.
build_judges() {
  give_way
  cargo build --release --locked --quiet -p tests --bins
}

tests() {
  if has_nextest; then
    cargo nextest run --workspace --locked --no-fail-fast --success-output final >"$log/tests" 2>&1 \
      || { cat "$log/tests"; exit 1; }
    grep -E '^ +(SLOW|Summary)|^ *client [a-z0-9]+: ' "$log/tests"
    cargo test --workspace --locked --doc --quiet
  else
    cargo test --workspace --locked -- --nocapture >"$log/tests" 2>&1 || { cat "$log/tests"; exit 1; }
  fi
}

# judge NAME ARGUMENT…: one of the judges; its time is a line of the table.
judge() {
  local name=$1 begin=$EPOCHSECONDS
  shift
  # shellcheck disable=SC2086  # the words of the tether
  $tether "$target/release/$name" "$@"
  took "  $name ${1:-}" $((EPOCHSECONDS - begin))
}

# A simulator that cannot fail is worth nothing: each planted bug must be found.
finds_bugs() {
  local name=$1 begin=$EPOCHSECONDS bug
  for bug in $("$target/release/$name" --list-bugs); do
    # shellcheck disable=SC2086  # the words of the tether
    $tether "$target/release/$name" --seeds 1000 --bug "$bug" >"$log/bug $name" 2>&1 \
      || { cat "$log/bug $name"; echo "$name did not find the bug $bug"; exit 1; }
    echo "found $bug: $(grep -E '^seed' "$log/bug $name" | head -n 1 | cut -c1-120)"
  done
  took "  $name --bug" $((EPOCHSECONDS - begin))
}

# Judges that compute: they take all processors, and give way to those that keep to a clock.
computing() {
  give_way
  if [ -n "${PECTIN_FIXTURES:-}" ]; then judge vectors "$PECTIN_FIXTURES/vectors"; fi
  judge sim --seeds "${PECTIN_SIM_SEEDS:-5000}"
  judge sim --crashes
  finds_bugs sim
  judge sender-sim --seeds "${PECTIN_SIM_SEEDS:-5000}"
  finds_bugs sender-sim
}

# Judges that run nodes or validators, and wait for them most of the time.
running() {
  judge kill --kills 25
  judge sender-e2e --target pectin
  judge sender-e2e --target anvil
  judge validator idle 20
  judge validator straight 200000 300
  judge validator straight 11900000 6000
  if [ -n "${PECTIN_FIXTURES:-}" ]; then
    judge rpc-compat
    judge rpc-compat --dev | tail -n 1
  fi
  judge sender-store bench
  judge abuse --bodies "${PECTIN_ABUSE_BODIES:-1000000}"
}
export -f guest has_nextest build_tests build_product build_judges tests judge finds_bugs computing running

phase "set-up" set_up
phase "words" bash scripts/words.sh
phase "lints" lints
phase "authorizers" bash scripts/authorizers.sh --check
phase "guest" guest
lane "build of the tests" build_tests
lane "build of the product" build_product
join
lane "tests" tests
lane "build of the judges" build_judges
join
lane "judges that compute" computing
lane "judges that run nodes" running
join

if grep -qE '^ +Summary' "$log/tests"; then
  passed=$(grep -E '^ +Summary' "$log/tests" | grep -oE '[0-9]+ passed' | tail -n 1)
else
  passed=$(grep -E '^test result' "$log/tests" | grep -oE '[0-9]+ passed' | awk '{n += $1} END {print n + 0 " passed"}')
fi
skipped=$(grep -cE '^ *skipped: ' "$log/tests" || true)
say "done"
seconds
echo "$passed, 0 failed, $skipped skipped"
