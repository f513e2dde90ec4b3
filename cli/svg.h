/* What pictures share: SVG 1.1 that needs nothing else, neither fonts nor scripts. What fails to be written is told when the output
 * is closed. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stddef.h>

#include "output.h"

enum { CLI_SVG_TICKS = 32 };

/* Values as pixels. */
typedef struct cli_svg_scale {
    double least, most; /* of the values, or of their logarithms */
    int logarithmic;
    double from, to; /* pixels */
    double tick[CLI_SVG_TICKS];
    int ticks;
} cli_svg_scale;

/* The head of a picture of so many pixels, with a white ground; and its end. */
void cli_svg_begin(cli_output *out, int width, int height);
void cli_svg_end(cli_output *out);

/* Text as XML takes it: what UTF-8 or XML forbids becomes a question mark. */
void cli_svg_text(cli_output *out, const char *text);

/* `anchor`: start, middle or end. `size`: pixels. */
void cli_svg_label(cli_output *out, double x, double y, const char *anchor, int size, const char *colour,
                   const char *text);

/* The title, and below it in smaller type what it is about: what was measured, and on what. */
void cli_svg_heading(cli_output *out, double x, const char *title, const char *about);

/* The pixel of a value. */
double cli_svg_place(const cli_svg_scale *scale, double value);

/* The scale from `least` to `most`, with `air` times their distance on either side; one of a single value still has a width. */
void cli_svg_fit(cli_svg_scale *scale, double least, double most, double air);

/* About so many ticks, at round values. */
void cli_svg_ticks(cli_svg_scale *scale, int wanted);

/* 20000 as "20k", 1500000 as "1.5M" */
void cli_svg_number(double value, char *out, size_t size);

#endif
