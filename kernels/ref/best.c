/* Reference: bias, log-softmax and top B of a row.
 *
 * Ids are offered in ascending order, so ties go to the smaller one. Selection compares logp: different logits may round to one logp. */
#include <assert.h>
#include <math.h>

#include "../internal.h"

size_t rill_best_insert(int32_t *ids, float *logp, size_t count, size_t best, int32_t id, float score)
{
    if (count == best && !(score > logp[count - 1])) return count;
    size_t pos = count < best ? count : count - 1;
    for (; pos > 0 && logp[pos - 1] < score; pos--) {
        logp[pos] = logp[pos - 1];
        ids[pos] = ids[pos - 1];
    }
    logp[pos] = score;
    ids[pos] = id;
    return count < best ? count + 1 : count;
}

static void swap(int32_t *ids, float *logp, size_t a, size_t b)
{
    const int32_t id = ids[a];
    const float score = logp[a];
    ids[a] = ids[b];
    logp[a] = logp[b];
    ids[b] = id;
    logp[b] = score;
}

static void insertion_sort(int32_t *ids, float *logp, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const int32_t id = ids[i];
        const float score = logp[i];
        size_t pos = i;
        for (; pos > 0 && (logp[pos - 1] < score || (logp[pos - 1] == score && ids[pos - 1] > id)); pos--) {
            ids[pos] = ids[pos - 1];
            logp[pos] = logp[pos - 1];
        }
        ids[pos] = id;
        logp[pos] = score;
    }
}

/* Sort key of entry `pos`: its id, or a key of its logp that is smallest for the best entry. */
static uint32_t rank_key(const int32_t *ids, const float *logp, size_t pos, int by_id)
{
    return by_id ? (uint32_t)ids[pos] : rill_best_key(logp[pos]);
}

/* In-place bucket sort by ranges of keys; each bucket is sorted recursively. If all keys are equal, sort by id. */
static void bucket_sort(int32_t *ids, float *logp, size_t count, int by_id)
{
    enum { FEW = 24, BUCKETS = 1024 };
    uint32_t low = UINT32_MAX, high = 0, from[BUCKETS], end[BUCKETS], shift = 0, sum = 0;
    if (count <= FEW) {
        insertion_sort(ids, logp, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t key = rank_key(ids, logp, i, by_id);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    if (low == high) {
        bucket_sort(ids, logp, count, 1);
        return;
    }
    const uint32_t buckets = count < BUCKETS ? (uint32_t)count : BUCKETS;
    memset(end, 0, buckets * sizeof *end);
    while ((high - low) >> shift >= buckets) shift++;
    for (size_t i = 0; i < count; i++) end[(rank_key(ids, logp, i, by_id) - low) >> shift]++;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        from[bucket] = sum;
        sum = end[bucket] += sum;
    }
    for (size_t bucket = 0; bucket < buckets; bucket++)
        while (from[bucket] < end[bucket]) {
            const uint32_t pos = from[bucket], bucket_of_key = (rank_key(ids, logp, pos, by_id) - low) >> shift;
            if (bucket_of_key != bucket) swap(ids, logp, pos, from[bucket_of_key]);
            from[bucket_of_key]++;
        }
    for (uint32_t bucket = 0, first = 0; bucket < buckets; first = end[bucket++])
        if (end[bucket] - first > 1) bucket_sort(ids + first, logp + first, end[bucket] - first, by_id);
}

void rill_best_sort(int32_t *ids, float *logp, size_t count)
{
    bucket_sort(ids, logp, count, 0);
}

static float biased_logit(const rill_best *b, size_t r, size_t v)
{
    const float *add = rill_operand_row(&b->add, r);
    float x = rill_operand_row(&b->logits, r)[v];
    if (b->bias) x += b->bias[v];
    return add ? x + add[v] : x;
}

static int is_legal(const rill_best *b, size_t r, size_t v)
{
    if (!b->legal || rill_row_absent(b->legal_index, r)) return 1;
    return (int)(b->legal[rill_row_index(b->legal_index, r) * b->ld_legal + v / 64] >> (v % 64) & 1);
}

/* Return the row's log(sum of exp x): -infinity if all x are, NaN if any x is NaN or +infinity; 0 if raw. */
static float log_norm(const rill_best *b, size_t r)
{
    float max = -INFINITY;
    double sum = 0.0;
    for (size_t v = 0; v < b->symbols; v++) {
        const float x = biased_logit(b, r, v);
        if (isnan(x) || x == INFINITY) return NAN;
        if (x > max) max = x;
    }
    if (b->raw) return 0.0f;
    if (max == -INFINITY) return max;
    for (size_t v = 0; v < b->symbols; v++) sum += (double)expf(biased_logit(b, r, v) - max);
    return max + (float)log(sum);
}

static void one_row(const rill_best *b, size_t r)
{
    const float norm = log_norm(b, r);
    int32_t *ids = b->ids + r * b->ld_out;
    float *logp = b->logp + r * b->ld_out;
    size_t count = 0;
    for (size_t v = 0; v < b->symbols && !isnan(norm); v++) {
        const float score = biased_logit(b, r, v) - norm;
        if (!(score > -INFINITY) || !is_legal(b, r, v)) continue;
        count = rill_best_insert(ids, logp, count, b->n_best, (int32_t)v, score);
    }
    b->counts[r] = (int32_t)count;
    if (b->log_norm) b->log_norm[r] = norm;
}

static void rows(const void *arg, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) one_row(arg, r);
}

void rill_best_f32_ref(const rill_best *b, rill_pool *pool)
{
    if (b->rows == 0) return;
    assert(b->logits.data && b->ids && b->logp && b->counts && b->symbols >= 1 && b->symbols < INT32_MAX);
    assert(b->n_best >= 1 && b->ld_out >= b->n_best);
    rill_parallel_for(pool, rows, b, b->rows, (double)b->symbols * 8.0);
}
