/* The picture of `rill bench --plot`: how fast the methods were, and how full their timesteps.
 *
 * A bar is the median of the runs, the line across its end reaches from the slowest to the fastest. Nothing is told by colour alone. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "hardware.h"
#include "svg.h"

enum {
    WIDTH = 760,
    LEFT = 64,
    RIGHT = 736,
    HEAD = 64,
    ROW = 36,
    BAR = 14,
    SPEEDS = 64,
    FOOT = 28,
    SHORT = 60
}; /* SHORT: a longer label would run into what stands at the right */

static const char INK[] = "#222222", DULL[] = "#5f6872", GRID[] = "#e2e2e2", FILL[] = "#0b62a8";

/* Inputs per second of the slowest run, the median and the fastest. */
static void speeds(const bench *b, const bench_method *m, double out[3])
{
    double least = INFINITY, most = 0, median, spread;
    for (int i = 0; i < m->runs; i++) {
        least = fmin(least, m->seconds[i]);
        most = fmax(most, m->seconds[i]);
    }
    bench_summarise(m->seconds, m->runs, &median, &spread);
    const double seconds[] = {most, median, least};
    for (int i = 0; i < 3; i++) out[i] = seconds[i] > 0 ? (double)b->set.inputs.n / seconds[i] : 0;
}

static void draw_speed(cli_output *out, const cli_svg_scale *x, const char *label, const double speed[3], int top)
{
    char text[64];
    const double end = cli_svg_place(x, speed[1]), from = cli_svg_place(x, speed[0]), to = cli_svg_place(x, speed[2]),
                 middle = top + 18 + BAR / 2.0;
    cli_svg_label(out, LEFT, top + 13, "start", 13, INK, label);
    cli_output_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, top + 18,
                      end - LEFT, BAR, FILL);
    cli_output_printf(out, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8\" stroke=\"%s\" stroke-width=\"1.6\"/>\n",
                      from, middle, to, from, middle - 4, to, middle - 4, INK);
    rill_print(text, sizeof text, "%.*f inputs/s", speed[1] < 100 ? 1 : 0, speed[1]);
    cli_svg_label(out, RIGHT, top + 13, "end", 12, DULL, text);
}

static void draw_speeds(const bench *b, const char *const *label, cli_output *out)
{
    double most = 0, speed[3];
    char text[32];
    const int bottom = HEAD + 22 + b->n * ROW;
    for (int i = 0; i < b->n; i++) {
        speeds(b, &b->method[i], speed);
        most = fmax(most, speed[2]);
    }
    cli_svg_scale x = {.from = LEFT, .to = RIGHT};
    cli_svg_fit(&x, 0, most > 0 ? 1.04 * most : 1, 0);
    cli_svg_ticks(&x, 8);
    cli_svg_label(out, LEFT, HEAD + 14, "start", 14, INK, "Inputs per second: median, slowest and fastest run");
    for (int i = 0; i < x.ticks; i++) {
        const double at = cli_svg_place(&x, x.tick[i]);
        cli_output_printf(out, "<path d=\"M%.1f %dV%d\" stroke=\"%s\"/>\n", at, HEAD + 24, bottom, GRID);
        cli_svg_number(x.tick[i], text, sizeof text);
        cli_svg_label(out, at, bottom + 18, "middle", 12, INK, text);
    }
    for (int i = 0; i < b->n; i++) {
        speeds(b, &b->method[i], speed);
        draw_speed(out, &x, label[i], speed, HEAD + 22 + i * ROW);
    }
}

int bench_draw(bench *b)
{
    const cli_histogram *rows[BENCH_METHODS_MAX];
    const char *label[BENCH_METHODS_MAX], *model = b->session.open.path ? b->session.open.path : "";
    char shortened[BENCH_METHODS_MAX][SHORT + 1], hardware[CLI_HARDWARE_MAX], about[CLI_HARDWARE_MAX + 128];
    const char *name = strrchr(model, '/');
    const int top = HEAD + b->n * ROW + SPEEDS;
    for (int i = 0; i < b->n; i++) {
        rows[i] = &b->method[i].rows;
        const int cut = strlen(b->method[i].label) > SHORT;
        rill_print_message(shortened[i], sizeof shortened[i], "%.*s%s", cut ? SHORT - 3 : SHORT, b->method[i].label,
                           cut ? "..." : "");
        label[i] = shortened[i];
    }
    rill_print_message(about, sizeof about, "%.60s%s%" PRId64 " inputs; %d timed run%s; %s",
                       name && name[1] ? name + 1 : model, model[0] ? "; " : "", b->set.inputs.n, b->repeat,
                       b->repeat == 1 ? "" : "s", cli_hardware(&b->session, hardware));
    cli_svg_begin(&b->plot, WIDTH, top + cli_histogram_height(b->n) + FOOT);
    cli_svg_heading(&b->plot, LEFT, "Methods of search compared", about);
    draw_speeds(b, label, &b->plot);
    int code = cli_histogram_draw(&b->plot, rows, label, b->n, top);
    cli_svg_end(&b->plot);
    const int closed = cli_output_close(&b->plot);
    return code == CLI_OK ? closed : code;
}
