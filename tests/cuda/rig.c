/* rig.c: see rig.h. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"

enum { GAP_BYTES = 64, GAP_FILL = 0xA5 };

void rig_open(rig *g, size_t bytes)
{
    char why[GPU_ERROR_BYTES] = "";
    *g = (rig){.bytes = bytes};
    if (gpu_open(&g->device, 0, why) != 0) {
        puts(why);
        exit(77); /* Meson's exit code for a skipped test */
    }
    if (gpu_stream_open(&g->queue, g->device, why) != 0) fail_msg("%s", why);
    assert_int_equal(gpu_grow(g->device, &g->memory, bytes), 0);
    assert_int_equal(gpu_stream_reserve_fast(g->queue), 0);
    g->mirror = gpu_pinned_alloc(g->device, bytes);
    g->sent = malloc(bytes);
    assert_non_null(g->mirror);
    assert_non_null(g->sent);
}

void rig_close(rig *g)
{
    gpu_stream_close(g->queue);
    gpu_pinned_free(g->device, g->mirror);
    gpu_free(g->device, &g->memory);
    gpu_close(g->device);
    free(g->sent);
}

void rig_begin(rig *g)
{
    g->used = 0;
    g->outputs = 0;
}

static void *place_buffer(rig *g, size_t bytes, int fill)
{
    const size_t offset = g->used + GAP_BYTES, padded = (bytes + 15) / 16 * 16;
    assert_true(offset + padded + GAP_BYTES <= g->bytes);
    memset(g->mirror + g->used, GAP_FILL, GAP_BYTES + padded + GAP_BYTES);
    memset(g->mirror + offset, fill, bytes);
    g->used = offset + padded;
    return g->mirror + offset;
}

void *rig_put(rig *g, size_t bytes)
{
    return place_buffer(g, bytes, GAP_FILL);
}

void *rig_out(rig *g, size_t bytes)
{
    assert_true(g->outputs < RIG_OUTPUTS);
    char *host = place_buffer(g, bytes, 0xFF);
    g->output[g->outputs][0] = (size_t)(host - g->mirror);
    g->output[g->outputs++][1] = bytes;
    return host;
}

void *rig_device_ptr(const rig *g, const void *mirrored)
{
    return mirrored != NULL ? g->memory.base + ((const char *)mirrored - g->mirror) : NULL;
}

void rig_upload(rig *g)
{
    memcpy(g->sent, g->mirror, g->used + GAP_BYTES);
    gpu_copy_to_device(g->queue, g->memory.base, g->mirror, g->used + GAP_BYTES);
}

void rig_download(rig *g)
{
    char why[GPU_ERROR_BYTES] = "";
    gpu_copy_to_host(g->queue, g->mirror, g->memory.base, g->used + GAP_BYTES);
    if (gpu_stream_sync(g->queue, why) != 0) fail_msg("%s", why);
    size_t from = 0;
    for (int i = 0; i <= g->outputs; i++) { /* outputs are in ascending order: check the bytes between them */
        const size_t to = i < g->outputs ? g->output[i][0] : g->used + GAP_BYTES;
        if (memcmp(g->mirror + from, g->sent + from, to - from) != 0)
            fail_msg("what is no output was written, before output %d", i);
        if (i < g->outputs) from = to + g->output[i][1];
    }
}
