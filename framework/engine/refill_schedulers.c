/* The built-in schedulers decide which items (inputs in flight) a timestep expands, and when inputs are admitted.
 *
 *   batch            all items; inputs are admitted when the batch is empty, as in usual batched decoding
 *   least-advanced   only the items with the fewest timesteps. Yang et al. 2020, algorithm 1
 *   most-advanced    all items, those with the most timesteps first. Yang et al. 2020, appendix A.2
 *   top-up           all items in order of admission, encoding one batch ahead. "Faster Neural Machine Translation Inference",
 *                    algorithms 5 and 6
 *   all              all items, earlier refills first; within a refill the most expected remaining timesteps first. Introduced by rill
 *
 * All but `batch` refill when at most the fraction `refill` of max_items is in flight. */
#include <string.h>

#include "internal.h"

enum { MAX_KEYS = 4096 }; /* larger sort keys share the last bucket, which affects only speed */

typedef struct sorter {
    rill_context *ctx;
    int32_t *key; /* [capacity] sort key of each input in flight */
    size_t capacity;
    int32_t count[MAX_KEYS]; /* number of inputs with each sort key; zero between sorts */
} sorter;

static rill_status sorter_create(const rill_scheduler *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    if (arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "this scheduler takes no arguments, found \"%s\"", arguments);
    sorter *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a scheduler");
    s->ctx = ctx;
    *self = s;
    return RILL_OK;
}

static void sorter_destroy(void *self)
{
    sorter *s = self;
    if (s == NULL) return;
    rill_free(s->ctx, s->key, s->capacity * sizeof *s->key);
    rill_free(s->ctx, s, sizeof *s);
}

static int32_t clamp_key(int64_t key)
{
    return key < 0 ? 0 : key < MAX_KEYS ? (int32_t)key : MAX_KEYS - 1;
}

/* --- orders of inputs --------------------------------------------------------------------------------------------- */

static rill_status choose_all(void *self, const rill_sched_view *sched_view, int32_t *order, int32_t *count)
{
    (void)self;
    for (int32_t i = 0; i < sched_view->n; i++) order[i] = i;
    *count = sched_view->n;
    return RILL_OK;
}

static rill_status choose_least_advanced(void *self, const rill_sched_view *sched_view, int32_t *order, int32_t *count)
{
    (void)self;
    int32_t min_timestep = INT32_MAX, n = 0;
    for (int32_t i = 0; i < sched_view->n; i++)
        if (sched_view->timestep[i] < min_timestep) min_timestep = sched_view->timestep[i];
    for (int32_t i = 0; i < sched_view->n; i++)
        if (sched_view->timestep[i] == min_timestep) order[n++] = i;
    *count = n;
    return RILL_OK;
}

/* Sort inputs [from, end) by descending key into order[from, end), with a stable counting sort. s->count is zero before and after. */
static inline rill_status sort_descending(sorter *s, const rill_sched_view *sched_view,
                                          int32_t (*key_fn)(const rill_sched_view *, int32_t), int32_t from,
                                          int32_t end, int32_t *order)
{
    int32_t max_key = 0, place = from;
    RILL__TRY(RILL__GROW(s->ctx, s->key, s->capacity, (size_t)end, "a scheduler's order"));
    for (int32_t i = from; i < end; i++) {
        const int32_t key = key_fn(sched_view, i);
        s->key[i] = key;
        s->count[key]++;
        max_key = key > max_key ? key : max_key;
    }
    for (int32_t key = max_key; key >= 0; key--) {
        const int32_t n = s->count[key];
        s->count[key] = place;
        place += n;
    }
    for (int32_t i = from; i < end; i++) order[s->count[s->key[i]]++] = i;
    memset(s->count, 0, ((size_t)max_key + 1) * sizeof *s->count);
    return RILL_OK;
}

static inline int32_t item_depth(const rill_sched_view *sched_view, int32_t i)
{
    return clamp_key(sched_view->timestep[i]);
}

/* Returns an input's expected remaining timesteps: two per token, less the timesteps done, and at least 3/4 of the timesteps done. Without
 * this minimum an unusually long output would come last. The constants are tuned (docs/measurements/engine.md). */
static inline int32_t remaining_timesteps(const rill_sched_view *sched_view, int32_t i)
{
    enum { PER_UNIT = 2 };
    /* clamped, so that twice the size does not overflow */
    const int32_t size = clamp_key(sched_view->size[i]), n_done = sched_view->timestep[i];
    const int32_t expected = PER_UNIT * size - n_done, min_remaining = (int32_t)((int64_t)n_done * 3 / 4);
    return clamp_key(expected > min_remaining ? expected : min_remaining);
}

static rill_status choose_most_advanced(void *self, const rill_sched_view *sched_view, int32_t *order, int32_t *count)
{
    *count = sched_view->n;
    return sort_descending(self, sched_view, item_depth, 0, sched_view->n, order);
}

/* Sort the inputs of each refill separately; they are adjacent in the view. */
static rill_status choose_most_remaining(void *self, const rill_sched_view *sched_view, int32_t *order, int32_t *count)
{
    *count = sched_view->n;
    for (int32_t from = 0, end; from < sched_view->n; from = end) {
        for (end = from + 1; end < sched_view->n && sched_view->refill_index[end] == sched_view->refill_index[from];)
            end++;
        RILL__TRY(sort_descending(self, sched_view, remaining_timesteps, from, end, order));
    }
    return RILL_OK;
}

/* --- when to refill ----------------------------------------------------------------------------------------------- */

static rill_status refill_when_empty(void *self, const rill_sched_view *sched_view, int32_t *admit)
{
    (void)self;
    *admit = sched_view->n == 0 ? sched_view->max_items : 0;
    return RILL_OK;
}

/* Admit inputs when at most the fraction `refill` of max_items is in flight: the epsilon of Yang et al. 2020, algorithm 1. */
static rill_status refill_at_share(void *self, const rill_sched_view *sched_view, int32_t *admit)
{
    (void)self;
    /* the engine reduces *admit to the number of free slots */
    *admit = sched_view->n <= sched_view->refill * sched_view->max_items ? sched_view->max_items : 0;
    return RILL_OK;
}

/* Encode one batch in addition to the admitted inputs, so that encoder batches are full even when few inputs are admitted. */
static int32_t encode_batch_ahead(void *self, const rill_sched_view *sched_view)
{
    (void)self;
    return sched_view->batch;
}

/* --- tables of the schedulers ------------------------------------------------------------------------------------- */

const rill_scheduler rill__schedulers[] = {
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "batch", "expand all items; admit when the batch is empty", NULL,
     choose_all, refill_when_empty, NULL, NULL, 1},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "least-advanced",
     "expand the items with the fewest timesteps; refill at refill-threshold", NULL, choose_least_advanced,
     refill_at_share, NULL, NULL, 0},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "most-advanced",
     "expand the items with the most timesteps first; refill at refill-threshold", sorter_create, choose_most_advanced,
     refill_at_share, sorter_destroy, NULL, 0},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "top-up", "expand all items; encode ahead; refill at refill-threshold",
     NULL, choose_all, refill_at_share, NULL, encode_batch_ahead, 1},
    {RILL_ABI_VERSION, sizeof(rill_scheduler), "all",
     "expand all items, those with the most remaining timesteps first; refill at refill-threshold", sorter_create,
     choose_most_remaining, refill_at_share, sorter_destroy, NULL, 1},
};
