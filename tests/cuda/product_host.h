/* product_host.h: the products of the stand-in. */
#ifndef TEST_CUDA_PRODUCT_HOST_H
#define TEST_CUDA_PRODUCT_HOST_H

#include "gpu.h"

/* As gpu_run_product() has it, each sum in fp32 with k ascending, or of many fast rows descending. Returns 0, or -1: there is no memory. */
int product_host(const gpu_matrix *matrix, const gpu_product *product);

#endif
