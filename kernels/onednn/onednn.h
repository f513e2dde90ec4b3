/* onednn.h: oneDNN as a back end for gemm. Optional: built when the library is there (then RILL_HAVE_ONEDNN is defined for
 * users of onednn_dep), needed by nothing. The back end is also built as a module of its own, BACKEND_MODULE of
 * kernels/device/device.c, which is loaded when somebody asks for it: the library is large, and a rill that does not use it
 * should not wait for it.
 *
 * What it costs: the library chooses kernels by the number of rows, so THE INVARIANT of kernels.h holds only row by row;
 * and it allocates. Written against the 2.x C interface. Threads: as any table. */
#ifndef RILL_KERNELS_ONEDNN_H
#define RILL_KERNELS_ONEDNN_H

#include "../kernels.h"

/* Make *k, which rill_kernels_init() has filled, multiply fp32 weights by the library's sgemm; k->f32 then says how they
 * are packed for it. Other weights and operations stay with our own kernels.
 *   row_by_row  0: a row's last bits depend on the rows of the call and on the threads.
 *               1: every row is a product of its own, so THE INVARIANT holds; two to three times as slow.
 * Returns 0, or -1 when the library refuses to run (then *k is unchanged). */
__attribute__((visibility("default"))) int rill_kernels_use_onednn(rill_kernels *k, int row_by_row);

/* The library's threads from now on, for the calling thread; ignored where OpenMP is not its runtime. The back end needs
 * none of this: it gives the library one thread and cuts work by itself. */
void rill_onednn_threads(int threads);

#endif
