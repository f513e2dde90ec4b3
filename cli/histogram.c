/* Histograms of the rows of timesteps; see histogram.h.
 *
 * All panels have the same bins, so that a glance shows which method leaves timesteps half empty: a full batch is one bar at the right,
 * one that empties a row of them.
 *
 * Divisions: counting · bins · the picture. */
#include "histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "svg.h"

enum { LEFT = 64, RIGHT = 736, HEAD = 26, PANEL = 130, BARS = 84, FOOT = 28, BINS = 56 };

static const char INK[] = "#222222", GRID[] = "#e2e2e2", BAR[] = "#0b62a8", MEAN[] = "#c44e00";

/* --- counting ----------------------------------------------------------------------------------------------------- */

static int make_room(cli_histogram *h, int64_t rows)
{
    if (rows < h->n) return 1;
    const int64_t n = 2 * rows + 16;
    int64_t *count = realloc(h->count, (size_t)n * sizeof *count);
    if (!count) return 0;
    memset(count + h->n, 0, (size_t)(n - h->n) * sizeof *count);
    h->count = count;
    h->n = n;
    return 1;
}

void cli_histogram_trace(void *user, const rill_trace_event *event)
{
    cli_histogram *h = user;
    if (event->kind != RILL_TRACE_TIMESTEP || h->failed) return;
    h->failed = !make_room(h, event->rows);
    if (!h->failed) h->count[event->rows]++;
}

void cli_histogram_end(cli_histogram *histogram)
{
    free(histogram->count);
    *histogram = (cli_histogram){0};
}

/* --- bins --------------------------------------------------------------------------------------------------------- */

typedef struct panel {
    int64_t steps, rows, most; /* most: rows of a timestep */
    int64_t bin[BINS];         /* timesteps */
} panel;

static int64_t most_rows(const cli_histogram *h)
{
    int64_t most = h->n - 1;
    while (most > 0 && !h->count[most]) most--;
    return most > 0 ? most : 0;
}

static panel fill(const cli_histogram *h, int64_t each)
{
    panel p = {.most = most_rows(h)};
    for (int64_t rows = 0; rows <= p.most && rows < h->n; rows++) {
        p.steps += h->count[rows];
        p.rows += rows * h->count[rows];
        p.bin[rows / each] += h->count[rows];
    }
    return p;
}

static double share(const panel *p, int bin)
{
    return p->steps ? 100.0 * (double)p->bin[bin] / (double)p->steps : 0;
}

/* --- the picture -------------------------------------------------------------------------------------------------- */

typedef struct picture {
    cli_output *out;
    int64_t each;       /* rows of a bin */
    cli_svg_scale x, y; /* y: of the panel that is being drawn */
} picture;

static void draw_axes(picture *p, int with_numbers)
{
    char text[32];
    for (int i = 0; i < p->y.ticks; i++) {
        const double y = cli_svg_place(&p->y, p->y.tick[i]);
        cli_output_printf(p->out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\"/>\n", LEFT, y, RIGHT,
                          y, GRID);
        rill_print(text, sizeof text, "%g %%", p->y.tick[i]);
        cli_svg_label(p->out, LEFT - 8, y + 4, "end", 11, INK, text);
    }
    for (int i = 0; i < p->x.ticks && with_numbers; i++) {
        cli_svg_number(p->x.tick[i], text, sizeof text);
        cli_svg_label(p->out, cli_svg_place(&p->x, p->x.tick[i]), p->y.from + 18, "middle", 12, INK, text);
    }
    if (with_numbers)
        cli_svg_label(p->out, (LEFT + RIGHT) / 2.0, p->y.from + 36, "middle", 13, INK, "rows of a timestep");
}

static void draw_bars(const picture *p, const panel *of)
{
    for (int i = 0; i < BINS; i++) {
        if (!of->bin[i]) continue;
        const double x = cli_svg_place(&p->x, (double)(i * p->each)), top = cli_svg_place(&p->y, share(of, i)),
                     width = cli_svg_place(&p->x, (double)((i + 1) * p->each)) - x;
        cli_output_printf(p->out,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>%" PRId64, x,
                          top, fmax(width - 1, 0.5), p->y.from - top, BAR, i * p->each);
        if (p->each > 1) cli_output_printf(p->out, " to %" PRId64, (i + 1) * p->each - 1);
        cli_output_printf(p->out, " rows in %" PRId64 " timesteps: %.1f %%</title></rect>\n", of->bin[i], share(of, i));
    }
}

static void draw_panel(picture *p, const panel *of, const char *label, int last)
{
    const double mean = of->steps ? (double)of->rows / (double)of->steps : 0,
                 x = cli_svg_place(&p->x, mean + 0.5); /* a bin begins at its number of rows */
    char text[320];
    draw_axes(p, last);
    draw_bars(p, of);
    cli_output_printf(p->out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\" stroke-dasharray=\"4 3\"/>\n", x, p->y.from,
                      p->y.to, MEAN);
    cli_svg_label(p->out, LEFT, p->y.to - 8, "start", 13, INK, label);
    rill_print(text, sizeof text, "%" PRId64 " timesteps, %.1f rows on average", of->steps, mean);
    cli_svg_label(p->out, RIGHT, p->y.to - 8, "end", 12, MEAN, text);
}

int cli_histogram_height(int n)
{
    return HEAD + n * PANEL + FOOT;
}

static void draw(picture *p, const panel *panels, const char *const *label, int n, int from)
{
    double most = 0;
    for (int i = 0; i < n * BINS; i++) most = fmax(most, share(&panels[i / BINS], i % BINS));
    cli_svg_label(p->out, LEFT, from + 14, "start", 14, INK,
                  "Share of timesteps by how many rows (hypotheses) they had; dashed: the mean");
    cli_svg_ticks(&p->x, 10);
    for (int i = 0; i < n; i++) {
        const int top = from + HEAD + i * PANEL + 28;
        p->y = (cli_svg_scale){.from = top + BARS, .to = top};
        cli_svg_fit(&p->y, 0, most > 0 ? most : 1, 0);
        cli_svg_ticks(&p->y, 3);
        draw_panel(p, &panels[i], label[i], i + 1 == n);
    }
}

int cli_histogram_draw(cli_output *output, const cli_histogram *const *histogram, const char *const *label, int n,
                       int top)
{
    int64_t most = 0;
    panel *panels = calloc((size_t)n, sizeof *panels);
    for (int i = 0; i < n; i++) {
        if (histogram[i]->failed || !panels) {
            free(panels);
            return cli_fail_memory("the plot");
        }
        if (most_rows(histogram[i]) > most) most = most_rows(histogram[i]);
    }
    picture p = {.out = output, .each = most / BINS + 1, .x = {.from = LEFT, .to = RIGHT}};
    cli_svg_fit(&p.x, 0, (double)((most / p.each + 1) * p.each), 0);
    for (int i = 0; i < n; i++) panels[i] = fill(histogram[i], p.each);
    draw(&p, panels, label, n, top);
    free(panels);
    return CLI_OK;
}
