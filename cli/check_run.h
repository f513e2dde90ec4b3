/* Runs of `rill check`: decode a few inputs under one schedule, record the results, and describe the difference of two runs. */
#ifndef CLI_CHECK_RUN_H
#define CLI_CHECK_RUN_H

#include "session.h"

enum { CLI_CHECK_INPUTS = 12, CLI_CHECK_WHY = 2000 };

typedef struct cli_check_inputs {
    char *text[CLI_CHECK_INPUTS];
    int n;
    int n_different; /* the first n_different inputs are different, the others repeat them */
    int made_up;     /* the inputs were generated, not read from a file */
} cli_check_inputs;

/* Read the first lines of a file, and repeat them if there are fewer than CLI_CHECK_INPUTS: with a single input, errors that depend on
 * neighbours would not show. CLI_OK or an exit code after a message. */
int cli_check_inputs_read(cli_check_inputs *inputs, rill_context *ctx, const char *path);
/* Generate inputs from names of the model's actions, some joined with spaces and some without, or from words for actions without a
 * name. CLI_OK or CLI_FAILED after a message. */
int cli_check_inputs_make(cli_check_inputs *inputs, rill_context *ctx, const rill_model *model, uint64_t seed);
/* Accepts zeroed inputs. */
void cli_check_inputs_free(cli_check_inputs *inputs);

/* The result of one input. */
typedef struct cli_check_answer {
    rill_status status;
    char *best;   /* text of the first output, or the error message */
    double score; /* path score of the first output */
    int32_t n_outputs;
    char *outputs; /* all outputs with exact scores and actions, as text */
    size_t outputs_length;
} cli_check_answer;

typedef struct cli_check_record {
    cli_check_answer answer[CLI_CHECK_INPUTS];
    int begun; /* creating the engines succeeded */
    int64_t nodes_peak;
    int had_choices; /* some hypothesis had more than one legal action */
} cli_check_record;

/* Decode the inputs with the session's open model. Frees the previous content of the record.
 *   RILL_OK · a status of rill_workers_begin() or rill_workers_run(), with the error in the session's context */
rill_status cli_check_run(cli_session *session, const cli_check_inputs *inputs, const rill_engine_setup *setup,
                          cli_check_record *out);
/* Accepts a zeroed record. */
void cli_check_record_free(cli_check_record *record);

/* Returns how many bytes of a text to show: at most max_bytes, without cutting a UTF-8 character. */
int cli_check_clip(const char *text, int max_bytes);

/* Describe a schedule: "in a batch of 4 (var-stream, budget 9)". */
void cli_check_schedule(const rill_settings *settings, char *out, size_t size);

/* Whether two runs gave the same results. If not, `why` names the input, both results and both schedules. Inputs that failed because
 * of max-nodes are skipped. */
int cli_check_same(const cli_check_inputs *inputs, const cli_check_record *one, const char *how_one,
                   const cli_check_record *two, const char *how_two, char why[CLI_CHECK_WHY]);

#endif
