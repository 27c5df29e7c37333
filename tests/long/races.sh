#!/bin/bash
# The engine under the thread sanitizer: every kind of plan run by threads has no race; and a build whose
# one release store is a plain one (PLAN_BROKEN_RELEASE) is found out, so the silence means something.
# Prints TAP.
. "$(dirname "$0")/../lib.sh"
cd "$root" || exit 2
unset ASAN_OPTIONS
test=tests/prop/prop_engine_threads

build() { # variant, flags...
    make --no-print-directory SAN=thread MPICC= VARIANT="$1" "${@:2}" "build/$1/$test"
}

echo 'int main(void){return 0;}' | "${CC:-gcc}" -fsanitize=thread -x c - -o "$work/probe" 2>/dev/null &&
    "$work/probe" || skip_all "no thread sanitizer here"

ok "built with the thread sanitizer" build thread-nompi
RUN_LIMIT=1500 run env TSAN_OPTIONS=exitcode=66 "build/thread-nompi/$test"
expect "no race in any plan" 0
ok "nothing was reported" sh -c "! grep -q 'WARNING: ThreadSanitizer' '$work/out' '$work/err'"

ok "built with a plain store instead of a release" \
    build thread-broken CPPFLAGS=-DPLAN_BROKEN_RELEASE
run env TSAN_OPTIONS=exitcode=66:halt_on_error=1 "build/thread-broken/$test"
expect "the plain store is reported" 66 err 'ThreadSanitizer: data race'

finish
