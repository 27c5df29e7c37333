#!/bin/bash
# kill -9 of any process of `ccltune tune`, at any moment: nothing is left behind, what was
# measured is in the journal, and --resume finishes without measuring any of it again. Then a rank
# that stops, and Ctrl-C. Prints TAP.
#
#   kills.sh [COUNT [SEED]]     how many kills; the seed chooses victims and moments
#
# Without COUNT there are 20, or fewer (but 6) where a loaded machine makes them last for minutes.
. "$(dirname "$0")/../lib.sh"
: "${MPIEXEC:?}"
count=${1:-20}
patience=$([ $# = 0 ] && echo 150 || echo 3000) # seconds
seed=${2:-1}

"$CCLTUNE" version | grep -q 'MPI *MPICH' || skip_all "not built with MPICH"
tune=("$CCLTUNE" tune --launch "$MPIEXEC -n 2" --oversubscribe --coll allreduce -b 64 -e 4K -f 8
    --budget 3 --timeout 5 --quiet)

victims=(ccltune mpiexec hydra_pmi_proxy rank0 rank1)
draw() { # $drawn: a number below $1, from the seed
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 65536 % $1))
}

# find_victim NAME: its process, or nothing
find_victim() {
    local pid
    case $1 in
    rank?)
        for pid in $(marked '^ccltune-mpi$'); do
            if grep -qzx "PMI_RANK=${1#rank}" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; fi
        done | head -n 1
        ;;
    ccltune) marked '^ccltune$' | head -n 1 ;;
    *) marked "^$1" | head -n 1 ;;
    esac
}

# ended NAME SECONDS PID: that child is gone within that time; $status is what it said
ended() {
    local end=$((SECONDS + $2)) verdict=ok
    while kill -0 "$3" 2>/dev/null; do
        if [ $SECONDS -ge $end ]; then
            verdict="not ok"
            kill -9 "$3"
        fi
        sleep 0.05
    done
    wait "$3" 2>/dev/null
    status=$?
    result "$verdict" "$1" "no end within $2 s"
}

# starts_with FILE START: START's whole lines are FILE's first
starts_with() {
    head -n "$(wc -l <"$2")" "$1" | cmp - <(head -n "$(wc -l <"$2")" "$2")
}

# no_repeats JOURNAL: no trial appears twice
no_repeats() {
    perl -MJSON::PP -ne '
        my $line = decode_json($_);
        my $trial = $line->{trial} or next;
        delete $trial->{samples};
        my $id = JSON::PP->new->canonical->encode($trial);
        die "line $.: measured before: $id\n" if $seen{$id}++;
        END { die "nothing was measured\n" if !$. }' "$1"
}

clean() {
    [ "$status" = 0 ] || { [ "$status" = 4 ] && grep "^ccltune tune: " "$work/err"; }
}

# ---- kills ----

