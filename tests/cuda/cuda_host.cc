/* cuda_host.cc: runs the threads of a block as fibres.
 *
 * A thread runs until it ends or waits; then another one runs. Without waits all threads of a block run one after the
 * other on one stack. With seed 0 threads run in ascending order, and released threads run before threads that have not
 * begun, so that few stacks are in use. With another seed the next thread is drawn from all that can run.
 *
 * Invariant: at[t] is the fibre on which thread t waits, or null before the thread begins. Threads that can run are in
 * the ring or, with seed 0, have not begun. All state belongs to one system thread. This file is compiled without the
 * thread sanitizer; each switch of fibres is reported to the sanitizer instead. */
#include "cuda_host.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "stand_in.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK_BYTES = 256 << 10 };
#else
enum { STACK_BYTES = 64 << 10 };
#endif
#ifdef CUDA_HOST_TSAN
#include <sanitizer/tsan_interface.h>
enum { LAZY = 0 }; /* every thread gets a fibre: the sanitizer considers consecutive accesses by one fibre ordered */
#else
enum { LAZY = 1 };
#endif

enum { MAX_THREADS = 1024, LANES = 32, MAX_SHARED = 48 << 10 };

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
__thread char *cuda_host_shared;

struct fibre {
#if defined __x86_64__ && !defined CUDA_HOST_UCONTEXT
    void *at;
#else
    ucontext_t at;
#endif
    char *stack; /* null: this fibre uses the system thread's own stack */
    size_t bytes;
    void *fake, *announced;
    fibre *next; /* the next free fibre */
};

struct warp {
    uint32_t arrived, mask[LANES];
    uint8_t kind[LANES], from[LANES];
    uint64_t value[LANES], result[LANES];
    uint8_t turn[LANES];
    char sync[2];
};

struct machine {
    const cuda_host_launch *launch;
    const void *args;
    int threads, flat; /* threads of a block; only x counts */
    int eager;
    uint64_t dice;     /* seed of the order of threads; 0: ascending */

    int now, begun, ended, left_early, waiting, any, result;
    uint32_t head, count;
    uint16_t ring[MAX_THREADS];
    fibre *at[MAX_THREADS];
    warp warps[MAX_THREADS / LANES];

    fibre system, *running, *left;
    fibre fibres[MAX_THREADS], *free;
    int made;
    char *shared;
    int turn;
    /* The thread sanitizer identifies barriers by these addresses. They alternate, since a thread may be one barrier
     * ahead. */
    char begin, end, sync[2];
    char why[GPU_ERROR_BYTES / 2 + 16];
};

/* --- switching ---------------------------------------------------------------------------------------------------- */

static void thread_entry(void);

#if defined __x86_64__ && !defined CUDA_HOST_UCONTEXT
extern "C" __attribute__((visibility("hidden"))) void cuda_host_switch(void **save, void *to);
asm(R"(.text
    .p2align 4
    .globl cuda_host_switch
    .hidden cuda_host_switch
    .type cuda_host_switch, @function
cuda_host_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size cuda_host_switch, . - cuda_host_switch
)");

/* The tops of stacks are staggered: otherwise all stacks would use the same cache lines. */
static void rewind_fibre(fibre *f, int number)
{
    void **top = (void **)(f->stack + f->bytes - (size_t)(number % 16) * 256);
    *--top = nullptr;                /* the place of a return address */
    *--top = (void *)thread_entry;
    f->at = top - 6;
    memset(f->at, 0, 6 * sizeof *top);
}

static inline void jump(fibre *from, fibre *to)
{
    cuda_host_switch(&from->at, to->at);
}
#else
static void rewind_fibre(fibre *f, int number)
{
    (void)number;
    getcontext(&f->at);
    f->at.uc_stack.ss_sp = f->stack;
    f->at.uc_stack.ss_size = f->bytes;
    f->at.uc_link = nullptr;
    makecontext(&f->at, thread_entry, 0);
}

