/* cuda_host.h: the subset of CUDA that kernels/cuda uses, for the host's C++ compiler. Included by cuda.cuh.
 *
 * The threads of a block are fibres of one system thread (cuda_host.cc). They run one at a time and switch at barriers
 * and warp operations only. Undefined behaviour fails the launch if it can be detected: a barrier or warp operation
 * that not all of its threads reach, lanes of a warp in different operations, a shuffle that reads a lane outside the
 * mask.
 *
 * Only CUDA's own overloads exist: code that compiles here compiles with nvcc. */
#pragma once

#include <stdint.h>
#include <string.h>
#include <type_traits>

#include "gpu.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

/* --- small vectors ------------------------------------------------------------------------------------------------ */

#define CUDA_HOST_VECTORS(T, name, two, four)                \
    struct __align__(two) name##2                            \
    {                                                        \
        T x, y;                                              \
    };                                                       \
    struct __align__(four) name##4                           \
    {                                                        \
        T x, y, z, w;                                        \
    };                                                       \
    static inline name##2 make_##name##2(T x, T y)           \
    {                                                        \
        return {x, y};                                       \
    }                                                        \
    static inline name##4 make_##name##4(T x, T y, T z, T w) \
    {                                                        \
        return {x, y, z, w};                                 \
    }
CUDA_HOST_VECTORS(float, float, 8, 16)
CUDA_HOST_VECTORS(int, int, 8, 16)
CUDA_HOST_VECTORS(unsigned, uint, 8, 16)
#undef CUDA_HOST_VECTORS

struct __align__(4) ushort2
{
    unsigned short x, y;
};
struct __align__(8) ushort4
{
    unsigned short x, y, z, w;
};
static inline ushort2 make_ushort2(unsigned short x, unsigned short y)
{
    return {x, y};
}
static inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w)
{
    return {x, y, z, w};
}

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};

/* --- launches ----------------------------------------------------------------------------------------------------- */

/* A queued launch. `call` calls the kernel with the arguments. */
struct cuda_host_launch {
    const char *kernel;
    dim3 grid, block;
    size_t shared;
    void (*call)(void (*kernel)(), const void *args);
    void (*entry)();
};

/* gpu_host.cc: queue it, with a copy of the arguments. */
void cuda_host_put(gpu_stream *queue, const cuda_host_launch *launch, const void *args, size_t bytes);
/* cuda_host.cc: run it; `number` and the seed determine the order of threads. Returns 0, or -1 with the reason in
 * `why`. */
int cuda_host_run(const cuda_host_launch *launch, const void *args, uint64_t number, char why[GPU_ERROR_BYTES]);
/* Return a pseudo-random number from the seed and `number`; 0 without a seed. */
uint64_t cuda_host_dice(uint64_t number);

template <class Args>
static inline void cuda_host_make(gpu_stream *queue, dim3 grid, dim3 block, size_t shared, const char *name,
                                  void (*kernel)(Args), const Args &args)
{
    static_assert(std::is_trivially_copyable<Args>::value && sizeof(Args) <= 4096, "a kernel's argument");
    const cuda_host_launch launch = {
        name,
        grid,
        block,
        shared,
        [](void (*entry)(), const void *from) { ((void (*)(Args))entry)(*(const Args *)from); },
        (void (*)())kernel};
    cuda_host_put(queue, &launch, &args, sizeof args);
}
#define GPU_LAUNCH(queue, grid, threads, shared, kernel, args) \
    cuda_host_make((queue), (grid), (threads), (shared), #kernel, kernel, args)

/* --- thread indices ----------------------------------------------------------------------------------------------- */

#define CUDA_HOST_OWN __attribute__((tls_model("initial-exec")))
extern __thread uint3 threadIdx CUDA_HOST_OWN, blockIdx CUDA_HOST_OWN, blockDim CUDA_HOST_OWN, gridDim CUDA_HOST_OWN;

/* Exactly as many bytes as the launch requested; filled with 0xFF for each block. */
extern __thread char *cuda_host_shared CUDA_HOST_OWN;
char *cuda_host_share(void);
static inline char *gpu_shared(void)
{
    return cuda_host_shared != nullptr ? cuda_host_shared : cuda_host_share();
}

/* Leave the block before its end. Without a seed, the block's other threads are skipped if its first thread leaves
 * here; with a seed, all threads must leave. */
void cuda_host_leave(void);
static inline bool gpu_leave(bool all)
{
    if (all) cuda_host_leave();
    return all;
}

/* --- barriers and warp operations --------------------------------------------------------------------------------- */

int cuda_host_barrier(int any);
enum cuda_host_kind { CUDA_HOST_SYNC, CUDA_HOST_SHUFFLE, CUDA_HOST_BALLOT };
/* Called by all lanes in the mask. Return the value of lane `from`, or the set of lanes whose value is non-zero. */
uint64_t cuda_host_exchange(cuda_host_kind kind, unsigned mask, uint64_t value, int from);

static inline void __syncthreads(void)
{
    cuda_host_barrier(0);
}
static inline int __syncthreads_or(int any)
{
    return cuda_host_barrier(any);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    cuda_host_exchange(CUDA_HOST_SYNC, mask, 0, 0);
}
static inline unsigned __ballot_sync(unsigned mask, int any)
{
    return (unsigned)cuda_host_exchange(CUDA_HOST_BALLOT, mask, any != 0, 0);
}
static inline int __any_sync(unsigned mask, int any)
{
    return __ballot_sync(mask, any) != 0;
}
static inline int __all_sync(unsigned mask, int all)
{
    return __ballot_sync(mask, !all) == 0;
}

static inline int cuda_host_lane(void)
{
    return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
}
template <class T> static inline T cuda_host_shuffle(unsigned mask, T value, int from)
{
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8), "what a shuffle carries");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = cuda_host_exchange(CUDA_HOST_SHUFFLE, mask, bits, from);
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> static inline T __shfl_sync(unsigned mask, T value, int from)
{
    return cuda_host_shuffle(mask, value, from & 31);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits)
{
    return cuda_host_shuffle(mask, value, (cuda_host_lane() ^ bits) & 31);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by)
{
    const int lane = cuda_host_lane();
    return cuda_host_shuffle(mask, value, lane + (int)by < 32 ? lane + (int)by : lane);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned by)
{
    const int lane = cuda_host_lane();
    return cuda_host_shuffle(mask, value, lane >= (int)by ? lane - (int)by : lane);
}

