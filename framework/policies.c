/* The built-in policies: the order in which items are expanded, and when new ones come in.
 *
 *   batch            all items; new ones when the batch is empty. The field's usual loop
 *   least-advanced   the items with the fewest timesteps, the rest pause; new ones when at most a share of N is in flight.
 *                    Yang et al. 2020, algorithm 1
 *   most-advanced    from the item with the most timesteps down. Yang et al. 2020, appendix A.2
 *   top-up           all items in order of admission, encoding one batch ahead. "Faster Neural Machine Translation
 *                    Inference", algorithms 5 and 6
 *   all              all items, an earlier refill before a later one, within it those first that seem to have the most
 *                    timesteps ahead of them: a run can end no sooner than its longest item. rill's own
 *
 * Orders are made by counting sort, since depths, sizes and refills are small numbers and a timestep is some hundred
 * microseconds: a comparison sort of a thousand items would be seen. */
#include <string.h>

#include "builtin.h"

enum { MOST_KEYS = 4096 }; /* larger keys share the last place: an order is a wish, not a promise */

typedef struct sorter {
    rill_context *ctx;
    int32_t *count; /* [MOST_KEYS] zero between sorts */
    int32_t *key;   /* [capacity] of the items in flight */
    size_t capacity;
} sorter;

static rill_status sorter_create(const rill_policy *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    if (arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "this policy takes no arguments, not \"%s\"", arguments);
    sorter *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a policy");
    s->ctx = ctx;
    s->count = rill_calloc(ctx, MOST_KEYS, sizeof *s->count);
    if (s->count == NULL) {
        rill_free(ctx, s, sizeof *s);
        return rill_fail_memory(ctx, MOST_KEYS * sizeof *s->count, "a policy");
    }
    *self = s;
    return RILL_OK;
}

static void sorter_destroy(void *self)
{
    sorter *s = self;
    if (s == NULL) return;
    rill_free(s->ctx, s->count, MOST_KEYS * sizeof *s->count);
    rill_free(s->ctx, s->key, s->capacity * sizeof *s->key);
    rill_free(s->ctx, s, sizeof *s);
}

static int32_t clamp_key(int64_t key)
{
    return key < 0 ? 0 : key < MOST_KEYS ? (int32_t)key : MOST_KEYS - 1;
}

static void order_as_admitted(const rill_flight *flight, int32_t *order)
{
    for (int32_t i = 0; i < flight->n; i++) order[i] = i;
}

/* --- selections --------------------------------------------------------------------------------------------------- */

static rill_status choose_all(void *self, const rill_flight *flight, int32_t *order, int32_t *count)
{
    (void)self;
    order_as_admitted(flight, order);
    *count = flight->n;
    return RILL_OK;
}

static rill_status choose_least_advanced(void *self, const rill_flight *flight, int32_t *order, int32_t *count)
{
    (void)self;
    int32_t least = INT32_MAX, n = 0;
    for (int32_t i = 0; i < flight->n; i++)
        if (flight->timestep[i] < least) least = flight->timestep[i];
    for (int32_t i = 0; i < flight->n; i++)
        if (flight->timestep[i] == least) order[n++] = i;
    *count = n;
    return RILL_OK;
}

static rill_status sorter_reserve(sorter *s, int32_t n)
{
    return RILL__GROW(s->ctx, s->key, s->capacity, (size_t)n, "a policy's order");
}

/* Stable counting sort of the items [from, end) of the flight, in order of admission, by descending key into order[from..end). What
 * it counts with is zero before and after. */
static inline void sort_descending(sorter *s, const rill_flight *flight,
                                   int32_t (*key_of)(const rill_flight *, int32_t), int32_t from, int32_t end,
                                   int32_t *order)
{
    int32_t most = 0, place = from;
    for (int32_t i = from; i < end; i++) {
        const int32_t key = key_of(flight, i);
        s->key[i] = key;
        s->count[key]++;
        most = key > most ? key : most;
    }
    for (int32_t key = most; key >= 0; key--) {
        const int32_t n = s->count[key];
        s->count[key] = place;
        place += n;
    }
    for (int32_t i = from; i < end; i++) order[s->count[s->key[i]]++] = i;
    memset(s->count, 0, ((size_t)most + 1) * sizeof *s->count);
}

