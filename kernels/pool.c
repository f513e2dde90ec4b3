/* The thread pool: threads claim chunks of a job; and the partition of a call into chunks.
 *
 * A 64-bit word has the job's generation (high half) and the number of unclaimed chunks (low half). A compare-and-swap claims a chunk. The
 * job's fields (fn, arg, chunks) change only when all chunks are done, so fields read between word and swap belong to that word.
 *
 * No wake-up is lost: a worker adds itself to `sleepers`, rereads the word, then sleeps; a caller publishes the word, then reads
 * `sleepers`. All four accesses are sequentially consistent. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* declares syscall() */
#endif
#include "internal.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define SPIN_SECONDS 50e-6 /* time that a thread spins before it sleeps: about the cost of a wake-up */
#define SPIN_LOOKS 32      /* spin iterations between two reads of the clock */
#define LINE 64            /* bytes of a cache line: separates words that different threads write */

struct rill_pool {
    _Alignas(LINE) _Atomic uint64_t work; /* generation << 32 | number of unclaimed chunks */
    rill_pool_fn _Atomic fn;
    void *_Atomic arg;
    _Atomic uint32_t chunks;
    _Alignas(LINE) _Atomic uint32_t done; /* number of chunks of the current job that are finished */
    _Atomic uint32_t caller_sleeps;
    _Alignas(LINE) _Atomic uint32_t sleepers;
    _Atomic uint32_t epoch; /* changed whenever sleeping workers are woken */
    _Atomic uint32_t stop;
    unsigned threads;
    pthread_t worker[]; /* [threads - 1] the worker threads */
};

/* ---- waiting --------------------------------------------------------------------------------------------- */

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleep while *word == seen. Spurious returns are possible. */
static void word_wait(_Atomic uint32_t *word, uint32_t seen)
{
#if defined(__linux__)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    const struct timespec nap = {0, (long)(1e9 * SPIN_SECONDS)};
    if (atomic_load(word) == seen) nanosleep(&nap, NULL);
#endif
}

static void word_wake(_Atomic uint32_t *word)
{
#if defined(__linux__)
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
#else
    (void)word;
#endif
}

/* ---- claiming chunks ------------------------------------------------------------------------------------- */

/* Claim and run chunks until no chunk is unclaimed. Returns 1 if this thread ran any, else 0. */
static int claim_all(rill_pool *pool)
{
    int worked = 0;
    for (;;) {
        uint64_t seen = atomic_load(&pool->work);
        const uint32_t n_left = (uint32_t)seen;
        if (n_left == 0) return worked;
        const rill_pool_fn fn = atomic_load_explicit(&pool->fn, memory_order_relaxed);
        void *const arg = atomic_load_explicit(&pool->arg, memory_order_relaxed);
        const uint32_t chunks = atomic_load_explicit(&pool->chunks, memory_order_relaxed);
        if (!atomic_compare_exchange_weak(&pool->work, &seen, seen - 1)) continue;
        fn(arg, chunks - n_left);
        worked = 1;
        if (atomic_fetch_add(&pool->done, 1) + 1 == chunks && atomic_load(&pool->caller_sleeps)) word_wake(&pool->done);
    }
}

/* Wait until every chunk is done. All are claimed by now, so each unfinished chunk has a running thread. */
static void wait_done(rill_pool *pool, uint32_t chunks)
{
    const double until = rill_clock() + SPIN_SECONDS;
    for (unsigned i = 1;; i++) {
        if (atomic_load(&pool->done) == chunks) return;
        pause_briefly();
        if (i % SPIN_LOOKS == 0 && rill_clock() > until) break;
    }
    atomic_store(&pool->caller_sleeps, 1);
    for (uint32_t seen; (seen = atomic_load(&pool->done)) != chunks;) word_wait(&pool->done, seen);
    atomic_store(&pool->caller_sleeps, 0);
}

/* ---- worker threads -------------------------------------------------------------------------------------- */

static int has_work(rill_pool *pool)
{
    return (uint32_t)atomic_load(&pool->work) != 0 || atomic_load(&pool->stop);
}

static int spin_for_work(rill_pool *pool)
{
    const double until = rill_clock() + SPIN_SECONDS;
    for (unsigned i = 1;; i++) {
        if (has_work(pool)) return 1;
        pause_briefly();
        if (i % SPIN_LOOKS == 0 && rill_clock() > until) return 0;
    }
}

