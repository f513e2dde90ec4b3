/* 16-bit floats on host and device: bf16, and IEEE 754 fp16. Rounding to nearest even. fp16 saturates finite values at 65504; NaN and
 * infinity stay. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "gpu.h"

#ifdef __CUDACC__
#define GPU_HOST_DEVICE __host__ __device__ static inline
#else
#define GPU_HOST_DEVICE static inline
#endif

#define GPU_F16_MAX 65504.0f

GPU_HOST_DEVICE uint32_t gpu_float_to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GPU_HOST_DEVICE float gpu_bits_to_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

GPU_HOST_DEVICE uint16_t gpu_float_to_bf16(float x)
{
    const uint32_t bits = gpu_float_to_bits(x);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Round to fp16. Below 2^-14, fp16 has the spacing of floats in [0.5, 1), so adding 0.5 rounds a small |x|. */
GPU_HOST_DEVICE uint16_t gpu_float_to_f16(float x)
{
    const uint32_t bits = gpu_float_to_bits(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (size == 0x7f800000) return (uint16_t)(sign | 0x7c00);
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7bff);
    if (size < 0x38800000) return (uint16_t)(sign | (gpu_float_to_bits(gpu_bits_to_float(size) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

GPU_HOST_DEVICE float gpu_f16_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, rest = half & 0x3ff;
    if (exponent == 0) return gpu_bits_to_float(sign | gpu_float_to_bits((float)rest * (1.0f / 16777216.0f)));
    return gpu_bits_to_float(sign | (exponent == 31 ? 0xff : exponent + 112) << 23 | rest << 13);
}

/* Convert x to the bits of the 16-bit type `type`, and the bits of that type back to a float. Not for GPU_F32. */
GPU_HOST_DEVICE uint16_t gpu_round_bits(float x, gpu_type type)
{
    return type == GPU_F16 ? gpu_float_to_f16(x) : gpu_float_to_bf16(x);
}

GPU_HOST_DEVICE float gpu_rounded_to_float(uint16_t bits, gpu_type type)
{
    return type == GPU_F16 ? gpu_f16_to_float(bits) : gpu_bits_to_float((uint32_t)bits << 16);
}