static inline int32_t depth_of(const rill_flight *flight, int32_t i)
{
    return clamp_key(flight->timestep[i]);
}

/* Timesteps that may lie ahead: two per unit of size (a parser needs 2n-1), less those behind. Items far behind their input's size come
 * first, and all draw to a close together. One that outgrows the estimate is likely to go on for a share of what it has had: without
 * that rule two runaway hypotheses of ATIS, the last to be served, took a tenth of the run alone. Both numbers were chosen on training
 * and development inputs (docs/measurements/engine.md). */
static inline int32_t remaining_of(const rill_flight *flight, int32_t i)
{
    enum { PER_UNIT = 2 };
    const int32_t size = clamp_key(flight->size[i]),
                  behind = flight->timestep[i]; /* twice the size must not overflow */
    const int32_t expected = PER_UNIT * size - behind, least = (int32_t)((int64_t)behind * 3 / 4);
    return clamp_key(expected > least ? expected : least);
}

static rill_status choose_most_advanced(void *self, const rill_flight *flight, int32_t *order, int32_t *count)
{
    RILL__TRY(sorter_reserve(self, flight->n));
    sort_descending(self, flight, depth_of, 0, flight->n, order);
    *count = flight->n;
    return RILL_OK;
}

/* Items are listed in order of admission, so those of a refill stand together, an earlier one's first. */
static rill_status choose_farthest(void *self, const rill_flight *flight, int32_t *order, int32_t *count)
{
    *count = flight->n;
    RILL__TRY(sorter_reserve(self, flight->n));
    for (int32_t from = 0, end; from < flight->n; from = end) {
        for (end = from + 1; end < flight->n && flight->wave[end] == flight->wave[from];) end++;
        sort_descending(self, flight, remaining_of, from, end, order);
    }
    return RILL_OK;
}

/* --- refills ------------------------------------------------------------------------------------------------------ */

static rill_status refill_when_empty(void *self, const rill_flight *flight, int32_t *admit)
{
    (void)self;
    *admit = flight->n == 0 ? flight->max_items : 0;
    return RILL_OK;
}

static rill_status refill_at_share(void *self, const rill_flight *flight, int32_t *admit)
{
    (void)self;
    *admit = flight->n <= flight->refill * flight->max_items ? flight->max_items : 0; /* the engine caps it */
    return RILL_OK;
}

/* A queue of one batch keeps encoding full even when refills are small. */
static int32_t encode_batch_ahead(void *self, const rill_flight *flight)
{
    (void)self;
    return flight->batch;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static const rill_policy policies[] = {
    {RILL_ABI_VERSION, sizeof(rill_policy), "batch", "expand all items; admit when the batch is empty", NULL,
     choose_all, refill_when_empty, NULL, NULL},
    {RILL_ABI_VERSION, sizeof(rill_policy), "least-advanced",
     "expand the items with the fewest timesteps; refill at a share", NULL, choose_least_advanced, refill_at_share,
     NULL, NULL},
    {RILL_ABI_VERSION, sizeof(rill_policy), "most-advanced",
     "expand from the most advanced item down; refill at a share", sorter_create, choose_most_advanced, refill_at_share,
     sorter_destroy, NULL},
    {RILL_ABI_VERSION, sizeof(rill_policy), "top-up", "expand all items; encode ahead; top up at a share", NULL,
     choose_all, refill_at_share, NULL, encode_batch_ahead},
    {RILL_ABI_VERSION, sizeof(rill_policy), "all", "expand all items, those with most ahead first; refill at a share",
     sorter_create, choose_farthest, refill_at_share, sorter_destroy, NULL},
};

rill_status rill__register_policies(rill_context *ctx)
{
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
        RILL__TRY(rill_register_policy(ctx, &policies[i]));
    return RILL_OK;
}
