/* ranges.h: first-fit allocator of row ranges in ragged tables, one range per slot.
 *
 * All ragged tables of a session share one layout, so one allocator serves them all. Free ranges are sorted and
 * coalesced with each other and with the unused end. First fit keeps rows near the beginning. */
#ifndef RILL_DEVICE_RANGES_H
#define RILL_DEVICE_RANGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct dev_range {
    int32_t first, count;
} dev_range;

/* Zero-initialise; `free` is caller-owned memory. */
typedef struct dev_ranges {
    dev_range *free; /* ascending */
    size_t count;
    int32_t end; /* rows from here on are unused */
} dev_ranges;

/* Allocate `count` >= 1 rows. Returns the first, or -1 if row numbers would overflow. */
int32_t dev_ranges_take(dev_ranges *ranges, int32_t count);

/* Free a range, or the tail of one. `free` must have capacity for one entry more than there are allocated ranges. */
void dev_ranges_give(dev_ranges *ranges, int32_t first, int32_t count);

#endif
