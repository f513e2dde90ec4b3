/* Inputs in TSV rows and JSON objects; see record.h. Results are inserted before the closing brace, so the input's text is unchanged. */
#include "record.h"

#include <errno.h>
#include <strings.h>

#include "report.h"

typedef struct cli_record {
    struct cli_record **link, *next;
    const char *suspect_key; /* a member that is probably a misplaced setting, static memory; NULL: none */
    size_t length; /* bytes of the JSON object in `line`, without its closing brace; 0: the line has no usable object */
    int has_bad_options;
    char line[];
} cli_record;

enum { MAX_COLUMNS = 10000 };

/* --- storing records ---------------------------------------------------------------------------------------------- */

int cli_records_column(const char *text)
{
    int64_t column;
    return cli_read_int64(text, 1, MAX_COLUMNS, &column) ? (int)column : 0;
}

int cli_records_start(cli_records *r, rill_context *ctx, const char *tsv, const char *jsonl)
{
    int column = 1;
    *r = (cli_records){.ctx = ctx, .text.ctx = ctx, .options.ctx = ctx};
    if (tsv && jsonl) return cli_fail("--tsv-column cannot be combined with --jsonl");
    if (tsv && tsv[0] && !(column = cli_records_column(tsv)))
        return cli_fail("--tsv-column: \"%s\" is not a whole number from 1 to %d", tsv, MAX_COLUMNS);
    r->kind = tsv ? CLI_RECORD_TSV : jsonl ? CLI_RECORD_JSONL : CLI_RECORD_NONE;
    r->column = column - 1;
    r->key = jsonl && jsonl[0] ? jsonl : NULL;
    return CLI_OK;
}

static rill_status retain_record(cli_records *r, const char *line, size_t length, void **user)
{
    cli_record *record = malloc(sizeof *record + length);
    if (!record) return rill_fail_memory(r->ctx, sizeof *record + length, "an input's line");
    *record = (cli_record){.link = &r->waiting, .next = r->waiting, .length = length};
    if (record->next) record->next->link = &record->next;
    r->waiting = record;
    if (length) memcpy(record->line, line, length);
    *user = record;
    return RILL_OK;
}

static void free_record(cli_record *record)
{
    *record->link = record->next;
    if (record->next) record->next->link = record->link;
    free(record);
}

void cli_records_end(cli_records *r)
{
    while (r->waiting) free_record(r->waiting);
    json_decref(r->warned);
    if (r->kind == CLI_RECORD_NONE) return;
    rill_text_clear(&r->text);
    rill_text_clear(&r->options);
}

/* --- parsing records ---------------------------------------------------------------------------------------------- */

/* Members that cli_result_json() writes, so that an input cannot have them. */
static const char *const RESULT_KEYS[] = {"outputs", "warnings", "error"};

static const char *reserved_key(const json_t *object)
{
    for (size_t i = 0; i < sizeof RESULT_KEYS / sizeof *RESULT_KEYS; i++)
        if (json_object_get(object, RESULT_KEYS[i])) return RESULT_KEYS[i];
    return NULL;
}

static rill_status fail_record(cli_records *r, rill_request *request, const char *format, const char *what)
{
    rill_text_reset(&r->text);
    const rill_status status = rill_text_printf(&r->text, format, what);
    return status < 0 ? status : cli_refuse_input(request, r->text.data);
}

static rill_status take_column(cli_records *r, rill_request *request)
{
    const char *pos = request->text, *end = pos + request->length, *tab;
    char number[32];
    for (int i = 0; i < r->column; i++) {
        tab = memchr(pos, '\t', (size_t)(end - pos));
        snprintf(number, sizeof number, "%d", r->column + 1);
        if (!tab)
            return fail_record(r, request, "the row has no column %s: expected columns separated by tabs", number);
        pos = tab + 1;
    }
    tab = memchr(pos, '\t', (size_t)(end - pos));
    request->text = pos;
    request->length = (size_t)((tab ? tab : end) - pos);
    return RILL_OK;
}

