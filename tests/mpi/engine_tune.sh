#!/bin/bash
# ccltune tune --target engine: from launch to table, the table in a job, tables that are not for the
# engine. 4 ranks share what cores there are. No speed is expected of it. Prints TAP.
. "$(dirname "$0")/../lib.sh"
: "${MPIEXEC:?}"
"$CCLTUNE" version | grep -q 'MPI *MPICH' || skip_all "not built with MPICH"

variable=CCLTUNE_ENGINE_TABLE
unset "$variable"
# MPICH carries only what the ranks agree on, and may give way there: it is not measured.
launch4="$MPIEXEC -n 4 -genv LD_PRELOAD $BUILD/yield.so"
what=(--target engine --coll allreduce -b 64 -e 64K -f 8)

# ---- a whole run ----

RUN_LIMIT=120
run "$CCLTUNE" tune --launch "$launch4" "${what[@]}" --budget 15 --out o
expect "tune, 4 ranks" 0 out 'use it: +source .*/o/tuned.env'
ok "... silent beside a terminal" [ ! -s "$work/err" ]
ok "... leaves its files, and nothing half-written" diff - <(ls o) <<'END'
engine-table.json
journal.jsonl
proposal
result.json
tuned.env
END
ok "... the table is JSON" valid_json o/engine-table.json
ok "... result.json is of this target" grep -q '"target": "engine"' o/result.json
ok "... candidates say algorithm, protocol, channels and chunk" \
    grep -qE '"algorithm": "ring/ll/1ch/16K"' o/result.json
ok "... the default is told by name" grep -qE '"default(_choice)?": "[a-z-]+"' o/result.json
ok "... no rank was wrong" eval '! grep -q "elements wrong" o/result.json'
ok "... leaves no process" none_left 5
proven=$(grep -c '^# allreduce ' o/tuned.env)
ok "... tuned.env names the table just when a line was proven ($proven)" \
    [ "$(grep -c "^export $variable=.*/o/engine-table.json$" o/tuned.env)" = $((proven > 0)) ]
run "$CCLTUNE" tune --launch "$launch4" "${what[@]}" --budget 15 --out o --resume --format csv
expect "--resume" 0 out '^allreduce,all=1x4,64,'

# ---- verify: a promise made up here, since what is proven depends on the machine ----

cp -r o promise
perl -MJSON::PP -e '
    local $/; open F, "<", "o/result.json"; my $r = decode_json(<F>);
    my @settings = map { {name => $_->[0], value => $_->[1], scope => "call"} } ["algo", "ring"], ["chunk", "64K"];
    $_->{proven} = JSON::PP::false for @{$r->{points}};
    my $p = $r->{points}[1];
    $p->{proven} = JSON::PP::true;
    $p->{choice} = {algorithm => "ring/simple/1ch/64K", settings => \@settings};
    $p->{gain} = {estimate => 0.5, low => 0.001, high => 1, level => 0.95};
    ($p->{p}, $p->{pairs}, $p->{log_ratios}) = (0.01, 1, [0]);
    open F, ">", "promise/result.json"; print F encode_json($r);
    open F, ">", "promise/engine-table.json";
    print F encode_json({ccltune_engine_table => 1, rows => [{collective => "allreduce", group => $p->{group},
        first_bytes => $p->{bytes}, last_bytes => $p->{bytes}, settings => {algo => "ring", chunk => "64K"}}]});'
run "$CCLTUNE" verify promise --pairs 2 --format csv -q
ok "verify: the promise is judged" [ "$status" -le 1 ]
ok "... as one that the file makes" grep -Eq '^allreduce,all=1x4,512,ring/simple/1ch/64K,.*,(held|smaller|BROKEN)$' "$work/out"
ok "... other sizes as without a line" grep -Eq '^allreduce,all=1x4,64,-,.*,(no line|SLOWER)$' "$work/out"
run env "$variable=$PWD/promise/engine-table.json" "$CCLTUNE" verify promise --pairs 2 -q
expect "verify under the table, which both arms would have" 2 err "$variable=.*unset it"
sed -i 's/"ring"/"rinng"/' promise/engine-table.json
run "$CCLTUNE" verify promise --pairs 2 -q
expect "verify of a table that is broken" 2 err "$variable=.*rinng"
run env "$variable=$PWD/o/engine-table.json" "$CCLTUNE" tune --launch "$launch4" "${what[@]}" --out none
expect "a table in force is what would be compared with" 2 err "$variable=.*unset it"
ok "... leaves nothing" [ ! -e none ]

# ---- a table in a job ----

rows() { # ROW...: a table with these rows
    local IFS=,
    printf '{"ccltune_engine_table": 1, "rows": [%s]}\n' "$*"
}
row() { # COLLECTIVE GROUP FIRST LAST SETTINGS
    printf '{"collective": "%s", "group": "%s", "first_bytes": %s, "last_bytes": %s, "settings": {%s}}' "$@"
}
bench=("$CCLTUNE" bench --library engine --iters 2)
rows "$(row allreduce 1x2 8 64 '"algo": "ring", "chunk": "16K"')" \
    "$(row allreduce 1x2 65 4096 '"algo": "doubling", "proto": "ll", "channels": "2"')" \
    "$(row allreduce 1x4 8 4096 '"algo": "nvls"')" \
    "$(row broadcast 1x2 8 4096 '"algo": "chain"')" >good.json
