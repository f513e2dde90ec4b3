/* product_host.h: the products of the stand-in. */
#ifndef TEST_CUDA_PRODUCT_HOST_H
#define TEST_CUDA_PRODUCT_HOST_H

#include <stddef.h>

#include "gpu.h"

/* c [rows, n] = a w^T, each element one sum in fp32 with k ascending. Returns 0, or -1: there is no memory. */
int product_host(const gpu_matrix *matrix, size_t rows, const void *a, float *c, size_t ldc);

#endif
