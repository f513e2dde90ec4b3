/* What services are made of, for service.c and tracing.c alone. */
#ifndef CLI_SERVE_SERVICE_INSIDE_H
#define CLI_SERVE_SERVICE_INSIDE_H

#include "service.h"
#include "session.h"

struct service {
    cli_session session;
    rill_layer *usual; /* how requests are scheduled where nobody says it */
    rill_plan *plan;
    rill_context *asking; /* the connections' thread's, for reading settings */
    const char *name;
    serve_options *options; /* the command's, until it is open */
    int64_t queue;          /* most inputs that wait */
    pthread_t thread;
    int started;
    pthread_mutex_t lock;
    pthread_cond_t news;
    job *first, *last; /* jobs with inputs that wait; whose turn it is first */
    int64_t waiting, under_way, most_under_way, next_id;
    int64_t inputs, failed_inputs, cancelled, actions;
    rill_stats stats;
    job_input **given;  /* [under_way] those that an engine has; each with a reference to its job */
    job_input **cancel; /* [n_cancel] inputs under way that were given up; each with a reference to its job */
    size_t n_cancel, room_cancel;
    int draining, over;
    int tracing; /* a request is decoded to be looked at */
    char failure[512];
};

#endif
