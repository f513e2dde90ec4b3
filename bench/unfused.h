/* The output layer in separate passes, as in engines that do not fuse them: see unfused.c. */
#ifndef BENCH_UNFUSED_H
#define BENCH_UNFUSED_H

#include "kernels.h"

/* The same as rill_kernels.best without `raw`, in passes over a matrix of all rows. log_norm and logp may differ in
 * their last digits. One thread. */
void bench_unfused_best(const rill_best *b, rill_pool *pool);

#endif
