#!/bin/bash
# The engine on real ranks: every algorithm x collective is right for a sample of types, operations and
# numbers of ranks, over every transport; schedules from files; ranks that stop or die. Prints TAP.
. "$(dirname "$0")/../lib.sh"
: "${MPIEXEC:?}"

every="allreduce reduce_scatter all_gather bcast reduce alltoall gather scatter sendrecv"
reducing="allreduce reduce_scatter reduce"

# Ranks may outnumber cores: the engine gives the core away by itself, MPI (which starts it) does not.
engine() { # RANKS WORDS...
    local ranks=$1
    shift
    run "$MPIEXEC" -n "$ranks" -genv LD_PRELOAD "$BUILD/yield.so" \
        "$CCLTUNE" bench --library engine "$@"
}

# sane ROWS: the last run's CSV has at least so many rows, and no wrong element
sane() {
    awk -F, '/^size/ { next }
             { rows++; if ($9 != 0 || ($13 != 0 && $13 != "")) bad = bad "\n" $0 }
             END { if (rows < '"$1"' || bad) { print rows " rows, wrong:" bad; exit 1 } }' "$work/out"
}

declare -A bytes=([int8]=1 [uint8]=1 [half]=2 [bfloat16]=2 [int32]=4 [uint32]=4 [float]=4 [int64]=8
    [uint64]=8 [double]=8)

# right RANKS ROWS TYPE OP COLLECTIVES WORDS...: all algorithms at counts 0, 1 and 10,007
right() {
    local ranks=$1 rows=$2 type=$3 op=$4 collectives=$5
    shift 5
    # shellcheck disable=SC2086
    engine "$ranks" $collectives --algo all -d "$type" -o "$op" -b 0 \
        -e $((10007 * bytes[$type] * ranks)) -f 10007 -n 1 --format csv "$@"
    expect "$ranks ranks, $type $op $*" 0
    ok "... right everywhere" sane "$rows"
}

engine 2 -b 8 -e 8 -n 1
expect "two ranks" 0 out '^# Out of bounds values : 0 OK$'

# ---- types and operations ----

# Each type and each operation twice or more; all pairs in tests/long/engine.sh.
while read -r type op; do
    right 2 39 "$type" "$op" "$reducing"
done <<'END'
int8 sum
int8 avg
uint8 min
uint8 prod
int32 max
int32 avg
int64 min
int64 sum
half sum
half avg
bfloat16 prod
bfloat16 avg
float min
float prod
double max
double avg
END
right 2 20 uint32 sum allreduce
right 2 20 uint64 prod allreduce
engine 2 -d uint32 -o min -b 8 -e 8
expect "what the engine cannot compute" 2 err 'the engine has no min of uint32'

# ---- ranks ----

while read -r n rows type op words; do
    # shellcheck disable=SC2086
    right "$n" "$rows" "$type" "$op" "$every" $words
done <<'END'
1 80 float sum --proto ll
2 80 half avg --channels 2
3 80 bfloat16 sum --proto ll --root 2
END
# Many ranks on few cores take long to start and to meet: one size each.
while read -r n rows words; do
    # shellcheck disable=SC2086
    engine "$n" --algo all -n 1 --format csv $words
    expect "$n ranks, $words" 0
    ok "... right everywhere" sane "$rows"
done <<END
3 25 $every -b 240168 -e 240168 -d int64 -o prod --buffers plain --root 1
4 25 $every -b 320224 -e 320224 -d double -o max --levels 2x2 --channels 3 --proto ll
4 24 allreduce reduce_scatter -b 0 -e 40028 -f 10007 -d int8 -o min --levels 2x2
7 25 $every -b 280196 -e 280196 -d float -o avg
7 12 allreduce -b 0 -e 1 -d uint8 --channels 2
7 8 reduce bcast -b 40028 -e 40028 --root 3
END
engine 3 allreduce alltoall --algo all -b 300012 -e 300012 -n 1 --format csv --chunk 20K
expect "messages of many loops" 0
ok "... right everywhere" sane 9
engine 2 -b 4000012 -e 4000012 -n 2 --algo all --format csv --channels 2
expect "large messages" 0
ok "... right everywhere" sane 6
for group in 'tp=1x2*2' 'tp=1x2x2*2'; do
    # shellcheck disable=SC2086
    engine 4 --group "$group" allreduce alltoall reduce -r 1 --algo all -b 4K -e 4K -n 1 --format csv
    expect "two groups at once: $group" 0
    ok "... right everywhere" sane 12
