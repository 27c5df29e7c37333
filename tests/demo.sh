#!/usr/bin/env bash
# demo.sh BUILD - the main job: describe this machine, tune its MPI library, prove the result.
#
# Writes out/. Exits 0 when that was done, whatever the answer was; a promise that did not hold in
# the proof is said there.
set -eu
build=$1
out=${OUT:-out}
ccltune=$build/ccltune

heading() { printf '\n== %s\n\n' "$1"; }

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
