#!/bin/sh
# The guest's compiler, as cargo calls it: Debian's rustc out of $PECTIN_PVM_ROOT, made to forget where it works.
#
# Two builds of the same sources in different directories must be the same blob. Paths in the output are mapped to names. What tells
# crates apart (`-C metadata`) is made by cargo from the path, for crates that come from one; names and versions do as well here.
set -eu
LD_LIBRARY_PATH=$PECTIN_PVM_ROOT/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH
local=
case ${CARGO_MANIFEST_DIR:-} in "$PECTIN_SOURCES"*) local=1 ;; esac
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  count=$((count - 1))
  case $argument in
    metadata=*) if [ -n "$local" ]; then argument=metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION; fi ;;
  esac
  set -- "$@" "$argument"
done
case " $* " in
  *" --crate-name "*)
    set -- "$@" "--remap-path-prefix=$PECTIN_SOURCES=pectin" "--remap-path-prefix=$PECTIN_REGISTRY=registry" \
      "--remap-path-prefix=$PECTIN_PVM_ROOT=rust" "--remap-path-prefix=$CARGO_TARGET_DIR=target"
    ;;
esac
exec "$PECTIN_PVM_ROOT/usr/bin/rustc" "$@"
