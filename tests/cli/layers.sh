#!/bin/bash
# Does tests/layers.sh find what it is there to find? It must pass on this tree and fail, for the right
# reason and for no other, on copies that break one rule each. Prints TAP.
set -u

cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
number=0

result() { # verdict name [diagnostics]
    number=$((number + 1))
    echo "$1 $number - $2"
    [ "$1" = ok ] || echo "# ${3//$'\n'/$'\n'# }"
}

fresh_copy() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/tests"
    cp -R src "$work/tree/"
    [ ! -d kernels ] || cp -R kernels "$work/tree/"
}

# expect NAME TEST FILE: the copy fails layers.sh in the one test whose name contains TEST, naming FILE
expect() {
    local out failed
    out=$(bash tests/layers.sh "$work/tree") && {
        result "not ok" "$1" "layers.sh found nothing"
        return
    }
    failed=$(grep '^not ok' <<<"$out")
    if [ "$(wc -l <<<"$failed")" = 1 ] && [[ $failed == *"$2"* ]] && grep -qF "# $3" <<<"$out"; then
        result ok "$1"
    else
        result "not ok" "$1" "wanted one failure of '$2' naming $3, got:"$'\n'"$(grep -A3 '^not ok' <<<"$out")"
    fi
}

fresh_copy
if out=$(bash tests/layers.sh "$work/tree"); then
    result ok "an untouched copy passes"
else
    result "not ok" "an untouched copy passes" "$(grep -A3 '^not ok' <<<"$out")"
fi

fresh_copy
mkdir -p "$work/tree/src/topo"
echo 'struct upper;' >"$work/tree/src/topo/doctored_upper.h"
echo '#include "doctored_upper.h"' >"$work/tree/src/base/doctored.c"
expect "base including topo is found" "room base" "src/base/doctored.c:1"

fresh_copy
mkdir -p "$work/tree/src/exec" "$work/tree/src/tuner"
echo 'struct engine;' >"$work/tree/src/exec/doctored_engine.h"
echo '  #  include "doctored_engine.h"' >"$work/tree/src/tuner/doctored.h"
expect "tuner including exec is found, however it is spaced" "room tuner" "src/tuner/doctored.h:1"

fresh_copy
mkdir -p "$work/tree/src/target"
echo '#include <mpi.h>' >"$work/tree/src/target/doctored.c"
expect "mpi.h in target is found" "mpi.h only" "src/target/doctored.c:1"

fresh_copy
mkdir -p "$work/tree/src/cmd"
echo '#include <mpi.h>' >"$work/tree/src/cmd/doctored.c"
expect "mpi.h in a command is found" "mpi.h only" "src/cmd/doctored.c:1"

fresh_copy
echo '#include <jansson.h>' >"$work/tree/src/base/doctored.c"
expect "a second user of jansson is found" "jansson.h only" "src/base/doctored.c:1"

fresh_copy
echo '#include "../base/error.h"' >"$work/tree/src/base/doctored.c"
expect "an include by path is found" "room base" "src/base/doctored.c:1"

fresh_copy
echo '#include "doctored_nowhere.h"' >"$work/tree/src/base/doctored.c"
expect "an include that leads nowhere is found" "room base" "src/base/doctored.c:1"

fresh_copy
mkdir -p "$work/tree/src/coll"
cp src/base/error.c "$work/tree/src/coll/error.c"
expect "two files of one name are found" "names are unique" "error.c"

fresh_copy
mkdir -p "$work/tree/src/attic"
echo 'struct old;' >"$work/tree/src/attic/doctored.h"
expect "a room that is not in the table is found" "is a room" "src/attic/doctored.h"

fresh_copy
yes 'struct row;' | head -801 >"$work/tree/src/base/doctored.h"
expect "a file of 801 lines is found" "800 lines" "src/base/doctored.h: 801"

for call in 'printf("x")' 'perror("x")' 'fprintf(stderr, "%d", 1)' 'fputs("x",
    stdout)' 'write(2, "x", 1)'; do
    fresh_copy
    printf 'void f(void)\n{\n    %s;\n}\n' "$call" >"$work/tree/src/base/doctored.c"
    expect "${call//$'\n'*/...} below cmd is found" "prints" "src/base/doctored.c:3"
done

fresh_copy
cat >"$work/tree/src/base/doctored.c" <<'EOF'
/* printf("in a comment"); */
void f(FILE *out, char *text) // puts("in another")
{
    fprintf(out, "perror(\"in a string\")");
    snprintf(text, 4, "%c", '"');
}
int g(const char *format, ...) __attribute__((format(printf, 1, 2)));
EOF
if out=$(bash tests/layers.sh "$work/tree"); then
    result ok "writing to a stream that was handed in is no printing"
else
    result "not ok" "writing to a stream that was handed in is no printing" "$(grep -A3 '^not ok' <<<"$out")"
fi

echo "1..$number"
