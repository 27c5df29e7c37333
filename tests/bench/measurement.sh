#!/usr/bin/env bash
# measurement.sh - what does our way of measuring add, and what does tuning cost?
#
# 1. Our median over a plain barrier loop's, per size, alternating in the same run: medians of 7. Below
#    1: the start barrier is tighter than MPI_Barrier. Above 1 at larger sizes: inputs are rewritten, so
#    no cache holds them clean.
# 2. Seconds inside measured trials over seconds of the whole tuning.
set -eu
sizes="8 64 512 4096 32768 262144"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for round in 1 2 3 4 5 6 7; do
    for size in $sizes; do
        "$MPIEXEC" -n 2 "$CCLTUNE" bench -b "$size" -e "$size" -n 2000 -c 0 --format csv |
            awk -F, -v size="$size" 'NR == 2 {print size, $6}' >>"$work/ours"
    done
    "$MPIEXEC" -n 2 "$BUILD/tests/mpi/plain_loop" $sizes >>"$work/plain"
done
median() { awk -v size="$2" '$1 == size {print $2}' "$1" | sort -n | sed -n 4p; }
echo "allreduce, 2 ranks: median us, ours / plain barrier loop"
for size in $sizes; do
    ours=$(median "$work/ours" "$size")
    plain=$(median "$work/plain" "$size")
    awk -v s="$size" -v a="$ours" -v b="$plain" \
        'BEGIN {printf "  %8d B  %9.2f / %9.2f = %.2f\n", s, a, b, a / b}'
done
begin=$(date +%s.%N)
"$CCLTUNE" tune --coll allreduce -b 64 -e 256K --budget 20 -q --out "$work/out" >/dev/null
end=$(date +%s.%N)
grep -o '"cost_s": *[0-9.e-]*' "$work/out/journal.jsonl" | cut -d: -f2 |
    awk -v wall="$(echo "$begin $end" | awk '{print $2 - $1}')" \
        '{sum += $1} END {printf "tuning allreduce: %.1f s, %.0f %% of it inside trials\n", wall, 100 * sum / wall}'
