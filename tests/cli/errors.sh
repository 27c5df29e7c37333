#!/bin/bash
# What ccltune says to those who mistyped, forgot the launcher or lack a part, and that each page
# teaches every option. No MPI is needed. Prints TAP.
. "$(dirname "$0")/../lib.sh"

with_mpi() { [ -x "$BUILD/ccltune-mpi" ]; }

# ---- names ----

while IFS='|' read -r wanted pattern words; do
    # shellcheck disable=SC2086
    run "$CCLTUNE" $words
    expect "ccltune $words: $pattern" "$wanted" err "$pattern"
    ok "... says it once, and nothing else on standard output" \
        eval '[ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/out" ]'
done <<'END'
2|unknown command 'tun': did you mean 'tune'\?|tun
2|unknown command 'xyzzy': 'ccltune help' lists them|xyzzy
2|unknown command 'bensh': did you mean 'bench'|help bensh
2|unknown option '--lunch'; did you mean --launch\?|tune --lunch x
2|unknown collective 'allredcue': did you mean 'allreduce'\?|tune --coll allredcue
2|--minbytes.*'64Q': the unit is unknown|tune -b 64Q
2|--minbytes.*'-5': it may not be negative|tune -b -5
2|--minbytes.*found '99999999999999999999'|tune -b 99999999999999999999
2|sizes 100 to 10: expected|tune -b 100 -e 10
2|--stepfactor 1: expected 2 or more|tune -f 1
2|--format: expected one of table.json.csv, found 'jsn'|tune --format jsn
2|--format: expected one of|verify --format xml
2|--format: expected one of|topo --format xml
2|--budget: .*'10x': the unit is unknown|tune --budget 10x
2|--timeout 0.*expected at least 1|tune --timeout 0
2|--seed: expected a whole number.*'-1'|tune --seed -1
2|--alpha 0.9: expected a chance|tune --alpha 0.9
2|--alpha.*found 'nan'|tune --alpha nan
2|--resume and --fresh exclude each other|tune --resume --fresh
2|unexpected argument 'allreduce': collectives are given with --coll|tune allreduce
2|--launch: missing its value COMMAND|tune -q --launch
2|--timeout 0.*at least 1|verify --timeout 0
2|unexpected argument 'extra'|version extra
2|unexpected argument 'extra'|help tune extra
2|one directory, found 'b' as well|verify a b
2|out: No such file|verify
END

# ---- ranks ----

run "$CCLTUNE" bench
expect "bench without a launcher says how to launch" 2 err 'mpiexec -n 2 ccltune bench'
run env PATH= "$CCLTUNE" tune --out "$work/none"
expect "tune without any launcher says how to name one" 3 err "--launch 'srun -n 16'"
if with_mpi; then
    run "$CCLTUNE" tune --launch no-such-launcher --out "$work/none"
    expect "tune with a launcher that is not there" 3 err "'no-such-launcher': No such file"
    run "$CCLTUNE" tune --launch "mpiexec 'x" --out "$work/none"
    expect "an open quote in --launch" 2 err "a ' is not closed"
    run "$CCLTUNE" tune --launch ' ' --out "$work/none"
    expect "an empty --launch" 2 err 'empty'
    run "$CCLTUNE" tune --launch 'sh -c "echo nothing here >&2; exit 1"' --out "$work/none"
    expect "a launcher that launches nothing: what it printed is shown" 4 err 'nothing here'
    ok "none of them left a directory" [ ! -e "$work/none" ]
fi
run env PMI_RANK=1 PMI_SIZE=2 "$CCLTUNE" tun
expect "of a launch only the first rank speaks" 2
ok "... and rank 1 is silent" [ ! -s "$work/err" ]

# ---- the other program ----

mkdir "$work/alone"
cp "$CCLTUNE" "$work/alone/"
run env PMI_RANK=0 PMI_SIZE=1 "$work/alone/ccltune" bench
expect "bench, ccltune-mpi missing beside ccltune" 3 err 'alone/ccltune-mpi cannot be run .*MPICC='
run "$work/alone/ccltune" tune --launch true
expect "tune, ccltune-mpi missing beside ccltune" 3 err 'alone/ccltune-mpi is missing.*MPICC='
run "$work/alone/ccltune" bench --help
expect "the page of bench needs it too" 3 err 'ccltune-mpi'
run "$work/alone/ccltune" topo
expect "topo does not" 0 out cores
if with_mpi; then
    run bash -c "exec -a ccltune/9.9.9 '$BUILD/ccltune-mpi' bench"
    expect "a ccltune-mpi of another version" 3 err 'version 9.9.9 and ccltune-mpi .*one build'
fi

# ---- pages ----

# options_of SOURCE: the long names of a command's table of options
options_of() {
    grep -v OPTION_REFUSED "$root/src/cmd/$1" |
        sed -n 's/^    {\(0\|.[a-zA-Z].\), "\([a-z_-]*\)", OPTION_[A-Z]*,.*/--\2/p'
}

run "$CCLTUNE" help
expect "the first page" 0 out '^Commands'
commands=$(sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/out")
ok "... names the commands" grep -qx tune <<<"$commands"
for command in $commands; do
    [ "$command" != bench ] || with_mpi || continue # its page lies in ccltune-mpi
    for page in "$command --help" "$command -h" "help $command"; do
        # shellcheck disable=SC2086
        run "$CCLTUNE" $page
        expect "ccltune $page" 0 out .
        ok "... prints no error" [ ! -s "$work/err" ]
    done
done
while read -r command source least; do
    [ "$command" != bench ] || with_mpi || continue
    run "$CCLTUNE" "$command" --help
    cp "$work/out" "$work/page"
    missing=
    count=0
    for option in $(options_of "$source"); do
        count=$((count + 1))
        grep -q -- "$option" "$work/page" || missing="$missing $option"
    done
    ok "$command --help tells of all $count options (missing:$missing)" \
        [ -z "$missing" -a $count -ge "$least" ]
    ok "... in lines of at most 80 columns" eval '! grep -E ".{81}" "$work/page"'
done <<'END'
topo cmd_topo.c 3
tune tune_options.c 18
bench bench_options.c 14
verify cmd_verify.c 5
END
run "$CCLTUNE"
expect "without a word: the first page" 0 out '^Commands'
for word in --help -h; do
    run "$CCLTUNE" $word
    expect "ccltune $word: the first page" 0 out '^Commands'
done
for word in --version -V; do
    run "$CCLTUNE" $word
    expect "ccltune $word" 0 out '^ccltune [0-9]'
done

# ---- standard output ----

for words in help version topo "tune --help" "verify --help"; do
    run bash -c "'$CCLTUNE' $words >/dev/full"
    expect "ccltune $words onto a full disk" 4 err 'standard output'
    run bash -c "'$CCLTUNE' $words >&-"
    expect "ccltune $words, standard output closed" 4 err 'standard output'
done
run bash -c "'$CCLTUNE' help | true; exit \${PIPESTATUS[0]}"
ok "a reader that leaves early is no crash" [ "$status" = 0 -o "$status" = 4 ]

finish
