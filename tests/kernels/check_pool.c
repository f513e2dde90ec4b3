/* check_pool.c: every chunk of work runs exactly once, for any number of threads and chunks and with any pauses. The
 * caller sees what the chunks wrote. Under the thread sanitizer this also checks the pool's synchronisation. */
#include <stdatomic.h>
#include <time.h>

#include "kernel_check.h"

typedef struct job {
    /* [chunk]: how often it ran; not atomic on purpose, so that the sanitizer sees a missing synchronisation */
    uint32_t *seen;
    atomic_uint calls;
    unsigned busy; /* loop iterations per chunk */
} job;

static void chunk(void *arg, size_t i)
{
    job *j = arg;
    volatile unsigned turns = 0;
    while (turns < j->busy) turns++;
    j->seen[i] += 1;
    atomic_fetch_add(&j->calls, 1);
}

static void run_once(check *c, rill_pool *pool, size_t chunks, unsigned busy)
{
    job j = {.seen = calloc(chunks + 1, sizeof *j.seen), .busy = busy};
    case_name(c, "threads=%u chunks=%zu busy=%u", rill_pool_threads(pool), chunks, busy);
    rill_pool_run(pool, chunk, &j, chunks);
    EXPECT(c, atomic_load(&j.calls) == chunks, "%u calls", atomic_load(&j.calls));
    for (size_t i = 0; i < chunks; i++) EXPECT(c, j.seen[i] == 1, "chunk %zu ran %u times", i, j.seen[i]);
    free(j.seen);
}

static void nap(long us)
{
    const struct timespec t = {0, us * 1000};
    nanosleep(&t, NULL);
}

static void run_many(check *c, rill_pool *pool)
{
    for (unsigned i = 0; i < 300 * c->rounds / 60 + 5; i++)
        run_once(c, pool, dice_below(c, 20), 50u * (unsigned)dice_below(c, 50));
    for (int i = 0; i < 20; i++) { /* pauses long enough for the workers to go to sleep */
        nap(i % 4 ? 30 : 300);
        run_once(c, pool, 8, 2000);
    }
}

/* The number of chunks is the requested one, unless threads would get unequal numbers of chunks. */
static void even_chunks(check *c, const rill_pool *pool)
{
    const size_t threads = rill_pool_threads(pool);
    for (size_t requested = 0; requested < 40; requested++) {
        const size_t n_chunks = rill_pool_balance(pool, requested);
        case_name(c, "threads=%zu asked=%zu", threads, requested);
        EXPECT(c,
               requested > threads ? n_chunks % threads == 0 && n_chunks <= requested && requested - n_chunks < threads
                                   : n_chunks == requested,
               "%zu chunks", n_chunks);
    }
}

void check_pool(check *c)
{
    EXPECT(c, rill_pool_threads(NULL) == 1, "no pool is one thread");
    run_once(c, NULL, 7, 0);
    even_chunks(c, NULL);
    rill_pool_finish(NULL);
    for (unsigned threads = 0; threads <= 5; threads++) {
        void *mem = aligned_alloc(64, rill_pool_size(threads));
        rill_pool *pool = rill_pool_init(mem, threads);
        EXPECT(c, pool != NULL, "no pool of %u", threads);
        EXPECT(c, rill_pool_threads(pool) == (threads ? threads : 1), "threads %u", rill_pool_threads(pool));
        even_chunks(c, pool);
        if (threads % 2 == 0)
            run_many(c, pool); /* the other pools are destroyed unused, or right after a run */
        else
            run_once(c, pool, 3, 0);
        rill_pool_finish(pool);
        free(mem);
    }
}

/* ---- bench ---- */

static void nothing(void *arg, size_t i)
{
    (void)arg;
    (void)i;
}

static void timed_call(void *arg)
{
    rill_pool_run(arg, nothing, NULL, 8);
}

void bench_pool(check *c)
{
    printf("pool: 8 empty chunks, 2 threads, back to back: %.2f us\n", 1e6 * bench_seconds(timed_call, c->pool[0]));
}
