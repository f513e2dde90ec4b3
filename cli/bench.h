/* The bench as its two files share it: bench.c runs methods, bench_report.c prints what came out. */
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
    rill_option_source *options; /* the method and its own values */
    rill_search_config *search_config;
    cli_counts counts; /* of the first run, which is not timed */
    uint64_t *hash;    /* [inputs] of all outputs with their scores */
    double seconds[BENCH_REPEAT_MAX];
    int runs;
    rill_stats stats;    /* counters are the same in all runs; of the seconds the least of each part */
    int first_alike;     /* index of the first method with equal search settings; its own if it is that */
    int64_t difference;  /* first input with other outputs than that method's, -1 = none */
    cli_profile profile; /* of the first run, when it is asked for */
    json_t *rows;        /* of the first run: timesteps by rows, for --json and --plot */
    int first_equal; /* index of the first method with equal outputs, whatever its settings; its own if it is that */
} bench_method;

typedef struct bench {
    cli_session session;
    cli_runfile
        runfile; /* behind the options of the search, which are defaults for every method; its files too are defaults */
    const char *input_path, *references_path, *tsv_path, *json_path, *plot_path;
    const char *methods_text;
    int repeat, quiet, profile;
    cli_testset test_set;
    bench_method *method; /* [n] */
    int n;
    cli_output json, plot;
} bench;

/* Median, and half the distance of the extremes as a share of it. */
void bench_summarise(const double *seconds, int n, double *median, double *spread);

/* Print the table on stdout. */
int bench_print(const bench *b);
/* Write --json and --plot, and close them. CLI_OK, or another exit code after a message. */
int bench_write(bench *b);

#endif
