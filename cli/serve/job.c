/* Jobs; see job.h. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

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
    for (int32_t i = 0; i < n; i++) j->input[i] = (job_input){.of = j, .id = -1};
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
        json_decref(j->input[i].result);
    }
    pthread_mutex_destroy(&j->lock);
    free(j->input);
    free(j);
}

void job_note(job_input *input, rill_status status, json_t *result)
{
    job *j = input->of;
    pthread_mutex_lock(&j->lock);
    input->result = result ? result : json_null();
    input->status = result ? status : RILL_ERR_MEMORY;
    input->id = -1;
    j->done++;
    if (j->done == j->n && j->told) j->told(j->user);
    pthread_mutex_unlock(&j->lock);
}

int job_is_done(job *j)
{
    pthread_mutex_lock(&j->lock);
    const int done = j->done == j->n;
    pthread_mutex_unlock(&j->lock);
    return done;
}
