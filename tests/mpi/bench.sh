#!/bin/bash
# ccltune bench on real ranks: its table, JSON and CSV, every datatype and operation, odd numbers of
# ranks, groups, refused options, launchers of every temper. Prints TAP.
. "$(dirname "$0")/../lib.sh"
: "${MPIEXEC:?}"

all_collectives="allreduce reduce_scatter all_gather broadcast reduce alltoall"

# Ranks may outnumber cores here; they give the core away while they wait.
ranks() { # RANKS WORDS...: bench on so many ranks
    local ranks=$1
    shift
    run "$MPIEXEC" -n "$ranks" -genv LD_PRELOAD "$BUILD/yield.so" \
        "$CCLTUNE" bench --oversubscribe "$@"
}
two() {
    run "$MPIEXEC" -n 2 "$CCLTUNE" bench "$@"
}

two -b 8 -e 8
grep -q "usable core" "$work/err" && skip_all "fewer than two cores"
"$CCLTUNE" version | grep -q 'MPI *MPICH' || skip_all "not built with MPICH"

# ---- the table ----

two -b 8 -e 64 -n 5
expect "two ranks" 0 out '^# Out of bounds values : 0 OK$'
ok "nothing on standard error" [ ! -s "$work/err" ]
ok "columns as nccl-tests has them" \
    diff - <(sed -n 's/^# *\(size .*\)/\1/p' "$work/out" | tr -s ' ') \
    <<<"size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
ok "their units" diff - <(sed -n 's/^# *\((B) .*\)/\1/p' "$work/out" | tr -s ' ') \
    <<<"(B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)"
ok "a row a size" diff - <(awk '!/^#/ { print $1, $2, $3, $4, $5, $9, $13 }' "$work/out") <<'END'
8 2 float sum -1 0 0
16 4 float sum -1 0 0
32 8 float sum -1 0 0
64 16 float sum -1 0 0
END
ok "the intro names ranks, group, seed and what a time is" \
    eval 'grep -q "2 ranks on 1 host, group all=1x2" "$work/out" && grep -q "seed: 1" "$work/out" &&
          grep -q "^# time: " "$work/out" && grep -q "^# Avg bus bandwidth *: [0-9]" "$work/out"'

while IFS='|' read -r what words sizes; do
    # shellcheck disable=SC2086
    two -n 2 $words
    expect "$what: $words" 0
    ok "... measures $sizes" diff - <(awk '!/^#/ { printf "%s ", $1 }' "$work/out") <<<"$sizes " -b
done <<'END'
a factor|-b 8 -e 100 -f 3|8 24 72
steps|-b 8 -e 32 -f 1 -i 8|8 16 24 32
long names|--minbytes 8 --maxbytes 32 --stepfactor 1 --stepbytes 12|8 20 32
no bytes, then one element|-b 0 -e 16|0 4 8 16
no bytes, divided|alltoall -b 0 -e 32|0 8 16 32
sizes that round to the same are measured once|-b 8 -e 12 -f 1 -i 1|8 12
sizes that hold no element|-b 1 -e 3 -f 1 -i 1|0
one size|-b 4K -e 4K -d double|4096
units|-b 1KiB -e 2K|1024 2048
END

# ---- JSON and CSV ----

