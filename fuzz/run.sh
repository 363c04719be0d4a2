#!/usr/bin/env bash
# All fuzz targets side by side, so many seconds each (default an hour). New inputs go to fuzz/corpus.new, what crashes to fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-3600}
cargo +nightly fuzz build
declare -A dictionary=([decode]=wire [encode]=wire [json]=json [text]=text [descriptors]=descriptors)
declare -A longest=([decode]=4096 [encode]=2048 [json]=4096 [text]=4096 [descriptors]=4096)
children=()
for target in "${!dictionary[@]}"; do
    mkdir -p "fuzz/corpus.new/$target"
    cargo +nightly fuzz run "$target" "fuzz/corpus.new/$target" "fuzz/corpus/$target" -- \
        -dict="fuzz/${dictionary[$target]}.dict" -max_len="${longest[$target]}" -timeout=60 -rss_limit_mb=4096 \
        -max_total_time="$seconds" -print_final_stats=1 > "fuzz/corpus.new/$target.log" 2>&1 &
    children+=("$!:$target")
done
failed=0
for child in "${children[@]}"; do
    if wait "${child%%:*}"; then word=ok; else word=FAILED; failed=1; fi
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "fuzz/corpus.new/${child##*:}.log")
    echo "${child##*:}: $word, ${executed:-?} inputs in $seconds s"
done
exit "$failed"