static inline void jump(fibre *from, fibre *to)
{
    swapcontext(&from->at, &to->at);
}
#endif

/* Switch fibres. `gone`: the code on `from` is never continued. */
static void go(machine *m, fibre *from, fibre *to, bool gone)
{
    m->running = to;
    m->left = from;
    (void)gone;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(gone ? nullptr : &from->fake, to->stack, to->bytes);
#endif
#ifdef CUDA_HOST_TSAN
    __tsan_switch_to_fiber(to->announced, __tsan_switch_to_fiber_no_sync);
#endif
    jump(from, to);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake, nullptr, nullptr);
#endif
}

static inline void tell_release(char *sync)
{
    (void)sync;
#ifdef CUDA_HOST_TSAN
    __tsan_release(sync);
#endif
}

static inline void tell_acquire(char *sync)
{
    (void)sync;
#ifdef CUDA_HOST_TSAN
    __tsan_acquire(sync);
#endif
}

/* --- fibres of a system thread --------------------------------------------------------------------------------------- */

/* Clear the address sanitizer's state of a stack with its content; later mappings of the same addresses would inherit
 * the state. */
static void forget_stack(const char *stack, size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack, bytes);
#else
    (void)stack, (void)bytes;
#endif
}

struct owner {
    machine *m;
    ~owner();
};
static thread_local owner owned;
static __thread machine *own CUDA_HOST_OWN;

owner::~owner()
{
    if (m == nullptr) return;
    for (int i = 0; i < m->made; i++) {
        forget_stack(m->fibres[i].stack, m->fibres[i].bytes);
        munmap(m->fibres[i].stack - sysconf(_SC_PAGESIZE), m->fibres[i].bytes + (size_t)sysconf(_SC_PAGESIZE));
#ifdef CUDA_HOST_TSAN
        __tsan_destroy_fiber(m->fibres[i].announced);
#endif
    }
    free(m);
}

/* The page below a stack is inaccessible. */
static fibre *make_fibre(machine *m)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = (char *)mmap(nullptr, page + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (mprotect(memory + page, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) {
        munmap(memory, page + STACK_BYTES);
        return nullptr;
    }
    fibre *f = &m->fibres[m->made++];
    f->stack = memory + page;
    f->bytes = STACK_BYTES;
    forget_stack(f->stack, f->bytes);
#ifdef CUDA_HOST_TSAN
    f->announced = __tsan_create_fiber(0);
#endif
    return f;
}

static fibre *fresh_fibre(machine *m, int thread)
{
    fibre *f = nullptr;
    if (!LAZY && thread < m->made) {
        f = &m->fibres[thread];
    } else if (LAZY && m->free != nullptr) {
        f = m->free;
        m->free = f->next;
    } else {
        while (!LAZY && m->made < thread && make_fibre(m) != nullptr) {}
        f = make_fibre(m);
    }
    if (f != nullptr) rewind_fibre(f, (int)(f - m->fibres));
    return f;
}

static void free_fibre(machine *m, fibre *f)
{
    f->next = m->free;
    m->free = f;
}

/* After a failure, drop everything that waits on a stack. */
static void forget_all(machine *m)
{
    for (char &sync : m->sync) tell_acquire(&sync);
    for (warp &w : m->warps)
        for (char &sync : w.sync) tell_acquire(&sync);
    m->free = nullptr;
    for (int i = m->made; i-- > 0;) {
        forget_stack(m->fibres[i].stack, m->fibres[i].bytes);
#ifdef CUDA_HOST_TSAN
        __tsan_destroy_fiber(m->fibres[i].announced);
        m->fibres[i].announced = __tsan_create_fiber(0);
#endif
        free_fibre(m, &m->fibres[i]);
    }
}

/* --- scheduling ----------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void push(machine *m, int thread)
{
    m->ring[(m->head + m->count++) % MAX_THREADS] = (uint16_t)thread;
}

static inline int pop(machine *m)
{
    m->count--;
    return m->ring[m->head++ % MAX_THREADS];
}

static inline uint64_t draw(machine *m)
{
    m->dice = mix(m->dice, 1) | 1;
    return m->dice >> 16;
}

/* Return the thread that runs next; -1: none. Draw from all that can run, or, in every other block, mostly take the one
 * released last. Then one warp runs far ahead before others begin, which a uniform choice would hardly ever do. */
static int take(machine *m)
{
    if (m->dice != 0) {
        if (m->count == 0) return -1;
        const uint64_t drawn = draw(m);
        if (m->eager && drawn % 32 != 0) return m->ring[(m->head + --m->count) % MAX_THREADS];
        uint16_t *first = &m->ring[m->head % MAX_THREADS], *other = &m->ring[(m->head + drawn % m->count) % MAX_THREADS];
        const uint16_t thread = *other;
        *other = *first;
        *first = thread;
        return pop(m);
    }
    if (m->count > 0) return pop(m);
    if (m->begun == m->threads) return -1;
    m->at[m->begun] = nullptr;
    return m->begun++;
}

static inline void become(machine *m, int thread)
{
    m->now = thread;
    if (m->flat) {
        threadIdx.x = (unsigned)thread;
        return;
    }
    const unsigned t = (unsigned)thread;
    threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
}

/* End the launch with this message. */
__attribute__((format(printf, 2, 3))) static void fail(machine *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->why, sizeof m->why, format, args);
    va_end(args);
    tell_release(&m->end);
    if (m->running != &m->system) go(m, m->running, &m->system, true);
}

