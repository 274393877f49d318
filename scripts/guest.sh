#!/usr/bin/env bash
# The service's program for JAM's virtual machine: `service/pectin.jam`, compiled from `guest/`.
#
#   scripts/guest.sh            rebuilds the committed blob and the file that says its hash and compiler
#   scripts/guest.sh --check    rebuilds it from a copy of the sources in another directory, and compares byte for byte
#
# A user of Pectin needs none of this: the blob is committed. The compiler is Debian's (rustc-web, which comes with the library's
# sources): its packages are unpacked below the cache directory, and nothing is installed. Where there are no such packages
# this says "skipped"; on Debian a check that cannot be made is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export PECTIN_SOURCES=$PWD
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pectin-pvm
export PECTIN_PVM_ROOT=$cache/root
blob=service/pectin.jam
packages=(rustc-web libstd-rust-web-1.96 libstd-rust-web-dev rust-web-src libllvm22 lld-22)
# What a blob is made of, besides the compiler.
sources=(guest service state jam types ecrecover signatures precompiles blake2b Cargo.toml pure.clippy.toml)

on_debian() { [ -e /etc/debian_version ] && command -v apt-get >/dev/null; }

# The compiler, unpacked.
toolchain() {
  if [ -x "$PECTIN_PVM_ROOT/usr/bin/rustc" ] && [ -x "$PECTIN_PVM_ROOT/usr/lib/llvm-22/bin/lld" ]; then return; fi
  mkdir -p "$cache/debs" "$PECTIN_PVM_ROOT"
  (
    cd "$cache/debs"
    apt-get update -qq && apt-get download -qq "${packages[@]}"
    for package in *.deb; do dpkg -x "$package" "$PECTIN_PVM_ROOT"; done
  ) >"$cache/log" 2>&1
}

compiler() { LD_LIBRARY_PATH=$PECTIN_PVM_ROOT/usr/lib/x86_64-linux-gnu "$PECTIN_PVM_ROOT/usr/bin/rustc" --version; }

# build OUT: the blob of the sources in $PECTIN_SOURCES; prints its hash.
build() {
  local version registry target
  version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
  registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
  cargo fetch --quiet --locked --manifest-path "$PECTIN_SOURCES/guest/Cargo.toml"
  target=$(find "$registry" -path '*/polkavm-linker-0.30.0/targets/1_91/riscv64emac-unknown-none-polkavm.json' | head -n 1)
  # The checksum's directory between the registry and its crates differs with the way the registry is reached.
  PECTIN_REGISTRY=$(dirname "$(dirname "$(dirname "$(dirname "$target")")")")
  export PECTIN_REGISTRY
  (
    export CARGO_TARGET_DIR=$PECTIN_SOURCES/guest/target CARGO_INCREMENTAL=0 RUSTC_BOOTSTRAP=1
    export RUSTC=$PECTIN_SOURCES/guest/rustc.sh PATH=$PECTIN_SOURCES/guest:$PATH
    export CARGO_TARGET_RISCV64EMAC_UNKNOWN_NONE_POLKAVM_RUSTFLAGS="-Clinker=pectin-guest-ld -Clinker-flavor=gcc"
    unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS RUSTC_WRAPPER
    cd "$PECTIN_SOURCES/guest"
    cargo rustc --quiet --locked --release --lib --crate-type cdylib -p guest \
      -Zbuild-std=core,alloc -Zjson-target-spec --target "$target" >&2
  )
  CARGO_TARGET_DIR=$PECTIN_SOURCES/guest/target \
    cargo run --quiet --locked --manifest-path "$PECTIN_SOURCES/guest/Cargo.toml" -p guest-link -- \
    "$PECTIN_SOURCES/guest/target/riscv64emac-unknown-none-polkavm/release/guest.elf" "$version" "$1"
}

write() {
  local hash
  hash=$(build "$blob")
  cat >"$blob.toml" <<EOF
# The program in pectin.jam; \`scripts/guest.sh\` writes both, and \`scripts/guest.sh --check\` compares them with a rebuild.
hash = "$hash"
bytes = $(stat -c %s "$blob")
compiler = "$(compiler)"
EOF
  echo "guest: $blob, $(stat -c %s "$blob") bytes, $hash"
}

check() {
  local hash committed
  committed=$(sed -n 's/^hash = "\(.*\)"/\1/p' "$blob.toml")
  if ! grep -qF "\"$(compiler)\"" "$blob.toml"; then
    echo "guest: skipped, the committed blob is of another compiler than $(compiler)"
    on_debian && exit 1 || exit 0
  fi
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  tar -c --exclude=target --exclude=pectin.jam "${sources[@]}" | tar -x -C "$copy"
  cp "$blob" "$copy/service/"
  hash=$(PECTIN_SOURCES=$copy build "$copy/rebuilt.jam")
  if [ "$hash" != "$committed" ] || ! cmp "$blob" "$copy/rebuilt.jam"; then
    echo "guest: rebuilt, different ($hash, committed $committed); run scripts/guest.sh and commit the blob" >&2
    exit 1
  fi
  echo "guest: rebuilt, equal ($hash)"
}

if ! toolchain; then
  echo "guest: skipped, Debian's rustc-web cannot be had here ($cache/log)"
  on_debian && exit 1 || exit 0
fi
case ${1:-} in
  "") write ;;
  --check) check ;;
  *) echo "usage: scripts/guest.sh [--check]" >&2; exit 2 ;;
esac
