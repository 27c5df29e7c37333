#!/bin/bash
# ccltune tune from launch to files: what it writes, resuming, broken journals, full disks, launches
# that cannot be tuned. Every run is short; no speed is expected of it. Prints TAP.
. "$(dirname "$0")/../lib.sh"
: "${MPIEXEC:?}"
"$CCLTUNE" version | grep -q 'MPI *MPICH' || skip_all "not built with MPICH"

variable=MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE
plain="$MPIEXEC -n 2"
yielding="-genv LD_PRELOAD $BUILD/yield.so" # waiting ranks give the core away
launch="$plain $yielding"
what=(--oversubscribe --coll allreduce -b 64 -e 4K -f 8)
short=("${what[@]}" --budget 4)
tune() {
    run "$CCLTUNE" tune --launch "$launch" "${short[@]}" "$@"
}
untouched() { # FILE COPY
    cmp "$1" "$2"
}
no_leftovers() { # DIR: only files with their final names
    diff - <(ls "$1") <<'END'
journal.jsonl
mpich-coll.json
proposal
result.json
tuned.env
END
}

# ---- a whole run ----

run "$CCLTUNE" tune --launch "$plain" "${what[@]}" -b 64 -e 16K -f 2 --budget 10 --out o
expect "tune" 0 out 'use it: +source .*/o/tuned.env'
ok "... silent beside a terminal" [ ! -s "$work/err" ]
ok "... leaves its files, and nothing half-written" no_leftovers o
ok "... result.json is JSON" valid_json o/result.json
ok "... so is the selection file" valid_json o/mpich-coll.json
ok "... and each line of the journal" valid_lines o/journal.jsonl
ok "... leaves no process" none_left 5
proven=$(grep -c '^# allreduce ' o/tuned.env)
ok "... tuned.env sets the file just when a line was proven ($proven)" \
    [ "$(grep -c "^export $variable=.*/o/mpich-coll.json$" o/tuned.env)" = $((proven > 0)) ]
for word in version: library: machine: topology: 'compared with:' seed: evidence:; do
    [ "$word" = version: ] || ok "... tuned.env names its $word" grep -q "^# $word" o/tuned.env
done
[ "$proven" = 0 ] || ok "... says how to undo it" grep -q "^# Undo: unset $variable" o/tuned.env
run bash -c ". o/tuned.env && '$MPIEXEC' -n 2 '$CCLTUNE' bench --oversubscribe -b 64 -e 64K"
expect "... a run under it works" 0 out 'Out of bounds values : 0 OK'
cp -r o whole

# ---- again ----

run "$CCLTUNE" tune --launch "$plain" "${what[@]}" -b 64 -e 16K -f 2 --budget 10 --out o
expect "a second run is refused, and both ways out are named" 2 err '--resume.*--fresh'
ok "... it touches nothing" diff -r o whole
again=("$CCLTUNE" tune --launch "$plain" "${what[@]}" -b 64 -e 16K -f 2 --budget 10 --out o)
again+=(--resume)
run "${again[@]}"
measured=$(grep -c '"trial"' whole/journal.jsonl)
expect "--resume" 0 err "note: [1-9][0-9]* measurements of $measured in the journal were reused"
lines=$(wc -l <whole/journal.jsonl)
ok "... the journal is as it was, line by line" \
    cmp <(head -n "$lines" o/journal.jsonl) whole/journal.jsonl
repeated() {
    sed 's/,"result".*//; s/"samples":[0-9]*//' "$1" | sort | uniq -d | grep .
}
ok "... nothing was measured twice" eval '! repeated o/journal.jsonl'
run "${again[@]}" --format csv
expect "--format csv" 0 out '^collective,group,bytes,.*,reason$'
ok "... has a line a size" [ "$(grep -c '^allreduce,all=1x2,' "$work/out")" = 9 ]
run "${again[@]}" --format json
expect "--format json" 0
ok "... is JSON" valid_json "$work/out"
ok "... the same as result.json" diff <(tr -d ' \n' <"$work/out") <(tr -d ' \n' <o/result.json)
run bash -c "$(printf '%q ' "${again[@]}") >/dev/full"
expect "the summary onto a full disk" 4 err 'standard output'
ok "... the files are there all the same" no_leftovers o
run "${again[@]}" --seed 9
expect "another seed is another run" 2 err 'seed was 1, now it is 9; .*--fresh'
run "${again[@]}" -e 4K
expect "other sizes are another run" 2 err 'its measurements are of something else: keys was '
tune --out o --fresh
expect "--fresh starts anew" 0
ok "... with a new journal" eval '! cmp -s o/journal.jsonl whole/journal.jsonl'

# ---- broken journals ----