/* Put all threads but one in the ring, in cyclic order from any thread. */
static void push_all(machine *m, int but)
{
    const int first = m->dice != 0 ? (int)(draw(m) % (unsigned)m->threads) : 0;
    for (int i = 0; i < m->threads; i++) {
        const int t = first + i < m->threads ? first + i : first + i - m->threads;
        if (t != but) push(m, t);
    }
}

/* Return the fibre on which the current thread begins or continues; -1: that of the system thread. */
static fibre *fibre_of(machine *m, int thread)
{
    if (thread < 0) return &m->system;
    fibre *f = m->at[thread] != nullptr ? m->at[thread] : fresh_fibre(m, thread);
    if (f == nullptr) {
        fail(m, "no memory for a stack");
        return &m->system;
    }
    become(m, thread);
    return f;
}

/* Let other threads run until the current one is released. */
static void stand_by(machine *m)
{
    fibre *mine = m->running;
    m->at[m->now] = mine;
    fibre *next = fibre_of(m, take(m));
    if (next != mine) go(m, mine, next, false);
}

static void thread_entry(void)
{
    machine *m = own;
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (m->left == &m->system) m->system.stack = (char *)bottom, m->system.bytes = bytes;
#endif
    fibre *mine = m->running;
    for (;;) {
        tell_acquire(&m->begin);
        m->launch->call(m->launch->entry, m->args);
        tell_release(&m->end);
        m->ended++;
        if (m->dice == 0 && m->ended == 1 && m->left_early > 0) m->begun = m->ended = m->left_early = m->threads;
        const int thread = take(m);
        if (LAZY && thread >= 0 && m->at[thread] == nullptr) {
            become(m, thread);
            continue;
        }
        if (LAZY) free_fibre(m, mine);
        go(m, mine, fibre_of(m, thread), true);
    }
}

/* --- calls of kernels ------------------------------------------------------------------------------------------------ */

char *cuda_host_share(void)
{
    machine *m = own;
    memset(m->shared, 0xFF, m->launch->shared);
    return cuda_host_shared = m->shared;
}

void cuda_host_leave(void)
{
    own->left_early++;
}

