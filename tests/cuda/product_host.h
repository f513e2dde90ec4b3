/* product_host.h: the stand-in's matrix products. */
#pragma once

#include "gpu.h"

/* As gpu_run_product(). Sums are in fp32 with k ascending; in products of more than `max_ascending` rows, k descends.
 * Returns 0, or -1 if out of memory. */
int product_host(const gpu_matrix *matrix, const gpu_product *product, int32_t max_ascending);