export "$variable=$PWD/good.json"
run "$MPIEXEC" -n 2 "${bench[@]}" allreduce broadcast -b 8 -e 64K -f 8
expect "a good table: results are right, in its rows and outside" 0 out 'Out of bounds values : 0 OK'
run "$MPIEXEC" -n 4 -genv LD_PRELOAD "$BUILD/yield.so" "${bench[@]}" allreduce -b 64 -e 64
expect "a row that cannot serve the call: it is decided as before" 0 out 'Out of bounds values : 0 OK'
run "$MPIEXEC" -n 1 "${bench[@]}" allreduce -b 64 -e 64
expect "one rank" 0 out 'Out of bounds values : 0 OK'
# Only rank 0's table counts: ranks with different ones would wait for each other.
run "$MPIEXEC" -n 1 "${bench[@]}" -b 64 -e 1K : -n 1 -env "$variable" /not/there "${bench[@]}" -b 64 -e 1K
expect "ranks that name different tables" 0 out 'Out of bounds values : 0 OK'

# ---- broken ones ----

first=$(row allreduce 1x2 8 64 '"algo": "ring"')
while IFS='|' read -r name pattern text; do
    printf '%s' "$text" >"broken.json"
    run env "$variable=$PWD/broken.json" "$MPIEXEC" -n 1 "${bench[@]}" -b 64 -e 64
    expect "a table with $name" 2 err "$variable.*broken.json.*$pattern"
done <<END
nothing in it|an empty file|
no JSON|:1:1: not valid JSON|{
another kind of JSON|not an engine table|[]
another version|not an engine table|{"ccltune_engine_table": 2, "rows": []}
no rows|not an engine table|{"ccltune_engine_table": 1}
rows of another kind|not an engine table|{"ccltune_engine_table": 1, "rows": {}}
a number for a row|row 1: expected the texts|$(rows 7)
an unknown collective|row 2: .*allredoce|$(rows "$first" "$(row allredoce 1x2 8 64 '"algo": "ring"')")
a bad group|row 1: .*0x2|$(rows "$(row allreduce 0x2 8 64 '"algo": "ring"')")
a negative size|row 1: .*found -8 and 64|$(rows "$(row allreduce 1x2 -8 64 '"algo": "ring"')")
sizes that go down|row 1: .*found 65 and 64|$(rows "$(row allreduce 1x2 65 64 '"algo": "ring"')")
a size as a text|row 1: .*found -1 and 64|$(rows "$(row allreduce 1x2 '"8"' 64 '"algo": "ring"')")
no algorithm|row 1: settings: expected|$(rows "$(row allreduce 1x2 8 64 '"chunk": "16K"')")
an unknown algorithm|row 1: algo: unknown algorithm 'rinng'|$(rows "$(row allreduce 1x2 8 64 '"algo": "rinng"')")
a schedule's file|row 1: algo: file:x|$(rows "$(row allreduce 1x2 8 64 '"algo": "file:x"')")
an unknown setting|row 1: .*no setting 'speed'|$(rows "$(row allreduce 1x2 8 64 '"algo": "ring", "speed": "9"')")
a bad chunk|row 1: chunk: |$(rows "$(row allreduce 1x2 8 64 '"algo": "ring", "chunk": "12Q"')")
a number for a setting|row 1: setting channels: expected a text|$(rows "$(row allreduce 1x2 8 64 '"algo": "ring", "channels": 2')")
rows that overlap|row 2: .*than row 1 for allreduce of 64 bytes|$(rows "$first" "$(row allreduce x=1x2 64 99 '"algo": "tree"')")
END
for file in /not/there "$PWD" /dev/zero "$CCLTUNE"; do
    run env "$variable=$file" "$MPIEXEC" -n 2 "${bench[@]}" -b 64 -e 64
    expect "a table that is ${file##*/}" 2 err "$variable"
    ok "... is said once" [ "$(grep -c "^ccltune.*$variable" "$work/err")" = 1 ]
done
unset "$variable"
ok "no process is left" none_left 5

# ---- the other ways to run it ----

run "$MPIEXEC" -n 2 "$CCLTUNE" tune "${what[@]}" -e 64 --budget 2 --out direct
expect "under mpiexec directly" 0 out 'use it'
ok "... leaves its files" [ -s direct/engine-table.json ]
run "$CCLTUNE" tune --target engine --launch "$launch4" --group 'tp=1x2*2' --coll all-to-all,gather \
    -b 1000 -e 1000 --budget 2 --out groups
expect "two groups, and a collective that is not tuned" 2 err 'gather is not tuned'
run "$CCLTUNE" tune --target engine --launch "$launch4" --group 'tp=1x2*2' --coll all-to-all,all-gather \
    -b 1000 -e 1000 --budget 2 --out groups
expect "two groups of two at once" 0 out 'use it'
ok "no process is left" none_left 5

finish
