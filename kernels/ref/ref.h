/* ref.h: the operations in plain C: the tests' reference, and the fallback of every instruction set. */
#ifndef RILL_KERNELS_REF_H
#define RILL_KERNELS_REF_H

#include <string.h>

#include "../internal.h"

void rill_gemm_ref(const rill_gemm *g, rill_pool *pool);
void rill_lstm_f32_ref(const rill_lstm *l, rill_pool *pool);
void rill_attention_f32_ref(const rill_attention *a, rill_pool *pool);
void rill_best_f32_ref(const rill_best *b, rill_pool *pool);
void rill_gather_f32_ref(const rill_gather *g, rill_pool *pool);
void rill_embed_f32_ref(const rill_embed *e, rill_pool *pool);
void rill_layer_norm_f32_ref(const rill_layer_norm *n, rill_pool *pool);
void rill_tanh_f32_ref(size_t n, const float *x, float *y);
void rill_sigmoid_f32_ref(size_t n, const float *x, float *y);
void rill_exp_f32_ref(size_t n, const float *x, float *y);
void rill_swish_f32_ref(size_t n, const float *x, float *y);
void rill_gelu_f32_ref(size_t n, const float *x, float *y);
void rill_gelu_tanh_f32_ref(size_t n, const float *x, float *y);
void rill_gelu_sigmoid_f32_ref(size_t n, const float *x, float *y);
void rill_gru_f32_ref(const rill_gru *g, rill_pool *pool);

/* 1 / (1 + e^-x) without overflow: the exponential is only taken of -|x|. NaN gives NaN. */
float rill_sigmoid_ref(float x);

/* GELU: x Phi(x), Phi the normal distribution. The next two functions approximate it, see rill_epilogue. */
float rill_gelu_ref(float x);
float rill_gelu_tanh_ref(float x);
float rill_gelu_sigmoid_ref(float x);

/* Insert (id, score) into the lists `ids` and `logp` of `count` entries, best first, and keep at most `best` entries.
 * Callers offer ids in ascending order, so a tie goes after its equals. Returns the new count. */
size_t rill_best_insert(int32_t *ids, float *logp, size_t count, size_t best, int32_t id, float score);

/* Sort key that ascends as scores descend; -0 and 0 have equal keys. */
static inline uint32_t rill_best_key(float score)
{
    uint32_t bits;
    score += 0.0f;
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : bits ^ UINT32_C(0x7FFFFFFF);
}

/* Sort both lists by logp, best first, ties by smaller id. Takes linear time. */
void rill_best_sort(int32_t *ids, float *logp, size_t count);

#endif
