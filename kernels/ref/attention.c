/* attention.c (ref): multi-head attention, one head of one row at a time: scores, softmax, weighted sum of values. */
#include <assert.h>
#include <math.h>

#include "../internal.h"

static float dot(const float *a, const float *b, size_t n)
{
    float s = 0.0f;
    for (size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static float additive_score(const float *weights, const float *a, const float *b, size_t n)
{
    float s = 0.0f;
    for (size_t i = 0; i < n; i++) s += weights[i] * tanhf(a[i] + b[i]);
    return s;
}

/* Return the maximum of x; NaN if any element is NaN, so that a NaN score makes the whole row NaN. */
static float max_or_nan(const float *x, size_t n)
{
    float m = x[0];
    for (size_t i = 1; i < n; i++)
        if (x[i] > m || isnan(x[i])) m = x[i];
    return m;
}

static void softmax(float *p, size_t n)
{
    const float m = max_or_nan(p, n);
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++) {
        p[i] = expf(p[i] - m);
        sum += p[i];
    }
    for (size_t i = 0; i < n; i++) p[i] /= sum;
}

static void attend_head(const rill_attention *a, size_t r, size_t h)
{
    const rill_kv m = rill_get_kv(a, rill_row_index(a->slot, r));
    const size_t length = m.length, width = a->width, columns = rill_value_width(a);
    const float *query = rill_operand_row(&a->query, r) + h * width;
    const float *keys = m.keys + h * width, *values = m.values + h * columns;
    float *p = a->weights + (r * a->heads + h) * a->ld_weights, *out = rill_operand_row(&a->out, r) + h * columns;
    for (size_t j = 0; j < columns; j++) out[j] = 0.0f;
    if (length == 0) return;
    for (size_t t = 0; t < length; t++) {
        const float *key = keys + rill_row_index(m.path, t) * a->keys.ld;
        p[t] = a->scale * (a->additive != NULL ? additive_score(a->additive + h * width, key, query, width)
                                               : dot(query, key, width));
    }
    if (a->relative != NULL) rill_add_relative_bias(a, h, rill_row_position(a, r, length), length, p);
    softmax(p, length);
    for (size_t t = 0; t < length; t++)
        for (size_t j = 0; j < columns; j++) out[j] += p[t] * values[rill_row_index(m.path, t) * a->values.ld + j];
}

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_attention *a = arg;
    for (size_t r = begin; r < end; r++)
        for (size_t h = 0; h < a->heads; h++) attend_head(a, r, h);
}

void rill_attention_f32_ref(const rill_attention *a, rill_pool *pool)
{
    if (a->rows == 0) return;
    assert(a->query.data && a->keys.data && a->values.data && a->length && a->weights && a->out.data && a->heads &&
           a->width);
    rill_parallel_for(pool, rows, a, a->rows, (double)(a->width * a->heads) * (a->additive != NULL ? 400.0 : 40.0));
}
