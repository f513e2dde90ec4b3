/* grow.h: growable arrays that keep their capacity from call to call.
 *
 * An array is a pointer and a size_t capacity, zero at first; the caller counts the elements in use. Stability:
 * internal to rill. */
#ifndef RILL_COMMON_GROW_H
#define RILL_COMMON_GROW_H

#include "rill/context.h"
#include "try.h"

/* Ensure capacity for `count` elements with rill_grow(). RILL_OK · RILL_ERR_MEMORY */
#define GROW(ctx, array, capacity, count, what) \
    ((count) <= (capacity) ? RILL_OK            \
                           : rill_grow((ctx), (void **)&(array), &(capacity), (count), sizeof *(array), (what)))

/* Append an element, in a function that returns a rill_status. */
#define PUSH(ctx, array, capacity, count, value, what)              \
    do {                                                            \
        TRY(GROW((ctx), (array), (capacity), (count) + 1, (what))); \
        (array)[(count)++] = (value);                               \
    } while (0)

/* Free the array. */
#define FREE_ARRAY(ctx, array, capacity) rill_free((ctx), (array), (capacity) * sizeof *(array))

#endif
