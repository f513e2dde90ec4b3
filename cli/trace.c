/* --trace; see trace.h.
 *
 * A run has many timesteps, so the lines of timesteps are printed directly instead of being built as JSON trees. They contain only
 * numbers and fixed words. */
#include "trace.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* --- timesteps ---------------------------------------------------------------------------------------------------- */

static void put_ints(cli_output *out, const char *name, const int32_t *values, int32_t n)
{
    cli_output_printf(out, ",\"%s\":[", name);
    for (int32_t i = 0; i < n; i++) cli_output_printf(out, i ? ",%" PRId32 : "%" PRId32, values[i]);
    cli_output_write(out, "]", 1);
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
        cli_output_printf(out, link ? ",[" : "[");
        for (int32_t i = 0; i < e->n; i++)
            cli_output_printf(out, i ? ",%" PRId32 : "%" PRId32, e->dropped[link * e->n + i]);
        cli_output_write(out, "]", 1);
    }
    cli_output_write(out, "]", 1);
}

static void write_column(cli_output *out, const char *name, const rill_trace_event *e, size_t offset)
{
    cli_output_printf(out, "%s\"%s\":[", offset > 0 ? "," : "", name);
    for (int32_t i = 0; i < e->n_hypotheses; i++) {
        int32_t value;
        memcpy(&value, (const char *)&e->hypotheses[i] + offset, sizeof value);
        cli_output_printf(out, i ? ",%" PRId32 : "%" PRId32, value);
    }
    cli_output_write(out, "]", 1);
}

#define COLUMN(name) write_column(out, #name, e, offsetof(rill_trace_hypothesis, name))

static void put_hypotheses(cli_trace *t, const rill_trace_event *e)
{
    cli_output *out = &t->out;
    cli_output_printf(out, ",\"hypotheses\":{");
    COLUMN(item);
    COLUMN(phase);
    COLUMN(parent);
    COLUMN(rank);
    COLUMN(action);
    COLUMN(fate);
    cli_output_printf(out, ",\"score\":[");
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

/* --- events ------------------------------------------------------------------------------------------------------- */

void cli_trace_event(void *user, const rill_trace_event *e)
{
    cli_trace *t = user;
    cli_output *out = &t->out;
    pthread_mutex_lock(&t->lock);
    switch (e->kind) {
    case RILL_TRACE_TIMESTEP: put_timestep(t, e); break;
    case RILL_TRACE_ADMITTED:
        cli_output_printf(out,
                          "{\"event\":\"admitted\",\"timestep\":%" PRId64 ",\"item\":%" PRId64 ",\"slot\":%" PRId32,
                          e->timestep, e->item_id, e->slot);
        break;
    case RILL_TRACE_RESTARTED:
        cli_output_printf(out,
                          "{\"event\":\"sent_back\",\"timestep\":%" PRId64 ",\"item\":%" PRId64 ",\"slot\":%" PRId32
                          ",\"item_timesteps\":%" PRId32,
                          e->timestep, e->item_id, e->slot, e->item_timesteps);
        break;
    case RILL_TRACE_FINISHED:
        cli_output_printf(out,
                          "{\"event\":\"finished\",\"timestep\":%" PRId64 ",\"item\":%" PRId64 ",\"slot\":%" PRId32
                          ",\"item_timesteps\":%" PRId32 ",\"outputs\":%" PRId32 ",\"status\":\"%s\"",
                          e->timestep, e->item_id, e->slot, e->item_timesteps, e->outputs, rill_status_name(e->status));
        break;
    }
    cli_output_printf(out, ",\"worker\":%" PRId32 "}\n", e->worker);
    pthread_mutex_unlock(&t->lock);
}

/* Write an object as one line. Takes the reference to it. */
static int put_object(cli_trace *t, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) return cli_fail_memory("the trace");
    pthread_mutex_lock(&t->lock);
    cli_output_json(&t->out, text, strlen(text));
    cli_output_write(&t->out, "\n", 1);
    pthread_mutex_unlock(&t->lock);
    free(text);
    return CLI_OK;
}

static json_t *make_event(const char *name)
{
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string(name));
    return object;
}

void cli_trace_input(cli_trace *t, int64_t id, const char *text, size_t length)
{
    if (!t->has_trees) return;
    json_t *object = make_event("input");
    json_object_set_new(object, "item", json_integer(id));
    json_object_set_new(object, "text", cli_json_text(text, length));
    put_object(t, object);
}

void cli_trace_result(cli_trace *t, const rill_result *result)
{
    if (!t->has_trees) return;
    json_t *object = make_event("result"), *actions = json_array();
    json_object_set_new(object, "item", json_integer(result->id));
    if (result->status < 0)
        json_object_set_new(object, "message", cli_json_text(result->message, strlen(result->message)));
    if (result->n_outputs > 0) {
        const rill_output *best = rill_result_output(result, 0);
        json_object_set_new(object, "output", cli_json_text(best->text, best->text_bytes));
        for (int32_t i = 0; i < best->n_ids; i++) json_array_append_new(actions, json_integer(best->ids[i]));
    }
    json_object_set_new(object, "actions", actions);
    put_object(t, object);
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

int cli_trace_open(cli_trace *t, rill_context *ctx, const char *path, int trees)
{
    *t = (cli_trace){.ctx = ctx, .has_trees = trees};
    if (pthread_mutex_init(&t->lock, NULL)) return cli_fail_memory("the trace");
    t->has_lock = 1;
    return cli_output_open(&t->out, ctx, path, CLI_STREAM);
}

int cli_trace_begin(cli_trace *t, const cli_session *session, const rill_search_config *search_config,
                    const rill_settings *settings, int64_t first)
{
    char hardware[CLI_HARDWARE_MAX];
    const rill_domain_info *info = rill_model_info(session->model);
    json_t *object = make_event("run");
    t->model = session->model;
    t->actions = info->actions;
    if (t->has_trees && !(t->seen = calloc((size_t)t->actions + 1, 1))) return cli_fail_memory("the trace");
    json_object_set_new(object, "version", json_string(RILL_VERSION_STRING));
    json_object_set_new(object, "domain", json_string(rill_model_domain(session->model)->name));
    if (session->open.path)
        json_object_set_new(object, "model", cli_json_text(session->open.path, strlen(session->open.path)));
    json_object_set_new(object, "hardware", json_string(cli_hardware(session, hardware)));
    json_object_set_new(object, "first", json_integer(first));
    json_object_set_new(object, "trees", json_boolean(t->has_trees));
    json_object_set_new(object, "options", cli_options_json(settings, search_config));
    return put_object(t, object);
}

/* Write the names of the actions that occurred, if the domain has names. */
static void put_names(cli_trace *t)
{
    rill_text name = {.ctx = t->ctx};
    json_t *object = make_event("actions"), *names = json_object();
    for (int32_t action = 0; action < t->actions; action++) {
        char key[16];
        if (!t->seen[action]) continue;
        rill_text_reset(&name);
        snprintf(key, sizeof key, "%" PRId32, action);
        if (rill_model_action_name(t->model, action, &name) == RILL_OK)
            json_object_set_new(names, key, cli_json_text(name.data ? name.data : "", name.length));
    }
    rill_text_clear(&name);
    json_object_set_new(object, "names", names);
    put_object(t, object);
}

int cli_trace_close(cli_trace *t)
{
    if (t->seen && t->out.name) put_names(t);
    free(t->seen);
    t->seen = NULL;
    const int code = cli_output_close(&t->out);
    if (t->has_lock) pthread_mutex_destroy(&t->lock);
    t->has_lock = 0;
    return code;
}
