/* Jobs; see serve.h. */
#include "serve.h"

/* --- creating and freeing ----------------------------------------------------------------------------------------- */

job *job_create(int32_t n)
{
    job *j = malloc(sizeof *j);
    job_input *input = calloc((size_t)n, sizeof *input);
    if (!j || !input) {
        free(j);
        free(input);
        return NULL;
    }
    *j = (job){.lock = PTHREAD_MUTEX_INITIALIZER, .n_references = 1, .input = input, .n = n, .arrival_time = cli_now()};
    for (int32_t i = 0; i < n; i++) input[i].job = j;
    return j;
}

job *job_retain(job *j)
{
    j->n_references++;
    return j;
}

void job_release(job *j)
{
    if (!j || --j->n_references > 0) return;
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

/* --- events for the client ---------------------------------------------------------------------------------------- */

enum { MAX_EVENT_BYTES = 64 << 10 };

/* Append a server-sent event "event: NAME, data: JSON", or drop it if out of memory. Takes the reference to `data`. Requires the job's
 * lock. */
static void append_event(job *j, const char *name, json_t *data)
{
    char *text = data ? cli_result_line(data) : NULL;
    const size_t max_bytes = text ? strlen(text) + strlen(name) + 32 : 0;
    json_decref(data);
    if (text && cli_grow(&j->events, &j->events_capacity, j->events_used + max_bytes, 1))
        j->events_used += (size_t)sprintf(j->events + j->events_used, "event: %s\ndata: %s\n\n", name, text);
    free(text);
}

static void append_text_event(job_input *input, const char *name, char **last, const char *text, size_t length,
                              int32_t actions)
{
    if (*last && strlen(*last) == length && !memcmp(*last, text, length)) return;
    free(*last);
    *last = strndup(text, length);
    append_event(input->job, name,
                 json_pack("{s:i, s:o, s:i}", "input", (int)(input - input->job->input), "text",
                           cli_json_text(text, length), "length", (int)actions));
}

void job_progress(job_input *input, const rill_progress *p)
{
    job *j = input->job;
    LOCK_SCOPE(&j->lock);
    if (!j->is_cancelled && j->events_used - j->events_read < MAX_EVENT_BYTES) {
        if (p->final_actions > 0)
            append_text_event(input, "final", &input->final, p->final_text, p->final_length, p->final_actions);
        append_text_event(input, "draft", &input->draft, p->draft_text, p->draft_length, p->draft_actions);
        if (j->notify) j->notify(j->notify_user);
    }
}

size_t job_take_events(job *j, char *out, size_t max_bytes)
{
    const size_t available = j->events_used - j->events_read, n = available < max_bytes ? available : max_bytes;
    if (n == 0) return 0;
    memcpy(out, j->events + j->events_read, n);
    j->events_read += n;
    if (n == available) j->events_read = j->events_used = 0;
    return n;
}

static void append_result_event(job_input *input)
{
    job *j = input->job;
    json_t *event_data = json_copy(input->result);
    if (event_data) json_object_set_new(event_data, "input", json_integer(input - j->input));
    append_event(j, "result", event_data);
    if (j->n_done == j->n) append_event(j, "end", json_object());
}

void job_append_end_event(job *j)
{
    append_event(j, "end", json_object());
}

/* --- storing results ---------------------------------------------------------------------------------------------- */

void job_set_result(job_input *input, rill_status status, json_t *result)
{
    job *j = input->job;
    LOCK_SCOPE(&j->lock);
    input->result = result ? result : json_null();
    input->status = result ? status : RILL_ERR_MEMORY;
    j->n_done++;
    if (j->is_stream) append_result_event(input);
    if ((j->is_stream || j->n_done == j->n) && j->notify) j->notify(j->notify_user);
}
