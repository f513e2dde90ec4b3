/* Requests: what inputs want of their own, from submission to result. */
#ifndef RILL_REQUEST_H
#define RILL_REQUEST_H

#include "chain.h"

/* What one input wants. Inputs that want nothing have none (NULL). */
typedef struct request {
    void *user;
    rill_progress_fn progress; /* NULL: nobody watches */
    int64_t number;            /* from 1: what samples are drawn by; 0: the input's id */
    double deadline;           /* by the engine's clock; infinite: none */
    rill_settings settings;    /* resolved: by which it is searched */
    rill_text options;         /* as rill_input.options; empty: none */
    int32_t last_reported;     /* the last timestep of its search that was told of */
    int32_t n_instances;       /* 0, or as many as the chain has links */
    chain_instance *instances[];
} request;

typedef struct requests {
    rill_context *ctx;
    rill_settings setup_settings;  /* the engine's, as its setup had them */
    const rill_settings *settings; /* ... and resolved */
    int has_heuristics, has_budget_fn;
    rill_clock_fn clock; /* NULL: the system's */
    void *clock_user;
    int64_t n_requests, n_deadlines, n_watched; /* requests that there are; that have one; that are watched */
    double next_deadline;                       /* none is earlier */
} requests;

void requests_init(requests *all, rill_context *ctx, const rill_engine_setup *setup);
/* The time by the engine's clock. */
double requests_now(const requests *all);
/* Whether nothing but the text is asked for. */
static inline int request_is_text_only(const rill_request *req)
{
    return req->heuristics == NULL && req->scorers == NULL && req->settings == NULL && req->user == NULL &&
           req->timeout == 0 && req->progress == NULL && req->number == 0 && req->input_options == NULL;
}
/* The instances that it uses; NULL: it wants nothing. */
static inline chain_instance *const *request_instances(const chain *c, const request *r)
{
    return r != NULL && r->n_instances > 0 ? r->instances : c->default_instances;
}
/* Make of what was asked for a request that ends with request_free(); NULL when nothing was. `model`: whose makers may recommend
 * settings; `at`: when it was asked for, if not now. */
rill_status request_create(requests *all, const rill_model *model, chain *c, const rill_request *req, request **out);
rill_status request_create_at(requests *all, const rill_model *model, chain *c, const rill_request *req,
                              double start_time, request **out);
/* Refuse what the settings of a request, or of all, and the scorers cannot have at once. */
rill_status request_check(rill_context *ctx, const chain *c, const rill_settings *settings);
void request_free(requests *all, chain *c, request *r); /* NULL is allowed */

#endif
