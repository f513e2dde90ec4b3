/* First-fit allocator of row ranges; see ranges.h. */
#include "ranges.h"

#include <string.h>

static void remove_range(dev_ranges *r, size_t index)
{
    r->count--;
    memmove(r->free + index, r->free + index + 1, (r->count - index) * sizeof *r->free);
}

int32_t dev_ranges_take(dev_ranges *r, int32_t count)
{
    for (size_t i = 0; i < r->count; i++) {
        dev_range *f = &r->free[i];
        if (f->count < count) continue;
        const int32_t first = f->first;
        f->first += count;
        f->count -= count;
        if (f->count == 0) remove_range(r, i);
        return first;
    }
    if (count > INT32_MAX - r->end) return -1;
    r->end += count;
    return r->end - count;
}

/* First free range after a row. */
static size_t find_range(const dev_ranges *r, int32_t row)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->free[middle].first < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void dev_ranges_give(dev_ranges *r, int32_t first, int32_t count)
{
    size_t index = find_range(r, first);
    if (count <= 0) return;
    if (index > 0 && r->free[index - 1].first + r->free[index - 1].count == first) {
        index--;
        r->free[index].count += count;
    } else {
        memmove(r->free + index + 1, r->free + index, (r->count - index) * sizeof *r->free);
        r->free[index] = (dev_range){first, count};
        r->count++;
    }
    if (index + 1 < r->count && r->free[index].first + r->free[index].count == r->free[index + 1].first) {
        r->free[index].count += r->free[index + 1].count;
        remove_range(r, index + 1);
    }
    if (r->free[index].first + r->free[index].count == r->end) { /* the range was the last one: lower the end */
        r->end = r->free[index].first;
        r->count = index;
    }
}
