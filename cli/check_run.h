/* Runs of `rill check`: a few inputs decoded under a schedule, what came of each, and in words where two runs differ. */
#ifndef CLI_CHECK_RUN_H
#define CLI_CHECK_RUN_H

#include "session.h"

enum { CLI_CHECK_INPUTS = 12, CLI_CHECK_WHY = 2000 };

typedef struct cli_check_inputs {
    char *text[CLI_CHECK_INPUTS];
    int n;
    int n_different; /* the others are these again */
    int made_up;
} cli_check_inputs;

/* The first lines of a file, again and again where it has few: one that is alone never shows what its neighbours do. CLI_OK or an exit
 * code after a message. */
int cli_check_inputs_read(cli_check_inputs *inputs, rill_context *ctx, const char *path);
/* Lines of names of the model's actions, with blanks between and without, and of words where it names none. CLI_OK or CLI_FAILED after a
 * message. */
int cli_check_inputs_make(cli_check_inputs *inputs, rill_context *ctx, const rill_model *model, uint64_t seed);
/* Accepts zeroed inputs. */
void cli_check_inputs_free(cli_check_inputs *inputs);

/* What came of one input. */
typedef struct cli_check_answer {
    rill_status status;
    char *best; /* the first output, or why there is none */
    double score;
    int32_t n_outputs;
    char *outputs; /* every output with its scores and actions, to the bit */
    size_t outputs_length;
} cli_check_answer;

typedef struct cli_check_record {
    cli_check_answer answer[CLI_CHECK_INPUTS];
    int begun; /* the engines could be made */
    int64_t nodes_peak;
    int had_choices; /* some hypothesis could go on in more than one way */
} cli_check_record;

/* Decode the inputs with the session's open model. Whatever the record had is freed.
 *   RILL_OK · what rill_workers_begin() and rill_workers_run() return, recorded in the session's context */
rill_status cli_check_run(cli_session *session, const cli_check_inputs *inputs, const rill_engine_setup *setup,
                          cli_check_record *out);
/* Accepts a zeroed record. */
void cli_check_record_free(cli_check_record *record);

/* How many bytes of a text to show: at most so many, and whole characters. */
int cli_check_clip(const char *text, int max_bytes);

/* "in a batch of 4 (var-stream, budget 9)" */
void cli_check_schedule(const rill_settings *settings, char *out, size_t size);

/* Whether two runs gave the same; if not, `why` tells for which input and how, with what each run was. What a bound on states made fail
 * is left out. */
int cli_check_same(const cli_check_inputs *inputs, const cli_check_record *one, const char *how_one,
                   const cli_check_record *two, const char *how_two, char why[CLI_CHECK_WHY]);

#endif
