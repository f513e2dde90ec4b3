/* --trace: record a run's events, one JSON object per line, for `rill trace` and tools/figures.py. The first line describes the run.
 * --trace-trees adds candidates, texts and action names. */
#pragma once

#include "cli_output.h"

typedef struct cli_trace {
    cli_output out;
    int has_trees;
    /* The members below are private. */
    pthread_mutex_t lock;
    rill_context *ctx;
    const rill_model *model;
    unsigned char *seen; /* [actions] 1: the action occurred in the run */
    int32_t actions;
} cli_trace;

/* Open the trace file. With `trees` the trace also has candidates, texts and names of actions. */
int cli_trace_open(cli_trace *trace, rill_context *ctx, const char *path, int trees);

/* Describe a run before it begins, with resolved settings. first: its first input's number in the whole input. */
int cli_trace_begin(cli_trace *trace, const cli_session *session, const rill_search_config *search_config,
                    const rill_settings *settings, int64_t first);

/* A rill_trace_fn whose user is a cli_trace. */
void cli_trace_event(void *trace, const rill_trace_event *event);

/* With trees, write the text of an input, and its result. */
void cli_trace_input(cli_trace *trace, int64_t id, const char *text, size_t length);
void cli_trace_result(cli_trace *trace, const rill_result *result);

/* Write the last lines and close. Returns as cli_output_close(); accepts a zeroed struct. */
int cli_trace_close(cli_trace *trace);

/* --- HTML pages with charts -------------------------------------------------------------------------------------------- */

/* Charts in one self-contained HTML file: the scripts and style sheet of view/, and events as JSON. Closing reports write errors. */

/* The page's files. The style sheet is the first. */
extern const rill_embedded_file cli_picture_files[];
extern const size_t cli_picture_n_files;

/* Refuse a file name with the extension of another image format. option: its name, for the message. */
int cli_picture_check(const char *option, const char *path);

/* Write a page with the event `object`, whose "event" becomes `kind`. NULL: out of memory. */
int cli_picture_write(cli_output *out, const char *title, const char *kind, json_t *object);
