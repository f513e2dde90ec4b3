/* Requests: the settings of single inputs, kept from submission until the result. */
#ifndef RILL_REQUEST_H
#define RILL_REQUEST_H

#include "chain.h"

/* One input's own settings. An input without its own settings has no request (NULL). */
typedef struct request {
    void *user;
    rill_progress_fn progress; /* NULL: no reports */
    int64_t number;            /* number that seeds samples, from 1; 0: the input's id */
    double deadline;           /* time on the engine's clock; infinite: no deadline */
    rill_settings settings;    /* resolved */
    rill_text options;         /* options of the input, in the form of rill_input.options; empty: none */
    int32_t last_reported;     /* last timestep of the search reported to `progress` */
    int32_t n_instances;       /* 0: the setup's instances apply; else chain.n */
    chain_instance *instances[];
} request;

typedef struct requests {
    rill_context *ctx;
    rill_settings setup_settings;  /* the engine's settings as the setup has them */
    const rill_settings *settings; /* the engine's settings, resolved */
    int has_heuristics, has_budget_fn;
    rill_clock_fn clock; /* NULL: the system's clock */
    void *clock_user;
    int64_t n_requests, n_deadlines, n_watched; /* number of requests: all; with a deadline; with `progress` */
    double next_deadline;                       /* lower bound on all deadlines */
} requests;

void requests_init(requests *all, rill_context *ctx, const rill_engine_setup *setup);
/* The time in seconds, by the engine's clock. */
double requests_now(const requests *all);
/* Whether the request has only a text. */
static inline int request_is_text_only(const rill_request *req)
{
    return req->heuristics == NULL && req->scorers == NULL && req->settings == NULL && req->user == NULL &&
           req->timeout == 0 && req->progress == NULL && req->number == 0 && req->input_options == NULL;
}
/* [chain.n] the instances of heuristics and scorers that a request uses: the setup's, unless the request sets arguments. */
static inline chain_instance *const *request_instances(const chain *c, const request *r)
{
    return r != NULL && r->n_instances > 0 ? r->instances : c->default_instances;
}
/* Make a request from `req`. *out is NULL if `req` has only a text; otherwise the caller frees it with request_free().
 *   model: gives settings that its makers recommend, under a preset · start_time: when the timeout starts, if not now */
rill_status request_create(requests *all, const rill_model *model, chain *c, const rill_request *req, request **out);
rill_status request_create_at(requests *all, const rill_model *model, chain *c, const rill_request *req,
                              double start_time, request **out);
void request_free(requests *all, chain *c, request *r); /* NULL is allowed */

#endif