spoil() { # NAME STATUS PATTERN SCRIPT [OPTION]: the script spoils $journal
    rm -rf j
    cp -r o j
    journal=j/journal.jsonl
    eval "$4"
    tune --out j "${5:---resume}"
    expect "a journal that $1" "$2" ${3:+err "$3"}
    [ "$2" = 0 ] || ok "... the files are as they were" eval 'cmp j/tuned.env o/tuned.env &&
        cmp j/mpich-coll.json o/mpich-coll.json && [ ! -e j/staging ]'
}
spoil "lost the end of its last line" 0 'measurements of .* reused' \
    'truncate -s -20 $journal && cp $journal "$work/cut"'
ok "... goes on after its last whole line" \
    cmp -n "$(head -n -1 "$work/cut" | wc -c)" j/journal.jsonl "$work/cut"
ok "... and is whole again" valid_lines j/journal.jsonl
spoil "is empty" 0 '' ': >$journal'
spoil "is not there" 0 '' 'rm $journal'
spoil "is one unfinished line" 0 '' 'head -c 100 $journal >x; mv x $journal'
spoil "is binary" 2 'journal.jsonl line 1:.*not valid JSON' \
    'head -c 3000 "$CCLTUNE" >$journal; echo >>$journal'
spoil "is of another program" 2 'not a journal of this program' 'echo "{\"a\": 1}" >$journal'
spoil "has nonsense in the middle" 2 'journal.jsonl line 3:' 'sed -i "3s/.*/nonsense/" $journal'
spoil "has a line of something else" 2 'journal.jsonl line 3: ' 'sed -i "3s/.*/{}/" $journal'
spoil "is a directory" 4 'journal.jsonl' 'rm $journal; mkdir $journal'
spoil "is a device" 2 'not a regular file' 'rm $journal; ln -s /dev/full $journal'
for option in --resume --fresh; do
    flock o/journal.jsonl "$CCLTUNE" tune --launch "$launch" "${short[@]}" --out o $option \
        >"$work/out" 2>"$work/err"
    status=$?
    ran="a second writer, $option"
    expect "two writers, $option" 2 err 'another run is writing it'
done
ok "... the journal is still there" [ -s o/journal.jsonl ]

# ---- places that cannot be written ----

echo kept >file
tune --out file
expect "--out is a file" 2 err 'file: .*a file is in its place'
tune --out file/x
expect "--out below a file" 2 err 'file'
ok "... which is as it was" [ "$(cat file)" = kept ]
tune --out $'a\nb'
expect "--out that no env file can name" 2 err 'line break'
tune --out ''
expect "--out without a name" 2 err 'empty path'
if [ "$(id -u)" = 0 ]; then # whom a mode does not stop
    mkdir locked bin
    cp "$CCLTUNE" "${CCLTUNE%/*}/ccltune-mpi" bin/
    chmod 755 "$work" . bin && chmod 555 locked
    run setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp bin/ccltune tune \
        --launch "$launch" "${short[@]}" --out locked
    expect "--out that may not be written" 4 err 'locked'
    ok "... nothing is in it" [ -z "$(ls locked)" ]
fi

# Small disks are full in the race, or when the proposal is written. In a namespace of its own.
mkdir disk
mount="mount -t tmpfs -o size"
if unshare -m bash -c "$mount=99k none disk" 2>/dev/null; then
    command=$(printf '%q ' "$CCLTUNE" tune --launch "$launch" "${short[@]}" --out disk/o)
    for size in 12 24 40; do # KB
        run unshare -m bash -c "$mount=${size}k none disk && $command
            status=\$?; find disk -name proposal -prune -o -print >'$work/list'; exit \$status"
        expect "a disk of $size KB" 4 err "No space left on device"
        ok "... holds no result" \
            eval '! grep -E "tuned.env|mpich-coll.json|result.json" "$work/list"'
    done
    run unshare -m bash -c "$mount=40k none disk && ! $command && mount -o remount,size=8m disk &&
        $command --resume"
    expect "... with room again, --resume finishes" 0 out 'use it'
    # The room runs out when an earlier run's files are written anew. With nothing to propose those
    # are the result's, else the proposal's as well.
    for options in "" "--target mpich-aa --min-gain 500"; do
        rm -rf before after
        run unshare -m bash -c "$mount=8m none disk && $command $options && cp -r disk/o before &&
            mount -o remount,size=\$((\$(df --output=used disk | tail -n 1) + 16))k disk &&
            { $command $options --resume; status=\$?; cp -r disk/o after; exit \$status; }"
        expect "no room for the files of a resumed run $options" 4 err "No space left on device"
        ok "... the earlier ones are as they were" eval 'for f in tuned.env mpich-coll.json \
            result.json; do cmp before/$f after/$f || exit 1; done'
        ok "... nothing else is there" no_leftovers after
    done
else
    echo "# no file system can be mounted here: the full disk is not tried"
fi

# ---- what cannot be tuned ----

one_core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
while IFS='|' read -r name wanted pattern command options; do
    # shellcheck disable=SC2086
    run taskset -c "$one_core" "$CCLTUNE" tune --launch "$command" --budget 4 --out none $options
    expect "$name" "$wanted" err "$pattern"
    ok "... leaves nothing" eval '[ ! -e none ] && none_left 5'
