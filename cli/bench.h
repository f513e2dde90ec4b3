/* The struct that bench.c (runs the methods) and bench_report.c (prints the results) share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdint.h>

#include "cli.h"
#include "cli_output.h"
#include "option_rows.h"
#include "runfile.h"
#include "session.h"
#include "trial.h"

enum { BENCH_METHODS_MAX = 16, BENCH_REPEAT_MAX = 1000, BENCH_LABEL_MAX = 128 };

typedef struct bench_method {
    char label[BENCH_LABEL_MAX]; /* as the user wrote it: "fixed:finish=top" */
    rill_option_source *options; /* the method and the settings after its name */
    rill_search_config *search_config;
    cli_counts counts; /* outputs and quality of the untimed first run */
    uint64_t *hash;    /* [inputs] hash of all outputs and their scores */
    double seconds[BENCH_REPEAT_MAX];
    int runs;
    rill_stats
        stats; /* counters of the first timed run (all runs have the same); seconds: minimum of each stage over all runs */
    int first_alike;     /* first method with equal search settings, possibly this one */
    int64_t difference;  /* first input whose outputs differ from those of method[first_alike]; -1: none */
    cli_profile profile; /* with --profile: calls and seconds of each operation in the untimed first run */
    json_t *rows; /* histogram of the untimed first run, for --json and --plot: number of timesteps by number of rows */
    int first_equal; /* first method with equal outputs, whatever its settings; possibly this one */
} bench_method;

typedef struct bench {
    cli_session session;
    cli_runfile runfile; /* defaults of search options and input paths; the command line overrides them */
    const char *input_path, *references_path, *tsv_path, *json_path, *plot_path;
    const char *methods_text;
    int repeat, quiet, profile;
    cli_testset test_set;
    bench_method *method; /* [n] */
    int n;
    cli_output json, plot;
} bench;

/* Compute the median of n run times, and half their range as a fraction of the median. */
void bench_summarise(const double *seconds, int n, double *median, double *spread);

/* Print the table on stdout. CLI_OK, or another exit code after a message. */
int bench_print(const bench *b);
/* Write --json and --plot, and close them. CLI_OK, or another exit code after a message. */
int bench_write(bench *b);

#endif
