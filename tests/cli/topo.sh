#!/bin/bash
# ccltune topo as people call it: pages, round trips, broken files, places that cannot be written.
# Prints TAP. $CCLTUNE is the program.
set -u
: "${CCLTUNE:?set it to the program under test}"

cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d) || exit 2
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
number=0
unset HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_FSROOT HWLOC_THISSYSTEM
export CCLTUNE work

result() { # verdict name [diagnostics]
    number=$((number + 1))
    echo "$1 $number - $2"
    [ "$1" = ok ] || sed 's/^/# /' <<<"${3-}"
}

# check NAME COMMAND...: the command must succeed
check() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1); then
        result ok "$name"
    else
        result "not ok" "$name" "status $?: $out"
    fi
}

# refuse NAME STATUS PATTERN ARGUMENTS...: ccltune topo must fail so, print nothing to standard
# output and one line to standard error that matches
refuse() {
    local name=$1 status=$2 pattern=$3 found
    shift 3
    "$CCLTUNE" topo "$@" >"$work/out" 2>"$work/err"
    found=$?
    if [ $found = "$status" ] && [ ! -s "$work/out" ] && grep -Eq -- "$pattern" "$work/err" &&
        [ "$(wc -l <"$work/err")" = 1 ]; then
        result ok "$name"
    else
        result "not ok" "$name" \
            "status $found, expected $status and '$pattern': $(cat "$work/err")"
    fi
}

# holds NAME SCRIPT: the script must succeed; $CCLTUNE and $work are in its environment
holds() {
    check "$1" bash -c "$2"
}

# ---- this machine ----

check "shows this machine" "$CCLTUNE" topo
holds "the page names kernel and usable cores" \
    '"$CCLTUNE" topo --local >$work/page && grep -q "kernel Linux" $work/page &&
     grep -Eq "usable .* of [0-9]+" $work/page'
check "writes YAML" "$CCLTUNE" topo --format yaml -o "$work/here.yaml"
holds "YAML reads back to the same YAML" \
    'diff <(grep -v "^# Note" $work/here.yaml) <("$CCLTUNE" topo --format yaml $work/here.yaml)'
holds "YAML reads back to the same page" \
    'export HWLOC_XMLFILE=tests/data/topo/two-sockets.xml
     "$CCLTUNE" topo --format yaml -o $work/two.yaml &&
     diff <("$CCLTUNE" topo | head -n -2) <("$CCLTUNE" topo $work/two.yaml) # less the note'
holds "the fingerprint is 16 digits and stays" \
    'f=$("$CCLTUNE" topo --fingerprint) && [[ $f =~ ^[0-9a-f]{16}$ ]] &&
     [ "$f" = "$("$CCLTUNE" topo --fingerprint $work/here.yaml)" ]'
holds "a bound process sees one usable core" \
    'cpu=$(taskset -cp $$ | sed "s/.*: //; s/[-,].*//")
     taskset -c "$cpu" "$CCLTUNE" topo | grep -q "(1 usable)"'
holds "JSON says the same fingerprint" \
    'f=$("$CCLTUNE" topo --fingerprint $work/here.yaml)
     "$CCLTUNE" topo --format json $work/here.yaml | grep -q "\"fingerprint\": \"$f\""'

# ---- other machines ----

holds "shows a machine of two kinds of hosts" \
    '"$CCLTUNE" topo tests/data/topo/pair.yaml >$work/page &&
     grep -q "^pair: two kinds: 30 x (1 x Example, CPU #1" $work/page'
holds "a pipe is a file" \
    '"$CCLTUNE" topo <(cat tests/data/topo/pair.yaml) | grep ^fingerprint'
holds "XML of hwloc stands in for the machine" \
    'HWLOC_XMLFILE=tests/data/topo/two-sockets.xml "$CCLTUNE" topo | grep "2 x Example CPU 9000"'
holds "works without /sys and devices" \
    'mkdir $work/none && HWLOC_FSROOT=$work/none "$CCLTUNE" topo | grep "NICs: none seen"'
HWLOC_SYNTHETIC=pack:two refuse "an unusable HWLOC_SYNTHETIC is an error" 2 HWLOC_SYNTHETIC

# ---- broken files ----

# type_of LINE...: a topology file whose host type has these lines, the sixth and on
type_of() {
    printf 'ccltune: 1\nname: x\nhosts: [{type: t, count: 1}]\ntypes:\n  t:\n'
    printf '    %s\n' "$@"
}

printf '' >"$work/empty.yaml"
printf '\000\001\377\376ELF' >"$work/binary.yaml"
head -c 700 tests/data/topo/pair.yaml >"$work/truncated.yaml"
type_of 'kernel: a' 'kernel: b' >"$work/twice.yaml"
type_of 'nic: []' >"$work/unknown.yaml"
type_of 'nics: [{name: eth0, speed: 25}]' >"$work/bare.yaml"
printf '<topology version="2.0"/>\n' >"$work/xml.yaml"

refuse "a missing file" 2 "no-such-file.yaml: .*" "$work/no-such-file.yaml"
refuse "a directory" 2 "is a directory" "$work"
refuse "an empty file" 2 "empty.yaml:1:1: " "$work/empty.yaml"
refuse "a binary file" 2 "binary.yaml:1:[0-9]+: " "$work/binary.yaml"
refuse "a truncated file" 2 "truncated.yaml:[0-9]+:[0-9]+: " "$work/truncated.yaml"
refuse "a key twice" 2 "twice.yaml:7:5: .*'kernel' stands twice" "$work/twice.yaml"
refuse "an unknown key" 2 "unknown.yaml:6:5: .*did you mean 'nics'" "$work/unknown.yaml"
refuse "a number without unit" 2 "bare.yaml:6:32: .*no unit" "$work/bare.yaml"
refuse "XML in place of YAML" 2 "xml.yaml:1:1: .*--format yaml" "$work/xml.yaml"

# ---- options ----

holds "help teaches" '"$CCLTUNE" topo --help | grep -- --fingerprint'
refuse "an unknown format" 2 "yaml" --format xml
refuse "two files" 2 "second file" a.yaml b.yaml
refuse "a file and --local" 2 "both --local" --local a.yaml

# ---- writing ----

# As nobody where we are root, whom a mode does not stop.
mkdir "$work/locked" "$work/bin"
echo before >"$work/locked/kept.yaml"
cp "$CCLTUNE" "$work/bin/ccltune"
chmod 755 "$work" "$work/bin" "$work/bin/ccltune"
chmod 555 "$work/locked"
[ "$(id -u)" = 0 ] && drop='setpriv --reuid=65534 --regid=65534 --clear-groups' || drop=
out=$($drop "$work/bin/ccltune" topo -o "$work/locked/kept.yaml" 2>&1)
status=$?
if [ $status = 4 ] && grep -q "locked/kept.yaml" <<<"$out"; then
    result ok "a directory that may not be written is status 4"
else
    result "not ok" "a directory that may not be written is status 4" "status $status: $out"
fi
holds "and what was there is there" '[ "$(cat $work/locked/*)" = before ]'
refuse "a directory that is not there" 2 "no-dir/x.yaml" -o "$work/no-dir/x.yaml"
holds "a full disk is status 4" '"$CCLTUNE" topo >/dev/full 2>/dev/null; [ $? = 4 ]'

echo "1..$number"
