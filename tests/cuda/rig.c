/* rig.c: see rig.h. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"

enum { APART = 64, BETWEEN = 0xA5 };

void rig_open(rig *g, size_t bytes)
{
    char why[GPU_TEXT] = "";
    *g = (rig){.bytes = bytes};
    if (gpu_open(&g->device, 0, why) != 0) {
        puts(why);
        exit(77); /* Meson's word for a test that is left out */
    }
    if (gpu_queue_open(&g->queue, g->device, why) != 0) fail_msg("%s", why);
    assert_int_equal(gpu_grow(g->device, &g->memory, bytes), 0);
    assert_int_equal(gpu_queue_fast(g->queue), 0);
    g->mirror = gpu_pinned(g->device, bytes);
    g->sent = malloc(bytes);
    assert_non_null(g->mirror);
    assert_non_null(g->sent);
}

void rig_close(rig *g)
{
    gpu_queue_close(g->queue);
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

static void *piece(rig *g, size_t bytes, int fill)
{
    const size_t at = g->used + APART, whole = (bytes + 15) / 16 * 16;
    assert_true(at + whole + APART <= g->bytes);
    memset(g->mirror + g->used, BETWEEN, APART + whole + APART);
    memset(g->mirror + at, fill, bytes);
    g->used = at + whole;
    return g->mirror + at;
}

void *rig_put(rig *g, size_t bytes)
{
    return piece(g, bytes, BETWEEN);
}

void *rig_out(rig *g, size_t bytes)
{
    assert_true(g->outputs < RIG_OUTPUTS);
    char *at = piece(g, bytes, 0xFF);
    g->output[g->outputs][0] = (size_t)(at - g->mirror);
    g->output[g->outputs++][1] = bytes;
    return at;
}

void *rig_at(const rig *g, const void *mirrored)
{
    return mirrored != NULL ? g->memory.at + ((const char *)mirrored - g->mirror) : NULL;
}

void rig_down(rig *g)
{
    memcpy(g->sent, g->mirror, g->used + APART);
    gpu_down(g->queue, g->memory.at, g->mirror, g->used + APART);
}

void rig_up(rig *g)
{
    char why[GPU_TEXT] = "";
    gpu_up(g->queue, g->mirror, g->memory.at, g->used + APART);
    if (gpu_wait(g->queue, why) != 0) fail_msg("%s", why);
    size_t from = 0;
    for (int i = 0; i <= g->outputs; i++) { /* outputs ascend: the bytes between them */
        const size_t to = i < g->outputs ? g->output[i][0] : g->used + APART;
        if (memcmp(g->mirror + from, g->sent + from, to - from) != 0)
            fail_msg("what is no output was written, before output %d", i);
        if (i < g->outputs) from = to + g->output[i][1];
    }
}
