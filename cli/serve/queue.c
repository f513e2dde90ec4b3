/* What a service has to do: jobs that wait, searches under way, answers that are kept; see service.h and service_inside.h.
 *
 * An input is looked up when its job comes and again when its turn has come: it is answered from the cache, or waits for a search that is
 * under way, or begins one. It never waits for another job's turn.
 *
 * Divisions: what is asked · searches · the queue · giving up · the reader's side of the run · the writer's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report.h"
#include "result.h"
#include "service_inside.h"
#include "split_lines.h"

/* --- what is asked ------------------------------------------------------------------------------------------------ */

char *queue_settings_key(const rill_settings *settings)
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

/* Samples are drawn by an input's place in its request, so that the same request has the same answer whenever it comes. */
static int64_t number_of(const job_input *input)
{
    return input->of->settings.sample > 0 ? input - input->of->input + 1 : 0;
}

/* Settings, whether tokens are told, a sample's number, options, constraints, and the text: nothing else makes two answers differ. 0: out
 * of memory. */
static int make_key(const service *s, job_input *input, const char *settings)
{
    const char *constraints = input->constraints ? input->constraints : "";
    char said[32];
    snprintf(said, sizeof said, "%d %lld", input->of->tokens, (long long)number_of(input));
    const char *const parts[] = {settings, said, input->of->options ? input->of->options : "", constraints};
    enum { PARTS = sizeof parts / sizeof *parts };
    size_t used = 0;
    input->key_length = input->length;
    for (size_t i = 0; i < PARTS; i++) input->key_length += strlen(parts[i]) + 1;
    input->key = malloc(input->key_length);
    if (!input->key) return 0;
    for (size_t i = 0; i < PARTS; used += strlen(parts[i]) + 1, i++)
        memcpy(input->key + used, parts[i], strlen(parts[i]) + 1);
    memcpy(input->key + used, input->text, input->length);
    input->hash = cache_hash(s->cache, input->key, input->key_length);
    return 1;
}

static int make_keys(const service *s, job *j)
{
    char *own = j->own_settings ? queue_settings_key(&j->settings) : s->settings_key;
    int fine = own != NULL;
    for (int32_t i = 0; i < j->n && fine; i++) fine = make_key(s, &j->input[i], own);
    if (own != s->settings_key) free(own);
    return fine;
}

/* --- searches ----------------------------------------------------------------------------------------------------- */

/* Under the service's lock, as all of this division and the next two. */
static decoding *find_decoding(const service *s, const job_input *input)
{
    /* At a deadline a search gives what it has, so such an input has its own. */
    if (!input->key || input->of->deadline > 0) return NULL;
    for (int64_t i = 0; i < s->counts.under_way; i++) {
        decoding *d = s->given[i];
        if (d->hash == input->hash && d->key && d->first && (d->watched || !input->of->stream) &&
            d->key_length == input->key_length && !memcmp(d->key, input->key, d->key_length))
            return d;
    }
    return NULL;
}

static void join(decoding *d, job_input *input)
{
    input->decoding = d;
    input->before = NULL;
    input->next = d->first;
    if (d->first) d->first->before = input;
    d->first = input;
    job_hold(input->of);
}

/* An input has its result. */
static void count_done(service *s, rill_status status)
{
    s->counts.inputs++;
    s->counts.failed += status < 0 && status != RILL_ERR_CANCELLED;
    s->counts.cancelled += status == RILL_ERR_CANCELLED;
}

/* Its job may be gone then. */
static void leave(service *s, job_input *input, rill_status status, json_t *told)
{
    job *j = input->of;
    decoding *d = input->decoding;
    *(input->before ? &input->before->next : &d->first) = input->next;
    if (input->next) input->next->before = input->before;
    input->decoding = NULL;
    count_done(s, status);
    job_note(input, status, told);
    job_release(j);
}

