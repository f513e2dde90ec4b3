/* Models that are served; see service.h.
 *
 * Locks: the service's own guards the queue and what is counted; a job's lock is taken inside it, never the other way round.
 *
 * Divisions: opening · the queue · the reader's side of the run · the writer's · life. */
#include "service.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "result.h"
#include "search.h"
#include "service_inside.h"

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int take_option(void *user, const cli_option *option, const char *value)
{
    service *s = user;
    return cli_session_owns(option) ? cli_session_take(&s->session, option, value)
                                    : serve_take(s->options, option, value);
}

/* Options that belong to one run of a file, or are the server's affair. */
static int check_given(const service *s)
{
    static const char *const foreign[] = {"unordered", "alignment", "unknown-names", "word-scores",
                                          "ids",       "pretty",    "sort"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (rill_layer_get(s->session.given, foreign[i]))
            return cli_fail("--%s is for files of inputs: a server answers requests, leave it out", foreign[i]);
    return CLI_OK;
}

/* Where nothing else is said, whatever comes joins the next timestep, and all that is in flight takes part in it. */
static int make_plan(service *s)
{
    cli_session *session = &s->session;
    const rill_layer *soft[] = {session->folder.search, NULL};
    if (rill_layer_create(&s->usual, session->ctx, RILL_FROM_USER) < 0 ||
        rill_layer_set(s->usual, "method", "stream-all") < 0 || rill_layer_set(s->usual, "refill", "1") < 0 ||
        rill_layer_set(session->given, "unordered", "1") < 0)
        return cli_fail_context(session->ctx);
    soft[1] = s->usual;
    return rill_plan_make(&s->plan, session->ctx, session->given, soft, 2) < 0 ? cli_fail_context(session->ctx)
                                                                               : CLI_OK;
}

static int prepare(service *s)
{
    cli_session *session = &s->session;
    session->many = 1;
    int code = check_given(s);
    if (code == CLI_OK) code = cli_session_configure(session);
    if (code == CLI_OK) cli_session_cap(session);
    if (code == CLI_OK && !cli_session_domain(session)) code = CLI_FAILED;
    if (code == CLI_OK) code = make_plan(s);
    if (code == CLI_OK) code = cli_session_open(session);
    if (code != CLI_OK) return code;
    if (rill_context_create_worker(&s->asking, session->ctx, NULL) < 0) return cli_fail_context(session->ctx);
    if (cli_crew_begin(session, s->plan, &s->plan->setup) < 0) return cli_fail_context(session->ctx);
    const int64_t flight = rill_workers_settings(session->crew)->max_items;
    s->most_under_way = (int64_t)session->workers * flight + session->workers;
    s->queue = s->options->most_waiting;
    s->given = calloc((size_t)s->most_under_way, sizeof(job_input *));
    return s->given ? CLI_OK : cli_fail_memory("the inputs under way");
}

int service_open(service **out, const char *name, serve_options *options, int argc, char **argv, int *helped)
{
    service *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || pthread_mutex_init(&s->lock, NULL) || pthread_cond_init(&s->news, NULL)) {
        free(s);
        return cli_fail_memory("a model");
    }
    s->name = name;
    s->options = options;
    int code = cli_session_start(&s->session);
    if (code == CLI_OK) code = serve_parse(&s->session, take_option, s, argc, argv, helped);
    if (code == CLI_OK && !*helped) code = prepare(s);
    if (code == CLI_OK && !*helped)
        *out = s;
    else
        service_close(s);
    return code;
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

/* Under the service's lock, as all of this division. */
static void put_last(service *s, job *j)
{
    j->next = NULL;
    j->before = s->last;
    *(s->last ? &s->last->next : &s->first) = j;
    s->last = j;
}

static void take_out(service *s, job *j)
{
    *(j->before ? &j->before->next : &s->first) = j->next;
    *(j->next ? &j->next->before : &s->last) = j->before;
    j->next = j->before = NULL;
}

static int is_queued(const service *s, const job *j)
{
    return j->before || s->first == j;
}

rill_status service_submit(service *s, job *j)
{
    pthread_mutex_lock(&s->lock);
    rill_status status = s->draining || s->over ? RILL_ERR_STOPPED : RILL_OK;
    if (status == RILL_OK && s->waiting + j->n > s->queue) status = RILL_AGAIN;
    if (status == RILL_OK) {
        put_last(s, job_hold(j));
        j->submitted = 1;
        s->waiting += j->n;
        pthread_cond_signal(&s->news);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Of a job that leaves the queue, what was never given to an engine. */
static void drop_rest(service *s, job *j, rill_status status, const char *why)
{
    s->waiting -= j->n - j->given;
    for (; j->given < j->n; j->given++) job_note(&j->input[j->given], status, result_failed(status, why));
}

static int note_cancel(service *s, job_input *input)
{
    if (s->n_cancel == s->room_cancel) {
        const size_t room = 2 * s->room_cancel + 16;
        job_input **more = realloc(s->cancel, room * sizeof(job_input *));
        if (!more) return 0;
        s->cancel = more;
        s->room_cancel = room;
    }
    job_hold(input->of);
    s->cancel[s->n_cancel++] = input;
    return 1;
}

void service_cancel(service *s, job *j)
{
    pthread_mutex_lock(&s->lock);
    if (j->submitted && !j->cancelled) {
        j->cancelled = 1;
        s->cancelled += j->n;
        if (is_queued(s, j)) {
            take_out(s, j);
            drop_rest(s, j, RILL_ERR_CANCELLED, "");
            job_release(j);
        }
        for (int32_t i = 0; i < j->given; i++)
            if (j->input[i].id >= 0 && !note_cancel(s, &j->input[i])) break; /* it is decoded for nobody */
        pthread_cond_signal(&s->news);
    }
    pthread_mutex_unlock(&s->lock);
}

/* --- the reader's side of the run --------------------------------------------------------------------------------- */

/* On the run's thread; the lock is held. */
static void pass_on_cancels(service *s)
{
    for (size_t i = 0; i < s->n_cancel; i++) {
        job *of = s->cancel[i]->of;
        if (s->cancel[i]->id >= 0) rill_workers_cancel(s->session.crew, s->cancel[i]->id);
        job_release(of);
    }
    s->n_cancel = 0;
}

static job_input *next_input(service *s)
{
    job *j = s->first;
    if (!j || s->under_way >= s->most_under_way) return NULL;
    job_input *input = &j->input[j->given++];
    take_out(s, j);
    input->id = s->next_id++;
    input->place = s->under_way;
    s->given[s->under_way++] = input;
    job_hold(j);
    if (j->given < j->n)
        put_last(s, j); /* others first */
    else
        job_release(j);
    s->waiting--;
    return input;
}

static void tell_progress(void *user, const rill_progress *progress)
{
    job_progress(user, progress);
}

static void ask(job_input *input, rill_request *request)
{
    const job *j = input->of;
    request->text = input->text;
    request->length = input->length;
    request->user = input;
    request->settings = &j->settings;
    if (j->stream) request->progress = tell_progress;
    if (j->deadline > 0) request->seconds = fmax(j->deadline - cli_now(), 1e-9);
}

static rill_status read_request(void *user, int may_block, rill_request *request)
{
    service *s = user;
    job_input *input;
    pthread_mutex_lock(&s->lock);
    rill_workers_stats(s->session.crew, &s->stats);
    for (;;) {
        pass_on_cancels(s);
        input = next_input(s);
        if (input || !may_block || s->draining) break;
        pthread_cond_wait(&s->news, &s->lock);
    }
    const int ends = !input && s->draining && s->waiting == 0;
    pthread_mutex_unlock(&s->lock);
    if (!input) return ends ? RILL_END_OF_INPUT : RILL_AGAIN;
    ask(input, request);
    return RILL_OK;
}

/* Its result is noted; the lock is held. */
static void end_input(service *s, job_input *input, rill_status status, json_t *told)
{
    job_input *other = s->given[--s->under_way];
    s->given[input->place] = other;
    other->place = input->place;
    job *j = input->of;
    job_note(input, status, told);
    job_release(j);
}

/* --- the writer's ------------------------------------------------------------------------------------------------- */

static rill_status write_result(void *user, const rill_result *result)
{
    service *s = user;
    job_input *input = result->user;
    json_t *told = result_json(s->session.model, result, input->of->tokens);
    pthread_mutex_lock(&s->lock);
    s->inputs++;
    s->failed_inputs += result->status < 0 && result->status != RILL_ERR_CANCELLED;
    for (int32_t i = 0; i < result->n; i++) s->actions += i == 0 ? result->output[i].actions : 0;
    end_input(s, input, result->status, told);
    pthread_mutex_unlock(&s->lock);
    return RILL_OK;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* The run is over: what is not done by now never will be. */
static void end_all(service *s, rill_status status)
{
    pthread_mutex_lock(&s->lock);
    s->over = 1;
    if (status < 0) snprintf(s->failure, sizeof s->failure, "%s", rill_error(s->session.ctx));
    while (s->first) {
        job *j = s->first;
        take_out(s, j);
        drop_rest(s, j, RILL_ERR_STOPPED, s->failure);
        job_release(j);
    }
    for (size_t i = 0; i < s->n_cancel; i++) job_release(s->cancel[i]->of);
    s->n_cancel = 0;
    while (s->under_way > 0) end_input(s, s->given[0], RILL_ERR_STOPPED, result_failed(RILL_ERR_STOPPED, s->failure));
    pthread_mutex_unlock(&s->lock);
}

static void *serve(void *user)
{
    service *s = user;
    end_all(s, rill_workers_run_requests(s->session.crew, read_request, s, write_result, s));
    return NULL;
}

int service_start(service *s)
{
    s->stats.struct_size = sizeof s->stats;
    if (pthread_create(&s->thread, NULL, serve, s)) return cli_fail("%s: no thread can be started", s->name);
    s->started = 1;
    return CLI_OK;
}

void service_end(service *s, int now)
{
    if (!s->started) return;
    pthread_mutex_lock(&s->lock);
    s->draining = 1;
    if (now && !s->over) rill_workers_stop(s->session.crew);
    pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&s->lock);
    while (s->tracing) pthread_cond_wait(&s->news, &s->lock);
    pthread_mutex_unlock(&s->lock);
    s->started = 0;
}

void service_close(service *s)
{
    if (!s) return;
    rill_plan_free(s->plan);
    rill_layer_free(s->usual);
    if (s->asking) rill_context_destroy(s->asking);
    cli_session_end(&s->session);
    free(s->cancel);
    free(s->given);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *service_name(const service *s)
{
    return s->name;
}

const char *service_failure(service *s)
{
    pthread_mutex_lock(&s->lock);
    const char *why = s->over ? s->failure : "";
    pthread_mutex_unlock(&s->lock);
    return why;
}

const rill_settings *service_settings(const service *s)
{
    return &s->plan->resolved;
}

/* One setting of a request into its layer. */
static rill_status read_one(service *s, rill_layer *layer, const char *name, const char *value)
{
    const rill_option *row = rill_option_find(rill_setting_table(), name);
    rill_settings one;
    rill_settings_default(&one);
    if (row && row->kind == RILL_OPTION_SCHEDULE)
        return rill_fail(s->asking, RILL_ERR_OPTION, "%s is the server's, for all requests alike", row->name);
    rill_status status = rill_settings_set(s->asking, &one, name, value);
    return status < 0 ? status : rill_layer_set(layer, name, value);
}

rill_status service_read(service *s, int (*said)(void *user, int i, const char **name, const char **value), void *user,
                         rill_settings *out, const char **why)
{
    const rill_layer *soft[] = {s->session.given, s->session.folder.search, s->usual};
    const char *name, *value;
    rill_layer *layer;
    rill_plan *plan = NULL;
    rill_status status = rill_layer_create(&layer, s->asking, RILL_FROM_USER);
    for (int i = 0; status >= 0 && said(user, i, &name, &value); i++) status = read_one(s, layer, name, value);
    if (status >= 0) status = rill_plan_make(&plan, s->asking, layer, soft, 3);
    if (status >= 0) *out = plan->setup.settings;
    *why = rill_error(s->asking);
    rill_plan_free(plan);
    rill_layer_free(layer);
    return status < 0 ? status : RILL_OK;
}

rill_context *service_context(const service *s)
{
    return s->session.ctx;
}

rill_model *service_model(const service *s)
{
    return s->session.model;
}

const char *service_device(const service *s)
{
    return rill_workers_device(s->session.crew, 0);
}

void service_count(service *s, service_counts *out)
{
    pthread_mutex_lock(&s->lock);
    *out = (service_counts){s->waiting, s->under_way, s->inputs, s->failed_inputs, s->cancelled, s->actions, s->stats};
    pthread_mutex_unlock(&s->lock);
}
