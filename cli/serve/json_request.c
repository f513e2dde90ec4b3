/* Requests: what they ask, and refusals; see http_api.h. */
#include "http_api.h"

/* --- responses ---------------------------------------------------------------------------------------------------- */

int api_answer_json(api_request *r, unsigned code, json_t *body)
{
    r->answer = (api_answer){.code = code, .json = body};
    return 0;
}

int api_answer_text(api_request *r, char *text, const char *type)
{
    if (!text) return api_refuse(r, 503, "out-of-memory", "out of memory: a response");
    r->answer = (api_answer){.code = 200, .text = text, .type = type};
    return 0;
}

int api_refuse(api_request *r, unsigned code, const char *name, const char *format, ...)
{
    char why[600];
    va_list arguments;
    va_start(arguments, format);
    rill_print_message_list(why, sizeof why, format, arguments);
    va_end(arguments);
    return api_answer_json(r, code, json_pack("{s:o}", "error", cli_error_json(name, why)));
}

int api_refuse_memory(api_request *r)
{
    return api_refuse(r, 503, "out-of-memory", "out of memory: a request");
}

void request_clear(api_request *r)
{
    job_release(r->job);
    for (size_t i = 0; i < r->n_documents; i++) document_close(r->document[i]);
    free(r->document);
    json_decref(r->answer.json);
    free(r->answer.text);
    *r = (api_request){.n_documents = 0};
}

/* --- parsing requests --------------------------------------------------------------------------------------------- */

/* Return the key that replaces an unknown key of a request: other programs, or earlier versions of rill, use the unknown one. */
static const char *known_key(const char *word, const char *const *keys)
{
    static const char *const words[][2] = {{"deadline", "timeout"}, {"seconds", "timeout"}, {"text", "input"},
                                           {"q", "input"},          {"prompt", "input"},    {"texts", "inputs"},
                                           {"token", "tokens"},     {"logprobs", "tokens"}};
    size_t n = 0;
    while (keys[n]) n++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t k = 0; k < n && !strcmp(words[i][0], word); k++)
            if (!strcmp(words[i][1], keys[k])) return keys[k];
    return rill_nearest(word, keys, n);
}

static int refuse_key(api_request *r, const char *key, const char *const *keys)
{
    service *s = r->models->service[0];
    const rill_option *row;
    const int is_option = rill_option_row(s->session.ctx, key) != NULL || rill_refused_option("setting", key) != NULL;
    if (is_option &&
        rill_domain_request_option(rill_model_domain(s->session.model), s->request_ctx, key, &row) != RILL_OK)
        return api_refuse_request(r, "%s", rill_error(s->request_ctx));
    if (is_option || rill_is_options_key(key))
        return api_refuse_request(r, "unknown key \"%s\": the options are in \"options\"", key);
    const char *near = known_key(key, keys);
    return near ? api_refuse_request(r, "unknown key \"%s\": did you mean \"%s\"?", key, near)
                : api_refuse_request(r, "unknown key \"%s\"", key);
}

int request_has_known_keys(api_request *r, const char *const *keys)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)r->body, key, value)
    {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key)) i++;
        if (!keys[i]) return refuse_key(r, key, keys);
    }
    return 1;
}