static json_t *from_text(const char *answer)
{
    return json_loads(answer, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static int is_settled(const job_input *input)
{
    return input->decoding || input->result;
}

/* Whether an input needs no search of its own. */
static int settle(service *s, job_input *input)
{
    const char *answer = input->key ? cache_find(s->cache, input->hash, input->key, input->key_length) : NULL;
    decoding *d = answer ? NULL : find_decoding(s, input);
    if (answer) {
        count_done(s, RILL_OK);
        s->counts.from_cache++;
        job_note(input, RILL_OK, from_text(answer));
    } else if (d) {
        s->counts.shared++;
        join(d, input);
    }
    return answer || d;
}

/* The input's key is given over. NULL: out of memory. */
static decoding *begin_decoding(service *s, job_input *input)
{
    const job *j = input->of;
    decoding *d = malloc(sizeof *d);
    if (!d) return NULL;
    *d = (decoding){.of = s,
                    .id = s->next_id++,
                    .place = s->counts.under_way,
                    .key = j->deadline > 0 ? NULL : input->key,
                    .key_length = input->key_length,
                    .hash = input->hash,
                    .tokens = j->tokens,
                    .n_best = j->settings.n_best > 0 ? j->settings.n_best : j->settings.sample,
                    .fewer = cli_why_fewer(&j->settings),
                    .width = s->splits ? cli_text_width(input->text, input->length) : 0,
                    .watched = j->stream};
    s->given[s->counts.under_way++] = d;
    if (d->key) input->key = NULL;
    join(d, input);
    return d;
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static void put_last(service *s, job *j)
{
    j->next = NULL;
    j->before = s->last;
    *(s->last ? &s->last->next : &s->first) = j;
    s->last = j;
    s->deadlines += j->deadline > 0;
}

static void take_out(service *s, job *j)
{
    *(j->before ? &j->before->next : &s->first) = j->next;
    *(j->next ? &j->next->before : &s->last) = j->before;
    j->next = j->before = NULL;
    s->deadlines -= j->deadline > 0;
}

static int is_queued(const service *s, const job *j)
{
    return j->before || s->first == j;
}

/* Step over inputs that wait no more. */
static void skip_settled(job *j)
{
    while (j->given < j->n && is_settled(&j->input[j->given])) j->given++;
}

/* So many of a job's inputs would need a search. */
static int64_t count_new(service *s, const job *j)
{
    int64_t n = 0;
    for (int32_t i = 0; i < j->n; i++) {
        const job_input *input = &j->input[i];
        n += !input->result && !(input->key && cache_find(s->cache, input->hash, input->key, input->key_length)) &&
             !find_decoding(s, input);
    }
    return n;
}

static void enqueue(service *s, job *j)
{
    j->submitted = 1;
    for (int32_t i = 0; i < j->n; i++) s->counts.waiting += !is_settled(&j->input[i]) && !settle(s, &j->input[i]);
    skip_settled(j);
    if (j->given == j->n) return;
    put_last(s, job_hold(j));
    pthread_cond_signal(&s->news);
}

rill_status service_submit(service *s, job *j)
{
    if (!make_keys(s, j)) return RILL_ERR_MEMORY;
    pthread_mutex_lock(&s->lock);
    rill_status status = s->draining || s->over ? RILL_ERR_STOPPED : RILL_OK;
    if (status == RILL_OK && s->counts.waiting + j->n > s->queue && s->counts.waiting + count_new(s, j) > s->queue)
        status = RILL_AGAIN;
    if (status == RILL_OK) enqueue(s, j);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* --- giving up ---------------------------------------------------------------------------------------------------- */

/* Of a job that leaves the queue, what was never given to an engine. */
static void drop_rest(service *s, job *j, rill_status status, const char *why)
{
    for (; j->given < j->n; j->given++) {
        job_input *input = &j->input[j->given];
        if (is_settled(input)) continue;
        s->counts.waiting--;
        count_done(s, status);
        job_note(input, status, result_failed(status, why));
    }
}

static void give_up(service *s, job_input *input)
{
    decoding *d = input->decoding;
    leave(s, input, RILL_ERR_CANCELLED, result_failed(RILL_ERR_CANCELLED, "its client closed the connection"));
    s->given_up += !d->first;
}

/* Whether it was not given up before. */
static int mark_cancelled(job *j)
{
    pthread_mutex_lock(&j->lock);
    const int is_new = !j->cancelled;
    j->cancelled = 1;
    pthread_mutex_unlock(&j->lock);
    return is_new;
}

void service_cancel(service *s, job *j)
{
    pthread_mutex_lock(&s->lock);
    if (mark_cancelled(j) && j->submitted) {
        if (is_queued(s, j)) {
            take_out(s, j);
            drop_rest(s, j, RILL_ERR_CANCELLED, "its client closed the connection");
            job_release(j);
        }
        for (int32_t i = 0; i < j->n; i++)
            if (j->input[i].decoding) give_up(s, &j->input[i]);
        pthread_cond_signal(&s->news);
    }
    pthread_mutex_unlock(&s->lock);
}

/* --- the reader's side of the run --------------------------------------------------------------------------------- */

/* On the run's thread; the lock is held. */
static void pass_on_cancels(service *s)
{
    for (int64_t i = 0; i < s->counts.under_way && s->given_up > 0; i++)
        if (!s->given[i]->first) rill_workers_cancel(s->session.crew, s->given[i]->id);
    s->given_up = 0;
}

/* Jobs that waited until their deadline have nothing to give. */
static void drop_late(service *s)
{
    const double now = s->deadlines > 0 ? cli_now() : 0;
    for (job *j = s->deadlines > 0 ? s->first : NULL, *next; j; j = next) {
        next = j->next;
        if (j->deadline <= 0 || j->deadline > now) continue;
        take_out(s, j);
        drop_rest(s, j, RILL_ERR_LATE, "its deadline came while it waited");
        job_release(j);
    }
}

/* The next search, if an input's turn has come that needs one. */
static decoding *next_decoding(service *s, job_input **input)
{
    while (s->first && s->counts.under_way < s->most_under_way) {
        job *j = s->first;
        *input = &j->input[j->given++];
        decoding *d = settle(s, *input) ? NULL : begin_decoding(s, *input);
        if (!is_settled(*input)) { /* no memory */
            count_done(s, RILL_ERR_MEMORY);
            job_note(*input, RILL_ERR_MEMORY, NULL);
        }
        s->counts.waiting--;
        skip_settled(j);
        take_out(s, j);
        if (j->given < j->n)
            put_last(s, j); /* others first */
        else
            job_release(j);
        if (d) return d;
    }
    return NULL;
}

/* On the engine's thread, between timesteps. */
static void tell_progress(void *user, const rill_progress *progress)
{
    decoding *d = user;
    service *s = d->of;
    pthread_mutex_lock(&s->lock);
    for (job_input *input = d->first; input; input = input->next)
        if (input->of->stream) job_progress(input, progress);
    pthread_mutex_unlock(&s->lock);
}

static rill_status bad_input(rill_request *request, const char *why)
{
    request->text = why;
    request->length = strlen(why);
    return RILL_ERR_INPUT;
}

static rill_status ask(service *s, decoding *d, const job_input *input, rill_request *request)
{
    const job *j = input->of;
    request->text = input->text;
    request->length = input->length;
    request->user = d;
    request->settings = &j->settings;
    request->options = j->options;
    request->number = number_of(input);
    if (d->watched) request->progress = tell_progress;
    if (j->deadline > 0) request->seconds = fmax(j->deadline - cli_now(), 1e-9);
    if (!input->constraints) return RILL_OK;
    const rill_status status = rill_constraints_read(s->lines, input->constraints, strlen(input->constraints),
                                                     &request->scorers);
    return status == RILL_ERR_INPUT ? bad_input(request, rill_error(s->session.ctx)) : status;
}

rill_status queue_read(void *user, int may_block, rill_request *request)
{
    service *s = user;
    decoding *d;
    job_input *input = NULL;
    rill_status status = RILL_AGAIN;
    pthread_mutex_lock(&s->lock);
    rill_workers_stats(s->session.crew, &s->counts.run);
    job_release(s->read_last);
    s->read_last = NULL;
    for (;;) {
        pass_on_cancels(s);
        drop_late(s);
        d = next_decoding(s, &input);
        if (d || !may_block || s->draining) break;
        pthread_cond_wait(&s->news, &s->lock);
    }
    if (!d && s->draining && s->counts.waiting == 0) status = RILL_END_OF_INPUT;
    if (d) s->read_last = job_hold(input->of);
    pthread_mutex_unlock(&s->lock);
    if (d) status = ask(s, d, input, request);
    return status;
}

/* --- the writer's ------------------------------------------------------------------------------------------------- */

/* Its result goes to all who wait for it; the lock is held. `text`: the result again, where there are several. */
static void end_decoding(service *s, decoding *d, rill_status status, json_t *told, const char *text)
{
    decoding *other = s->given[--s->counts.under_way];
    s->given[d->place] = other;
    other->place = d->place;
    while (d->first) {
        json_t *own = told ? told : text ? from_text(text) : NULL;
        told = NULL;
        leave(s, d->first, status, own);
    }
    json_decref(told);
    free(d->key);
    free(d);
}

/* What the list lacks, or seems to. */
static void warn(const decoding *d, const rill_result *result, json_t *told)
{
    char what[300];
    if (cli_has_fewer(result, d->n_best)) {
        snprintf(what, sizeof what, "%d of %d outputs: %s", (int)result->n, (int)d->n_best,
                 result->late ? "the deadline came first" : d->fewer);
        result_warn(told, what);
    }
    if (cli_is_short(d->width, result))
        result_warn(told, "the output is shorter than a third of its input: text may be missing "
                          "(\"split\": \"sentences\" decodes each sentence by itself)");
}

rill_status queue_write(void *user, const rill_result *result)
{
    service *s = user;
    decoding *d = result->user;
    json_t *told = result_json(s->session.model, result, d->tokens);
    if (told) warn(d, result, told);
    const int keeps = result->status == RILL_OK && !result->late && d->key;
    pthread_mutex_lock(&s->lock);
    rill_workers_stats(s->session.crew, &s->counts.run); /* before its client can ask for them */
    char *text = told && (keeps || (d->first && d->first->next)) ? result_text(told) : NULL;
    if (keeps && text) cache_keep(s->cache, d->hash, d->key, d->key_length, text);
    if (result->n > 0) s->counts.actions += result->output[0].actions;
    end_decoding(s, d, result->status, told, text);
    pthread_mutex_unlock(&s->lock);
    free(text);
    return RILL_OK;
}

void queue_end(service *s, rill_status status)
{
    pthread_mutex_lock(&s->lock);
    s->over = 1;
    if (status < 0 && status != RILL_ERR_STOPPED) {
        const char *why = rill_error(s->session.ctx);
        snprintf(s->failure, sizeof s->failure, "%s", why[0] ? why : rill_status_name(status));
        cli_say("%s: it decodes no more: %s", s->name, s->failure);
    }
    while (s->first) {
        job *j = s->first;
        take_out(s, j);
        drop_rest(s, j, RILL_ERR_STOPPED, s->failure);
        job_release(j);
    }
    json_t *told = result_failed(RILL_ERR_STOPPED, s->failure);
    char *text = result_text(told);
    while (s->counts.under_way > 0) end_decoding(s, s->given[0], RILL_ERR_STOPPED, NULL, text); /* each its own */
    json_decref(told);
    free(text);
    job_release(s->read_last);
    s->read_last = NULL;
    pthread_mutex_unlock(&s->lock);
}
