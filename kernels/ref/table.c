/* table.c (ref): elementwise functions built on the C library, and the function table of the plain C operations. */
#include <math.h>

#include "ref.h"

float rill_sigmoid_ref(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

void rill_tanh_f32_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = tanhf(x[i]);
}

void rill_sigmoid_f32_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_sigmoid_ref(x[i]);
}

void rill_exp_f32_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = expf(x[i]);
}

float rill_gelu_ref(float x)
{
    return 0.5f * x * erfcf(x * -0.707106781f);
}

float rill_gelu_tanh_ref(float x)
{
    return x * rill_sigmoid_ref(x * (1.595769122f + 0.07135481627f * x * x));
}

float rill_gelu_sigmoid_ref(float x)
{
    return x * rill_sigmoid_ref(1.702f * x);
}

void rill_swish_f32_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = x[i] * rill_sigmoid_ref(x[i]);
}

void rill_gelu_f32_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_gelu_ref(x[i]);
}

void rill_gelu_tanh_f32_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_gelu_tanh_ref(x[i]);
}

void rill_gelu_sigmoid_f32_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = rill_gelu_sigmoid_ref(x[i]);
}

void rill_kernels_init_ref(rill_kernels *k)
{
    *k = (rill_kernels){
        .isa = RILL_ISA_REF,
        .name = "ref",
        .gemm = rill_gemm_ref,
        .lstm = rill_lstm_f32_ref,
        .attention = rill_attention_f32_ref,
        .best = rill_best_f32_ref,
        .gather = rill_gather_f32_ref,
        .embed = rill_embed_f32_ref,
        .layer_norm = rill_layer_norm_f32_ref,
        .tanh = rill_tanh_f32_ref,
        .sigmoid = rill_sigmoid_f32_ref,
        .exp = rill_exp_f32_ref,
        .swish = rill_swish_f32_ref,
        .gelu = rill_gelu_f32_ref,
        .gelu_tanh = rill_gelu_tanh_f32_ref,
        .gelu_sigmoid = rill_gelu_sigmoid_f32_ref,
        .gru = rill_gru_f32_ref,
    };
}
