/* A service's queue: waiting jobs, running searches, cache; see serve.h. An input that leaves the queue gets a cached response, joins a
 * running search, or starts one. */
#include <math.h>

#include "cli_input.h"
#include "serve.h"

/* --- keys of equal searches --------------------------------------------------------------------------------------- */

/* Return a canonical text of settings: equal settings have equal texts. NULL: out of memory. */
static char *settings_key(const rill_settings *settings)
{
    char *text = NULL, value[RILL_OPTION_MAX];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (const rill_option *row = rill_setting_table(); row->name; row++)
        if (row->kind != RILL_OPTION_SCHEDULE) fprintf(out, "%s\n", rill_settings_get(settings, row, value));
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

/* Return the input's number in its request, from 1, so that equal requests get equal samples. 0: not sampled. */
static int64_t sample_number(const job_input *input)
{
    return input->job->settings.sample > 0 ? input - input->job->input + 1 : 0;
}

/* Make the cache key from everything on which the input's result depends. Returns 0 if out of memory. */
static int make_key(job_input *input, const char *settings)
{
    const job *j = input->job;
    const int head = asprintf(&input->key, "%s%c%d %lld%c%s%c%s%c", settings, 0, j->wants_tokens,
                              (long long)sample_number(input), 0, j->options ? j->options : "", 0,
                              input->constraints ? input->constraints : "", 0);
    if (head < 0) input->key = NULL;
    char *key = head < 0 ? NULL : realloc(input->key, (size_t)head + input->length);
    if (!key) return 0;
    memcpy(key + head, input->text, input->length);
    input->key = key;
    input->key_length = (size_t)head + input->length;
    return 1;
}

static int make_keys(job *j)
{
    char *settings = settings_key(&j->settings);
    int fine = settings != NULL;
    for (int32_t i = 0; i < j->n && fine; i++) fine = make_key(&j->input[i], settings);
    free(settings);
    return fine;
}

/* --- searches shared by jobs -------------------------------------------------------------------------------------- */

/* Functions of this section and the next two require the service's lock. */
static decoding *find_decoding(const service *s, const job_input *input)
{
    /* A deadline can cut a search short, so an input with a deadline does not share a search. */
    if (!input->key || input->job->deadline > 0) return NULL;
    for (int64_t i = 0; i < s->counts.in_flight; i++) {
        decoding *d = s->in_flight[i];
        if (d->key && d->first_waiting && (d->has_watcher || !input->job->is_stream) &&
            d->key_length == input->key_length && !memcmp(d->key, input->key, d->key_length))
            return d;
    }
    return NULL;
}

static void join_decoding(decoding *d, job_input *input)
{
    input->decoding = d;
    input->prev = NULL;
    input->next = d->first_waiting;
    if (d->first_waiting) d->first_waiting->prev = input;
    d->first_waiting = input;
    job_retain(input->job);
}

static void count_done(service *s, rill_status status)
{
    s->counts.inputs++;
    s->counts.failed += status < 0 && status != RILL_ERR_CANCELLED;
    s->counts.cancelled += status == RILL_ERR_CANCELLED;
}

/* Set the result of an input. This may free the input's job. */
static void finish_input(service *s, job_input *input, rill_status status, json_t *result)
{
    job *j = input->job;
    decoding *d = input->decoding;
    *(input->prev ? &input->prev->next : &d->first_waiting) = input->next;
    if (input->next) input->next->prev = input->prev;
    input->decoding = NULL;
    count_done(s, status);
    job_set_result(input, status, result);
    job_release(j);
}

static int needs_no_search(const job_input *input)
{
    return input->decoding || input->result;
}

/* Serve an input from the cache, or join a search with its key. Returns 1 if it needs no own search. */
static int answer_or_join(service *s, job_input *input)
{
    const char *answer = input->key ? cache_find(s->cache, input->key, input->key_length) : NULL;
    decoding *d = answer ? NULL : find_decoding(s, input);
    if (answer) {
        count_done(s, RILL_OK);
        s->counts.from_cache++;
        job_set_result(input, RILL_OK, json_loads(answer, JSON_ALLOW_NUL, NULL));
    } else if (d) {
        s->counts.shared++;
        join_decoding(d, input);
    }
    return answer || d;
}

/* Start a search. Takes the input's key. NULL: out of memory. */
static decoding *begin_decoding(service *s, job_input *input)
{
    const job *j = input->job;
    decoding *d = malloc(sizeof *d);
    if (!d) return NULL;
    *d = (decoding){.service = s,
                    .id = s->next_id++,
                    .flight_index = s->counts.in_flight,
                    .key = j->deadline > 0 ? NULL : input->key,
                    .key_length = input->key_length,
                    .wants_tokens = j->wants_tokens,
                    .width = s->can_split ? cli_text_width(input->text, input->length) : 0,
                    .has_watcher = j->is_stream};
    s->in_flight[s->counts.in_flight++] = d;
    if (d->key) input->key = NULL;
    join_decoding(d, input);
    return d;
}

/* --- queue of searches -------------------------------------------------------------------------------------------- */

static void queue_append(service *s, job *j)
{
    j->next = NULL;
    j->prev = s->last_job;
    *(s->last_job ? &s->last_job->next : &s->first_job) = j;
    s->last_job = j;
    s->n_deadlines += j->deadline > 0;
}

static void queue_remove(service *s, job *j)
{
    *(j->prev ? &j->prev->next : &s->first_job) = j->next;
    *(j->next ? &j->next->prev : &s->last_job) = j->prev;
    j->next = j->prev = NULL;
    s->n_deadlines -= j->deadline > 0;
}

/* Skip inputs that have a result or have joined a search. */
static void skip_answered_inputs(job *j)
{
    while (j->n_dequeued < j->n && needs_no_search(&j->input[j->n_dequeued])) j->n_dequeued++;
}

/* Count the inputs of a job that would need a search. */
static int64_t count_needing_search(service *s, const job *j)
{
    int64_t n = 0;
    for (int32_t i = 0; i < j->n; i++) {
        const job_input *input = &j->input[i];
        n += !input->result && !(input->key && cache_find(s->cache, input->key, input->key_length)) &&
             !find_decoding(s, input);
    }
    return n;
}

static void enqueue(service *s, job *j)
{
    j->is_submitted = 1;
    for (int32_t i = 0; i < j->n; i++)
        s->counts.waiting += !needs_no_search(&j->input[i]) && !answer_or_join(s, &j->input[i]);
    skip_answered_inputs(j);
    if (j->n_dequeued == j->n) return;
    queue_append(s, job_retain(j));
    pthread_cond_signal(&s->changed);
}

rill_status service_submit(service *s, job *j)
{
    if (!make_keys(j)) return RILL_ERR_MEMORY;
    LOCK_SCOPE(&s->lock);
    rill_status status = s->is_draining || s->has_ended ? RILL_ERR_STOPPED : RILL_OK;
    if (status == RILL_OK && s->counts.waiting + j->n > s->options.queue_size &&
        s->counts.waiting + count_needing_search(s, j) > s->options.queue_size)
        status = RILL_AGAIN;
    if (status == RILL_OK) enqueue(s, j);
    return status;
}

/* --- cancellation ------------------------------------------------------------------------------------------------- */

/* Fail those inputs of a job that have not left the queue. */
static void fail_rest_of_job(service *s, job *j, rill_status status, const char *why)
{
    for (; j->n_dequeued < j->n; j->n_dequeued++) {
        job_input *input = &j->input[j->n_dequeued];
        if (needs_no_search(input)) continue;
        s->counts.waiting--;
        count_done(s, status);
        job_set_result(input, status, cli_result_error(status, why));
    }
}

static void cancel_waiter(service *s, job_input *input)
{
    decoding *d = input->decoding;
    finish_input(s, input, RILL_ERR_CANCELLED,
                 cli_result_error(RILL_ERR_CANCELLED, "the client closed the connection"));
    s->n_cancelled += !d->first_waiting;
}

void service_cancel(service *s, job *j)
{
    LOCK_SCOPE(&s->lock);
    if (!atomic_exchange(&j->is_cancelled, 1) && j->is_submitted) {
        if (j->prev || s->first_job == j) { /* the job is in the queue */
            queue_remove(s, j);
            fail_rest_of_job(s, j, RILL_ERR_CANCELLED, "the client closed the connection");
            job_release(j);
        }
        for (int32_t i = 0; i < j->n; i++)
            if (j->input[i].decoding) cancel_waiter(s, &j->input[i]);
        pthread_cond_signal(&s->changed);
    }
}

/* --- reader of the run -------------------------------------------------------------------------------------------- */

/* Cancel the searches for which no input waits any more. Runs on the run's thread. Requires the service's lock. */
static void cancel_in_engines(service *s)
{
    for (int64_t i = 0; i < s->counts.in_flight && s->n_cancelled > 0; i++)
        if (!s->in_flight[i]->first_waiting) rill_workers_cancel(s->session.worker_pool, s->in_flight[i]->id);
    s->n_cancelled = 0;
}

/* Fail jobs whose deadline passed while they were in the queue. */
static void fail_expired(service *s)
{
    const double now = s->n_deadlines > 0 ? cli_now() : 0;
    for (job *j = s->n_deadlines > 0 ? s->first_job : NULL, *next; j; j = next) {
        next = j->next;
        if (j->deadline <= 0 || j->deadline > now) continue;
        queue_remove(s, j);
        fail_rest_of_job(s, j, RILL_ERR_DEADLINE, "the deadline passed while the input was queued");
        job_release(j);
    }
}

/* Start the next search; NULL: none is needed or allowed now. */
static decoding *next_decoding(service *s, job_input **input)
{
    while (s->first_job && s->counts.in_flight < s->max_in_flight) {
        job *j = s->first_job;
        *input = &j->input[j->n_dequeued++];
        decoding *d = answer_or_join(s, *input) ? NULL : begin_decoding(s, *input);
        if (!needs_no_search(*input)) { /* out of memory: no search was started */
            count_done(s, RILL_ERR_MEMORY);
            job_set_result(*input, RILL_ERR_MEMORY, NULL);
        }
        s->counts.waiting--;
        skip_answered_inputs(j);
        queue_remove(s, j);
        if (j->n_dequeued < j->n)
            queue_append(s, j); /* round robin: one input of each job in turn */
        else
            job_release(j);
        if (d) return d;
    }
    return NULL;
}

/* Send the progress of a search to its inputs. Runs on the engine's thread, between timesteps. */
static void pass_on_progress(void *user, const rill_progress *progress)
{
    decoding *d = user;
    service *s = d->service;
    LOCK_SCOPE(&s->lock);
    for (job_input *input = d->first_waiting; input; input = input->next)
        if (input->job->is_stream) job_progress(input, progress);
}

static rill_status fill_job_request(service *s, decoding *d, const job_input *input, rill_request *request)
{
    const job *j = input->job;
    request->text = input->text;
    request->length = input->length;
    request->user = d;
    request->settings = &j->settings;
    request->input_options = j->options;
    request->number = sample_number(input);
    if (d->has_watcher) request->progress = pass_on_progress;
    if (j->deadline > 0) request->timeout = fmax(j->deadline - cli_now(), 1e-9);
    if (!input->constraints) return RILL_OK;
    const rill_status status = rill_constraints_read(s->constraints, input->constraints, strlen(input->constraints),
                                                     &request->scorers);
    return status == RILL_ERR_INPUT ? cli_refuse_input(request, rill_error(s->session.ctx)) : status;
}

rill_status queue_read(void *user, int may_block, rill_request *request)
{
    service *s = user;
    decoding *d;
    job_input *input = NULL;
    rill_status status = RILL_AGAIN;
    pthread_mutex_lock(&s->lock);
    rill_workers_stats(s->session.worker_pool, &s->counts.stats);
    job_release(s->last_read);
    s->last_read = NULL;
    for (;;) {
        cancel_in_engines(s);
        fail_expired(s);
        d = next_decoding(s, &input);
        if (d || !may_block || s->is_draining) break;
        pthread_cond_wait(&s->changed, &s->lock);
    }
    if (!d && s->is_draining && s->counts.waiting == 0) status = RILL_END_OF_INPUT;
    if (d) s->last_read = job_retain(input->job);
    pthread_mutex_unlock(&s->lock);
    if (d) status = fill_job_request(s, d, input, request);
    return status;
}

/* --- writer of the run -------------------------------------------------------------------------------------------- */

/* Finish a search and give each waiting input a result. Requires the service's lock; takes the result's reference. */
static void end_decoding(service *s, decoding *d, rill_status status, json_t *result)
{
    decoding *other = s->in_flight[--s->counts.in_flight];
    s->in_flight[d->flight_index] = other;
    other->flight_index = d->flight_index;
    /* The last input takes the result itself, the others copies: once an input is finished, another thread reads its result. */
    while (d->first_waiting) {
        json_t *own = d->first_waiting->next ? json_deep_copy(result) : result;
        if (own == result) result = NULL;
        finish_input(s, d->first_waiting, status, own);
    }
    json_decref(result);
    free(d->key);
    free(d);
}

rill_status queue_write(void *user, const rill_result *result)
{
    service *s = user;
    decoding *d = result->user;
    json_t *json = cli_result_json(s->session.model, &(cli_form){.has_word_scores = d->wants_tokens}, result);
    if (cli_is_suspiciously_short(d->width, result))
        cli_result_warn(json, "the output is shorter than a third of its input: text may be missing "
                              "(\"split\": \"sentences\" decodes each sentence alone)");
    const int keeps = result->status == RILL_OK && !result->timed_out && d->key;
    pthread_mutex_lock(&s->lock);
    /* update the statistics before the client gets its response, because it may request them next */
    rill_workers_stats(s->session.worker_pool, &s->counts.stats);
    char *text = json && keeps ? cli_result_line(json) : NULL;
    if (text) cache_add(s->cache, d->key, d->key_length, text);
    if (result->n_outputs > 0) s->counts.actions += rill_result_output(result, 0)->length;
    end_decoding(s, d, result->status, json);
    pthread_mutex_unlock(&s->lock);
    free(text);
    return RILL_OK;
}

void queue_end(service *s, rill_status status)
{
    LOCK_SCOPE(&s->lock);
    s->has_ended = 1;
    if (status < 0 && status != RILL_ERR_STOPPED) {
        const char *error = rill_error(s->session.ctx);
        snprintf(s->failure, sizeof s->failure, "%s", error[0] ? error : rill_status_name(status));
        cli_message("%s: decoding has failed: %s", s->name, s->failure);
    }
    const rill_status ended = s->failure[0] && status < 0 ? status : RILL_ERR_STOPPED;
    const char *why = s->failure[0] ? s->failure : "the server stopped before the input was decoded";
    while (s->first_job) {
        job *j = s->first_job;
        queue_remove(s, j);
        fail_rest_of_job(s, j, ended, why);
        job_release(j);
    }
    while (s->counts.in_flight > 0) end_decoding(s, s->in_flight[0], ended, cli_result_error(ended, why));
    job_release(s->last_read);
    s->last_read = NULL;
}