int cuda_host_barrier(int any)
{
    machine *m = own;
    char *sync = &m->sync[m->turn];
    tell_release(sync);
    m->any |= any != 0;
    if (++m->waiting == m->threads) {
        m->result = m->any;
        m->any = m->waiting = 0;
        m->turn ^= 1;
        push_all(m, m->dice != 0 ? -1 : m->now);
        if (m->dice != 0) stand_by(m);
    } else {
        stand_by(m);
    }
    tell_acquire(sync);
    return m->result;
}

/* All lanes of the mask have arrived: give each its result, and let all but the last one run. */
static void release(machine *m, warp *w, int base, cuda_host_kind kind, uint32_t mask)
{
    uint32_t ballot = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (w->mask[lane] != mask || w->kind[lane] != kind) fail(m, "lanes of a warp meet in different operations or masks");
        if (kind == CUDA_HOST_SHUFFLE && (mask >> w->from[lane] & 1) == 0)
            fail(m, "a shuffle reads lane %d, which its mask does not name", w->from[lane]);
        ballot |= (uint32_t)(w->value[lane] & 1) << lane;
    }
    w->arrived &= ~mask;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        w->result[lane] = kind == CUDA_HOST_SHUFFLE ? w->value[w->from[lane]] : ballot;
        if (base + lane != m->now || m->dice != 0) push(m, base + lane);
    }
}

uint64_t cuda_host_exchange(cuda_host_kind kind, unsigned mask, uint64_t value, int from)
{
    machine *m = own;
    const int lane = m->now % LANES;
    warp *w = &m->warps[m->now / LANES];
    if ((mask >> lane & 1) == 0) fail(m, "a lane in a warp operation whose mask does not name it");
    char *sync = &w->sync[w->turn[lane] ^= 1];
    tell_release(sync);
    w->kind[lane] = (uint8_t)kind;
    w->mask[lane] = mask;
    w->from[lane] = (uint8_t)from;
    w->value[lane] = value;
    w->arrived |= 1u << lane;
    const bool last = (w->arrived & mask) == mask;
    if (last) release(m, w, m->now - lane, kind, mask);
    if (!last || m->dice != 0) stand_by(m);
    tell_acquire(sync);
    return w->result[lane];
}

/* --- blocks and launches ------------------------------------------------------------------------------------------ */

static void run_block(machine *m)
{
    m->begun = m->ended = m->left_early = m->waiting = m->any = 0;
    m->head = m->count = 0;
    cuda_host_shared = nullptr;
    if (!LAZY) cuda_host_share(); /* 0xFF bytes, the content before any thread has written */
    threadIdx = {0, 0, 0};
    if (m->dice != 0) {
        memset(m->at, 0, (size_t)m->threads * sizeof *m->at);
        m->eager = draw(m) % 2 != 0;
        push_all(m, -1);
        m->begun = m->threads;
    }
    fibre *first = fibre_of(m, take(m));
    tell_release(&m->begin);
    if (first != &m->system) go(m, &m->system, first, false);
    tell_acquire(&m->end);
    if (m->why[0] != '\0') return;
    if (m->ended < m->threads) {
        int lanes = 0;
        for (int w = 0; w < m->threads / LANES; w++) lanes += __builtin_popcount(m->warps[w].arrived);
        fail(m, "of %d threads %d wait at a barrier and %d in warp operations that others do not reach", m->threads,
             m->waiting, lanes);
    } else if (m->left_early != 0 && m->left_early != m->threads) {
        fail(m, "%d of %d threads take gpu_leave()", m->left_early, m->threads);
    }
}

static const char *refusal(const cuda_host_launch *l)
{
    const dim3 g = l->grid, b = l->block;
    if (g.x == 0 || g.y == 0 || g.z == 0) return "no blocks";
    if (g.x > 0x7fffffff || g.y > 65535 || g.z > 65535) return "too many blocks";
    if (b.x > MAX_THREADS || b.y > MAX_THREADS || b.z > 64 || (uint64_t)b.x * b.y * b.z > MAX_THREADS)
        return "more than 1024 threads";
    if (b.x * b.y * b.z == 0 || b.x * b.y * b.z % LANES != 0) return "threads that are not whole warps";
    if (l->shared > MAX_SHARED) return "more than 48 KiB of shared memory";
    return nullptr;
}

