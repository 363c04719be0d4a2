#!/usr/bin/env bash
# The tests on arm64, under emulation, on a machine of another kind (Debian, x86-64). Installs from the package registries what it
# needs: a compiler with a standard library for arm64, a linker, the emulator.
#
#   arm64/run.sh               all tests of the library and both engines, and the conformance suite
#   arm64/run.sh quick         those that hold the engines against each other, and those that prove that compiled code runs
#   arm64/run.sh install       nothing but what the others need first
#   arm64/run.sh conformance   the official conformance suite on both engines
#
# QEMU_CPU=cortex-a57 and the like choose the emulated processor. What emulation does not show: a missing cache flush.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
if ! command -v qemu-aarch64 >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null || ! dpkg -s libstd-rust-web-dev:arm64 >/dev/null 2>&1; then
  run=()
  [ "$(id -u)" = 0 ] || run=(sudo)
  "${run[@]}" dpkg --add-architecture arm64
  "${run[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

target=AARCH64_UNKNOWN_LINUX_GNU
export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu CARGO_TARGET_DIR=target-aarch64
export "CARGO_TARGET_${target}_LINKER=aarch64-linux-gnu-gcc" "CARGO_TARGET_${target}_RUNNER=qemu-aarch64" PROTOJIT_TEST_RUNNER="$(command -v qemu-aarch64)"
# Another emulator's idea of where libraries are mixes two C libraries.
unset QEMU_LD_PREFIX

conformance() {
  cargo build --quiet -p protojit-conformance
  local testee=$PWD/target-aarch64/testee
  printf '#!/bin/sh\nexec qemu-aarch64 "%s" "$@"\n' "$PWD/target-aarch64/aarch64-unknown-linux-gnu/debug/protojit-conformance" >"$testee"
  chmod +x "$testee"
  for engine in interp jit; do
    # The runner itself is a program of this machine.
    env -u RUSTC -u RUSTDOC -u CARGO_BUILD_TARGET -u CARGO_TARGET_DIR conformance/run.sh "$engine" --testee "$testee"
  done
}

case ${1:-all} in
  install) ;;
  quick) cargo test -p protojit --test differential --test trace_stability ;;
  conformance) conformance ;;
  *)
    cargo test -p protojit-core -p protojit-interp -p protojit-jit -p protojit --lib --bins --tests
    conformance
    ;;
esac
