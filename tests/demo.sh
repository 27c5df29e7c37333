#!/usr/bin/env bash
# demo.sh BUILD - the main job: describe this machine, tune its MPI library, prove the result; then the
# same for our own engine, and both side by side.
#
# Writes out/. Exits 0 when that was done, whatever the answer was; a promise that did not hold in
# the proof is said there.
set -eu
build=$1
out=${OUT:-out}
ccltune=$build/ccltune

heading() { printf '\n== %s\n\n' "$1"; }

# Both libraries with what was proven for them, plain buffers, ranks in the same places.
beside() { # LAUNCHER DIRECTORY: times by size
    (
        . "$2/tuned.env"
        . "$2/engine/tuned.env"
        $1 -n 2 "$ccltune" bench --library mpich,engine --buffers plain -b 64 -e 4M -f 4 --iters 400 \
            --format csv
    ) | awk -F, '
        $1 == "size" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["library"]) == "mpich" { mpich[$1] = $(at["oop_time_us"]) }
        $(at["library"]) == "engine" {
            if (!lines++) printf "%10s %12s %12s %9s\n", "size (B)", "MPICH (us)", "engine (us)", "MPICH/engine"
            printf "%10d %12.2f %12.2f %12.2f\n", $1, mpich[$1], $(at["oop_time_us"]),
                mpich[$1] / $(at["oop_time_us"])
        }
        END { exit !lines }'
}

heading "1. What machine is this?"
mkdir -p "$out"
"$ccltune" topo --local
"$ccltune" topo --local --format yaml -o "$out/machine.yaml"

heading "2. Tune: race the algorithms, confirm the winners in fresh launches, write what was proven"
"$ccltune" tune --fresh --out "$out"

heading "3. Prove it: fresh launches with and without the emitted file"
status=0
"$ccltune" verify "$out" || status=$?
[ "$status" -le 1 ] || exit "$status"
[ "$status" -eq 0 ] || echo "(a promise did not hold on this machine at this moment; the table says which)"

heading "4. What a job takes"
cat "$out/tuned.env"

launcher=$(sed -n 's/^ *"launch": "\(.*\) -n [0-9]*",*$/\1/p' "$out/result.json")

heading "5. The same for our own engine: algorithm, protocol, channels, chunk; 2 ranks"
"$ccltune" tune --target engine --launch "$launcher -n 2" --coll allreduce -b 64 -e 4M -f 4 \
    --budget 40 --fresh --out "$out/engine"

heading "6. ... and 4 ranks, which give way to each other where there are fewer cores"
"$ccltune" tune --target engine --launch "$launcher -n 4" --coll allreduce -b 1K -e 1M -f 32 \
    --budget 30 --fresh --out "$out/engine-4"

heading "7. Side by side: allreduce, 2 ranks, each with its own tuned.env"
beside "$launcher" "$out"