static rill_status read_option(rill_context *ctx, const rill_domain *domain, const char *name, const json_t *value,
                               rill_text *input_options, rill_option_source *source)
{
    char buffer[RILL_OPTION_MAX];
    const char *text;
    const rill_option *row;
    TRY(rill_domain_request_option(domain, ctx, name, &row));
    TRY(rill_option_json_text(ctx, row, value, buffer, &text));
    return row == rill_option_find(rill_setting_table(), name)
               ? rill_option_source_set(source, name, text)
               : rill_domain_input_option(domain, name, text, input_options);
}

rill_status cli_request_options(rill_context *ctx, const rill_domain *domain, const rill_search_config *run,
                                int gives_way, const json_t *object, rill_text *input_options,
                                rill_option_source **source, rill_search_config **out)
{
    const char *name;
    json_t *value;
    rill_status status = rill_option_source_create(source, ctx, RILL_FROM_USER);
    json_object_foreach((json_t *)(uintptr_t)object, name, value) if (status >= 0)
        status = read_option(ctx, domain, name, value, input_options, *source);
    return status < 0 ? status : rill_search_config_request(out, run, ctx, *source, gives_way);
}

/* Read the member "options": search settings and domain options of this input. */
static rill_status take_settings(cli_records *r, const json_t *settings, rill_request *request)
{
    rill_option_source *source = NULL;
    rill_search_config *search_config = NULL;
    const rill_option_style style = rill_option_set_style(r->ctx, RILL_OPTION_PLAIN);
    rill_text_reset(&r->options);
    rill_status status = cli_request_options(r->ctx, rill_model_domain(r->model), r->run_options, 0, settings,
                                             &r->options, &source, &search_config);
    request->input_options = r->options.data;
    if (status >= 0) {
        r->settings = search_config->setup->settings;
        request->settings = &r->settings;
    } else if (status == RILL_ERR_OPTION) {
        r->has_bad_options = 1;
        status = fail_record(r, request, "options: %s", rill_error(r->ctx));
    }
    rill_search_config_free(search_config);
    rill_option_source_free(source);
    rill_option_set_style(r->ctx, style);
    return status;
}

/* Whether an object under the key "rill", as in a model's config.json, has options: either directly or under the key "options". */
static int holds_options(const rill_option *rows, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!strcmp(key, "options") || rill_option_find(rill_setting_table(), key) || rill_option_find(rows, key))
            return 1;
    }
    return 0;
}

/* Find a member that is an object of options, but is not named "options". NULL: none. Other objects are user data. */
static const char *misplaced_options(const rill_option *rows, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (json_is_object(value) && (rill_is_options_key(key) || (!strcmp(key, "rill") && holds_options(rows, value))))
            return key;
    }
    return NULL;
}

/* Keys of a `rill serve` request that JSON lines do not have. */
static const char *const request_keys[] = {"constraints", "timeout", "deadline", "seconds", "glossary"};

static const char *find_request_key(const char *key)
{
    for (size_t i = 0; i < sizeof request_keys / sizeof *request_keys; i++)
        if (!strcasecmp(key, request_keys[i])) return request_keys[i];
    return NULL;
}

/* Find the first unreported member named as a setting or as a member of `rill serve` requests: possibly a misplaced option. NULL: none. */
static const char *find_suspect_key(cli_records *r, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const rill_option *row = rill_option_find(rill_setting_table(), key);
        const char *request_key = row ? NULL : find_request_key(key);
        if (!row && !request_key) row = rill_option_find(rill_domain_input_rows(rill_model_domain(r->model)), key);
        const char *name = row ? row->name : request_key;
        /* all options of the domain share one warning, which the key "" in r->warned marks */
        const char *mark = row && !rill_option_find(rill_setting_table(), key) ? "" : name;
        if (!name || (r->key && !strcmp(r->key, key)) || json_object_get(r->warned, mark)) continue;
        if (!r->warned) r->warned = json_object();
        json_object_set_new(r->warned, mark, json_string(key));
        return json_string_value(json_object_get(r->warned, mark));
    }
    return NULL;
}