/* Run every block once, in ascending order, or in steps that are coprime to the number of blocks. */
static void run_blocks(machine *m)
{
    const dim3 g = m->launch->grid;
    const uint64_t blocks = (uint64_t)g.x * g.y * g.z;
    uint64_t at = 0, step = 1;
    if (m->dice != 0) {
        at = mix(m->dice, 2) % blocks;
        for (step = mix(m->dice, 3) % blocks + 1;; step++) {
            uint64_t a = step, b = blocks;
            while (b != 0) {
                const uint64_t rest = a % b;
                a = b, b = rest;
            }
            if (a == 1) break;
        }
    }
    for (uint64_t i = 0; i < blocks && m->why[0] == '\0'; i++, at = (at + step) % blocks) {
        blockIdx = {(unsigned)(at % g.x), (unsigned)(at / g.x % g.y), (unsigned)(at / g.x / g.y)};
        run_block(m);
    }
}

static machine *machine_here(void)
{
    if (own != nullptr) return own;
    own = owned.m = (machine *)calloc(1, sizeof *own);
#ifdef CUDA_HOST_TSAN
    if (own != nullptr) own->system.announced = __tsan_get_current_fiber();
#endif
    return own;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("RILL_CUDA_HOST_SEED");
    return text != nullptr ? strtoull(text, nullptr, 10) : 0;
}

static uint64_t *seed_here(void)
{
    static uint64_t seed = first_seed();
    return &seed;
}

void cuda_host_seed(uint64_t seed)
{
    __atomic_store_n(seed_here(), seed, __ATOMIC_RELAXED);
}

uint64_t cuda_host_dice(uint64_t number)
{
    const uint64_t seed = __atomic_load_n(seed_here(), __ATOMIC_RELAXED);
    return seed != 0 ? mix(seed, number) | 1 : 0;
}

int cuda_host_run(const cuda_host_launch *launch, const void *args, uint64_t number, char why[GPU_ERROR_BYTES])
{
    const char *refused = refusal(launch);
    machine *m = refused == nullptr ? machine_here() : nullptr;
    char *shared = m != nullptr ? (char *)malloc(launch->shared) : nullptr;
    if (shared == nullptr && launch->shared > 0 && refused == nullptr) refused = "no memory for it";
    if (refused != nullptr || m == nullptr) {
        snprintf(why, GPU_ERROR_BYTES, "kernel %s: %s", launch->kernel, refused != nullptr ? refused : "no memory for it");
        return -1;
    }
    gridDim = {launch->grid.x, launch->grid.y, launch->grid.z};
    blockDim = {launch->block.x, launch->block.y, launch->block.z};
    m->launch = launch;
    m->args = args;
    m->shared = shared;
    m->threads = (int)(blockDim.x * blockDim.y * blockDim.z);
    m->flat = blockDim.y == 1 && blockDim.z == 1;
    m->dice = cuda_host_dice(number);
    m->running = &m->system;
    m->why[0] = '\0';
    for (warp &w : m->warps) w.arrived = 0;
    run_blocks(m);
    if (m->why[0] != '\0') forget_all(m);
    free(shared);
    if (m->why[0] == '\0') return 0;
    const int n = snprintf(why, GPU_ERROR_BYTES, "%s, block (%u, %u, %u): ", launch->kernel, blockIdx.x, blockIdx.y, blockIdx.z);
    if (n < GPU_ERROR_BYTES) snprintf(why + n, (size_t)(GPU_ERROR_BYTES - n), "%s", m->why);
    return -1;
}
