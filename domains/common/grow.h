/* grow.h: growable arrays that keep their capacity from call to call.
 *
 * An array is a pointer and its capacity in elements (a size_t), both zero at first. The caller counts the elements in
 * use. Stability: internal to rill. */
#ifndef RILL_COMMON_GROW_H
#define RILL_COMMON_GROW_H

#include "rill/context.h"
#include "try.h"

/* Ensure that the array can hold `count` elements; `capacity` is the variable with its capacity, `what` names the array in
 * the error.
 *   RILL_OK · RILL_ERR_MEMORY */
#define GROW(ctx, array, capacity, count, what) \
    ((count) <= (capacity) ? RILL_OK            \
                           : rill_grow((ctx), (void **)&(array), &(capacity), (count), sizeof *(array), (what)))

/* Append `value` and increment `count`. Returns from the enclosing function if memory runs out. */
#define PUSH(ctx, array, capacity, count, value, what)              \
    do {                                                            \
        TRY(GROW((ctx), (array), (capacity), (count) + 1, (what))); \
        (array)[(count)++] = (value);                               \
    } while (0)

/* Free the array. */
#define FREE_ARRAY(ctx, array, capacity) rill_free((ctx), (array), (capacity) * sizeof *(array))

#endif
