/* Decoding with a domain that a Lua text declares: shared by the tests of Lua domains. */
#pragma once

#include "rill/run.h"
#include "rill/script.h"
#include "support/harness.h"

/* The parameters and the results of a run. */
typedef struct domain_run {
    const char *path;             /* the model's path; may be NULL */
    const char *arguments;        /* the domain's arguments; may be NULL */
    const char *method;           /* NULL: var-stream */
    const char *scorer;           /* NULL: none */
    const char *scorer_arguments; /* NULL: "" */
    int32_t k;                    /* 0: 3 */
    rill_script_options options;

    rill_status status; /* first error of loading, opening or running */
    int loaded, opened;
    char message[4000];
    char out[2000]; /* a line per input: its outputs separated by |, or ! and a message; truncated if too long */
    char last[200]; /* the last input's best output */
} domain_run;

/* Inputs for rill_run(). */
typedef struct domain_lines {
    const char *const *input; /* NULL-terminated */
    domain_run *run;
} domain_lines;

rill_status domain_read(void *lines, int may_block, const char **text, size_t *length);

/* Decode the inputs with an open model; results are appended to run->out. */
rill_status domain_decode(domain_run *run, rill_context *ctx, rill_model *model, const char *const *input);

/* Load `lua`, which declares the domain "d", open a model and decode the inputs, all in a context with these options. */
void domain_try(domain_run *run, const char *lua, const char *const *input, const rill_context_options *memory);
