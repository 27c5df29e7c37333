#!/bin/bash
# Runs the selection files that the mpich target writes under the real MPICH and looks which
# algorithm it took. The oracle: an algorithm forced by its control variable sends the messages that
# it sends when the file chose it, and other messages than the default (selection_probe.c).
set -u
: "${BUILD:?}" "${MPIEXEC:?}"
export LC_ALL=C ASAN_OPTIONS=detect_leaks=0
unset "${!MPIR_CVAR_@}"
probe=$BUILD/tests/mpi/selection_probe
work=$(mktemp -d "${TMPDIR:-/tmp}/mpich_selection.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
file_variable=MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE

# messages RANKS NAME=VALUE... -- CALL...: the line of messages, or what MPICH died of
messages() {
    local ranks=$1 environment=()
    shift
    while [ "$1" != -- ]; do environment+=("$1"); shift; done
    shift
    env "${environment[@]}" timeout 60 "$MPIEXEC" -n "$ranks" "$probe" call "$@" 2>&1 </dev/null |
        awk '/^0:/ { line = $0 } /Assert|abort|Abort|signal/ { died = 1 }
             END { print line ? line : died ? "DIED" : "NOTHING" }'
}

skip() { echo "1..0 # SKIP $1"; exit 0; }
[ -x "$probe" ] || skip "no MPI was built with"
about=$("$probe" library 2>"$work/why") || skip "not MPICH 4: $(head -n 1 "$work/why")"
default=$(messages 2 -- allreduce 512)
[ "$default" = "0:; 1:" ] && skip "this MPICH does not send through UCX"

number=0
failed=0
# ok NAME: the status of the command before decides
ok() {
    local status=$?
    number=$((number + 1))
    if [ "$status" = 0 ]; then echo "ok $number - $1"; else echo "not ok $number - $1"; failed=1; fi
}
# same NAME FOUND EXPECTED; differs NAME FOUND OTHER
same() {
    { [ "$2" = "$3" ] && [ "$2" != NOTHING ]; } || { echo "# found    $2"; echo "# expected $3"; false; }
    ok "$1"
}
differs() {
    { [ "$2" != "$3" ] && [[ $2 == 0:* ]]; } || { echo "# found $2"; false; }
    ok "$1"
}
# emit DIR TARGET [COLLECTIVE RANKS FIRST LAST ALGORITHM]...
emit() {
    "$probe" emit "$@" >"$work/out" 2>&1 || { sed 's/^/# /' "$work/out"; false; }
    ok "files for ${*:2}"
}

echo "# $about" | tr '\n' ' '; echo
[ "$(sed -n 2p <<<"$about")" -ge 44 ]
ok "the built-in tree is in the library and passes the check"
[[ $default == *@* ]]
ok "two ranks are launched and their messages seen ($default)"

# ---- sizes: COLLECTIVE RANKS FIRST LAST ALGORITHM, then counts (doubles) outside and inside ----
# The thresholds are exact: one element less or more (one per rank, where the size is divided) is out.
while read -r collective ranks first last algorithm outside inside; do
    variable=MPIR_CVAR_${collective^^}_INTRA_ALGORITHM
    dir=$work/$collective
    emit "$dir" mpich "$collective" "$ranks" "$first" "$last" "$algorithm"
    for count in ${outside//,/ }; do
        same "$collective of $ranks: $count elements are decided as before" \
            "$(messages "$ranks" "$file_variable=$dir/mpich-coll.json" -- "$collective" "$count")" \
            "$(messages "$ranks" -- "$collective" "$count")"
    done
    for count in ${inside//,/ }; do
        forced=$(messages "$ranks" "$variable=$algorithm" -- "$collective" "$count")
        same "$collective of $ranks: $count elements take $algorithm" \
            "$(messages "$ranks" "$file_variable=$dir/mpich-coll.json" -- "$collective" "$count")" \
            "$forced"
        differs "... which is not the default" "$forced" \
            "$(messages "$ranks" -- "$collective" "$count")"
    done
done <<'EOF'
allreduce 2 1024 4096 recursive_doubling 127,513 128,512
allgather 4 4096 65536 ring 127,2049 128,2048
reduce_scatter_block 4 4096 65536 pairwise 127,2049 128,2048
bcast 2 1024 16384 scatter_ring_allgather 127,2049 128,2048
reduce 2 1024 4096 nb 127,513 128,256,257,512
alltoall 4 4096 65536 nb 127,2049 128,2048
EOF

# ---- calls that the row does not cover, and communicators of its size that it does ----
file="$file_variable=$work/allreduce/mpich-coll.json"
inside="0: 2048@e; 1: 2048@e"
same "allreduce of 256 elements: the forced algorithm's messages are known" \
    "$(messages 2 MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling -- allreduce 256)" "$inside"
for comm in dup shared reversed; do
    same "the row holds for a $comm communicator" \
        "$(messages 2 "$file" -- allreduce 256 sum $comm)" "$inside"
done
same "the row holds in place" "$(messages 2 "$file" -- allreduce 256 sum world in)" "$inside"
same "the row holds for two communicators of 2 among 4 ranks" \
    "$(messages 4 "$file" -- allreduce 256 sum split2)" "$inside; 2: 2048@e; 3: 2048@e"
same "the row holds for the first 2 of 3 ranks" \
    "$(messages 3 "$file" -- allreduce 256 sum first2)" "$inside; 2:"
for ranks in 3 4; do
    same "the row does not hold for $ranks ranks" \
        "$(messages $ranks "$file" -- allreduce 256)" "$(messages $ranks -- allreduce 256)"
done
same "the row does not hold for the first 3 of 4 ranks" \
    "$(messages 4 "$file" -- allreduce 256 sum first3)" "$(messages 4 -- allreduce 256 sum first3)"
emit "$work/nb" mpich allreduce 2 1024 4096 nb # which unlike the default runs for any operation
file="$file_variable=$work/nb/mpich-coll.json"
for operation in user noncommutative; do
    same "the row does not hold for a $operation operation" \
        "$(messages 2 "$file" -- allreduce 256 $operation)" \
        "$(messages 2 -- allreduce 256 $operation)"
done
differs "... but for MPI_SUM" "$(messages 2 "$file" -- allreduce 256)" \
    "$(messages 2 -- allreduce 256)"
file="$file_variable=$work/alltoall/mpich-coll.json"
same "all-to-all in place is decided as before" \
    "$(messages 4 "$file" -- alltoall 256 sum world in)" \
    "$(messages 4 -- alltoall 256 sum world in)"
file="$file_variable=$work/bcast/mpich-coll.json"
same "broadcast from another root takes the row" \
    "$(messages 2 "$file" -- bcast 256 sum world out 1)" \
    "$(messages 2 MPIR_CVAR_BCAST_INTRA_ALGORITHM=scatter_ring_allgather -- \
        bcast 256 sum world out 1)"

# An algorithm that needs as many elements as ranks leaves smaller calls alone.
emit "$work/need" mpich allreduce 4 1 65536 reduce_scatter_allgather
same "3 elements on 4 ranks: reduce_scatter_allgather is not forced" \
    "$(messages 4 "$file_variable=$work/need/mpich-coll.json" -- allreduce 3)" \
    "$(messages 4 -- allreduce 3)"
same "4 elements on 4 ranks: it is legal" \
    "$(messages 4 "$file_variable=$work/need/mpich-coll.json" -- allreduce 4)" \
    "$(messages 4 MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=reduce_scatter_allgather -- allreduce 4)"

# ---- many rows, each algorithm that is offered: right results, no abort ----
for collective in allreduce allgather reduce_scatter_block bcast reduce alltoall; do
    case $collective in
    allreduce) names="recursive_doubling reduce_scatter_allgather smp nb" ;;
    allgather) names="recursive_doubling brucks ring nb" ;;
    reduce_scatter_block) names="recursive_halving pairwise recursive_doubling noncommutative nb" ;;
    bcast) names="binomial scatter_recursive_doubling_allgather scatter_ring_allgather nb" ;;
    reduce) names="binomial reduce_scatter_gather nb" ;;
    alltoall) names="brucks scattered pairwise nb" ;;
    esac
    for name in $names; do
        rows=()
        for ranks in 3 4; do
            case $ranks$collective$name in
            3reduce_scatter_blocknoncommutative | 3allgatherrecursive_doubling) ;;
            *) rows+=("$collective" "$ranks" 8 65536 "$name") ;;
            esac
        done
        emit "$work/each" mpich "${rows[@]}"
        for ranks in 3 4; do
            found=$(messages $ranks "$file_variable=$work/each/mpich-coll.json" -- $collective 300)
            [[ $found == 0:*@* && $found != *WRONG* ]] || { echo "# $found"; false; }
            ok "$collective $name on $ranks ranks returns the right data"
        done
    done
