#!/bin/bash
# Does tune find what is not there? 40 short runs in which every candidate is the default under
# another name: each line in a file is false. At most 5 files may hold one; were the chance of a
# false file 5 %, more would be seen in 1.4 % of such tests. Prints TAP.
. "$(dirname "$0")/../lib.sh"
: "${MPIEXEC:?}"
"$CCLTUNE" version | grep -q 'MPI *MPICH' || skip_all "not built with MPICH"
runs=${1:-40}

false_files=0
confirmed=0
for seed in $(seq "$runs"); do
    run "$CCLTUNE" tune --target mpich-aa --launch "$MPIEXEC -n 2" --oversubscribe --seed "$seed" \
        -b 16K -e 1M -f 4 --budget 12 --min-gain 0 --out "$work/aa"
    expect "run $seed" 0 out 'use it'
    held=$(perl -MJSON::PP -0777 -ne '
        my $result = decode_json($_);
        printf "%d %d\n", scalar @{$result->{rows}}, $result->{launch_pairs} > 0' \
        "$work/aa/result.json")
    [ "${held% *}" = 0 ] || false_files=$((false_files + 1))
    [ "${held#* }" = 0 ] || confirmed=$((confirmed + 1))
    rm -rf "$work/aa"
done
echo "# $false_files of $runs files hold a line; $confirmed runs had something to confirm"
ok "at most $((runs / 8)) of $runs files hold a false line: $false_files" \
    [ "$false_files" -le $((runs / 8)) ]
ok "in some runs something was confirmed: $confirmed" [ "$confirmed" -gt 0 ]

finish
