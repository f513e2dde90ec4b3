/* --trace; see trace.h. Timesteps are printed directly and not built as JSON trees, because there are many. */
#include "trace.h"

#include "report.h"

/* --- writing timesteps -------------------------------------------------------------------------------------------- */

/* Write a list of n numbers: the first at `offset`, each `stride` bytes after the one before. */
static void put_list(cli_output *out, const void *data, size_t offset, size_t stride, int32_t n)
{
    cli_output_write(out, "[", 1);
    for (int32_t i = 0; i < n; i++) {
        int32_t value;
        memcpy(&value, (const char *)data + offset + (size_t)i * stride, sizeof value);
        cli_output_printf(out, i ? ",%" PRId32 : "%" PRId32, value);
    }
    cli_output_write(out, "]", 1);
}

static void put_ints(cli_output *out, const char *name, const int32_t *values, int32_t n)
{
    cli_output_printf(out, ",\"%s\":", name);
    put_list(out, values, 0, sizeof *values, n);
}

static void put_seconds(cli_output *out, const rill_seconds *s)
{
    cli_output_printf(out, ",\"seconds\":{");
    for (const cli_stage *t = cli_stages; t < cli_stages + CLI_STAGES; t++)
        cli_output_printf(out, "\"%s\":%.9f,", t->name, *cli_stage_seconds(s, t));
    cli_output_printf(out, "\"total\":%.9f", s->total);
    cli_output_write(out, "}", 1);
}

static void put_dropped(cli_output *out, const rill_trace_event *e)
{
    cli_output_printf(out, ",\"dropped\":[");
    for (int32_t link = 0; link < e->links; link++) {
        cli_output_printf(out, link ? "," : "");
        put_list(out, e->dropped, (size_t)(link * e->n) * sizeof *e->dropped, sizeof *e->dropped, e->n);
    }
    cli_output_write(out, "]", 1);
}

/* clang-format off */
#define COLUMN(name) {#name, offsetof(rill_trace_hypothesis, name)}
/* clang-format on */
static const struct {
    const char *name;
    size_t offset;
} columns[] = {COLUMN(item), COLUMN(phase), COLUMN(parent), COLUMN(rank), COLUMN(action), COLUMN(fate)};

static void put_hypotheses(cli_trace *t, const rill_trace_event *e)
{
    cli_output *out = &t->out;
    cli_output_printf(out, ",\"hypotheses\":{");
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        cli_output_printf(out, "\"%s\":", columns[c].name);
        put_list(out, e->hypotheses, columns[c].offset, sizeof *e->hypotheses, e->n_hypotheses);
        cli_output_write(out, ",", 1);
    }
    cli_output_printf(out, "\"score\":[");
    for (int32_t i = 0; i < e->n_hypotheses; i++) {
        const rill_trace_hypothesis *h = &e->hypotheses[i];
        cli_output_printf(out, i ? ",%.6g" : "%.6g", h->path_score);
        if (h->action >= 0 && h->action < t->actions) t->seen[h->action] = 1;
    }
    cli_output_write(out, "]}", 2);
}

static void put_timestep(cli_trace *t, const rill_trace_event *e)
{
    cli_output *out = &t->out;
    cli_output_printf(out,
                      "{\"event\":\"timestep\",\"timestep\":%" PRId64 ",\"in_flight\":%" PRId32 ",\"selected\":%" PRId32
                      ",\"rows\":%" PRId64 ",\"items\":[",
                      e->timestep, e->in_flight, e->n, e->rows);
    for (int32_t i = 0; i < e->n; i++) cli_output_printf(out, i ? ",%" PRId64 : "%" PRId64, e->items[i]);
    cli_output_write(out, "]", 1);
    put_ints(out, "depths", e->depths, e->n);
    put_ints(out, "widths_before", e->widths_before, e->n);
    put_ints(out, "widths_merged", e->widths_merged, e->n);
    put_ints(out, "widths_after", e->widths_after, e->n);
    if (e->links > 0) put_dropped(out, e);
    if (t->has_trees) put_hypotheses(t, e);
    put_seconds(out, &e->seconds);
}

/* --- writing events ----------------------------------------------------------------------------------------------- */

