/* rooms.h: memory that slots keep from item to item.
 *
 * An item's encoder memory has as many rows as it has words, and its slot keeps the room for the next item. So rooms are made
 * until each slot has met its longest item; growing by half as much again keeps that from happening often, and bounds what
 * outgrown rooms waste until the model is closed. The slots of one call get their rooms from one slab: a page fault costs about as
 * much as an expansion, and a slab has few where slots had some each.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_ROOMS_H
#define RILL_COMMON_ROOMS_H

#include "blocks.h"

/* Zero-initialise. */
typedef struct rill_room {
    float *rows;     /* [capacity, width], in a slab of the blocks given */
    size_t capacity; /* rows */
} rill_room;

/* Bring every room to `length` rows of `width` floats at least; what was in one that grows is gone.
 *   room    [m] rooms, each named once
 *   length  [m] >= 0
 *   RILL_OK · RILL_ERR_MEMORY (rooms are as before) */
rill_status rill_rooms_make(rill_blocks *slabs, size_t width, size_t m, rill_room *const *room, const int32_t *length);

#endif
