#!/usr/bin/env bash
# Runs the official conformance suite on protojit, and fails unless every test in it
# was run and passed.
#
#   run.sh ENGINE [--profile PROFILE] [--testee FILE] [--partial] [-- TESTEE-OPTION...]
#
#   ENGINE      jit or interp
#   --profile   the cargo profile that the testee is built with (default: dev)
#   --testee    take this program and build nothing
#   --partial   accept skipped tests, still no failed ones
#
# The runner prints PASSED when a testee skips everything, stops before the text suite
# when the binary and JSON suite fails, and leaves out tests it was not asked for. So
# its verdict is not taken: its counts are compared with the numbers below.
set -euo pipefail

expected_binary_json=5567
expected_text=883

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() { sed -n '2,/^set/{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2; }

engine='' profile=dev testee='' partial=
case ${1:-} in jit | interp) engine=$1; shift ;; *) usage ;; esac
while [ $# -gt 0 ]; do
    case $1 in
        --profile) profile=${2:?}; shift 2 ;;
        --testee) testee=${2:?}; shift 2 ;;
        --partial) partial=1; shift ;;
        --) shift; break ;;
        *) usage ;;
    esac
done

tools=$("$here/fetch.sh" | tail -n 1)
own=0
if [ -z "$testee" ]; then
    own=1
    target=$(cd "$here/.." && realpath -m "${CARGO_TARGET_DIR:-target}")
    (cd "$here/.." && cargo build --quiet --profile "$profile" -p protojit-conformance)
    case $profile in dev | test) profile=debug ;; bench) profile=release ;; esac
    testee=$target/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}$profile/protojit-conformance
fi

# ---- one start of the runner: both suites, or the first one if that fails
out=$tools/out/$engine
rm -rf "$out"
mkdir -p "$out"
: >"$out/none"

# suites FOLDER FAILURE-LIST [TESTEE-OPTION...]
suites() {
    local folder=$1 list=$2
    shift 2
    mkdir -p "$folder"
    # The runner writes its lists into that folder, a second suite over the first's.
    "$tools/bin/conformance_test_runner" --enforce_recommended --maximum_edition 2024 --verbose \
        --failure_list "$list" --text_format_failure_list "$out/none" --output_dir "$folder" \
        "$testee" --engine "$engine" --descriptors "$tools/test_messages.binpb" --report "$out/report" "$@" \
        >"$folder/log" 2>&1
}

# summary N FOLDER: passed, skipped, expected to fail and failed, as the runner's line
# for its suite N has them; nothing where it printed no such line
summary() {
    awk -v suite="$1" '/^CONFORMANCE SUITE (PASSED|FAILED): / && ++n == suite { print $4, $6, $8, $11 }' "$2/log"
}

status=0
verdict=0
suites "$out/first" "$out/none" "$@" || status=$?
binary_json=$(summary 1 "$out/first")
text=$(summary 2 "$out/first")
text_folder=$out/first

if [ -n "$binary_json" ] && [ -z "$text" ] && [ -s "$out/first/failing_tests.txt" ]; then
    # Tell the runner to expect what has just failed, for it to go on to the text suite.
    suites "$out/second" "$out/first/failing_tests.txt" "$@" || true
    text=$(summary 2 "$out/second")
    text_folder=$out/second
fi

# skipped N FOLDER: the names of the tests that were skipped in the runner's suite N
skipped() {
    awk -v suite="$1" '/^CONFORMANCE TEST BEGIN/ { n++ }
        n == suite && sub(/^SKIPPED, test=/, "") { print "  SKIPPED  " $1 }' "$2/log"
}

# report NAME EXPECTED N COUNTS FOLDER
report() {
    local name=$1 expected=$2 suite=$3 counts=$4 folder=$5 passed skipped known failed
    if [ -z "$counts" ]; then
        echo "$engine, $name: no result; the last that the runner wrote:"
        grep -avE '^ +@ +0x' "$folder/log" | tail -n 12 | cut -c 1-400 | sed 's/^/  /'
        verdict=1
        return
    fi
    read -r passed skipped known failed <<<"$counts"
    echo "$engine, $name: $passed of $expected passed, $skipped skipped, $((known + failed)) failed"
    if [ "$failed" != 0 ]; then
        sed 's/^/  FAILED   /' "$folder/failing_tests.txt" # each with a reason behind its name
        verdict=1
    fi
    [ "$known" = 0 ] || verdict=1
    if [ -n "$partial" ]; then
        [ $((passed + skipped)) = "$expected" ] || verdict=1
    else
        [ "$passed" = "$expected" ] || verdict=1
        if [ "$skipped" != 0 ]; then
            skipped "$suite" "$folder"
            verdict=1
        fi
    fi
}
report "binary and JSON" "$expected_binary_json" 1 "$binary_json" "$out/first"
if [ -n "$binary_json" ]; then
    report text "$expected_text" 2 "$text" "$text_folder"
else
    echo "$engine, text: not run"
fi

# engine_check: that it was this engine that ran. Each process of the testee writes a
# line when it starts and one when it is told to stop, which the runner does not wait for.
engine_check() {
    local tries=100 compiled interpreted disagreements fallbacks
    while [ "$(grep -c '^started' "$out/report")" != "$(grep -c '^served' "$out/report")" ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "$engine: the testee did not report which engine ran"; return 1; }
        sleep 0.1
    done
    read -r compiled interpreted disagreements fallbacks < <(
        awk '/^served/ { c += $2; i += $4; d += $6; f += $8 } END { print c + 0, i + 0, d + 0, f + 0 }' "$out/report")
    echo "$engine: compiled code served $compiled decodes and encodes, the interpreter $interpreted"
    case $engine in
        jit)
            echo "$engine: $fallbacks programs were not compiled, the engines disagreed about $disagreements inputs"
            [ "$compiled" != 0 ] && [ "$interpreted$fallbacks$disagreements" = 000 ]
            ;;
        interp) [ "$compiled" = 0 ] && [ "$interpreted" != 0 ] ;;
    esac
}

[ "$status" = 0 ] || verdict=1
# Another program than ours need not report.
if [ $verdict = 0 ] && { [ "$own" = 1 ] || [ -e "$out/report" ]; }; then
    engine_check || verdict=1
fi
if [ $verdict != 0 ]; then
    echo "$engine: NOT conformant; requests and responses are in $out"
elif [ -n "$partial" ]; then
    echo "$engine: nothing failed (--partial: not a verdict on what was skipped)"
else
    echo "$engine: conformant"
fi
exit $verdict