done
run "$MPIEXEC" -n 3 "$CCLTUNE" bench --library engine -b 8 -e 8 -n 1
expect "more ranks than cores are never refused" 0

# ---- transports ----

right 2 60 float sum "$every" --transport mpi
right 3 13 int32 sum "allreduce alltoall" --transport mpi --proto ll --channels 2
right 2 60 half sum "$every" --transport remote
right 3 13 float sum "allreduce alltoall" --transport remote --proto ll
engine 2 --algo all -b 300012 -e 300012 -n 1 --transport remote --format csv --chunk 20K
expect "remote: many loops" 0
ok "... right everywhere" sane 4
engine 2 --algo two-shot -b 8 -e 8 --transport mpi
expect "direct access where there is none" 2 err 'reads and writes its peers. buffers.*transport mpi'
run "$MPIEXEC" -n 3 -genv LD_PRELOAD "$BUILD/yield.so" "$BUILD/tests/mpi/symmetric_probe"
expect "segments are shared by both ways of passing descriptors" 0 out '^same$'

# ---- what cannot be served ----

engine 2 --algo all -b 8 -e 8 -n 1
expect "--algo all" 0 out '^# refused: nvls, allreduce: .*ranks on CPUs have none$'
ok "... a table for each of the others" [ "$(grep -c '^# Out of bounds values : 0 OK' "$work/out")" -ge 6 ]
ok "... which says what it is" grep -q '^# algorithm ring, protocol simple, channels 1' "$work/out"
while IFS='|' read -r pattern words; do
    # shellcheck disable=SC2086
    engine 2 -b 8 -e 8 $words
    expect "bench $words: $pattern" 2 err "$pattern"
    ok "... is said once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
done <<'END'
chain has no allreduce: it is for|--algo chain
unknown algorithm 'two-shoot': did you mean 'two-shot'|--algo two-shoot
nvls needs a switch|--algo nvls
hierarchical needs a hierarchy|--algo hierarchical
the levels have 4 ranks together, the group 2|--algo hierarchical --levels 2x2
channels: '0': expected a whole number from 1|--algo ring --channels 0
channels: 'x': expected a whole number|--channels x
chunk: '8': expected a size from 16 B|--chunk 8
window: '3': expected a power of two|--window 3
a chunk of 1048576 bytes is too large for a window of 4 slots of 1024 bytes|--algo ring --chunk 1M --slice 1K --window 4
unknown transport 'tcp': expected shm, mpi or remote|--transport tcp
END
run "$MPIEXEC" -n 2 "$CCLTUNE" bench --algo ring
expect "an algorithm of the engine for another library" 2 err 'add --library engine'

# ---- tables beside each other, and raw times ----

engine 2 --algo ring,doubling -b 8 -e 16 -n 3 --format csv --raw "$work/raw.csv"
expect "two algorithms" 0 out '^8,2,float,sum,.*,allreduce,engine,doubling$'
ok "--raw: every call" [ "$(grep -c '^engine,ring,.*,allreduce,16,in-place,[012],0\.0' "$work/raw.csv")" = 3 ]
ok "... and nothing else" [ "$(wc -l <"$work/raw.csv")" = 25 ]
if "$CCLTUNE" version | grep -q 'MPI *MPICH' && [ "$(nproc)" -ge 2 ]; then
    run "$MPIEXEC" -n 2 "$CCLTUNE" bench --library engine,mpich -b 8 -e 16 -n 3
    expect "the engine beside MPICH" 0 out 'bench allreduce, mpich: 2 ranks'
    ok "... two tables" [ "$(grep -c '^# Out of bounds values : 0 OK' "$work/out")" = 2 ]
    run "$MPIEXEC" -n 2 "$CCLTUNE" bench gather --library engine,mpich -b 8 -e 16 -n 3
    expect "... what MPICH does not run is listed" 0 out '^# refused: mpich, gather: '
