#!/usr/bin/env bash
# Tests of the library built for musl (x86-64 Linux), on this machine. Needs rustup for musl's standard library.
#
#   musl/run.sh           those that hold the engines against each other, prove that compiled code runs, load and drop schemas
#   musl/run.sh ARG...    cargo test -p protojit with these arguments
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-musl
rustup target list --installed | grep -qx "$target" || rustup target add "$target"
if [ $# = 0 ]; then
  set -- --test differential --test encode --test trace_stability --test lifecycle --test sharing --test forbidden
fi
CARGO_TARGET_DIR=target-musl cargo test --target "$target" -p protojit "$@"
