/* Embeddings: what the first layer of either side gets, rows of symbols and of their positions added up.
 *
 * Positions that the file does not store are computed when a row is first asked for: a model may name a million of them
 * and reach a hundred.
 *
 * Invariant: a computed row is a function of its position and the settings, whenever it is made; those below
 * places.count are there, and both sides share them. Divisions: positions · the sum. */
#include <math.h>
#include <string.h>

#include "model.h"

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* Rows from .. to - 1: sines in the first half, cosines in the second. Of an odd width Marian makes one sine more, FSMT
 * a column of zeros. */
static void compute_rows(const mt_model *m, size_t from, size_t to)
{
    const int fsmt = m->settings.form == MT_POSITIONS_FSMT;
    const size_t width = m->width, first = (size_t)m->settings.first;
    const size_t sines = fsmt ? width / 2 : (width + 1) / 2, used = fsmt ? 2 * sines : width;
    const double half = fsmt ? (double)sines : (double)width / 2.0;
    const double slowest = m->settings.form == MT_POSITIONS_HF ? half : half - 1.0;
    for (size_t t = from; t < to; t++) {
        float *row = m->places.rows + t * width;
        for (size_t j = 0; j < used; j++) {
            size_t pair = j < sines ? j : j - sines;
            double angle = (double)(first + t) / pow(10000.0, slowest > 0.0 ? (double)pair / slowest : 0.0);
            row[j] = (float)(j < sines ? sin(angle) : cos(angle));
        }
        if (used < width) row[used] = 0.0f;
    }
}

/* The first `count` rows of a side's positions. */
static rill_status get_rows(mt_model *m, const mt_side *side, size_t count, const float **rows)
{
    mt_places *p = &m->places;
    *rows = side->position;
    if (side->position != NULL) return RILL_OK;
    if (count > p->count) {
        TRY(rill_grow(m->ctx, (void **)&p->rows, &p->room, count, m->width * sizeof *p->rows, "positions"));
        compute_rows(m, p->count, count);
        p->count = count;
    }
    *rows = p->rows;
    return RILL_OK;
}

/* --- the sum ------------------------------------------------------------------------------------------------------ */

rill_status mt_embed(mt_model *m, const mt_side *side, const mt_symbols *symbols, float *x)
{
    const float *position;
    TRY(get_rows(m, side, symbols->most, &position));
    rill_embed embed = {.rows = symbols->rows,
                        .width = m->width,
                        .table = side->embedding,
                        .ld_table = m->width,
                        .packed = side->packed,
                        .id = symbols->id,
                        .scale = m->settings.scale,
                        .position = position,
                        .ld_position = m->width,
                        .pos = symbols->position,
                        .out = x,
                        .ld_out = m->width};
    m->kernels.embed(&embed, m->threads.pool);
    return RILL_OK;
}
