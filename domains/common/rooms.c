/* Rooms for slots; rooms.h says why they come in slabs. */
#include "rooms.h"

static size_t wanted(const rill_room *room, size_t length)
{
    size_t more = room->capacity + room->capacity / 2;
    return more > length ? more : length;
}

rill_status rill_rooms_make(rill_blocks *slabs, size_t width, size_t m, rill_room *const *room, const int32_t *length)
{
    size_t rows = 0;
    float *slab = NULL;
    for (size_t i = 0; i < m; i++)
        if (room[i]->capacity < (size_t)length[i]) rows += wanted(room[i], (size_t)length[i]);
    if (rows == 0) return RILL_OK;
    rill_status status = rill_blocks_get(slabs, &slab, rows, width * sizeof *slab, "encoder memory");
    if (status != RILL_OK) return status;
    for (size_t i = 0; i < m; i++) {
        if (room[i]->capacity >= (size_t)length[i]) continue;
        room[i]->capacity = wanted(room[i], (size_t)length[i]);
        room[i]->rows = slab;
        slab += width * room[i]->capacity;
    }
    return RILL_OK;
}
