/* vector.h: operations of the instruction set being compiled, one file each. */
#ifndef RILL_KERNELS_VECTOR_H
#define RILL_KERNELS_VECTOR_H

#include "../internal.h"
#include "vec.h"

void RILL_FN(rill_gemm)(const rill_gemm *g, rill_pool *pool);
void RILL_FN(rill_gemm_u8s8)(const rill_gemm *g, rill_pool *pool);
#if defined(RILL_SET_BELOW)
void RILL_SET_BELOW(rill_gemm)(const rill_gemm *g, rill_pool *pool);
#elif defined(RILL_SET_INT8)
void RILL_SET_INT8(rill_gemm_u8s8)(const rill_gemm *g, rill_pool *pool);
#endif
void RILL_FN(rill_lstm_f32)(const rill_lstm *l, rill_pool *pool);
void RILL_FN(rill_attention_f32)(const rill_attention *a, rill_pool *pool);
void RILL_FN(rill_best_f32)(const rill_best *b, rill_pool *pool);
void RILL_FN(rill_embed_f32)(const rill_embed *e, rill_pool *pool);
void RILL_FN(rill_layer_norm_f32)(const rill_layer_norm *n, rill_pool *pool);
void RILL_FN(rill_tanh_f32)(size_t n, const float *x, float *y);
void RILL_FN(rill_sigmoid_f32)(size_t n, const float *x, float *y);
void RILL_FN(rill_exp_f32)(size_t n, const float *x, float *y);
void RILL_FN(rill_swish_f32)(size_t n, const float *x, float *y);
void RILL_FN(rill_gelu_f32)(size_t n, const float *x, float *y);
void RILL_FN(rill_gelu_tanh_f32)(size_t n, const float *x, float *y);
void RILL_FN(rill_gelu_sigmoid_f32)(size_t n, const float *x, float *y);
void RILL_FN(rill_gru_f32)(const rill_gru *g, rill_pool *pool);

/* heads.c: rill_attention_heads() computes row r if rill_attention_takes_heads() is true and the row's slot has at most
 * RILL_HEADS_LENGTH memory rows. */
#define RILL_HEADS_LENGTH ((size_t)512)
int RILL_FN(rill_attention_takes_heads)(const rill_attention *a);
void RILL_FN(rill_attention_heads)(const rill_attention *a, size_t r);

#endif
