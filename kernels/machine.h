/* machine.h - what differs between the two machines that run the interpreter: a host thread and a
 * block of GPU threads.
 *
 * The rule that makes one source serve both: control flow is the same for every thread of a block,
 * and data loops run from MACHINE_THREAD in steps of MACHINE_THREADS. A host thread is a block of
 * one. A wait that is not ready spins on a GPU, where a lane has a block of its own; on a host it
 * ends the call, so that the thread can serve another lane.
 */
#ifndef CCLTUNE_MACHINE_H
#define CCLTUNE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Counters and flag words, read and written as what they are whatever else lies there. */
#ifdef __CUDACC__
typedef uint32_t machine_word;
typedef uint64_t machine_pair;

#define MACHINE_FUNCTION static __device__ __forceinline__
#define MACHINE_THREAD   threadIdx.x
#define MACHINE_THREADS  blockDim.x
/* A barrier of the block; true if `x` is for any of its threads. */
#define MACHINE_ANY(x)  __syncthreads_or(x)
#define MACHINE_SYNC()  __syncthreads()
#define MACHINE_SPINS   1
#define MACHINE_RELAX() __nanosleep(20)
#define MACHINE_UNROLL  _Pragma("unroll")
#define MACHINE_ROLLED  _Pragma("unroll 1")
/* What is read again costs less than what is kept in registers over all operations. */
#define MACHINE_FORGET() asm volatile("" ::: "memory")

MACHINE_FUNCTION uint32_t machine_load_acquire(const uint32_t *from)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

MACHINE_FUNCTION void machine_store_release(uint32_t *to, uint32_t value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

MACHINE_FUNCTION uint64_t machine_load_pair(const machine_pair *from)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

MACHINE_FUNCTION void machine_store_pair(machine_pair *to, uint64_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

#else
typedef uint32_t __attribute__((may_alias)) machine_word;
typedef uint64_t __attribute__((may_alias)) machine_pair;

#define MACHINE_FUNCTION static inline
#define MACHINE_THREAD   0U
#define MACHINE_THREADS  1U
#define MACHINE_ANY(x)   (x)
#define MACHINE_SYNC()   ((void)0)
#define MACHINE_SPINS    0
#define MACHINE_RELAX()  ((void)0)
#define MACHINE_UNROLL
#define MACHINE_ROLLED
#define MACHINE_FORGET() ((void)0)

/* Compiled for three generations of the processor, of which the loader picks one: half the time for
 * floats, a tenth for float16. Sanitizers are not up yet when it does; clang 14 only makes the code
 * longer. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__OPTIMIZE__) && !defined(__clang__) &&   \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define MACHINE_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define MACHINE_CLONES
#endif

MACHINE_FUNCTION uint32_t machine_load_acquire(const uint32_t *from)
{
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

/* With PLAN_BROKEN_RELEASE (a test build) this is a plain store, which the thread sanitizer has to
 * find. */
MACHINE_FUNCTION void machine_store_release(uint32_t *to, uint32_t value)
{
#ifdef PLAN_BROKEN_RELEASE
    *to = value;
#else
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
#endif
}

MACHINE_FUNCTION uint64_t machine_load_pair(const machine_pair *from)
{
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

MACHINE_FUNCTION void machine_store_pair(machine_pair *to, uint64_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}
#endif

#endif