static rill_status take_member(cli_records *r, const json_t *object, rill_request *request)
{
    const json_t *value = json_object_get(object, r->key ? r->key : "text"),
                 *settings = json_object_get(object, "options");
    const char *own = reserved_key(object);
    if (!value && !r->key) value = json_object_get(object, "input");
    if (!json_is_string(value))
        return fail_record(r, request, "the object has no text in \"%s\": set another member with --jsonl=KEY",
                           r->key ? r->key : "text\" or \"input");
    if (own) return fail_record(r, request, "the object has a member \"%s\", a name that results use", own);
    const char *misplaced = misplaced_options(rill_domain_input_rows(rill_model_domain(r->model)), object);
    if (misplaced) return fail_record(r, request, "\"%s\": the options are in \"options\"", misplaced);
    if (settings && !json_is_object(settings))
        return fail_record(r, request, "options: expected an object {NAME: VALUE}%s", "");
    if (settings) TRY(take_settings(r, settings, request));
    rill_text_reset(&r->text);
    TRY(rill_text_append(&r->text, json_string_value(value), json_string_length(value)));
    request->text = r->text.data ? r->text.data : "";
    request->length = r->text.length;
    return RILL_OK;
}

static int is_empty_line(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r')) i++;
    return i == length;
}

/* Store the line up to the closing brace, so that results can be appended, also if the object has no text member. */
static rill_status take_object(cli_records *r, rill_request *request)
{
    json_error_t error;
    const char *line = request->text;
    size_t end = request->length;
    r->has_bad_options = 0;
    if (is_empty_line(line, end)) return retain_record(r, "", 0, &request->user);
    json_t *object = json_loadb(line, end, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    rill_status status;
    if (!object)
        status = fail_record(r, request, "the line is not a JSON object: %s", error.text);
    else if (!json_is_object(object))
        status = fail_record(r, request, "the line is not a JSON object%s", "");
    else
        status = take_member(r, object, request);
    const char *passed = status == RILL_OK ? find_suspect_key(r, object) : NULL;
    const int is_object = object && json_is_object(object) && json_object_size(object) > 0 && !reserved_key(object);
    json_decref(object);
    while (is_object && line[end - 1] != '}') end--;
    TRY(retain_record(r, line, is_object ? end - 1 : 0, &request->user));
    cli_record *record = request->user;
    record->suspect_key = passed;
    record->has_bad_options = r->has_bad_options;
    return status;
}

const char *cli_records_suspect_key(const rill_result *result, const char **why)
{
    const char *key = ((const cli_record *)result->user)->suspect_key;
    const rill_option *row = key ? rill_option_find(rill_setting_table(), key) : NULL;
    const int is_of_run = row && (row->kind == RILL_OPTION_SCHEDULE || !rill_setting_is_per_request(row));
    *why = is_of_run ? "it is an option of the whole run" : "the options are in \"options\"";
    if (key && !row && find_request_key(key)) *why = "only requests to `rill serve` have this member";
    return key;
}

rill_status cli_records_take(cli_records *r, rill_status status, rill_request *request)
{
    const int is_bad = status == RILL_ERR_INPUT;
    if (status != RILL_OK && !is_bad) return status;
    if (r->kind == CLI_RECORD_JSONL && !is_bad) return take_object(r, request);
    TRY(retain_record(r, is_bad ? "" : request->text, is_bad ? 0 : request->length, &request->user));
    return is_bad ? status : take_column(r, request);
}

/* --- writing rows of TSV ------------------------------------------------------------------------------------------ */

static void put_rows(cli_output *out, const cli_form *form, const cli_record *record, const rill_result *result)
{
    const int32_t n = form->format == CLI_FORMAT_NBEST ? result->n_outputs : 1;
    for (int32_t i = 0; i < n; i++) {
        const rill_output *o = i < result->n_outputs ? rill_result_output(result, i) : NULL;
        if (form->format == CLI_FORMAT_NUMBERED) cli_output_printf(out, "%" PRId64 "\t", result->id);
        cli_output_write(out, record->line, record->length);
        cli_output_write(out, "\t", 1);
        if (o) cli_output_columns(out, form, o, CLI_CELL);
        if (o && form->format == CLI_FORMAT_NBEST) cli_output_printf(out, "\t%.9g", o->score);
        cli_output_write(out, "\n", 1);
    }
}

/* --- writing JSON objects ----------------------------------------------------------------------------------------- */

static void put_object(const cli_records *r, cli_output *out, const cli_form *form, const cli_record *record,
                       const rill_result *result)
{
    json_t *object = record->has_bad_options ? cli_result_error(RILL_ERR_OPTION, result->message)
                                             : cli_result_json(r->model, form, result);
    char *text = object ? json_dumps(object, JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (!text) {
        cli_fail_memory("a result");
        out->error = out->error ? out->error : ENOMEM;
        out->is_reported = 1;
    } else {
        cli_output_write(out, record->line, record->length);
        if (record->length) cli_output_write(out, ", ", 2);
        cli_output_text(out, text + (record->length > 0), strlen(text) - (record->length > 0), CLI_JSON);
        cli_output_write(out, "\n", 1);
    }
    free(text);
}

void cli_records_write(cli_records *r, cli_output *output, const cli_form *form, const rill_result *result)
{
    cli_record *record = result->user;
    if (r->kind == CLI_RECORD_TSV)
        put_rows(output, form, record, result);
    else if (record->length == 0 && result->status >= 0)
        cli_output_write(output, "\n", 1);
    else
        put_object(r, output, form, record, result);
    free_record(record);
}

/* --- constraints ------------------------------------------------------------------------------------------------------- */

static int has_scorer(const rill_search_config *search_config, const char *name)
{
    for (int32_t i = 0; i < search_config->setup->n_scorers; i++)
        if (!strcmp(search_config->setup->scorers[i].name, name)) return 1;
    return 0;
}

rill_status cli_constraints_add_scorers(rill_search_config *search_config)
{
    for (const char *const *name = rill_constraint_names(); *name; name++)
        if (!has_scorer(search_config, *name)) TRY(rill_search_config_add_scorer(search_config, *name, ""));
    return RILL_OK;
}

int cli_constraints_open(cli_constraints *c, rill_context *ctx, const char *path, int64_t skip,
                         rill_search_config *search_config)
{
    if (cli_constraints_add_scorers(search_config) < 0) return cli_fail_context(ctx);
    if (rill_constraints_create(&c->reader, ctx, search_config->setup) < 0) return cli_fail_context(ctx);
    TRY(cli_input_open(&c->input, ctx, path, RILL_FILE_STREAM));
    for (rill_status status = RILL_OK; skip > 0 && status != RILL_END_OF_INPUT; skip--) {
        status = cli_input_read(&c->input, 1, &c->line, &c->length);
        if (status < 0 && status != RILL_ERR_INPUT) return cli_fail_context(ctx);
    }
    return CLI_OK;
}

void cli_constraints_close(cli_constraints *c)
{
    if (c->reader) cli_input_close(&c->input);
    rill_constraints_free(c->reader);
    c->reader = NULL;
}

rill_status cli_constraints_wait(cli_constraints *c, int may_block)
{
    if (!c->has_line) c->status = cli_input_read(&c->input, may_block, &c->line, &c->length);
    c->has_line = c->status != RILL_AGAIN;
    return c->has_line ? RILL_OK : RILL_AGAIN;
}

rill_status cli_constraints_apply(cli_constraints *c, rill_context *ctx, rill_status status, rill_request *request)
{
    if (status != RILL_OK && status != RILL_ERR_INPUT) return status;
    c->has_line = 0;
    if (status < 0) return status;
    if (c->status == RILL_END_OF_INPUT)
        return cli_refuse_input(request, "the --constraints file has no line for this input");
    if (c->status == RILL_ERR_INPUT) return cli_refuse_input(request, c->line);
    if (c->status < 0) return c->status;
    status = rill_constraints_read(c->reader, c->line, c->length, &request->scorers);
    return status == RILL_ERR_INPUT ? cli_refuse_input(request, rill_error(ctx)) : status;
}
