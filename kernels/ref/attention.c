/* attention.c (ref): softmax of dot products with a slot's memory, then the weighted sum, a row at a time. */
#include <assert.h>
#include <math.h>

#include "ref.h"

static float dot(const float *a, const float *b, size_t n)
{
    float s = 0.0f;
    for (size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* A maximum that a NaN wins, so that a row with one becomes NaN as a whole. */
static float largest(const float *x, size_t n)
{
    float m = x[0];
    for (size_t i = 1; i < n; i++)
        if (x[i] > m || isnan(x[i])) m = x[i];
    return m;
}

static void softmax(float *p, size_t n)
{
    const float m = largest(p, n);
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++) {
        p[i] = expf(p[i] - m);
        sum += p[i];
    }
    for (size_t i = 0; i < n; i++) p[i] /= sum;
}

static void one_row(const rill_attention *a, size_t r)
{
    const size_t s = rill_row(a->slot, r), length = (size_t)a->length[s];
    const size_t width = a->value_width ? a->value_width : a->key_width;
    const float *query = a->query + rill_row(a->query_index, r) * a->ld_query;
    const float *values = a->values ? a->values[s] : a->keys[s];
    const size_t ld = a->values ? a->ld_values : a->ld_keys;
    float *p = a->weights + r * a->ld_weights, *out = a->out + r * a->ld_out;
    for (size_t j = 0; j < width; j++) out[j] = 0.0f;
    if (length == 0) return;
    for (size_t t = 0; t < length; t++) p[t] = a->scale * dot(query, a->keys[s] + t * a->ld_keys, a->key_width);
    softmax(p, length);
    for (size_t t = 0; t < length; t++)
        for (size_t j = 0; j < width; j++) out[j] += p[t] * values[t * ld + j];
}

static void rows(const void *arg, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) one_row(arg, r);
}

void rill_attention_f32_ref(const rill_attention *a, rill_pool *pool)
{
    if (a->rows == 0) return;
    assert(a->query && a->keys && a->length && a->weights && a->out && a->key_width >= 1);
    rill_span_run(pool, rows, a, a->rows, (double)a->key_width * 40.0);
}
