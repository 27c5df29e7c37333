#!/bin/bash
# The engine with everything: every algorithm x collective x type x operation x 1, 2, 3, 4, 7 and 9 ranks at
# counts 0, 1 and 10,007, and 1,000,003 float sums; the same sums over the other transports. Prints TAP.
. "$(dirname "$0")/../lib.sh"
: "${MPIEXEC:?}"
export RUN_LIMIT=900

every="allreduce reduce_scatter all_gather bcast reduce alltoall gather scatter sendrecv"
declare -A bytes=([int8]=1 [uint8]=1 [half]=2 [bfloat16]=2 [int32]=4 [float]=4 [int64]=8 [double]=8)

# right NAME RANKS WORDS...: an engine run has rows, and no wrong element in any
right() {
    local name=$1 ranks=$2
    shift 2
    run "$MPIEXEC" -n "$ranks" -genv LD_PRELOAD "$BUILD/yield.so" \
        "$CCLTUNE" bench --library engine --algo all -n 1 --format csv "$@"
    expect "$name" 0
    ok "... right everywhere" awk -F, '/^size/ { next }
        { rows++; if ($9 != 0 || ($13 != 0 && $13 != "")) { print; bad = 1 } }
        END { exit bad || rows < 6 }' "$work/out"
}

for n in 1 2 3 4 7 9; do
    levels=
    [ "$n" = 4 ] && levels="--levels 2x2"
    [ "$n" = 9 ] && levels="--levels 3x3"
    for type in "${!bytes[@]}"; do
        for op in sum prod min max avg; do
            # shellcheck disable=SC2086
            right "$n ranks, $type $op" "$n" allreduce reduce_scatter reduce -d $type -o $op -b 0 \
                -e $((10007 * bytes[$type] * n)) -f 10007 $levels
        done
        # shellcheck disable=SC2086
        right "$n ranks, $type moved" "$n" all_gather bcast alltoall gather scatter sendrecv -d $type \
            -b 0 -e $((10007 * bytes[$type] * n)) -f 10007 $levels
    done
    for words in "" "--proto ll" "--channels 3" "--buffers plain" "--transport remote" \
        "--transport remote --proto ll" "--transport mpi"; do
        # shellcheck disable=SC2086
        right "$n ranks, 1,000,003 floats $words" "$n" $every -b $((4000012 * n)) \
            -e $((4000012 * n)) $levels $words
    done
done

finish
