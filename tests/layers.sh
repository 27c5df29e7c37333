#!/bin/bash
# Proves the architecture from the sources: which room includes which, where outside libraries come in,
# and that nothing below src/cmd talks to the user. Prints TAP; a finding is a "# file:line: ..." line.
#
#   layers.sh [ROOT]     ROOT is the tree to look at, this one if not given
set -u
export LC_ALL=C

cd "${1:-$(dirname "$0")/..}" || exit 2

# room: the rooms it may include besides itself. Arrows only point to rooms named in an earlier line.
arrows='
base:
plugin:
kernels:
topo:    base
coll:    base topo
model:   base topo coll
exec:    base topo coll kernels plugin
target:  base topo coll plugin
tuner:   base topo coll model target
health:  base topo coll model target
report:  base topo coll
cmd:     base topo coll model exec target tuner health report plugin kernels
main:    base topo coll model exec target tuner health report plugin kernels cmd
'

# outside header (a pattern for the whole name): the files that may include it.
outside='
yaml\.h                         src/base/cfg\.c
jansson\.h                      src/base/json\.c
expat\.h                        src/base/xml\.c
gsl/.*                          src/base/stats\.c|src/model/fit\.c
hwloc(/.*|\.h)                  src/topo/topo_hwloc\.c
mpi\.h                          src/exec/.*
(cuda.*|nccl.*)\.h              src/exec/.*
(infiniband|rdma)/.*            src/exec/.*
'

number=0
failures=0

# tap NAME FINDINGS: one test, which passes when there are no findings
tap() {
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "# ${2//$'\n'/$'\n'# }"
        failures=$((failures + 1))
    fi
}

sources=$(find src kernels -name '*.[ch]' 2>/dev/null | sort)
[ -n "$sources" ] || { echo "1..1"; echo "not ok 1 - there are sources under src/"; exit 1; }

# Every include as "file line kind name", kind being q for "name" and a for <name>.
includes=$(xargs grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' <<<"$sources" |
    sed -E 's/^([^:]+):([0-9]+):[^"<]*(["<])([^">]*)[">].*/\1 \2 \3 \4/; s/ " / q /; s/ < / a /')

# src/base/x.c is of room base, src/main.c of room main, kernels/x.h of room kernels.
room_of='function room(path, part) {
    split(path, part, "/")
    if (part[1] == "kernels") return "kernels"
    if (part[2] ~ /\./) { sub(/\..*/, "", part[2]) }
    return part[2]
}'

find_stray_rooms() {
    awk "$room_of"'
        NR == FNR { if (NF) { sub(/:/, "", $1); known[$1] = 1 } next }
        !(room($1) in known) { print $1 ": room \"" room($1) "\" is not in the table of tests/layers.sh" }
    ' <(echo "$arrows") <(echo "$sources")
}

# Includes of a room that lead nowhere or to a room it may not know.
find_bad_arrows() { # room
    awk -v of="$1" "$room_of"'
        FILENAME == ARGV[1] { if (sub(/:/, "", $1) && $1 == of) for (i = 2; i <= NF; i++) may[$i] = 1; next }
        FILENAME == ARGV[2] { name = $1; sub(/.*\//, "", name); place[name] = room($1); next }
        $3 != "q" || room($1) != of { next }
        $4 == "build_info.h" && (of == "cmd" || of == "main") { next }
        $4 ~ /\// { print $1 ":" $2 ": include \"" $4 "\" by its file name only"; next }
        !($4 in place) { print $1 ":" $2 ": \"" $4 "\" is not in the tree"; next }
        place[$4] != of && !(place[$4] in may) {
            print $1 ":" $2 ": room " of " may not include \"" $4 "\" of room " place[$4] }
    ' <(echo "$arrows") <(echo "$sources") <(echo "$includes")
}

# An arrow in the table that points down the page would allow a circle.
find_circles() {
    awk 'NF { sub(/:/, "", $1); for (i = 2; i <= NF; i++) if (!($i in seen)) print $1 " -> " $i; seen[$1] = 1 }' \
        <<<"$arrows"
}

find_outside() { # header pattern, allowed files
    awk -v header="^($1)\$" -v allowed="^($2)\$" '
        $4 ~ header && $1 !~ allowed { print $1 ":" $2 ": <" $4 "> belongs in " allowed }
    ' <<<"$includes" | sed 's/\^(\(.*\))\$$/\1/; s/\\\././g'
}

find_twins() { # names that two files of the tree share
    find src kernels tests -name '*.[ch]' 2>/dev/null | sed 's,.*/,,' | sort | uniq -d |
        sed 's/$/: more than one file has this name/'
}

find_long() {
    xargs wc -l <<<"$sources" | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines; at most 800" }'
}

# What prints, in code without its comments and strings. The last words of a process that is out of
# memory are the one exception: no caller is left to hand them to.
find_printing() {
    # shellcheck disable=SC2016
    grep -vE '^src/(cmd/|main\.c|base/arena\.c)' <<<"$sources" | xargs perl -e '
        for my $file (@ARGV) {
            open my $in, "<", $file or die "$file: $!";
            local $/;
            my $text = <$in>;
            $text =~ s{(/\*.*?\*/|//[^\n]*)|"((?:\\.|[^"\\\n])*)"|(\x27(?:\\.|[^\x27\\])+\x27)}
                      {my $all = $&; defined $2 ? "\"\"" : defined $3 ? "0" : $all =~ tr/\n//cdr}gse;
            my $std = qr/\b(?:stdout|stderr|STDOUT_FILENO|STDERR_FILENO)\b/;
            while ($text =~ /\b(?:(v?printf|puts|putchar|perror|psignal)\s*\(|
                               (v?fprintf|fputs|fputc|putc|fwrite|dprintf|write)\s*\([^;]*?$std|
                               (dprintf|write)\s*\(\s*[12]\s*,)/gx) {
                my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
                my $what = $1 || $2 || $3;
                print "$file:$line: $what() prints; only src/cmd may\n";
            }
        }'
}

tap "the table of rooms has no circle" "$(find_circles)"
tap "every folder of src/ is a room of the table" "$(find_stray_rooms)"
for room in $(sed -n 's/^\([a-z]*\):.*/\1/p' <<<"$arrows"); do
    tap "room $room includes only what it may" "$(find_bad_arrows "$room")"
done
while read -r header files; do
    [ -n "$header" ] || continue
    tap "${header//\\/} only in ${files//\\/}" "$(find_outside "$header" "$files")"
done <<<"$outside"
tap "file names are unique" "$(find_twins)"
tap "no file has more than 800 lines" "$(find_long)"
tap "nothing below src/cmd prints" "$(find_printing)"

echo "1..$number"
[ $failures = 0 ]
