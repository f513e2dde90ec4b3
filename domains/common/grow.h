/* grow.h: arrays that grow, and keep their room from call to call.
 *
 * An array is a pointer and a size_t that counts its room, zero at first; what is in use the caller counts. Stability: internal to rill. */
#ifndef RILL_COMMON_GROW_H
#define RILL_COMMON_GROW_H

#include "rill/context.h"
#include "try.h"

/* Room for `count` elements, as rill_grow() makes it. RILL_OK · RILL_ERR_MEMORY */
#define GROW(ctx, array, room, count, what) \
    ((count) <= (room) ? RILL_OK : rill_grow((ctx), (void **)&(array), &(room), (count), sizeof *(array), (what)))

/* One more element at the end, in a function that gives a rill_status. */
#define PUSH(ctx, array, room, count, value, what)              \
    do {                                                        \
        TRY(GROW((ctx), (array), (room), (count) + 1, (what))); \
        (array)[(count)++] = (value);                           \
    } while (0)

/* Give it back. */
#define FREE_ARRAY(ctx, array, room) rill_free((ctx), (array), (room) * sizeof *(array))

#endif
