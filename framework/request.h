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
    int32_t told;              /* the last timestep of its search that was told of */
    int32_t n;                 /* 0, or as many as the chain has links */
    chain_instance *instances[];
} request;

typedef struct requests {
    rill_context *ctx;
    rill_settings given;      /* the engine's, as its setup had them */
    const rill_settings *own; /* ... and resolved */
    int has_heuristics, budgeted;
    rill_clock_fn clock; /* NULL: the system's */
    void *clock_user;
    int64_t n, n_deadlines, n_watched; /* requests that there are; that have one; that are watched */
    double next;                       /* none is earlier */
} requests;

void requests_init(requests *all, rill_context *ctx, const rill_engine_setup *setup);
/* The time by the engine's clock. */
double requests_now(const requests *all);
/* Whether nothing but the text is asked for. */
static inline int request_is_plain(const rill_request *asked)
{
    return asked->heuristics == NULL && asked->scorers == NULL && asked->settings == NULL && asked->user == NULL &&
           asked->seconds == 0 && asked->progress == NULL && asked->number == 0 && asked->options == NULL;
}
/* The instances that it uses; NULL: it wants nothing. */
static inline chain_instance *const *chain_of(const chain *c, const request *r)
{
    return r != NULL && r->n > 0 ? r->instances : c->own;
}
/* Make of what was asked for a request that ends with request_drop(); NULL when nothing was. `model`: whose makers may recommend
 * settings; `at`: when it was asked for, if not now. */
rill_status request_make(requests *all, const rill_model *model, chain *c, const rill_request *asked, request **out);
rill_status request_make_at(requests *all, const rill_model *model, chain *c, const rill_request *asked, double at,
                            request **out);
/* Refuse what the settings of a request, or of all, and the scorers cannot have at once. */
rill_status request_check(rill_context *ctx, const chain *c, const rill_settings *settings);
void request_drop(requests *all, chain *c, request *r); /* NULL is allowed */

#endif
