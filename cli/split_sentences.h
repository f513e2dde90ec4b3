/* Decode long inputs sentence by sentence: translation models drop the end of long inputs.
 *
 * "auto" splits inputs longer than the model was trained for. Output i of a line joins its sentences' outputs i; scores are sums.
 * A failed sentence fails the line. Ids, alignments, scorers and constraints need whole outputs, and prevent splitting.
 *
 * Suspiciously short outputs are counted: below a third of an input of at least 100 characters, where a CJK character counts as three. */
#pragma once

#include "cli.h"

typedef struct cli_split_line cli_split_line;

typedef struct cli_split {
    rill_read_request_fn read; /* the wrapped reader and writer, and the pointer that both are called with */
    rill_write_fn write;
    void *user;
    int64_t first;                  /* lines of the whole input before this run; the seeds of samples depend on it */
    int64_t n_split, n_split_lists; /* lines that were split; of these, lines with several outputs */
    int64_t n_too_short;            /* number of lines with suspiciously short outputs */
    /* number of the engine's results; number of lines whose results were written */
    int64_t n_results, n_lines_written;
    int64_t n_read; /* number of inputs (lines or sentences) that the engine has read */
    /* The members below are private. */
    const rill_model *model;
    const rill_settings *settings;
    rill_context *ctx;
    int is_on;         /* 1: the model is made for sentences (cli_can_split()) */
    int always_splits; /* 1: mode "sentences": short inputs are split too */
    int cuts;          /* 1: inputs are split; 0: suspiciously short outputs are only counted */
    int64_t n_lines;
    cli_split_line *pending, *line;
    rill_request request; /* request of the current line */
    rill_part *part;      /* [n] parts of the line; part_index is the next one */
    int32_t n, part_index;
    size_t part_capacity;
    size_t prefix_length;
    rill_text text;
} cli_split;

/* Whether the model is made for sentences. If not, the context's error is the reason. */
int cli_can_split(rill_context *ctx, const rill_model *model);

/* Start with a mode: "auto" (also NULL), "sentences" or "off". The model must be open.
 *   settings: resolved settings of requests that have none; must outlive the split
 *   conflict: an option that requires whole inputs, as "--ids"; NULL: none */
int cli_split_start(cli_split *s, rill_context *ctx, const rill_model *model, const rill_settings *settings,
                    const char *mode, const char *conflict);

/* A rill_read_request_fn and a rill_write_fn whose user is a cli_split. */
rill_status cli_split_read(void *split, int may_block, rill_request *request);
rill_status cli_split_write(void *split, const rill_result *result);

/* At the end of a run, warn about suspiciously short outputs, and about n-best lists of lines that were split. */
void cli_split_warn(const cli_split *s);

void cli_split_end(cli_split *s); /* accepts a zeroed struct */

/* Number of characters, with three for each Hangul, Han or kana character, because words in these scripts have fewer characters. */
int64_t cli_text_width(const char *text, size_t length);
/* Whether the best output is suspiciously short: less than a third of an input at least 100 characters wide. */
int cli_is_suspiciously_short(int64_t width, const rill_result *result);