keys='size count type redop root oop_time_us oop_algbw oop_busbw oop_wrong ip_time_us ip_algbw
ip_busbw ip_wrong'
two allreduce alltoall -b 8 -e 16 -n 3 --format json
expect "JSON" 0
ok "... which is JSON" valid_json "$work/out"
# shellcheck disable=SC2016
rows_have() { # FILE KEYS: each row of each result has just these keys, and numbers that fit
    perl -MJSON::PP -0777 -e '
        my ($file, $keys) = @ARGV;
        my @keys = sort split /\s+/, $keys;
        open my $in, "<", $file or die; my $all = decode_json(<$in>);
        die "no results" unless @{$all->{results}} == 2;
        for my $result (@{$all->{results}}) {
            die "rows" unless @{$result->{rows}} == 2;
            for my $row (@{$result->{rows}}) {
                die join(" ", sort keys %$row) unless join(" ", sort keys %$row) eq "@keys";
                die "algbw" if abs($row->{oop_algbw} - $row->{size} / $row->{oop_time_us} / 1e3) >
                    1e-6 * $row->{oop_algbw};
                die "wrong" if $row->{oop_wrong} != 0;
                my $all_to_all = $result->{collective} eq "all-to-all";
                die "in place" if $all_to_all ? defined $row->{ip_time_us} : $row->{ip_wrong} != 0;
            }
        }' "$@"
}
ok "... rows have the table's keys" rows_have "$work/out" "$keys"
two allreduce alltoall -b 8 -e 16 -n 3 -J "$work/j.json"
expect "-J: the table" 0 out '^ +16 +4 +float'
ok "... and JSON in the file" rows_have "$work/j.json" "$keys"
two allreduce -b 8 -e 16 -n 3 --format csv
expect "CSV" 0
ok "... its head is the keys" diff - <(head -n 1 "$work/out") <<<"$(echo $keys | tr ' ' ,)"
ok "... and a line a size" diff - <(tail -n +2 "$work/out" | cut -d, -f1-5,9,13) <<'END'
8,2,float,sum,-1,0,0
16,4,float,sum,-1,0,0
END
two -e 8 -J "$work/no-dir/x.json"
expect "-J where nothing can be written" 2 err 'no-dir/x.json'
two -e 8 -J /dev/full
expect "-J onto a device" 2 err '/dev/full'
run bash -c "'$MPIEXEC' -n 2 '$CCLTUNE' bench -e 8 -n 1 >/dev/full"
ok "standard output on a full disk is an error" [ "$status" != 0 ]

# ---- every collective x datatype x operation ----

# sane: the last run's CSV has rows, and nothing wrong in any
sane() {
    awk -F, '/^size/ { next }
             { rows++; if ($9 != 0 || ($13 != 0 && $13 != "")) bad = bad "\n" $0 }
             END { if (rows < least || bad) { print rows " rows, wrong:" bad; exit 1 } }' \
        least="$1" "$work/out"
}
for type in int8 uint8 int32 uint32 int64 uint64 float double; do
    for op in sum prod min max; do
        # shellcheck disable=SC2086
        ranks 2 $all_collectives -d $type -o $op -b 0 -e 2000 -f 9 -n 2 --format csv
        expect "2 ranks, $type $op" 0
        ok "... right everywhere" sane 18
    done
done
odd=("int8 prod" "uint8 sum" "int32 min" "uint32 max" "int64 prod" "uint64 sum" "float prod"
    "double max")
