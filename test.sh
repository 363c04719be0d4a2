#!/usr/bin/env bash
# Everything that must pass before a change lands: style, the tests of all crates, the build without the compiler, and
# the official conformance suite on both engines. Installs what it needs from the package registries.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TERM_COLOR=never RUST_BACKTRACE=1

step() { printf '\n== %s\n' "$*"; }
has_valgrind() { command -v valgrind > /dev/null || { apt-get update -q && apt-get install -y -q valgrind; }; }

step style
cargo fmt --all --check
cargo clippy --workspace --exclude protojit-benches --all-targets -- -D warnings
cargo clippy -p protojit --no-default-features -- -D warnings

step documentation
RUSTDOCFLAGS='-D warnings' cargo doc --workspace --exclude protojit-benches --no-deps

step tests
cargo test --workspace --exclude protojit-benches

step 'tests of the plainest processor'
PROTOJIT_CPU=baseline cargo test -p protojit --test differential --test encode --test hostile

step 'tests of code that counts its slow exits'
PROTOJIT_INSTRUMENT=1 cargo test -p protojit --test differential --test encode

step 'instructions'
if has_valgrind; then
    cargo run --quiet --profile gate -p protojit-gate -- check
    cargo run --quiet --profile gate -p protojit-gate -- selftest
else
    echo 'NOT RUN: valgrind could not be installed'
fi

step 'the C ABI under valgrind'
if has_valgrind; then
    PROTOJIT_VALGRIND=1 cargo test --workspace --exclude protojit-benches --test header
else
    echo 'NOT RUN: valgrind could not be installed; the C program itself ran with the other tests'
fi

step 'the LuaJIT binding'
if command -v luajit > /dev/null || { apt-get update -q && apt-get install -y -q luajit; }; then
    cargo build -p protojit-capi
    export PROTOJIT_LIBRARY=$PWD/target/debug/libprotojit_c.so
    luajit lua/tests/run.lua
    luajit -joff lua/tests/run.lua
    luajit -Ohotloop=2 -Ohotexit=1 lua/tests/run.lua
    luajit lua/bench.lua 0
else
    echo 'NOT RUN: luajit could not be installed'
    exit 1
fi

step 'tests without the compiler'
cargo test -p protojit --no-default-features
if cargo tree -p protojit --no-default-features -e normal,build --prefix none | grep -i cranelift; then
    echo 'Cranelift is in the tree of protojit without its default features'
    exit 1
fi

step conformance
conformance/run.sh interp
conformance/run.sh jit

step 'trace stability, with the messages of the conformance suite'
PROTOJIT_CONFORMANCE=required cargo test -p protojit --test trace_stability

step 'arm64, under emulation'
if [ "$(uname -m)" = x86_64 ] && command -v apt-get > /dev/null && arm64/run.sh install; then
    arm64/run.sh quick
else
    echo 'NOT RUN: the emulator and a compiler for arm64 could not be installed'
fi
