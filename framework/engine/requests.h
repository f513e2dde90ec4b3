/* Requests: the settings of single inputs, kept from submission until the result. */
#pragma once

#include "chain.h"

/* An input's own settings; NULL: none. The submitting thread stores the request as plain data. Only the engine that decodes the input
 * creates instances or calls the model. */
typedef struct request {
    rill_context *ctx; /* context that allocates the request's memory */
    void *user;
    rill_progress_fn progress; /* the caller's function for reports on the progress of the input; NULL: no reports */
    int64_t number;            /* number that seeds samples, from 1; 0: the input's id */
    double deadline;           /* time on the engine's clock; infinite: no deadline */
    rill_settings settings;    /* settings of the input; see `unresolved` */
    int unresolved;            /* 1: the settings are as the caller set them; 0: defaults and presets are filled in */
    rill_text options;         /* options of the input, in the form of rill_input.options; empty: none */
    int32_t last_reported;     /* last timestep of the search reported to `progress` */
    rill_engine *engine;       /* engine that has opened the request; NULL: it is not open */
    size_t bytes;        /* bytes allocated for this struct and for the data that it points to, except `options` */
    int32_t n_instances; /* chain.n, or 0 if the instances of the engine's setup apply */
    /* [n_instances] arguments of the heuristics, then of the scorers; NULL: the arguments in the engine's setup */
    const char **arguments;
    chain_instance *instances[];
} request;

typedef struct requests {
    rill_settings setup_settings; /* settings of the engine's setup, before defaults and presets are filled in */
    int has_heuristics, has_budget_fn;
    rill_clock_fn clock; /* the clock for deadlines; NULL: the system's clock */
    void *clock_user;
    int64_t n_requests, n_watched; /* number of open requests; number of open requests with `progress` */
    double next_deadline;          /* lower bound on the deadlines of inputs that the engine holds */
} requests;

void requests_init(requests *all, const rill_engine_setup *setup);
/* The time in seconds, by the engine's clock. */
double requests_now(const requests *all);
/* Returns 1 if the request sets nothing but the text, else 0. */
static inline int request_is_text_only(const rill_request *req)
{
    return req->heuristics == NULL && req->scorers == NULL && req->settings == NULL && req->user == NULL &&
           req->timeout == 0 && req->progress == NULL && req->number == 0 && req->input_options == NULL;
}
/* Returns the instances of heuristics and scorers that an open request uses, [chain.n]: the setup's, except where the request sets
 * arguments. */
static inline chain_instance *const *request_instances(const chain *c, const request *r)
{
    return r != NULL && r->n_instances > 0 ? r->instances : c->default_instances;
}
/* Create a request for `e` or an engine with the same setup. *out: freed with request_free(); NULL if `req` has only a text. */
rill_status request_create(rill_context *ctx, const rill_engine *e, const rill_request *req, request **out);
/* Resolve the request's settings, create its instances, check that a timestep fits in the memory limit. `r` may be NULL, and is unchanged
 * on failure. */
rill_status request_open(rill_engine *e, request *r);
void request_close(request *r);
/* Close the request if it is open, and free it; NULL is allowed. */
void request_free(request *r);

/* Messages of inputs that were cancelled, or whose deadline passed while they waited. */
#define MESSAGE_CANCELLED "cancelled"
#define MESSAGE_DEADLINE "the deadline passed before the input was decoded"