fi

# ---- a schedule from a file ----

cat >"$work/ring.sched" <<'END'
ccltune schedule 1
name two
collective allreduce
ranks 2
chunks 2
lanes 1

position 0-1
  lane 0
    step send r+1 in r+1
    step recv r+1 take in r store out r send r+1 value
    step recv r+1 store out r+1
END
engine 2 --algo "file:$work/ring.sched" -b 0 -e 40028 -f 10007 -n 2 --format csv
expect "a schedule from a file" 0
ok "... is right" sane 3
engine 2 bcast --algo "file:$work/ring.sched" -b 8 -e 8
expect "... for another collective" 2 err 'is allreduce of 2 ranks, .* this call is broadcast'
engine 3 --algo "file:$work/ring.sched" -b 8 -e 8
expect "... for other ranks" 2 err 'is allreduce of 2 ranks, .* this call is allreduce of 3 ranks'
sed 's/ send r+1 value//' "$work/ring.sched" >"$work/broken.sched"
engine 2 --algo "file:$work/broken.sched" -b 8 -e 8
expect "... with a send left out" 2 err 'rank|position'
ok "... is said once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
sed 's/take in r store/take in r+1 store/' "$work/ring.sched" >"$work/broken.sched"
engine 2 --algo "file:$work/broken.sched" -b 8 -e 8
expect "... that adds the wrong chunk" 2 err '.'

# ---- ranks that stop or die ----

# hurt SIGNAL NTH WORDS...: starts a long bench, sends the signal to its nth rank, waits for the end
hurt() {
    local signal=$1 nth=$2 victim tries
    shift 2
    "$MPIEXEC" -n 2 "$CCLTUNE" bench --library engine -n 10000000 --patience 3 "$@" \
        >"$work/out" 2>"$work/err" </dev/null &
    local launcher=$!
    for tries in $(seq 100); do
        victim=$(marked '^ccltune-mpi' | sed -n "${nth}p")
        [ "$(marked '^ccltune-mpi' | wc -l)" = 2 ] && grep -q '^# time' "$work/out" && break
        sleep 0.1
    done
    sleep 1
    kill "-$signal" "$victim"
    ran="bench $*, SIG$signal to rank $nth"
    local begin=$SECONDS
    wait "$launcher"
    status=$?
    took=$((SECONDS - begin))
}
# Segments have no names; what MPI itself puts there for its own use is not ours.
in_dev_shm() {
    ls /dev/shm | grep -Ev '^(mpich|ucx)' | sort
}
in_dev_shm >"$work/before"
for words in "1 -b 8 -e 128 -f 2" "2 --algo ring -b 1M -e 1M" "2 -b 64K -e 64K --transport mpi"; do
    # shellcheck disable=SC2086
    hurt STOP $words
    expect "a rank stopped by SIGSTOP: $words" 4 err 'rank [01] has stopped: '
    ok "... is reported within the patience ($took s)" [ "$took" -le 10 ]
    ok "... once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
done
# shellcheck disable=SC2034
hurt KILL 2 --algo ring -b 1M -e 1M
ok "a killed rank ends the run (status $status)" [ "$status" != 0 ]
ok "... at once ($took s)" [ "$took" -le 8 ]
ok "no process is left" none_left 5
ok "no shared memory is left" diff "$work/before" <(in_dev_shm)

finish
