#!/usr/bin/env bash
# Shows that run.sh tells a conformant testee from one that is not: it must pass as it
# is, and fail with each of several faults. Takes what run.sh takes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
output=$(mktemp)
trap 'rm -f "$output"' EXIT
bad=0

# check NAME STATUS PATTERN COUNT COMMAND...: the exit status, and how many lines match
check() {
    local name=$1 status=$2 pattern=$3 count=$4 got=0 lines
    shift 4
    "$@" >"$output" 2>&1 || got=$?
    lines=$(grep -cE "$pattern" "$output") || true
    if [ $got = "$status" ] && [ "$lines" = "$count" ]; then
        echo "ok    $name"
    else
        echo "WRONG $name: exit status $got, expected $status; $lines lines with $pattern, expected $count"
        head -n 20 "$output" | sed 's/^/      /'
        bad=1
    fi
}

run=("$here/run.sh" "$@")
check "as it is" 0 '(5567 of 5567|883 of 883) passed, 0 skipped, 0 failed$' 2 "${run[@]}"
# The faults count within one process, and each suite has its own.
check "one test of the first suite fails" 1 '^  FAILED   (Required|Recommended)\.' 1 "${run[@]}" -- --fault fail=1000
check "one test of each suite fails" 1 '^  FAILED   (Required|Recommended)\.' 2 "${run[@]}" -- --fault fail=500
check "one test of the first suite panics" 1 ' 1 failed$' 1 "${run[@]}" -- --fault panic=1000
check "one test of the first suite is skipped" 1 '^  SKIPPED  (Required|Recommended)\.' 1 "${run[@]}" -- --fault skip=1000
check "one test of each suite is skipped" 1 '^  SKIPPED  (Required|Recommended)\.' 2 "${run[@]}" -- --fault skip=500
check "all tests are skipped" 1 ': 0 of [0-9]+ passed, [0-9]+ skipped, 0 failed$' 2 "${run[@]}" -- --fault skip-all
check "the testee exits every 1000 tests" 1 'NOT conformant' 1 "${run[@]}" -- --fault exit=1000
check "there is no testee" 1 'NOT conformant' 1 "${run[@]}" --testee /nonexistent
exit $bad