static void sleep_for_work(rill_pool *pool)
{
    const uint32_t epoch = atomic_load(&pool->epoch);
    atomic_fetch_add(&pool->sleepers, 1);
    if (!has_work(pool)) word_wait(&pool->epoch, epoch);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void *worker_main(void *arg)
{
    rill_pool *pool = arg;
    while (!atomic_load(&pool->stop)) {
        if (claim_all(pool)) continue;
        if (!spin_for_work(pool)) sleep_for_work(pool);
    }
    return NULL;
}

static void wake_sleepers(rill_pool *pool)
{
    if (atomic_load(&pool->sleepers) == 0) return;
    atomic_fetch_add(&pool->epoch, 1);
    word_wake(&pool->epoch);
}

/* Join the first `count` workers after telling them to stop. */
static void stop_workers(rill_pool *pool, unsigned count)
{
    atomic_store(&pool->stop, 1);
    atomic_fetch_add(&pool->epoch, 1);
    word_wake(&pool->epoch);
    for (unsigned i = 0; i < count; i++) pthread_join(pool->worker[i], NULL);
}

/* ---- public functions ------------------------------------------------------------------------------------ */

size_t rill_pool_size(unsigned threads)
{
    const size_t workers = threads > 1 ? threads - 1 : 0;
    const size_t bytes = sizeof(rill_pool) + workers * sizeof(pthread_t);
    return (bytes + LINE - 1) / LINE * LINE;
}

rill_pool *rill_pool_init(void *mem, unsigned threads)
{
    assert(mem && (uintptr_t)mem % LINE == 0);
    rill_pool *pool = mem;
    atomic_init(&pool->work, 0);
    atomic_init(&pool->fn, NULL);
    atomic_init(&pool->arg, NULL);
    atomic_init(&pool->chunks, 0);
    atomic_init(&pool->done, 0);
    atomic_init(&pool->caller_sleeps, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->epoch, 0);
    atomic_init(&pool->stop, 0);
    pool->threads = threads > 1 ? threads : 1;

    /* Workers block all signals, so that the host program's own threads handle them. */
    sigset_t all, old_mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old_mask);
    unsigned started = 0;
    while (started + 1 < pool->threads && pthread_create(&pool->worker[started], NULL, worker_main, pool) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    pool->threads = started + 1; /* includes the caller; only the calling thread reads it */
    return pool;
}

void rill_pool_finish(rill_pool *pool)
{
    if (pool) stop_workers(pool, pool->threads - 1);
}

unsigned rill_pool_threads(const rill_pool *pool)
{
    return pool ? pool->threads : 1;
}

size_t rill_pool_balance(const rill_pool *pool, size_t chunks)
{
    const size_t threads = rill_pool_threads(pool);
    return chunks > threads ? chunks - chunks % threads : chunks;
}

void rill_pool_run(rill_pool *pool, rill_pool_fn fn, void *arg, size_t chunks)
{
    if (!pool || pool->threads == 1 || chunks < 2) {
        for (size_t i = 0; i < chunks; i++) fn(arg, i);
        return;
    }
    assert(chunks <= UINT32_MAX);
    const uint64_t generation = (atomic_load(&pool->work) >> 32) + 1;
    atomic_store_explicit(&pool->fn, fn, memory_order_relaxed);
    atomic_store_explicit(&pool->arg, arg, memory_order_relaxed);
    atomic_store_explicit(&pool->chunks, (uint32_t)chunks, memory_order_relaxed);
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    atomic_store(&pool->work, generation << 32 | (uint32_t)chunks);
    wake_sleepers(pool);
    claim_all(pool);
    wait_done(pool, (uint32_t)chunks);
}

/* ---- splitting a call into chunks ------------------------------------------------------------------------ */

/* A call shorter than SERIAL_NS runs on the calling thread, because waking a worker costs more. No chunk is shorter than CHUNK_NS. Each
 * thread has several chunks, so that others can take over those of a descheduled thread. */
#define SERIAL_NS 5000.0
#define CHUNK_NS 2000.0
#define CHUNKS_PER_THREAD 4

typedef struct range_job {
    rill_range_fn fn;
    const void *arg;
    size_t items, chunks;
} range_job;

static void run_range_chunk(void *arg, size_t chunk)
{
    const range_job *job = arg;
    const size_t each = job->items / job->chunks, more = job->items % job->chunks;
    const size_t begin = chunk * each + (chunk < more ? chunk : more);
    job->fn(job->arg, begin, begin + each + (chunk < more));
}

void rill_parallel_for(rill_pool *pool, rill_range_fn fn, const void *arg, size_t items, double ns_each)
{
    const double total = ns_each * (double)items;
    if (items == 0) return;
    if (rill_pool_threads(pool) == 1 || items == 1 || total < SERIAL_NS) {
        fn(arg, 0, items);
        return;
    }
    range_job job = {fn, arg, items, (size_t)rill_pool_threads(pool) * CHUNKS_PER_THREAD};
    if (job.chunks > items) job.chunks = items;
    if ((double)job.chunks * CHUNK_NS > total) job.chunks = (size_t)(total / CHUNK_NS);
    job.chunks = rill_pool_balance(pool, job.chunks);
    rill_pool_run(pool, run_range_chunk, &job, job.chunks);
}
