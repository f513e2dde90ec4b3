/* ranges.h: ranges of rows for the slots of ragged tables.
 *
 * All ragged tables of a stream are laid out alike, so one allocator gives out their rows. Free ranges are sorted and never touch
 * each other or the end: what is given back is there for whoever comes next, whatever slot it was. The first range that is large
 * enough is taken, which keeps rows near the beginning. */
#ifndef RILL_DEVICE_RANGES_H
#define RILL_DEVICE_RANGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct dev_range {
    int32_t first, count;
} dev_range;

/* Zero-initialise; `free` is the caller's memory. */
typedef struct dev_ranges {
    dev_range *free; /* ascending */
    size_t count;
    int32_t end; /* rows from here on were never given out, or all came back */
} dev_ranges;

/* `count` >= 1 rows that nobody has. Returns the first, or -1 when their numbers would not fit. */
int32_t dev_ranges_take(dev_ranges *ranges, int32_t count);

/* Give back what was taken, or its end. There must be room for as many free ranges as are out, and one more. */
void dev_ranges_give(dev_ranges *ranges, int32_t first, int32_t count);

#endif
