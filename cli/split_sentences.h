/* Inputs of a run that are decoded as several, their sentences, and come out as one: a reader and a writer around those of the command.
 *
 * A model for translation is made for sentences, and loses the end of what is much longer. With "auto" an input that is longer than the
 * model was made for (rill_model_split()) is read as its sentences, each an input of the engine's; the outputs are put together with what
 * lay between, under the line's id. Its i-th output is made of the i-th of each sentence (or the last there is), and its numbers are
 * their sums, but for what outputs are ordered by, which is made of these. What fails of a sentence fails the line. Where ids, alignments
 * and the like are asked for, or scorers and constraints are about whole outputs, inputs are decoded whole.
 * Outputs that are suspiciously short are counted too: less than a third of an input of 100 characters or more, where those of scripts
 * that write words with few characters count three times. */
#ifndef CLI_SPLIT_SENTENCES_H
#define CLI_SPLIT_SENTENCES_H

#include "cli.h"
#include "rill/run.h"

typedef struct cli_split_line cli_split_line;

typedef struct cli_split {
    rill_read_request_fn read; /* the command's, with `user` */
    rill_write_fn write;
    void *user;
    int64_t first;                      /* lines before those of the run, which samples are numbered with */
    int64_t n_split, n_split_lists;     /* lines that are decoded as several; those of them with several outputs each */
    int64_t n_too_short;                /* lines whose outputs are suspiciously short */
    int64_t n_results, n_lines_written; /* inputs of the engine's with a result, and lines whose results were written */
    int64_t n_read;                     /* inputs of the engine's that were read */
    /* private */
    const rill_model *model;
    const rill_settings *settings;
    rill_context *ctx;
    int is_on, always_splits, cuts;
    int64_t n_lines;
    cli_split_line *pending, *line;
    rill_request request; /* of the line at work */
    rill_part *part;      /* [n] of it, [at] is the next */
    int32_t n, part_index, part_capacity;
    size_t prefix_length;
    rill_text text;
} cli_split;

/* Whether the model is one that is made for sentences; where not, the context's error says so. */
int cli_can_split(rill_context *ctx, const rill_model *model);

/* How lines are split: "auto" (also NULL), "sentences" or "off", of a model that is open.
 *   settings: resolved, those of requests without their own; they must outlive the split
 *   against: what is asked for that only whole inputs can have, as "--ids"; NULL: nothing
 *   CLI_OK, or CLI_FAILED after a message: another word; sentences that this model or that wish does not allow */
int cli_split_start(cli_split *s, rill_context *ctx, const rill_model *model, const rill_settings *settings,
                    const char *mode, const char *conflict);

/* A rill_read_request_fn and a rill_write_fn with a cli_split as user. */
rill_status cli_split_read(void *split, int may_block, rill_request *request);
rill_status cli_split_write(void *split, const rill_result *result);

/* At the end of a run: count the lines whose outputs lack something, and say what lists of split lines are. */
void cli_split_warn(const cli_split *s);

void cli_split_end(cli_split *s); /* accepts a zeroed one */

/* Characters, of which those from the Hangul, Han and kana blocks on count three times: words have as many fewer of them. */
int64_t cli_text_width(const char *text, size_t length);
/* Whether the best output is suspiciously short for an input of that width. */
int cli_is_suspiciously_short(int64_t width, const rill_result *result);

#endif
