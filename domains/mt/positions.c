/* Computed position tables: sinusoids, and the factors 1 / (t + 1) of average attention. Rows are computed on demand,
 * because a model may allow a million positions while inputs and outputs have a hundred.
 *
 * Invariant: a row is a function of its number and the model's settings. */
#include <math.h>

#include "mt_model.h"

/* Compute the sinusoids of positions from .. to - 1: sines in the first half of a row, cosines in the second half. For an
 * odd width Marian adds a sine and FSMT a zero column. */
static void compute_sinusoids(const mt_net *net, size_t from, size_t to, float *row)
{
    const int fsmt = net->settings.position_kind == MT_POSITIONS_FSMT;
    const size_t width = net->width, first = (size_t)net->settings.first_position;
    const size_t sines = fsmt ? width / 2 : (width + 1) / 2, used = fsmt ? 2 * sines : width;
    const double half = fsmt ? (double)sines : (double)width / 2.0;
    const double slowest = net->settings.position_kind == MT_POSITIONS_HF ? half : half - 1.0;
    for (size_t t = from; t < to; t++, row += width) {
        for (size_t j = 0; j < used; j++) {
            size_t pair = j < sines ? j : j - sines;
            double angle = (double)(first + t) / pow(10000.0, slowest > 0.0 ? (double)pair / slowest : 0.0);
            row[j] = (float)(j < sines ? sin(angle) : cos(angle));
        }
        if (used < width) row[used] = 0.0f;
    }
}

static void compute_mean_weights(const mt_net *net, size_t from, size_t to, float *row)
{
    for (size_t t = from; t < to; t++, row += net->width)
        for (size_t j = 0; j < net->width; j++) row[j] = 1.0f / (float)(t + 1);
}

/* Compute rows from .. to - 1 of `table` and copy them to the session's table. Does nothing if the model has no such
 * table. */
static rill_status fill_table_rows(seq_runner *r, const mt_net *net, rill_table table,
                                   void (*compute)(const mt_net *net, size_t from, size_t to, float *row), size_t from,
                                   size_t to)
{
    rill_carver c = {0};
    if (table == RILL_NONE) return RILL_OK;
    rill_carve(&c, (to - from) * net->width, sizeof(float));
    TRY(seq_carve_reserve(r, &c));
    float *rows = rill_carve(&c, (to - from) * net->width, sizeof *rows);
    compute(net, from, to, rows);
    return rill_session_fill(r->session, table, (int32_t)from, (int32_t)(to - from), rows);
}

rill_status mt_prepare_positions(seq_runner *r, const seq_net *seq, size_t from, size_t to)
{
    const mt_net *net = mt_from_seq(seq);
    TRY(fill_table_rows(r, net, net->sinusoids, compute_sinusoids, from, to));
    return fill_table_rows(r, net, net->mean_weights, compute_mean_weights, from, to);
}
