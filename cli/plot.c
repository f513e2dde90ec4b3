/* The picture of `rill tune`: one file of SVG 1.1 that needs nothing else, neither fonts nor scripts.
 *
 * Expansions go from left to right, on a logarithmic scale when the dearest point costs more than eight times the cheapest;
 * quality goes up. Every point has its parameters as a tooltip, those of the front as a label too, placed where there is room.
 *
 * Divisions: scales · labels · the picture. */
#include "plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "svg.h"

enum { WIDTH = 860, HEIGHT = 588, LEFT = 72, RIGHT = 836, TOP = 84, BOTTOM = 524, LABEL_MAX = 96 };

static const char INK[] = "#222222", GRID[] = "#e2e2e2", DULL[] = "#6b757f", FRONT[] = "#0b62a8";

/* --- scales ------------------------------------------------------------------------------------------------------- */

static double quality(const cli_points *points, const cli_point *point, int oracle)
{
    return cli_quality(points->kind, &point->trial.counts, oracle);
}

static double expansions(const cli_point *point)
{
    return point->trial.stats.expansions > 0 ? (double)point->trial.stats.expansions : 1;
}

static void make_scales(const cli_points *points, int oracle, cli_svg_scale *x, cli_svg_scale *y)
{
    double least_x = INFINITY, most_x = 1, least_y = INFINITY, most_y = 0;
    for (size_t i = 0; i < points->n; i++) {
        const cli_point *p = &points->point[i];
        if (p->refused) continue;
        least_x = fmin(least_x, expansions(p));
        most_x = fmax(most_x, expansions(p));
        least_y = fmin(least_y, quality(points, p, oracle));
        most_y = fmax(most_y, quality(points, p, oracle));
    }
    *x = (cli_svg_scale){.logarithmic = most_x > 8 * least_x, .from = LEFT, .to = RIGHT};
    *y = (cli_svg_scale){.from = BOTTOM, .to = TOP};
    cli_svg_fit(x, least_x, most_x, 0.08);
    cli_svg_fit(y, least_y, most_y, 0.1);
    if (!x->logarithmic) x->least = fmax(x->least, 0);
    y->least = fmax(y->least, 0);
    y->most = fmin(y->most, 100 + 0.02 * (100 - y->least)); /* room for a point at 100 */
    cli_svg_ticks(x, 8);
    cli_svg_ticks(y, 7);
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

typedef struct box {
    double left, top, right, bottom;
} box;

enum { LABEL_SIZE = 11 };

static int overlap(const box *a, const box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Where there is room for a label of this width near (x, y): nearer places first, and those off the front's line, which leads from
 * the lower left to the upper right. 0 when there is none. */
static int find_room(double x, double y, double width, const box *taken, size_t n, box *out)
{
    static const double away[][2] = {{1, 1}, {-1, -1}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
    for (double distance = 8; distance <= 72; distance += 8)
        for (size_t i = 0; i < sizeof away / sizeof away[0]; i++) {
            double middle_x = x + away[i][0] * (distance + width / 2),
                   middle_y = y + away[i][1] * (distance + LABEL_SIZE / 2.0);
            *out = (box){middle_x - width / 2, middle_y - LABEL_SIZE * 0.6, middle_x + width / 2,
                         middle_y + LABEL_SIZE * 0.6};
            int good = out->left > LEFT + 2 && out->right < RIGHT - 2 && out->top > TOP - 14 &&
                       out->bottom < BOTTOM - 2;
            for (size_t j = 0; j < n && good; j++) good = !overlap(out, &taken[j]);
            if (good) return 1;
        }
    return 0;
}

static void put_front_label(cli_output *out, const cli_point *point, size_t alike, double x, double y, box *taken,
                            size_t *n)
{
    char label[LABEL_MAX];
    cli_point_label(point, label, sizeof label);
    size_t length = strlen(label);
    if (alike) snprintf(label + length, sizeof label - length, " and %zu alike", alike);
    box room;
    if (!label[0] || !find_room(x, y, 6.1 * (double)strlen(label), taken, *n, &room)) return; /* its tooltip remains */
    taken[(*n)++] = room;
    double to_x = fmin(fmax(x, room.left), room.right), to_y = fmin(fmax(y, room.top), room.bottom);
    if (hypot(to_x - x, to_y - y) > 14)
        cli_output_printf(
            out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"0.6\"/>\n", x, y,
            to_x, to_y, FRONT);
    cli_svg_label(out, (room.left + room.right) / 2, room.bottom - 3, "middle", LABEL_SIZE, FRONT, label);
}

/* --- the picture -------------------------------------------------------------------------------------------------- */

typedef struct picture {
    cli_output *out;
    const cli_points *points;
    int oracle;
    cli_svg_scale x, y;
    size_t *front; /* [n_front] cheapest first */
    size_t *alike; /* [n_front] */
    size_t n_front;
    box *taken; /* by points and labels */
    size_t n_taken;
} picture;

static double x_of(const picture *p, const cli_point *point)
{
    return cli_svg_place(&p->x, expansions(point));
}

static double y_of(const picture *p, const cli_point *point)
{
    return cli_svg_place(&p->y, quality(p->points, point, p->oracle));
}

static void draw_axes(const picture *p)
{
    char text[32];
    for (int i = 0; i < p->x.ticks; i++) {
        double x = cli_svg_place(&p->x, p->x.tick[i]);
        cli_output_printf(p->out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>\n", x, TOP, x,
                          BOTTOM, GRID);
        cli_svg_number(p->x.tick[i], text, sizeof text);
        cli_svg_label(p->out, x, BOTTOM + 18, "middle", 12, INK, text);
    }
    for (int i = 0; i < p->y.ticks; i++) {
        double y = cli_svg_place(&p->y, p->y.tick[i]);
        cli_output_printf(p->out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\"/>\n", LEFT, y, RIGHT,
                          y, GRID);
        rill_print(text, sizeof text, "%.6g", p->y.tick[i]);
        cli_svg_label(p->out, LEFT - 8, y + 4, "end", 12, INK, text);
    }
    cli_output_printf(p->out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"%s\"/>\n", LEFT, TOP, BOTTOM, RIGHT,
                      INK);
    cli_svg_label(p->out, (LEFT + RIGHT) / 2.0, BOTTOM + 42, "middle", 13, INK,
                  p->x.logarithmic ? "expansions of hypotheses over all inputs (logarithmic)"
                                   : "expansions of hypotheses over all inputs");
    cli_output_printf(
        p->out, "<text transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\" font-size=\"13\" fill=\"%s\">",
        (TOP + BOTTOM) / 2, INK);
    cli_output_printf(p->out, "%s %%</text>\n", p->oracle ? "oracle" : p->points->kind->name);
}

static void draw_point(const picture *p, const cli_point *point)
{
    char label[LABEL_MAX];
    cli_point_label(point, label, sizeof label);
    cli_output_printf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" stroke=\"%s\"><title>",
                      x_of(p, point), y_of(p, point), point->on_front ? 5 : 4, point->on_front ? FRONT : "#ffffff",
                      point->on_front ? FRONT : DULL);
    cli_svg_text(p->out, label);
    cli_output_printf(p->out, ": %.2f %%, %" PRId64 " expansions</title></circle>\n",
                      quality(p->points, point, p->oracle), point->trial.stats.expansions);
}

/* What the best quality is for at most so many expansions: it rises at each point of the front. */
static void draw_front(const picture *p)
{
    if (p->n_front == 0) return;
    cli_output_printf(p->out, "<path d=\"");
    for (size_t i = 0; i < p->n_front; i++) {
        const cli_point *point = &p->points->point[p->front[i]];
        cli_output_printf(p->out, i ? "H%.1fV%.1f" : "M%.1f %.1f", x_of(p, point), y_of(p, point));
    }
    cli_output_printf(p->out, "H%d\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", RIGHT, FRONT);
}

static void draw_points(picture *p)
{
    for (int front = 0; front < 2; front++) /* those of the front above the others */
        for (size_t i = 0; i < p->points->n; i++) {
            const cli_point *point = &p->points->point[i];
            if (point->refused || point->on_front != front) continue;
            double x = x_of(p, point), y = y_of(p, point);
            draw_point(p, point);
            p->taken[p->n_taken++] = (box){x - 5, y - 5, x + 5, y + 5};
        }
    for (size_t i = 0; i < p->n_front; i++) {
        const cli_point *point = &p->points->point[p->front[i]];
        put_front_label(p->out, point, p->alike[i], x_of(p, point), y_of(p, point), p->taken, &p->n_taken);
    }
}

/* Filled and hollow, so that grey shows it too. */
static void draw_legend(const picture *p)
{
    static const char dot[] = "<path d=\"M%d %da%d %d 0 1 0 %d 0a%d %d 0 1 0 %d 0Z\" fill=\"%s\" stroke=\"%s\"/>\n";
    const int y = TOP - 14;
    cli_output_printf(p->out, dot, LEFT, y, 5, 5, 10, 5, 5, -10, FRONT, FRONT);
    cli_svg_label(p->out, LEFT + 16, y + 4, "start", 12, INK, "best for its expansions (the front)");
    cli_output_printf(p->out, dot, LEFT + 240, y, 4, 4, 8, 4, 4, -8, "#ffffff", DULL);
    cli_svg_label(p->out, LEFT + 254, y + 4, "start", 12, INK, "beaten by another");
}

static void draw(picture *p, const char *title, const char *about)
{
    make_scales(p->points, p->oracle, &p->x, &p->y);
    cli_svg_begin(p->out, WIDTH, HEIGHT);
    cli_svg_heading(p->out, LEFT, title, about);
    draw_legend(p);
    draw_axes(p);
    draw_front(p);
    draw_points(p);
    cli_svg_end(p->out);
}

int cli_plot_write(cli_output *output, const cli_points *points, int oracle, const char *title, const char *about)
{
    picture p = {.out = output, .points = points, .oracle = oracle};
    size_t n = 0, marked = 0;
    for (size_t i = 0; i < points->n; i++) {
        n += !points->point[i].refused;
        marked += points->point[i].on_front != 0;
    }
    if (n == 0) return cli_fail("there is nothing to draw: no point was decoded");
    p.front = calloc(2 * marked + 1, sizeof *p.front);
    p.taken = calloc(2 * n, sizeof *p.taken);
    int code = p.front && p.taken ? CLI_OK : cli_fail_memory("the plot");
    if (code == CLI_OK) {
        p.alike = p.front + marked;
        p.n_front = cli_points_front(points, p.front, p.alike);
        draw(&p, title, about);
    }
    free(p.front);
    free(p.taken);
    return code;
}
