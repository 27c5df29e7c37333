# shellcheck shell=bash
# What shell tests share: TAP, running the program, looking for processes. Sourced, never run.
#
#   . "$(dirname "$0")/../lib.sh"
#   run COMMAND...          run it; $status, $work/out and $work/err are what came of it
#   expect NAME STATUS [out|err PATTERN]...   judge the last run: status, and what each stream holds
#   ok NAME COMMAND...      COMMAND must succeed; what it printed is shown when it does not
#   skip_all WHY            prints that nothing can be tested here, and ends
#   finish                  the plan; exits with 1 when anything failed
#
# $root is the repository, $work a directory of this run; the script works in $work/here.
# Every process started from here carries the mark $MARK in its environment, and so do its
# descendants whatever session or parent they got: `marked` lists them.
set -u
: "${CCLTUNE:?set it to the program under test}" "${BUILD:?set it to the folder it lies in}"
export LC_ALL=C
unset "${!MPIR_CVAR_@}" "${!PMI_@}" "${!PMIX_@}" "${!SLURM_@}" HWLOC_XMLFILE HWLOC_SYNTHETIC

root=$(cd "$(dirname "$0")/../.." && pwd) # of the repository
# Leaks are looked for in programs without MPI: the search crashes over what MPICH maps.
if [ -n "${MPIEXEC:-}" ] && [ -n "${ASAN_OPTIONS:-}" ] && [[ $0 == *mpi/* ]]; then
    export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/ccltune-test.XXXXXX") || exit 2
MARK=CCLTUNE_TEST_MARK=$(basename "$work")
export "${MARK?}"
mkdir "$work/here" && cd "$work/here" || exit 2 # what goes wrong leaves its files there
number=0 failures=0 status=0
trap 'leave' EXIT

leave() {
    local pid
    for pid in $(marked); do kill -9 "$pid" 2>/dev/null; done
    rm -rf "$work"
}

# marked [PATTERN]: processes of this test whose command matches: programs and launchers
marked() {
    local pattern=${1:-^(ccltune|mpiexec|hydra|orterun|prterun)} file pid comm
    for file in $(grep -lsF "$MARK" /proc/[0-9]*/environ); do
        pid=${file//[!0-9]/}
        comm=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
        [[ $comm =~ $pattern ]] || continue
        grep -qs '^State:.Z' "/proc/$pid/status" || echo "$pid" # a zombie has ended
    done
}

# none_left SECONDS: all of them end within that time
none_left() {
    local end=$((SECONDS + $1)) left
    while left=$(marked) && [ -n "$left" ]; do
        if [ $SECONDS -ge $end ]; then
            echo "still running after $1 s:"
            for left in $left; do tr '\0' ' ' <"/proc/$left/cmdline" | cut -c 1-150; echo; done
            return 1
        fi
        sleep 0.1
    done
}

result() { # "ok" or "not ok", the name, diagnostics
    number=$((number + 1))
    echo "$1 $number - ${2//#/no. }"
    if [ "$1" != ok ]; then
        failures=$((failures + 1))
        sed 's/^/# /' <<<"${3-}"
    fi
}

ok() {
    local name=$1 said
    shift
    if said=$("$@" 2>&1); then result ok "$name"; else result "not ok" "$name" "$* said: $said"; fi
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# The time limit is for what must never happen: a hang is a failure, not a stuck test.
run() {
    ran=$*
    timeout -k 5 "${RUN_LIMIT:-60}" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

expect() {
    local name=$1 wanted=$2 why=
    shift 2
    [ "$status" = "$wanted" ] || why="status $status, expected $wanted"
    while [ $# -ge 2 ]; do
        grep -Eq -- "$2" "$work/$1" || why="$why; standard $1 has nothing like '$2'"
        shift 2
    done
    if [ -z "$why" ]; then
        result ok "$name"
    else
        result "not ok" "$name" "$ran: $why
--- out
$(tail -n 20 "$work/out")
--- err
$(tail -n 20 "$work/err")"
    fi
}

# valid_json FILE; valid_lines FILE: each line a JSON object
valid_json() {
    perl -MJSON::PP -0777 -ne 'decode_json($_)' "$1"
}
valid_lines() {
    perl -MJSON::PP -ne 'die "$.: no line end" unless /\n$/; decode_json($_)' "$1"
}

finish() {
    echo "1..$number"
    [ "$failures" = 0 ]
    exit
}
