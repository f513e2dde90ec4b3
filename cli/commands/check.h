/* Runs of `rill check`: decode a few inputs under one schedule, record the results, and describe the difference of two runs. */
#pragma once

#include "session.h"

enum { CLI_CHECK_INPUTS = 12, CLI_CHECK_WHY = 2000 };

typedef struct cli_check_inputs {
    char *text[CLI_CHECK_INPUTS]; /* input texts; all NULL: not read yet */
    int n_different;              /* the first n_different inputs are different, the others repeat them */
    int made_up;                  /* 1: the inputs were generated; 0: they were read from a file */
} cli_check_inputs;

/* Read the first lines of a file, repeated up to CLI_CHECK_INPUTS. */
int cli_check_inputs_read(cli_check_inputs *inputs, rill_context *ctx, const char *path);
/* Generate inputs from action names, with and without spaces; English words replace missing names. */
int cli_check_inputs_make(cli_check_inputs *inputs, rill_context *ctx, const rill_model *model, uint64_t seed);
/* Free the inputs' memory; accepts zeroed inputs. */
void cli_check_inputs_free(cli_check_inputs *inputs);

/* The result of one input in a run. */
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
    int begun; /* 1: creating the engines succeeded */
    int64_t nodes_peak;
    int had_choices; /* 1: some hypothesis had more than one legal action */
} cli_check_record;

/* Decode the inputs with the session's open model. Replaces the record's content.
 *   RILL_OK · a status of rill_workers_begin() or rill_workers_run(), with the error in the session's context */
rill_status cli_check_run(cli_session *session, const cli_check_inputs *inputs, const rill_engine_setup *setup,
                          cli_check_record *out);
/* Free the record's memory; accepts a zeroed record. */
void cli_check_record_free(cli_check_record *record);

/* Returns how many bytes of a text to show: at most max_bytes, and no incomplete UTF-8 character. */
int cli_check_clip(const char *text, int max_bytes);

/* Describe a schedule: "in a batch of 4 (var-stream, budget 9)". */
void cli_check_schedule(const rill_settings *settings, char *out, size_t size);

/* Whether two runs gave the same results; if not, `why` describes the difference. Skips inputs that failed because of max-nodes. */
int cli_check_same(const cli_check_inputs *inputs, const cli_check_record *one, const char *how_one,
                   const cli_check_record *two, const char *how_two, char why[CLI_CHECK_WHY]);

/* --- a random decoding problem ----------------------------------------------------------------------------------------- */

/* A random problem to test heuristics, scorers and schedulers without a model. Scores are hashes of input, actions and seed, in multiples
 * of 1/16 for many ties. */

/* The domain's name. Its argument is the seed, a number. */
#define CLI_CHECK_PROBLEM "rill-check"

extern const rill_domain cli_check_problem;

static inline uint64_t cli_check_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* --- an instance shared by runs ---------------------------------------------------------------------------------------- */

/* A heuristic or scorer instance shared by several engines. */

/* The name under which the instance's heuristic and its scorer are registered. */
#define CLI_CHECK_INSTANCE "rill-check-instance"

typedef struct cli_check_instance {
    rill_heuristic heuristic; /* registered tables: copies of the plugin's tables, but create() returns `self` */
    rill_scorer scorer;
    void *self;                  /* the instance that the tested table created */
    void (*destroy)(void *self); /* destroy function of the tested table; NULL: none */
} cli_check_instance;

/* Fill in the function tables of the instance (heuristic and scorer) and register them. `instance` must outlive the context. */
rill_status cli_check_instance_register(cli_check_instance *instance, rill_context *ctx);

/* --- test runs --------------------------------------------------------------------------------------------------------- */

/* The test runs of `rill check` for one plugin item: a domain, or a heuristic, scorer or scheduler on an open model. */

typedef enum cli_check_kind {
    CLI_CHECK_DOMAIN,
    CLI_CHECK_HEURISTIC,
    CLI_CHECK_SCORER,
    CLI_CHECK_SCHEDULER
} cli_check_kind;

extern const char *const cli_check_kind_names[]; /* [kind] name of each kind, as in the command's options */

typedef struct cli_check_trial {
    cli_check_kind kind;
    const char *name, *arguments; /* arguments: NULL for a domain, or if the item has no arguments */
    cli_session *session;         /* session with an open model */
    const cli_check_inputs *inputs;
    cli_check_instance *instance;
    /* Results of the trial. */
    int runs;  /* number of runs so far */
    int begun; /* creating the tested plugin item succeeded at least once */
    char why[CLI_CHECK_WHY];
    /* The settings and results of the reference run, which decodes one input at a time; kept for cli_check_rerun(). The caller frees
     * `reference`. */
    rill_engine_setup setup;
    rill_chain_entry entry, pruning;
    char pruning_arguments[16];
    cli_check_record reference;
    char how[128]; /* how the reference run forms its batches, for messages */
} cli_check_trial;

/* Draw random search settings from `seed` and decode with many batch sizes, budgets and methods. Returns 1 if all agree; 0: see `why`. */
int cli_check_round(cli_check_trial *trial, uint64_t seed);

/* Repeat the last reference run in batches and compare. Returns as cli_check_round().
 *   how: the run's name; reason: likely cause; both for messages */
int cli_check_rerun(cli_check_trial *trial, const char *how, const char *reason);

/* --- repeated scoring of states ---------------------------------------------------------------------------------------- */

/* A wrapper domain that scores each state three times: twice in a row, and after its children. Finds damaged parent states, and
 * probabilities instead of log-probabilities. */

/* The name of the wrapping domain. */
#define CLI_CHECK_RESCORE "rill-check-asked"

typedef struct cli_check_rescore {
    rill_domain domain; /* first member: methods cast from it to the whole struct */
    const rill_domain *real;
    rill_domain_info info; /* properties of the tested domain */
    /* Statistics of the scored rows (hypotheses) that have at least one legal action. */
    /* number of all rows; number of rows whose values, taken as probabilities, sum to 1 */
    int64_t rows, normalised_rows;
    int maybe_probs;         /* no value is below 0, and no row sums to more than 1 */
    int not_logprobs;        /* 1: some row's scores are not log-probabilities */
    char why[CLI_CHECK_WHY]; /* the first violation of the contract; empty: none */
} cli_check_rescore;

/* Register the wrapping domain. `rescoring` must outlive the context. */
rill_status cli_check_rescore_register(cli_check_rescore *rescoring, rill_context *ctx);

/* Decode the inputs one at a time. `real`, the session's domain, is wrapped by a domain that scores each state again, and stays wrapped.
 *   1: no error found · 0: see `rescoring->why` · -1: the run failed, with the error in the session's context */
int cli_check_rescore_run(cli_check_rescore *rescoring, cli_session *session, const rill_domain *real,
                          const cli_check_inputs *inputs);