done <<END
one rank|2|one rank: nothing to tune|$MPIEXEC -n 1|
more ranks than cores|1|2 ranks on a host with 1 usable core.*--oversubscribe|$MPIEXEC -n 2|
a launcher that starts something else|4|exited with 0 before the job reported|true|
a launcher that fails|4|exited with 7 before the job reported|bash -c "exit 7"|
a launcher that is not there|3|'nowhere': No such file|nowhere|
a program that is not there|2|'x': expected|$MPIEXEC -n 2|--oversubscribe --target x
a collective not tuned|2|gather is not tuned|$MPIEXEC -n 2|--oversubscribe --coll gather
a group that does not fit|2|holds 0 such groups|$MPIEXEC -n 2|--oversubscribe --group a=1x3
a group of one|2|one rank: nothing to tune|$MPIEXEC -n 2|--oversubscribe --group a=1x1*2
a group twice|2|given twice|$MPIEXEC -n 2|--oversubscribe --group a=1x2 --group b=1x2
sizes without an element|2|no size between 1 and 3 bytes|$MPIEXEC -n 2|--oversubscribe -b 1 -e 3
END
MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=nb tune --out none
expect "a control variable that wins over any file" 2 err 'ALLREDUCE_INTRA_ALGORITHM=nb is set'
echo '{' >broken.json
echo '{}' >partial.json
for file in no-such-file broken.json partial.json "$CCLTUNE"; do
    run env "$variable=$file" "$CCLTUNE" tune --launch "$launch" "${short[@]}" --out none
    expect "a selection file that MPICH dies of: ${file##*/}" 2 err "$variable=.*MPICH would crash"
    run env "$variable=$file" "$MPIEXEC" -n 2 "$CCLTUNE" bench --oversubscribe -e 8
    expect "... bench" 2 err "$variable=.*MPICH would crash"
    run env "$variable=$file" "$MPIEXEC" -n 2 "$CCLTUNE" tune "${short[@]}" --out none
    expect "... tune under mpiexec" 2 err "$variable=.*MPICH would crash"
done
ok "... leave nothing" eval '[ ! -e none ] && none_left 5'
tune --out none --dry-run
expect "--dry-run says what it would cost" 0 out 'node-minutes'
ok "... and writes nothing" [ ! -e none ]

# ---- the other ways to run it ----

run $launch "$CCLTUNE" tune "${short[@]}" --out direct
expect "under mpiexec directly" 0 out 'use it'
ok "... leaves its files" no_leftovers direct
ok "... and no process" none_left 5
run $launch "$CCLTUNE" tune "${short[@]}" --out direct
expect "... again" 2 err '--resume.*--fresh'
ok "... is said once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
run bash -c "$MPIEXEC -l -n 2 '$CCLTUNE' tune ${short[*]} --out direct --fresh <&-"
expect "a launcher that prefixes lines, standard input closed" 0 out '^\[0\] use it'
run bash -c "'$CCLTUNE' tune --launch '$MPIEXEC -l -n 2' ${short[*]} --out l <&-"
expect "... below the supervisor" 0 out '^use it'
for ranks in 3 7; do
    run "$CCLTUNE" tune --launch "$MPIEXEC -n $ranks $yielding" --oversubscribe \
        -b 300 -e 300 --budget 3 --out odd$ranks
    expect "$ranks ranks, all collectives" 0 out 'use it'
    ok "... leaves its files" no_leftovers odd$ranks
done
run "$CCLTUNE" tune --launch "$MPIEXEC -n 4 $yielding" --oversubscribe --group 'tp=1x2*2' \
    --group all=1x4 --coll allreduce,all-gather -b 1000 -e 1000 --budget 4 --out groups
expect "two groups of two, and all four" 0 out 'use it'
ok "... the result has the two" grep -q "tp=1x2\*2" groups/result.json
ok "... and the four" grep -q "all=1x4" groups/result.json
tune --out "it's a dir"
expect "a directory with an odd name" 0
run bash -c ". \"it's a dir/tuned.env\" && $launch '$CCLTUNE' bench --oversubscribe -b 64 -e 512"
expect "... tuned.env can be sourced" 0

# ---- nothing proven ----

tune --target mpich-aa --min-gain 500 --require-gain --out aa
expect "--require-gain: nothing is better" 1 out 'keep the default'
library=$($MPIEXEC -n 1 "$CCLTUNE" bench -e 8 --format json | sed -n 's/.*"path": "\(.*\)",/\1/p')
ok "... the emitted tree is the built-in one" \
    "$BUILD/tests/mpi/same_tree" "$library" aa/mpich-coll.json
ok "... tuned.env sets nothing" eval '! grep -v "^#" aa/tuned.env | grep .'
run "$CCLTUNE" verify aa
expect "... verify has nothing to verify" 0 out 'promises nothing'
ok "no process is left" none_left 5

finish