killed=0
missed=0
resumed=0
while [ $killed -lt "$count" ] && [ $missed -lt $((count + 5)) ]; do
    [ $SECONDS -gt "$patience" ] && [ $killed -ge 6 ] && break
    draw 5
    victim=${victims[drawn]}
    draw 2000
    moment=$drawn # milliseconds: from before the first launch to about the end
    [ $((killed % 4)) = 3 ] && moment=$((moment / 10)) # while things start
    out=$work/kill
    "${tune[@]}" --out "$out" </dev/null >"$work/out" 2>"$work/err" &
    supervisor=$!
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    pid=
    for _ in 1 2 3 4 5 6 7 8 9 10; do # between two launches there is nobody to kill
        pid=$(find_victim "$victim")
        [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null && break
        pid=
        kill -0 $supervisor 2>/dev/null || break
        sleep 0.02
    done
    if [ -z "$pid" ]; then # it was done before
        missed=$((missed + 1))
        kill $supervisor 2>/dev/null
        wait $supervisor 2>/dev/null
        rm -rf "$out"
        continue
    fi
    killed=$((killed + 1))
    what="kill $killed: $victim at $moment ms"
    if [ "$victim" = ccltune ]; then
        wait $supervisor 2>/dev/null
        ok "$what: nothing is left within 15 s" none_left 15
    else
        ended "$what: the run goes on, or ends by itself" 60 $supervisor
        ok "... with a clean status ($status)" clean
        ok "... and leaves nothing" none_left 15
    fi
    journal=$out/journal.jsonl
    : >"$work/before"
    if [ -e "$journal" ]; then head -n "$(wc -l <"$journal")" "$journal" >"$work/before"; fi
    ok "... each whole line of the journal is valid" valid_lines "$work/before"
    ok "... no half-written file has a final name" eval '
        for f in "$out"/result.json "$out"/mpich-coll.json; do
            [ ! -e "$f" ] || valid_json "$f" || exit 1
        done'
    run "${tune[@]}" --out "$out" --resume
    expect "... --resume finishes" 0 out 'use it'
    [ "$status" = 0 ] && resumed=$((resumed + 1))
    ok "... what was measured is still there, unchanged" starts_with "$journal" "$work/before"
    ok "... and nothing was measured twice" no_repeats "$journal"
    if [ "$(wc -l <"$work/before")" -gt 1 ]; then
        reused=$(sed -n 's/.*note: \([0-9]*\) measurements of .*/\1/p' "$work/err")
        ok "... the run says so ($reused)" [ "${reused:-0}" -gt 0 ]
    fi
    rm -rf "$out"
done
echo "# $killed kills ($missed more came too late), $resumed resumed to the end"
ok "there were kills" [ "$killed" -ge $((count < 6 ? count : 6)) ]

# ---- ranks started by the user ----

# standing_rank N: of the launch that the user made, not of those inside it
standing_rank() {
    local pid
    for pid in $(marked '^ccltune-mpi$'); do
        if grep -qzx "PMI_RANK=$1" "/proc/$pid/environ" 2>/dev/null &&
            ! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q ' job '; then echo "$pid"; fi
    done
}
for victim in mpiexec hydra_pmi_proxy rank0 rank1; do
    "$MPIEXEC" -n 2 "$CCLTUNE" tune --oversubscribe --coll allreduce -b 64 -e 4K -f 2 --budget 6 \
        --out "$work/direct" --fresh </dev/null >"$work/out" 2>"$work/err" &
    launcher=$!
    disown $launcher # bash need not tell of its end
    sleep 0.8
    case $victim in
    mpiexec) pid=$launcher ;;
    rank?) pid=$(standing_rank "${victim#rank}") ;;
    *) pid=$(marked "^$victim" | head -n 1) ;;
    esac
    ok "a $victim of mpiexec ccltune tune is killed" kill -9 "$pid"
    ok "... nothing is left within 15 s" none_left 15
    ok "... the journal is valid" valid_lines "$work/direct/journal.jsonl"
done

# ---- a rank that stops ----

slow=("${tune[@]}" -b 8M -e 32M -f 2 --budget 8) # sizes so large that it races for seconds
"${slow[@]}" --out "$work/stopped" </dev/null >"$work/out" \
    2>"$work/err" &
supervisor=$!
sleep 1
for _ in $(seq 100); do
    pid=$(find_victim rank1)
    [ -n "$pid" ] && kill -STOP "$pid" && break
    sleep 0.02
done
ok "a rank is stopped" [ -n "$pid" ]
ended "the run goes on, or ends by itself" 60 $supervisor
ok "... which it says" grep -Eq 'no progress for 5 s|died' "$work/err"
ok "... with a clean status ($status)" clean
ok "... and leaves nothing, not even the stopped rank" none_left 15

# ---- Ctrl-C ----

mkdir "$work/stop"
echo '# an earlier one' >"$work/stop/tuned.env"
"${slow[@]}" --out "$work/stop" </dev/null >"$work/out" 2>"$work/err" &
supervisor=$!
sleep 1
kill -INT $supervisor
ended "Ctrl-C: it ends" 10 $supervisor
ran=Ctrl-C
expect "... with 130, and says how to continue" 130 out 'stopped: continue with --resume'
ok "... leaves nothing" none_left 5
ok "... result.json says that it was interrupted" \
    grep -q '"interrupted": *true' "$work/stop/result.json"
ok "... and is JSON" valid_json "$work/stop/result.json"
ok "... an earlier tuned.env is as it was" [ "$(cat "$work/stop/tuned.env")" = '# an earlier one' ]
run "$CCLTUNE" verify "$work/stop"
expect "verify does not take it for a result" 2 err 'stopped: .*tune --resume'
run "${slow[@]}" --out "$work/stop" --resume
expect "... --resume finishes it" 0 out 'use it'
ok "... with all files" grep -q 'made by' "$work/stop/tuned.env"

finish
