/* The output layer as engines had it before its passes were fused: see unfused.c. */
#ifndef BENCH_UNFUSED_H
#define BENCH_UNFUSED_H

#include "kernels.h"

/* What rill_kernels.best does, in passes over a matrix of all rows; log_norm and logp agree up to their last digits. One thread. */
void bench_unfused_best(const rill_best *b, rill_pool *pool);

/* A back end in place of oneDNN's, so that a whole decode can be timed with it (bench/sources.py): rill's kernels, `best` unfused. */
__attribute__((visibility("default"))) int rill_kernels_use_onednn(rill_kernels *k, int row_by_row);

#endif
