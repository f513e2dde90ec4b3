/* Text, scales and the frame of a picture; see svg.h.
 *
 * Divisions: text · scales · the file. */
#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence at p that XML allows, 0 if there is none. */
static size_t sequence(const char *p)
{
    size_t n;
    const int32_t c = rill_utf8_next(p, 4, &n); /* no character goes beyond the NUL */
    return (c >= 0x20 || c == '\t' || c == '\n') && c != 0xFFFE && c != 0xFFFF ? n : 0;
}

void cli_svg_text(cli_output *out, const char *text)
{
    while (*text) {
        size_t n = sequence(text);
        switch (n ? *text : '?') {
        case '&': cli_output_printf(out, "&amp;"); break;
        case '<': cli_output_printf(out, "&lt;"); break;
        case '>': cli_output_printf(out, "&gt;"); break;
        case '?': cli_output_printf(out, "?"); break;
        default: cli_output_write(out, text, n); break;
        }
        text += n ? n : 1;
    }
}

void cli_svg_label(cli_output *out, double x, double y, const char *anchor, int size, const char *colour,
                   const char *text)
{
    cli_output_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\" fill=\"%s\">", x, y, anchor,
                      size, colour);
    cli_svg_text(out, text);
    cli_output_printf(out, "</text>\n");
}

void cli_svg_heading(cli_output *out, double x, const char *title, const char *about)
{
    cli_svg_label(out, x, 24, "start", 16, "#222222", title);
    cli_svg_label(out, x, 44, "start", 12, "#5f6872", about);
}

/* --- scales ------------------------------------------------------------------------------------------------------- */

double cli_svg_place(const cli_svg_scale *s, double value)
{
    if (s->logarithmic) value = log10(value);
    return s->from + (value - s->least) / (s->most - s->least) * (s->to - s->from);
}

static void add_tick(cli_svg_scale *s, double value)
{
    double at = s->logarithmic ? log10(value) : value, slack = 1e-9 * (s->most - s->least);
    if (s->ticks < CLI_SVG_TICKS && at >= s->least - slack && at <= s->most + slack) s->tick[s->ticks++] = value;
}

/* The step among 1, 2, 5 times a power of ten that gives about `wanted` ticks. */
static double nice_step(double range, int wanted)
{
    double raw = range / wanted, power = pow(10, floor(log10(raw)));
    double times = raw / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

void cli_svg_ticks(cli_svg_scale *s, int wanted)
{
    s->ticks = 0;
    if (s->logarithmic && s->most - s->least > 0.6) {
        for (double power = pow(10, floor(s->least)); log10(power) <= s->most; power *= 10)
            for (int i = 0; i < 3; i++) add_tick(s, power * (double[]){1, 2, 5}[i]);
        return;
    }
    double least = s->logarithmic ? pow(10, s->least) : s->least, most = s->logarithmic ? pow(10, s->most) : s->most;
    double step = nice_step(most - least, wanted);
    for (double i = ceil(least / step - 1e-9) + 0.0; i * step <= most + 1e-9 * step; i++)
        add_tick(s, i * step); /* 0.0: no -0 */
}

void cli_svg_fit(cli_svg_scale *s, double least, double most, double air)
{
    s->least = s->logarithmic ? log10(least) : least;
    s->most = s->logarithmic ? log10(most) : most;
    double range = s->most - s->least;
    if (range <= 0) range = s->logarithmic ? 0.3 : fabs(most) > 1 ? 0.1 * fabs(most) : 1;
    s->least -= air * range;
    s->most += air * range;
}

void cli_svg_number(double value, char *out, size_t size)
{
    if (value >= 1e6)
        rill_print(out, size, "%.6gM", value / 1e6);
    else if (value >= 1e4)
        rill_print(out, size, "%.6gk", value / 1e3);
    else
        rill_print(out, size, "%.6g", value);
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

void cli_svg_begin(cli_output *out, int width, int height)
{
    cli_output_printf(out,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                      "font-family=\"sans-serif\">\n"
                      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                      width, height, width, height);
}

void cli_svg_end(cli_output *out)
{
    cli_output_printf(out, "</svg>\n");
}