done

# ---- the files ----
emit "$work/it's a dir" mpich allreduce 2 1024 4096 recursive_doubling
# shellcheck disable=SC1091
found=$(. "$work/it's a dir/tuned.env" && messages 2 -- allreduce 256)
same "tuned.env is sourced, whatever the directory's name" "$found" "$inside"
same "a control variable wins over the file" \
    "$(. "$work/it's a dir/tuned.env" && messages 2 MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=nb -- \
        allreduce 256)" \
    "$(messages 2 MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=nb -- allreduce 256)"
emit "$work/none" mpich
! grep -v '^#' "$work/none/tuned.env"
ok "without rows tuned.env sets nothing"
same "without rows the tree is the built-in one" \
    "$(messages 2 "$file_variable=$work/none/mpich-coll.json" -- allreduce 256)" \
    "$(messages 2 -- allreduce 256)"
emit "$work/aa" mpich-aa allreduce 2 1024 4096 aa-1
cmp -s "$work/aa/mpich-coll.json" "$work/none/mpich-coll.json"
ok "the self-test's tree is the built-in one, whatever the rows"

# ---- what the check refuses, MPICH does not survive either ----
base=$work/none/mpich-coll.json
while IFS='|' read -r what edit; do
    sed "$edit" "$base" >"$work/broken.json"
    ! cmp -s "$base" "$work/broken.json"
    ok "a file with $what"
    ! "$probe" check "$work/broken.json" 2>"$work/why"
    ok "... is refused: $(cut -c 1-90 "$work/why")"
    same "... and kills MPICH" \
        "$(messages 2 "$file_variable=$work/broken.json" -- alltoall 256 2>&1)" DIED
done <<'EOF'
an unknown key|s/"comm_size=any"/"comm_size=2"/
another collective's algorithm|s/MPIR_Alltoall_intra_/MPIR_Bcast_intra_binomial/; s/binomialscattered/binomial/; s/binomialpairwise"/binomial"/
a question that is not defined|s/"avg_msg_size<=32768"/"count<=32768"/
no =any|s/"avg_msg_size=any"/"avg_msg_size<=7"/
EOF

echo "1..$number"
exit $failed
