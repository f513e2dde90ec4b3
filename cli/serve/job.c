/* Jobs; see job.h.
 *
 * Divisions: life · events · results. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report.h"
#include "result.h"

/* --- life --------------------------------------------------------------------------------------------------------- */

job *job_create(int32_t n)
{
    job *j = calloc(1, sizeof *j);
    if (j) j->input = calloc((size_t)n, sizeof *j->input);
    if (!j || !j->input || pthread_mutex_init(&j->lock, NULL) != 0) {
        if (j) free(j->input);
        free(j);
        return NULL;
    }
    j->n = n;
    j->references = 1;
    j->since = cli_now();
    for (int32_t i = 0; i < n; i++) j->input[i].of = j;
    return j;
}

int job_set_text(job *j, int32_t i, const char *text, size_t length)
{
    job_input *input = &j->input[i];
    input->text = malloc(length + 1);
    if (!input->text) return 0;
    memcpy(input->text, text, length);
    input->text[length] = '\0';
    input->length = length;
    return 1;
}

job *job_hold(job *j)
{
    pthread_mutex_lock(&j->lock);
    j->references++;
    pthread_mutex_unlock(&j->lock);
    return j;
}

void job_release(job *j)
{
    if (!j) return;
    pthread_mutex_lock(&j->lock);
    const int left = --j->references;
    pthread_mutex_unlock(&j->lock);
    if (left > 0) return;
    for (int32_t i = 0; i < j->n; i++) {
        free(j->input[i].text);
        free(j->input[i].constraints);
        free(j->input[i].key);
        json_decref(j->input[i].result);
        free(j->input[i].final);
        free(j->input[i].draft);
    }
    pthread_mutex_destroy(&j->lock);
    free(j->events);
    free(j->options);
    free(j->trace);
    free(j->input);
    free(j);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

enum { EVENTS_MANY = 64 << 10 };

/* Append "event: NAME, data: JSON", of which the latter is given over. Under the lock; what there is no memory for is left out. */
static void say(job *j, const char *name, json_t *data)
{
    char *text = data ? result_text(data) : NULL;
    const size_t most = text ? strlen(text) + strlen(name) + 32 : 0;
    json_decref(data);
    if (text && j->events_used + most > j->events_room) {
        const size_t room = 2 * (j->events_used + most);
        char *more = realloc(j->events, room);
        if (more) j->events = more;
        if (more) j->events_room = room;
    }
    if (text && j->events_used + most <= j->events_room)
        j->events_used += (size_t)sprintf(j->events + j->events_used, "event: %s\ndata: %s\n\n", name, text);
    free(text);
}

static void say_text(job_input *input, const char *name, char **last, const char *text, size_t length, int32_t actions)
{
    if (*last && strlen(*last) == length && !memcmp(*last, text, length)) return;
    free(*last);
    *last = strndup(text, length);
    say(input->of, name,
        json_pack("{s:i, s:o, s:i}", "input", (int)(input - input->of->input), "text", cli_json_text(text, length),
                  "length", (int)actions));
}

void job_progress(job_input *input, const rill_progress *p)
{
    job *j = input->of;
    pthread_mutex_lock(&j->lock);
    if (!j->cancelled && j->events_used - j->events_at < EVENTS_MANY) {
        if (p->final_actions > 0)
            say_text(input, "final", &input->final, p->final_text, p->final_length, p->final_actions);
        say_text(input, "draft", &input->draft, p->draft_text, p->draft_length, p->draft_actions);
        if (j->told) j->told(j->user);
    }
    pthread_mutex_unlock(&j->lock);
}

size_t job_take_events(job *j, char *out, size_t most)
{
    const size_t left = j->events_used - j->events_at, n = left < most ? left : most;
    if (n == 0) return 0;
    memcpy(out, j->events + j->events_at, n);
    j->events_at += n;
    if (n == left) j->events_at = j->events_used = 0;
    return n;
}

static void say_result(job_input *input)
{
    job *j = input->of;
    json_t *told = json_copy(input->result);
    if (told) json_object_set_new(told, "input", json_integer(input - j->input));
    say(j, "result", told);
    if (j->done == j->n) say(j, "end", json_object());
}

void job_say_end(job *j)
{
    say(j, "end", json_object());
}

/* --- results ------------------------------------------------------------------------------------------------------ */

void job_note(job_input *input, rill_status status, json_t *result)
{
    job *j = input->of;
    pthread_mutex_lock(&j->lock);
    input->result = result ? result : json_null();
    input->status = result ? status : RILL_ERR_MEMORY;
    j->done++;
    if (j->stream) say_result(input);
    if ((j->stream || j->done == j->n) && j->told) j->told(j->user);
    pthread_mutex_unlock(&j->lock);
}

int job_is_done(job *j)
{
    pthread_mutex_lock(&j->lock);
    const int done = j->done == j->n;
    pthread_mutex_unlock(&j->lock);
    return done;
}