void cli_trace_event(void *user, const rill_trace_event *e)
{
    static const char *const names[] = {
        [RILL_TRACE_ADMITTED] = "admitted", [RILL_TRACE_RESTARTED] = "sent_back", [RILL_TRACE_FINISHED] = "finished"};
    cli_trace *t = user;
    cli_output *out = &t->out;
    LOCK_SCOPE(&t->lock);
    if (e->kind == RILL_TRACE_TIMESTEP)
        put_timestep(t, e);
    else
        cli_output_printf(out, "{\"event\":\"%s\",\"timestep\":%" PRId64 ",\"item\":%" PRId64 ",\"slot\":%" PRId32,
                          names[e->kind], e->timestep, e->item_id, e->slot);
    if (e->kind == RILL_TRACE_RESTARTED || e->kind == RILL_TRACE_FINISHED)
        cli_output_printf(out, ",\"item_timesteps\":%" PRId32, e->item_timesteps);
    if (e->kind == RILL_TRACE_FINISHED)
        cli_output_printf(out, ",\"outputs\":%" PRId32 ",\"status\":\"%s\"", e->outputs, rill_status_name(e->status));
    cli_output_printf(out, ",\"worker\":%" PRId32 "}\n", e->worker);
}

/* Write a JSON object as one line of the trace. Takes the reference to `object`. */
static int put_object(cli_trace *t, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) return cli_fail_memory("the trace");
    pthread_mutex_lock(&t->lock);
    cli_output_text(&t->out, text, strlen(text), CLI_JSON);
    cli_output_write(&t->out, "\n", 1);
    pthread_mutex_unlock(&t->lock);
    free(text);
    return CLI_OK;
}

void cli_trace_input(cli_trace *t, int64_t id, const char *text, size_t length)
{
    if (t->has_trees)
        put_object(t, json_pack("{s:s, s:I, s:o}", "event", "input", "item", (json_int_t)id, "text",
                                cli_json_text(text, length)));
}

void cli_trace_result(cli_trace *t, const rill_result *result)
{
    if (!t->has_trees) return;
    const rill_output *best = result->n_outputs > 0 ? rill_result_output(result, 0) : NULL;
    json_t *actions = json_array();
    for (int32_t i = 0; best && i < best->n_ids; i++) json_array_append_new(actions, json_integer(best->ids[i]));
    put_object(t, json_pack("{s:s, s:I, s:o*, s:o*, s:o}", "event", "result", "item", (json_int_t)result->id, "message",
                            result->status < 0 ? cli_json_text(result->message, strlen(result->message)) : NULL,
                            "output", best ? cli_json_text(best->text, best->text_bytes) : NULL, "actions", actions));
}

/* --- opening and closing a trace ---------------------------------------------------------------------------------- */

int cli_trace_open(cli_trace *t, rill_context *ctx, const char *path, int trees)
{
    *t = (cli_trace){.lock = PTHREAD_MUTEX_INITIALIZER, .ctx = ctx, .has_trees = trees};
    return cli_output_open(&t->out, ctx, path, CLI_STREAM);
}

int cli_trace_begin(cli_trace *t, const cli_session *session, const rill_search_config *search_config,
                    const rill_settings *settings, int64_t first)
{
    char hardware[CLI_HARDWARE_MAX];
    const char *path = session->open.path;
    t->model = session->model;
    t->actions = rill_model_info(session->model)->actions;
    if (t->has_trees && !(t->seen = calloc((size_t)t->actions + 1, 1))) return cli_fail_memory("the trace");
    return put_object(t, json_pack("{s:s, s:s, s:o*, s:o*, s:o*, s:I, s:b, s:o}", "event", "run", "version",
                                   RILL_VERSION_STRING, "domain", json_string(rill_model_domain(session->model)->name),
                                   "model", path ? cli_json_text(path, strlen(path)) : NULL, "hardware",
                                   json_string(cli_hardware(session, hardware)), "first", (json_int_t)first, "trees",
                                   t->has_trees, "options", cli_options_json(settings, search_config)));
}

/* Write the names of the actions that occurred, if the domain has names. */
static void put_names(cli_trace *t)
{
    SCOPED(rill_text_clear) rill_text name = {.ctx = t->ctx};
    json_t *names = json_object();
    for (int32_t action = 0; action < t->actions; action++) {
        char key[16];
        if (!t->seen[action]) continue;
        rill_text_reset(&name);
        snprintf(key, sizeof key, "%" PRId32, action);
        if (rill_model_action_name(t->model, action, &name) == RILL_OK)
            json_object_set_new(names, key, cli_json_text(name.data ? name.data : "", name.length));
    }
    put_object(t, json_pack("{s:s, s:o}", "event", "actions", "names", names));
}

int cli_trace_close(cli_trace *t)
{
    if (t->seen && t->out.name) put_names(t);
    free(t->seen);
    t->seen = NULL;
    return cli_output_close(&t->out);
}
