/* rig.h: shared by tests of kernels: device memory with a mirror on the host, and a check for writes elsewhere.
 *
 *   rig_begin(g);  x = rig_put(g, bytes);  y = rig_out(g, bytes);  fill x;  rig_upload(g);
 *   gpu_run_...(g->queue, args with rig_device_ptr(g, x), rig_device_ptr(g, y));  rig_download(g);  look at y
 *
 * Buffers are 64 bytes apart. Inputs and the bytes between buffers must come back unchanged. Outputs are filled with
 * 0xFF: NaN, or -1. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpu.h"

enum { RIG_OUTPUTS = 32 };

typedef struct rig {
    gpu_device *device;
    gpu_stream *queue;
    gpu_region memory;
    char *mirror, *sent; /* pinned memory on the host; a copy of the uploaded bytes */
    size_t used, bytes;
    size_t output[RIG_OUTPUTS][2]; /* [output]: offset, bytes */
    int outputs;
} rig;

/* Open a device and allocate memory; fail the test if that is not possible. */
void rig_open(rig *g, size_t bytes);
void rig_close(rig *g);

/* Discard all buffers. */
void rig_begin(rig *g);
/* Reserve host memory of the mirror, aligned to 16 bytes. */
void *rig_put(rig *g, size_t bytes);
void *rig_out(rig *g, size_t bytes);
/* Return the device address of a buffer; NULL for NULL. */
void *rig_device_ptr(const rig *g, const void *mirrored);

void rig_upload(rig *g);
/* Wait, and copy the memory back. Fail the test if work failed or wrote anywhere but to outputs. */
void rig_download(rig *g);
