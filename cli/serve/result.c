/* Results as JSON; see result.h. */
#include "result.h"

#include "report.h"

#include <math.h>
#include <string.h>

/* JSON has no infinity. */
static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *tokens_json(const rill_model *model, const rill_output *o)
{
    json_t *list = json_array();
    rill_context *ctx = NULL;
    if (!list || rill_context_create(&ctx, NULL) < 0) {
        json_decref(list);
        return NULL;
    }
    rill_text name = {.ctx = ctx};
    for (int32_t i = 0; i < o->n_ids; i++) {
        rill_text_reset(&name);
        const int named = rill_model_action_name(model, o->ids[i], &name) == RILL_OK;
        json_array_append_new(list, json_pack("{s:i, s:o*, s:o}", "id", (int)o->ids[i], "token",
                                              named ? cli_json_text(name.data ? name.data : "", name.length) : NULL,
                                              "logp", number_json((double)o->id_logps[i])));
    }
    rill_text_clear(&name);
    rill_context_destroy(ctx);
    return list;
}

static json_t *output_json(const rill_model *model, const rill_output *o, int tokens)
{
    json_t *out = json_pack("{s:o, s:o, s:o, s:i}", "text", cli_json_text(o->text, o->text_bytes), "score",
                            number_json(o->score), "logp", number_json(o->logp), "length", (int)o->length);
    if (out && o->truncated) json_object_set_new(out, "truncated", json_true());
    if (out && o->certified) json_object_set_new(out, "certified", json_true());
    if (out && tokens) json_object_set_new(out, "tokens", tokens_json(model, o));
    return out;
}

json_t *result_error(rill_status status, const char *why)
{
    const char *name = rill_status_name(status);
    return json_pack("{s:{s:s, s:o}}", "error", "code", name, "message",
                     cli_json_text(why[0] ? why : name, strlen(why[0] ? why : name)));
}

void result_warn(json_t *result, const char *what)
{
    const char *old_warning = json_string_value(json_object_get(result, "warning"));
    json_object_set_new(result, "warning", old_warning ? json_sprintf("%s; %s", old_warning, what) : json_string(what));
}

json_t *result_output_text(const json_t *result, size_t output)
{
    return json_object_get(json_array_get(json_object_get(result, "outputs"), output), "text");
}

char *result_line(const json_t *result)
{
    return json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

json_t *result_json(const rill_model *model, const rill_result *result, int tokens)
{
    if (result->status < 0) return result_error(result->status, result->message);
    json_t *list = json_array(), *out = json_pack("{s:o}", "outputs", list);
    for (int32_t i = 0; out && i < result->n_outputs; i++)
        if (json_array_append_new(list, output_json(model, &result->outputs[i], tokens))) {
            json_decref(out);
            return NULL;
        }
    if (out && result->warning[0])
        json_object_set_new(out, "note", cli_json_text(result->warning, strlen(result->warning)));
    if (out && result->timed_out) json_object_set_new(out, "late", json_true());
    return out;
}
