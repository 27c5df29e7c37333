#!/bin/bash
# Compiles the interpreter for every GPU architecture that it is built for, and reads what the assembler
# says of it: a kernel that spills, has a stack frame or needs more than 64 registers is a failure.
#
#   NVCC=nvcc cuda_check.sh     prints TAP; objects go to build/cuda
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 2

nvcc=${NVCC:-nvcc}
registers_most=64
architectures=(80 90 100)
number=0
failures=0
mkdir -p build/cuda

tap() { # result, name, explanation
    number=$((number + 1))
    echo "$1 $number - $2"
    if [ "$1" != ok ]; then
        failures=$((failures + 1))
        echo "${3//$'\n'/$'\n'# }" | sed '1s/^/# /'
    fi
}

# ptxas -v: an entry's name, its stack and spills, its registers, each on a line of its own.
figures_of() {
    awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
         /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
         /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used") print name, $(i + 1), stack, stores, loads }'
}

echo "1..$((2 * ${#architectures[@]}))"
for architecture in "${architectures[@]}"; do
    log=$("$nvcc" -std=c++17 -O3 -arch="sm_$architecture" -Xptxas -v -Ikernels -c \
        -o "build/cuda/interpreter_sm_$architecture.o" kernels/interpreter.cu 2>&1)
    status=$?
    figures=$(figures_of <<<"$log")
    for kernel in plan_run_blocks plan_divide_blocks; do
        read -r registers stack stores loads < <(awk -v k=$kernel '$1 == k { print $2, $3, $4, $5 }' <<<"$figures")
        name="sm_$architecture: $kernel: ${registers:-?} registers, ${stack:-?} bytes stack, ${stores:-?} + ${loads:-?} bytes spilled"
        if [ $status = 0 ] && [ -n "${loads:-}" ] && [ "$registers" -le $registers_most ] &&
            [ "$((stack + stores + loads))" = 0 ]; then
            tap ok "$name"
        else
            tap "not ok" "$name" "at most $registers_most registers, nothing on the stack; nvcc ended with $status"$'\n'"$log"
        fi
        unset registers stack stores loads
    done
done
[ $failures = 0 ]
