/* --trace: what a run does, event by event, as one JSON object per line, for tools/figures.py and `rill trace`.
 *
 * First stands the run's description. With trees every candidate of every timestep is told too, the texts of inputs and outputs, and at
 * the end the names of the actions that occurred. Workers write events, and reader and writer those of texts: each line is whole. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include <pthread.h>

#include "cli_output.h"
#include "session.h"

typedef struct cli_trace {
    cli_output out;
    int has_trees;
    /* private */
    pthread_mutex_t lock;
    int has_lock; /* there is a lock */
    rill_context *ctx;
    const rill_model *model;
    unsigned char *seen; /* [actions] */
    int32_t actions;
} cli_trace;

/* Open the file; CLI_OK, or CLI_FAILED after a message. */
int cli_trace_open(cli_trace *trace, rill_context *ctx, const char *path, int trees);

/* Write the description of a run that is about to begin with these resolved settings. `first`: the number in the whole of its first
 * input. CLI_OK or CLI_FAILED. */
int cli_trace_begin(cli_trace *trace, const cli_session *session, const rill_search_config *search_config,
                    const rill_settings *settings, int64_t first);

/* A rill_trace_fn with a cli_trace as user. */
void cli_trace_event(void *trace, const rill_trace_event *event);

/* With trees: the text of an input, and what came of it. */
void cli_trace_input(cli_trace *trace, int64_t id, const char *text, size_t length);
void cli_trace_result(cli_trace *trace, const rill_result *result);

/* Write what comes last and close. As cli_output_close(); accepts a zeroed one. */
int cli_trace_close(cli_trace *trace);

#endif