const char *request_text(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

int request_find_service(api_request *r)
{
    const models *m = r->models;
    const char *name = request_text(r->body, "model");
    if (!json_object_get(r->body, "model"))
        r->service = m->service[0];
    else if (!name)
        return api_refuse_request(r, "model: expected a text without a NUL byte");
    for (int i = 0; i < m->n && !r->service; i++)
        if (!strcmp(m->service[i]->name, name)) r->service = m->service[i];
    if (r->service) return 1;
    return api_refuse(r, 404, "unknown-model", "unknown model \"%s\": GET /v1/models lists the models", name);
}

int request_read_options(api_request *r)
{
    const json_t *options = json_object_get(r->body, "options");
    if (options == NULL) return 1;
    if (!json_is_object(options)) return api_refuse_request(r, "options: expected an object {NAME: VALUE}");
    const rill_status status = service_read_settings(r->service, options, r->job);
    if (status == RILL_OK) return 1;
    const char *why = rill_error(r->service->request_ctx);
    return status == RILL_ERR_OPTION ? api_refuse(r, 400, "bad-option", "options: %s", why)
                                     : api_refuse(r, 503, "out-of-memory", "%s", why);
}

int request_read_switch(api_request *r, const char *key, int *out)
{
    const json_t *value = json_object_get(r->body, key);
    *out = json_is_true(value);
    if (value == NULL || json_is_boolean(value)) return 1;
    return api_refuse_request(r, "%s: expected true or false", key);
}

int request_read_timeout(api_request *r)
{
    const json_t *value = json_object_get(r->body, "timeout");
    const double seconds = json_number_value(value);
    if (value == NULL) return 1;
    if (!json_is_number(value) || !(seconds > 0 && seconds < 1e6))
        return api_refuse_request(r, "timeout: expected a number of seconds, above 0");
    r->job->deadline = r->job->arrival_time + seconds;
    return 1;
}

static int check_inputs(api_request *r, const json_t *inputs)
{
    const size_t n = json_array_size(inputs);
    if (n > (size_t)r->max_inputs)
        return api_refuse(r, 413, "too-many-inputs", "%zu inputs: the maximum of a request is %lld", n,
                          (long long)r->max_inputs);
    for (size_t i = 0; i < n; i++)
        if (!json_is_string(json_array_get(inputs, i))) return api_refuse_request(r, "inputs: %zu: expected a text", i);
    return 1;
}

/* Copy a text into an input. A multilingual model's input begins with the source and target languages. Returns 0 if out of memory. */
static int set_text(job_input *input, const api_languages *languages, const json_t *text)
{
    const size_t length = json_string_length(text);
    const int head = languages->from ? asprintf(&input->text, "%s\t%s\t", languages->from, languages->to) : 0;
    if (head < 0) input->text = NULL;
    char *copy = head < 0 ? NULL : realloc(input->text, (size_t)head + length + 1);
    if (!copy) return 0;
    memcpy(copy + head, json_string_value(text), length + 1);
    input->text = copy;
    input->length = (size_t)head + length;
    return 1;
}

job *request_make_job(api_request *r, const json_t *inputs)
{
    if (!check_inputs(r, inputs)) return NULL;
    job *j = job_create((int32_t)json_array_size(inputs));
    for (int32_t i = 0; j && i < j->n; i++) {
        if (set_text(&j->input[i], &r->languages, json_array_get(inputs, (size_t)i))) continue;
        job_release(j);
        j = NULL;
    }
    if (!j) return api_refuse_memory(r), NULL;
    j->settings = *r->service->search_config->resolved;
    return j;
}

int request_submit(api_request *r)
{
    const rill_status status = service_submit(r->service, r->job);
    if (status == RILL_OK) return 1;
    const char *why = service_failure(r->service);
    if (why[0])
        return api_refuse_for_now(r, "failed", "model %s has failed and is being reopened: %s", r->service->name, why);
    if (status == RILL_AGAIN) return api_refuse_for_now(r, "busy", "too many inputs are queued: try again");
    return api_refuse_for_now(r, "stopping", "the server is stopping and accepts no requests");
}

/* --- document requests ------------------------------------------------------------------------------------------------- */

int request_read_split(api_request *r, document_split *split)
{
    static const char *const names[] = {
        [DOCUMENT_LINES] = "lines", [DOCUMENT_SENTENCES] = "sentences", [DOCUMENT_HTML] = "html"};
    const json_t *value = json_object_get(r->body, "split");
    *split = DOCUMENT_UNSPLIT;
    for (int s = DOCUMENT_LINES; s <= DOCUMENT_HTML && json_is_string(value); s++)
        if (!strcmp(names[s], json_string_value(value))) *split = (document_split)s;
    if (value == NULL || *split != DOCUMENT_UNSPLIT) return 1;
    return api_refuse_request(r, "split: expected \"lines\", \"sentences\" or \"html\"");
}

/* Split the inputs into documents, which the request keeps. Returns the list of all parts; NULL: out of memory. */
static json_t *split_inputs(api_request *r, const json_t *inputs, document_split split, int32_t max_parts)
{
    const char *language = r->languages.from ? r->languages.from : service_language(r->service);
    const size_t n = json_array_size(inputs);
    json_t *parts = json_array();
    r->document = calloc(n + 1, sizeof(document *));
    int fine = r->document && parts;
    for (size_t i = 0; i < n && fine && json_array_size(parts) <= (size_t)max_parts; i++) {
        const json_t *text = json_array_get(inputs, i);
        document *d = document_open(json_string_value(text), json_string_length(text), split, language, max_parts);
        fine = d != NULL;
        r->document[i] = d;
        r->n_documents += fine;
        for (int32_t k = 0; fine && k < document_n_parts(d); k++) {
            size_t length;
            const char *part = document_part(d, k, &length);
            fine = !json_array_append_new(parts, json_stringn_nocheck(part, length));
        }
    }
    if (fine) return parts;
    json_decref(parts);
    return NULL;
}

int request_make_document_job(api_request *r, const json_t *inputs, document_split split)
{
    if (!json_is_string(inputs) && !json_is_array(inputs))
        return api_refuse_request(r, "expected a text, or a list of texts, as inputs");
    r->is_single = json_is_string(inputs);
    json_auto_t *parts = NULL,
                *list = r->is_single ? json_pack("[O]", inputs) : json_incref((json_t *)(uintptr_t)inputs);
    if (!list)
        api_refuse_memory(r);
    else if (split == DOCUMENT_UNSPLIT)
        r->job = request_make_job(r, list);
    else if (check_inputs(r, list) && !(parts = split_inputs(r, list, split, (int32_t)r->max_inputs)))
        api_refuse_memory(r);
    else if (json_array_size(parts) > (size_t)r->max_inputs)
        api_refuse(r, 413, "too-many-inputs", "the text has more than %lld sentences and HTML texts: send it in parts",
                   (long long)r->max_inputs);
    else if (parts)
        r->job = request_make_job(r, parts);
    return r->job != NULL;
}

/* Return the inputs of the job that are the parts of document i. */
static const job_input *document_inputs(const api_request *r, size_t i)
{
    const job_input *first = r->job->input;
    for (size_t d = 0; d < i; d++) first += document_n_parts(r->document[d]);
    return first;
}

json_t *request_document_text(const api_request *r, size_t i, size_t output)
{
    const document *d = r->document[i];
    const job_input *input = document_inputs(r, i);
    const char **outputs = calloc((size_t)document_n_parts(d) + 1, sizeof *outputs);
    for (int32_t k = 0; outputs && k < document_n_parts(d); k++)
        outputs[k] = json_string_value(
            cli_result_output_text(input[k].result, document_is_sentence(d, k) ? output : 0));
    char *text = outputs ? document_join(d, outputs) : NULL;
    json_t *text_json = text ? cli_json_text(text, strlen(text)) : NULL;
    free(text);
    free(outputs);
    return text_json;
}

json_t *request_document_results(const api_request *r, size_t i)
{
    const job_input *input = document_inputs(r, i);
    json_t *list = json_array();
    for (int32_t k = 0; k < document_n_parts(r->document[i]); k++) {
        if (!document_is_sentence(r->document[i], k)) continue;
        size_t length;
        const char *part = document_part(r->document[i], k, &length);
        json_t *part_json = json_pack("{s:o}", "input", cli_json_text(part, length));
        json_object_update(part_json, input[k].result);
        json_array_append_new(list, part_json);
    }
    return list;
}
