/* rig.h: what tests of kernels share: device memory with a mirror on the host, and a check that nothing else was written.
 *
 *   rig_begin(g);  x = rig_put(g, bytes);  y = rig_out(g, bytes);  fill x;  rig_upload(g);
 *   gpu_run_...(g->queue, args with rig_device_ptr(g, x), rig_device_ptr(g, y));  rig_download(g);  look at y
 *
 * Pieces lie 64 bytes apart; those in between, and all that was put, must come back as they went. Outputs begin as 0xFF: NaN, or -1. */
#ifndef TEST_CUDA_RIG_H
#define TEST_CUDA_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "gpu.h"

enum { RIG_OUTPUTS = 32 };

typedef struct rig {
    gpu_device *device;
    gpu_stream *queue;
    gpu_region memory;
    char *mirror, *sent; /* pinned; what went down */
    size_t used, bytes;
    size_t output[RIG_OUTPUTS][2]; /* from, bytes */
    int outputs;
} rig;

/* Fail the test where there is no device or memory. */
void rig_open(rig *g, size_t bytes);
void rig_close(rig *g);

/* Everything anew. */
void rig_begin(rig *g);
/* Host memory, aligned to 16 bytes. */
void *rig_put(rig *g, size_t bytes);
void *rig_out(rig *g, size_t bytes);
/* Where it lies on the device; NULL stays. */
void *rig_device_ptr(const rig *g, const void *mirrored);

void rig_upload(rig *g);
/* Waits, and fails the test when work failed or wrote elsewhere. */
void rig_download(rig *g);

#endif
