#!/usr/bin/env bash
# Rebuilds the committed blobs of the authorizers, `devnet/authorizer-*.jam`.
#
#   scripts/authorizers.sh            rebuilds them and writes hashes and compiler into devnet/authorizers.toml
#   scripts/authorizers.sh --check    rebuilds them elsewhere and compares; "skipped" without the same compiler
#
# The compiler is Debian's rustc-web with its library sources, unpacked and not installed, as for the service's code.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
pvm_home=${PVM_HOME:-$HOME/.cache/pectin-pvm}
system=$pvm_home/root
work=${CARGO_TARGET_DIR:-$root/target}/authorizers

# The compiler and its linker, fetched where there is Debian's package manager.
toolchain() {
  [ -x "$system/usr/bin/rustc" ] && [ -x "$system/usr/lib/llvm-22/bin/lld" ] && return
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
  mkdir -p "$pvm_home/debs" "$system"
  (
    cd "$pvm_home/debs"
    apt-get update -qq
    apt-get download -qq rustc-web libstd-rust-web-1.96 libstd-rust-web-dev rust-web-src libllvm22 lld-22
    for package in *.deb; do dpkg -x "$package" "$system"; done
  ) >&2
}

compiler() { LD_LIBRARY_PATH=$system/usr/lib/x86_64-linux-gnu "$system/usr/bin/rustc" --version; }

# Debian's rustc calls a compiler driver for linking; lld is called with what the driver would have passed on.
linker() {
  mkdir -p "$work"
  cat >"$work/linker" <<LINKER
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do
  case \$argument in
    -Wl,-soname=* | -nostartfiles | -nodefaultlibs | -nostdlib | -m64) ;;
    -Wl,*) IFS=, read -ra parts <<<"\${argument#-Wl,}"; arguments+=("\${parts[@]}") ;;
    *) arguments+=("\$argument") ;;
  esac
done
exec "$system/usr/lib/llvm-22/bin/lld" -flavor gnu --emit-relocs --unique --apply-dynamic-relocs \\
  --no-allow-shlib-undefined -Bsymbolic "\${arguments[@]}"
LINKER
  chmod +x "$work/linker"
}

# build NAME OUT [cargo arguments]: one authorizer.
build() {
  local name=$1 out=$2 target
  shift 2
  target=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/src" -path '*/polkavm-linker-0.30.0/targets/1_91/riscv64emac-unknown-none-polkavm.json' | head -1)
  (
    cd guest/authorizer
    export LD_LIBRARY_PATH=$system/usr/lib/x86_64-linux-gnu RUSTC=$system/usr/bin/rustc RUSTC_BOOTSTRAP=1
    export CARGO_TARGET_DIR=$work/guest
    # Paths of this machine must not reach the blob.
    remap="--remap-path-prefix=$root=/pectin --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$system=/rustc"
    export CARGO_TARGET_RISCV64EMAC_UNKNOWN_NONE_POLKAVM_RUSTFLAGS="-Cpanic=abort -Clinker=$work/linker -Clinker-flavor=gcc $remap"
    cargo rustc --locked --quiet -p authorizer --lib --crate-type=cdylib --release -Zbuild-std=core -Zjson-target-spec --target "$target" "$@"
  )
  "$work/link/release/authorizer-link" "$work/guest/riscv64emac-unknown-none-polkavm/release/authorizer.elf" "pectin-authorizer-$name" "$out"
}

if ! toolchain; then
  echo "authorizers: skipped, no Debian compiler"
  exit 0
fi
linker
(cd guest/authorizer && CARGO_TARGET_DIR=$work/link cargo build --locked --quiet --release -p authorizer-link)
out=devnet
if [ "${1:-}" = --check ]; then
  out=$work/check
  mkdir -p "$out"
  if ! grep -qF "$(compiler)" devnet/authorizers.toml; then
    echo "authorizers: skipped, the compiler here is $(compiler)"
    exit 0
  fi
fi
null=$(build null "$out/authorizer-null.jam")
builder=$(build builder "$out/authorizer-builder.jam" --features builder)
if [ "${1:-}" = --check ]; then
  cmp "$out/authorizer-null.jam" devnet/authorizer-null.jam
  cmp "$out/authorizer-builder.jam" devnet/authorizer-builder.jam
  echo "authorizers: rebuilt, equal (${null%% *}, ${builder%% *})"
else
  cat >devnet/authorizers.toml <<INFO
# Written by scripts/authorizers.sh.
compiler = "$(compiler)"
null = "${null%% *}"
builder = "${builder%% *}"
INFO
  echo "authorizers: null ${null#* } bytes, builder ${builder#* } bytes"
fi
