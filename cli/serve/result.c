/* Results as JSON; see result.h. */
#include "result.h"

#include "report.h"

#include <math.h>
#include <string.h>

/* JSON has no infinity. */
static json_t *number(double value)
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
    for (int32_t i = 0; i < o->n_actions; i++) {
        rill_text_reset(&name);
        const int named = rill_model_action_name(model, o->action[i], &name) == RILL_OK;
        json_array_append_new(list, json_pack("{s:i, s:o*, s:o}", "id", (int)o->action[i], "token",
                                              named ? cli_json_text(name.data ? name.data : "", name.length) : NULL,
                                              "logp", number((double)o->action_logp[i])));
    }
    rill_text_clear(&name);
    rill_context_destroy(ctx);
    return list;
}

static json_t *output_json(const rill_model *model, const rill_output *o, int tokens)
{
    json_t *out = json_pack("{s:o, s:o, s:o, s:i}", "text", cli_json_text(o->text, o->length), "score",
                            number(o->rank_score), "logp", number(o->logp), "length", (int)o->actions);
    if (out && o->truncated) json_object_set_new(out, "truncated", json_true());
    if (out && o->certified) json_object_set_new(out, "certified", json_true());
    if (out && tokens) json_object_set_new(out, "tokens", tokens_json(model, o));
    return out;
}

json_t *result_failed(rill_status status, const char *why)
{
    const char *name = rill_status_name(status);
    return json_pack("{s:{s:s, s:o}}", "error", "code", name, "message",
                     cli_json_text(why[0] ? why : name, strlen(why[0] ? why : name)));
}

void result_warn(json_t *result, const char *what)
{
    const char *before = json_string_value(json_object_get(result, "warning"));
    json_object_set_new(result, "warning", before ? json_sprintf("%s; %s", before, what) : json_string(what));
}

json_t *result_text_of(const json_t *result, size_t output)
{
    return json_object_get(json_array_get(json_object_get(result, "outputs"), output), "text");
}

char *result_text(const json_t *result)
{
    return json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

json_t *result_json(const rill_model *model, const rill_result *result, int tokens)
{
    if (result->status < 0) return result_failed(result->status, result->message);
    json_t *list = json_array(), *out = json_pack("{s:o}", "outputs", list);
    for (int32_t i = 0; out && i < result->n; i++)
        if (json_array_append_new(list, output_json(model, &result->output[i], tokens))) {
            json_decref(out);
            return NULL;
        }
    if (out && result->note[0]) json_object_set_new(out, "note", cli_json_text(result->note, strlen(result->note)));
    if (out && result->late) json_object_set_new(out, "late", json_true());
    return out;
}
