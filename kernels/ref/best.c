/* best.c (ref): bias, log-softmax and the B best symbols of a row, in the plainest possible way.
 *
 * Invariant: ids are offered in ascending order, so insertion behind equal scores gives the tie rule (smaller id
 * first) without comparing ids. The selection compares logp, not x: two different x may round to one logp. */
#include <assert.h>
#include <math.h>

#include "ref.h"

size_t rill_best_insert(int32_t *ids, float *logp, size_t count, size_t best, int32_t id, float score)
{
    if (count == best && !(score > logp[count - 1])) return count;
    size_t at = count < best ? count : count - 1;
    for (; at > 0 && logp[at - 1] < score; at--) {
        logp[at] = logp[at - 1];
        ids[at] = ids[at - 1];
    }
    logp[at] = score;
    ids[at] = id;
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

static void sort_few(int32_t *ids, float *logp, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const int32_t id = ids[i];
        const float score = logp[i];
        size_t at = i;
        for (; at > 0 && (logp[at - 1] < score || (logp[at - 1] == score && ids[at - 1] > id)); at--) {
            ids[at] = ids[at - 1];
            logp[at] = logp[at - 1];
        }
        ids[at] = id;
        logp[at] = score;
    }
}

/* What an entry is sorted by, ascending: its score, or, of equal ones, its id. */
static uint32_t key_at(const int32_t *ids, const float *logp, size_t at, int by_id)
{
    return by_id ? (uint32_t)ids[at] : rill_best_key(logp[at]);
}

/* By the range of keys divided into buckets, in place; then each bucket. Equal scores are one bucket, and go by id. */
static void sort_part(int32_t *ids, float *logp, size_t count, int by_id)
{
    enum { FEW = 24, BUCKETS = 1024 };
    uint32_t low = UINT32_MAX, high = 0, from[BUCKETS], end[BUCKETS], shift = 0, sum = 0;
    if (count <= FEW) {
        sort_few(ids, logp, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t key = key_at(ids, logp, i, by_id);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    if (low == high) {
        sort_part(ids, logp, count, 1);
        return;
    }
    const uint32_t buckets = count < BUCKETS ? (uint32_t)count : BUCKETS;
    memset(end, 0, buckets * sizeof *end);
    while ((high - low) >> shift >= buckets) shift++;
    for (size_t i = 0; i < count; i++) end[(key_at(ids, logp, i, by_id) - low) >> shift]++;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        from[bucket] = sum;
        sum = end[bucket] += sum;
    }
    for (size_t bucket = 0; bucket < buckets; bucket++)
        while (from[bucket] < end[bucket]) {
            const uint32_t at = from[bucket], own = (key_at(ids, logp, at, by_id) - low) >> shift;
            if (own != bucket) swap(ids, logp, at, from[own]);
            from[own]++;
        }
    for (uint32_t bucket = 0, first = 0; bucket < buckets; first = end[bucket++])
        if (end[bucket] - first > 1) sort_part(ids + first, logp + first, end[bucket] - first, by_id);
}

void rill_best_sort(int32_t *ids, float *logp, size_t count)
{
    sort_part(ids, logp, count, 0);
}

static float value(const rill_best *b, size_t r, size_t v)
{
    const float *add = rill_operand_row(&b->add, r);
    float x = rill_operand_row(&b->logits, r)[v];
    if (b->bias) x += b->bias[v];
    return add ? x + add[v] : x;
}

static int is_legal(const rill_best *b, size_t r, size_t v)
{
    if (!b->legal || rill_row_absent(b->legal_index, r)) return 1;
    return (int)(b->legal[rill_row(b->legal_index, r) * b->ld_legal + v / 64] >> (v % 64) & 1);
}

/* log(sum exp x): -infinity when all are, NaN when there is a NaN or +infinity. 0 in place of a number when nobody
 * asked for it: then x itself ranks. */
static float log_norm(const rill_best *b, size_t r)
{
    float max = -INFINITY;
    double sum = 0.0;
    for (size_t v = 0; v < b->symbols; v++) {
        const float x = value(b, r, v);
        if (isnan(x) || x == INFINITY) return NAN;
        if (x > max) max = x;
    }
    if (!b->logp && !b->log_norm) return 0.0f;
    if (max == -INFINITY) return max;
    for (size_t v = 0; v < b->symbols; v++) sum += (double)expf(value(b, r, v) - max);
    return max + (float)log(sum);
}

/* The same walk with the scores kept nowhere: the B best ids of a row when logp is not wanted. Slower (every
 * comparison recomputes the rival's score), but it needs no memory of its own. */
static size_t insert_id(const rill_best *b, size_t r, int32_t *ids, size_t count, float norm, int32_t id)
{
    const float score = value(b, r, (size_t)id) - norm;
    size_t at = count;
    while (at > 0 && value(b, r, (size_t)ids[at - 1]) - norm < score) at--;
    if (at == b->best) return count;
    const size_t after = count < b->best ? count + 1 : count;
    for (size_t i = after - 1; i > at; i--) ids[i] = ids[i - 1];
    ids[at] = id;
    return after;
}

static void one_row(const rill_best *b, size_t r)
{
    const float norm = log_norm(b, r);
    int32_t *ids = b->ids + r * b->ld_out;
    float *logp = b->logp ? b->logp + r * b->ld_out : NULL;
    size_t count = 0;
    for (size_t v = 0; v < b->symbols && !isnan(norm); v++) {
        const float score = value(b, r, v) - norm;
        if (!(score > -INFINITY) || !is_legal(b, r, v)) continue;
        count = logp ? rill_best_insert(ids, logp, count, b->best, (int32_t)v, score)
                     : insert_id(b, r, ids, count, norm, (int32_t)v);
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
    assert(b->logits.at && b->ids && b->counts && b->symbols >= 1 && b->best >= 1 && b->ld_out >= b->best);
    assert(b->symbols < INT32_MAX);
    rill_span_run(pool, rows, b, b->rows, (double)b->symbols * 8.0);
}