/* --- atomics: relaxed, as in CUDA --------------------------------------------------------------------------------- */

#define CUDA_HOST_ATOMICS(T)                                                                  \
    static inline T atomicAdd(T *at, T by)                                                    \
    {                                                                                         \
        return __atomic_fetch_add(at, by, __ATOMIC_RELAXED);                                  \
    }                                                                                         \
    static inline T atomicExch(T *at, T to)                                                   \
    {                                                                                         \
        return __atomic_exchange_n(at, to, __ATOMIC_RELAXED);                                 \
    }                                                                                         \
    static inline T atomicCAS(T *at, T was, T to)                                             \
    {                                                                                         \
        __atomic_compare_exchange_n(at, &was, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
        return was;                                                                           \
    }
#define CUDA_HOST_ATOMIC_BITS(T)                                                                                    \
    static inline T atomicOr(T *at, T bits)                                                                         \
    {                                                                                                               \
        return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);                                                       \
    }                                                                                                               \
    static inline T atomicAnd(T *at, T bits)                                                                        \
    {                                                                                                               \
        return __atomic_fetch_and(at, bits, __ATOMIC_RELAXED);                                                      \
    }                                                                                                               \
    static inline T atomicMax(T *at, T to)                                                                          \
    {                                                                                                               \
        T was = __atomic_load_n(at, __ATOMIC_RELAXED);                                                              \
        while (was < to && !__atomic_compare_exchange_n(at, &was, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { \
        }                                                                                                           \
        return was;                                                                                                 \
    }                                                                                                               \
    static inline T atomicMin(T *at, T to)                                                                          \
    {                                                                                                               \
        T was = __atomic_load_n(at, __ATOMIC_RELAXED);                                                              \
        while (to < was && !__atomic_compare_exchange_n(at, &was, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { \
        }                                                                                                           \
        return was;                                                                                                 \
    }
CUDA_HOST_ATOMICS(int)
CUDA_HOST_ATOMICS(unsigned)
CUDA_HOST_ATOMICS(unsigned long long)
CUDA_HOST_ATOMIC_BITS(int)
CUDA_HOST_ATOMIC_BITS(unsigned)
CUDA_HOST_ATOMIC_BITS(unsigned long long)
CUDA_HOST_ATOMIC_BITS(long long)
#undef CUDA_HOST_ATOMICS
#undef CUDA_HOST_ATOMIC_BITS

/* --- bits --------------------------------------------------------------------------------------------------------- */

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline int __clz(int x)
{
    return x != 0 ? __builtin_clz((unsigned)x) : 32;
}
static inline int __clzll(long long x)
{
    return x != 0 ? __builtin_clzll((unsigned long long)x) : 64;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
static inline unsigned __brev(unsigned x)
{
    unsigned y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1u) << (31 - i);
    return y;
}

template <class To, class From> static inline To cuda_host_as(From x)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
static inline unsigned __float_as_uint(float x)
{
    return cuda_host_as<unsigned>(x);
}
static inline int __float_as_int(float x)
{
    return cuda_host_as<int>(x);
}
static inline float __uint_as_float(unsigned x)
{
    return cuda_host_as<float>(x);
}
static inline float __int_as_float(int x)
{
    return cuda_host_as<float>(x);
}

template <class T> static inline T __ldg(const T *at)
{
    return *at;
}