for n in 1 3 7; do
    for pair in "${odd[@]}"; do
        # shellcheck disable=SC2086
        ranks $n $all_collectives -d ${pair% *} -o ${pair#* } -b 0 -e 3000 -f 7 -n 2 --format csv
        expect "$n ranks, $pair" 0
        ok "... right everywhere" sane 18
    done
done
ranks 3 $all_collectives -b 40000 -e 400000 -f 3 -n 2 --format csv
expect "3 ranks, sizes that do not divide" 0
ok "... right everywhere" sane 18
two reduce bcast -r 1 -b 8 -e 8K -f 8 -n 2 --format csv
expect "root 1" 0 out '^8,2,float,sum,1,'
ok "... right everywhere" sane 8
ranks 3 reduce bcast -r 2 -b 8 -e 8K -f 8 -n 2 --format csv
expect "root 2 of 3" 0 out '^8,2,float,none,2,'
ok "... right everywhere" sane 8

# ---- groups ----

two --group 'a=1x2' -b 8 -e 8
expect "the group of both ranks" 0 out 'group a=1x2$'
two --group 'a=1x1*2' -b 8 -e 8
expect "two groups of one at once" 0 out 'group a=1x1\*2$'
for group in 'tp=1x2*2' 'tp=1x2x2*2' 'half=1x2' 'three=1x3'; do
    # shellcheck disable=SC2086
    ranks 4 --group "$group" $all_collectives -b 0 -e 4K -f 16 -n 2 --format csv
    expect "4 ranks, group $group" 0
    ok "... right everywhere" sane 18
done
ranks 4 --group 'tp=1x2x2*2' -b 8 -e 8 -n 2 -r 1 bcast
expect "a root is counted within its group" 0 out ' none +1 '
ranks 7 --group 'p=1x3*2' -b 8 -e 64 -n 2 --format csv
expect "two groups of three among 7: one rank stands by" 0
ok "... right everywhere" sane 4

# ---- what is refused ----

while IFS='|' read -r pattern words; do
    # shellcheck disable=SC2086
    two $words
    expect "bench $words: $pattern" 2 err "$pattern"
    ok "... is said once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
done <<'END'
'-t' is not taken here: .*launch more ranks|-t 2
'--ngpus' is not taken here: .*launch more ranks|--ngpus 8
'-g' is not taken here|-g 1
'-m' is not taken here: calls are timed one by one|-m 4
'-G' is not taken here: .*CUDA graph|-G 1
'-T' is not taken here: .*-timeout|-T 60
'-a' is not taken here: .*maximum over ranks|-a 1
'-C' is not taken here|-C 1
'-z' is not taken here|-z 1
'-R' is not taken here|-R 1
did you mean --iters|--itrs 5
did you mean 'allreduce'|alreduce
allreduce is named twice|allreduce all_reduce
gather is not run with MPI here|gather -e 8
send-recv is not run with MPI here|sendrecv -e 8
datatype 'half': MPI's standard has no such type|-d half
reduction 'avg': MPI has no such operation; use sum|-o avg
unknown datatype 'flaot': expected int8.*float|-d flaot
unknown library 'nccl': expected mpich|--library nccl
--root 2: the group has ranks 0 to 1|bcast -r 2
--root 1: the group has ranks 0 to 0|bcast -r 1 --group a=1x1*2
--maxbytes 8 is below --minbytes 64|-b 64 -e 8
--stepbytes 0 never ends|-f 1 -i 0
--iters: expected 1|-n 0
an MPI count ends at 2147483647|-b 1T -e 1T
1 host with 2 ranks each holds 0 such groups|--group a=1x3
1 host with 2 ranks each holds 0 such groups|--group a=2x1
holds 1 such groups? of the 2 wanted|--group a=1x2*2
expected NAME=HOSTSxRANKS|--group a=1x2x
END
one_core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
run "$MPIEXEC" -n 3 taskset -c "$one_core" "$CCLTUNE" bench -e 8
expect "more ranks than cores" 1 err '3 ranks on a host with 1 usable core.*--oversubscribe'
ok "... is said once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
if [[ $BUILD != *address* ]]; then # whose runtime takes more than that
    run bash -c "ulimit -v 1500000; '$MPIEXEC' -n 2 '$CCLTUNE' bench -b 1G -e 1G"
    expect "more memory than there is" 4 err 'no memory for two buffers of 1073741824 bytes'
fi

# ---- launchers ----

run bash -c "'$MPIEXEC' -n 2 '$CCLTUNE' bench -e 16 <&-"
expect "standard input closed" 0 out '^ +16 +4 +float'
run "$MPIEXEC" -l -n 2 "$CCLTUNE" bench -e 16
expect "a launcher that prefixes lines" 0 out '^\[0\] +16 +4 +float'
ok "... each once" eval '! grep -E "\[0\].*\[0\]" "$work/out"'
if [[ $MPIEXEC != *openmpi* ]] && command -v mpiexec.openmpi >/dev/null; then
    # Where the sandbox forbids what Open MPI needs, its launcher fails by itself.
    if mpiexec.openmpi -n 2 true 2>/dev/null; then
        for command in bench "tune --coll allreduce -e 64"; do
            # shellcheck disable=SC2086
            run mpiexec.openmpi -n 2 "$CCLTUNE" $command
            expect "$command under another MPI's launcher" 3 err \
                "Open MPI's mpiexec, which says 2 ranks .*MPICH.* sees 1: .*mpiexec.mpich"
            ok "... is said once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
        done
        run "$CCLTUNE" tune --launch "mpiexec.openmpi --allow-run-as-root -n 2" --coll reduce
        expect "tune --launch of another MPI" 3 err \
            "Open MPI's mpiexec, which says 2 ranks .*MPICH.* sees 1: .*mpiexec.mpich"
        ok "... is said once" [ "$(grep -c '^ccltune' "$work/err")" = 1 ]
    fi
fi
ok "no process is left" none_left 5

finish
