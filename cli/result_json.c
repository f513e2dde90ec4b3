/* Results as JSON; see result_json.h. */
#include "result_json.h"

#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* JSON has no infinity. */
static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *ids_json(const rill_output *o)
{
    json_t *ids = json_array();
    for (int32_t i = 0; i < o->n_ids; i++) json_array_append_new(ids, json_integer(o->ids[i]));
    return ids;
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
        json_array_append_new(list, json_pack("{s:o*, s:i, s:o}", "text",
                                              named ? cli_json_text(name.data ? name.data : "", name.length) : NULL,
                                              "id", (int)o->ids[i], "logprob", number_json((double)o->id_logps[i])));
    }
    rill_text_clear(&name);
    rill_context_destroy(ctx);
    return list;
}

static json_t *output_json(const cli_result_form *form, const rill_output *o)
{
    json_t *out = json_pack("{s:o, s:o, s:o, s:o, s:i, s:s}", "text", cli_json_text(o->text, o->text_bytes), "score",
                            number_json(o->score), "path_score", number_json(o->path_score), "logp",
                            number_json(o->logp), "length", (int)o->length, "finish_reason",
                            rill_finish_reason_name(o->finish_reason));
    if (!out) return NULL;
    if (o->certified) json_object_set_new(out, "certified", json_true());
    if (form->has_ids) json_object_set_new(out, "ids", ids_json(o));
    if (form->has_tokens) json_object_set_new(out, "tokens", tokens_json(form->model, o));
    for (int32_t i = 0; i < form->n_fields; i++) {
        const char *text = rill_output_field(o, i);
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(form->field[i], "="), form->field[i]);
        json_object_set_new(out, name, cli_json_text(text, strlen(text)));
    }
    return out;
}

const char *cli_error_code(rill_status status)
{
    switch (status) {
    case RILL_ERR_INPUT: return "bad-input";
    case RILL_ERR_OPTION: return "bad-option";
    case RILL_ERR_NO_HYPOTHESIS: return "no-output";
    case RILL_ERR_DEADLINE: return "timeout";
    case RILL_ERR_CANCELLED: return "cancelled";
    case RILL_ERR_STOPPED: return "stopping";
    case RILL_ERR_MEMORY: return "out-of-memory";
    default: return "failed";
    }
}

json_t *cli_error_json(const char *code, const char *message)
{
    return json_pack("{s:s, s:o}", "code", code, "message", cli_json_text(message, strlen(message)));
}

json_t *cli_result_error(rill_status status, const char *message)
{
    const char *why = message[0] ? message : rill_status_name(status);
    return json_pack("{s:[], s:[], s:o}", "outputs", "warnings", "error", cli_error_json(cli_error_code(status), why));
}

void cli_result_warn(json_t *result, const char *warning)
{
    json_array_append_new(json_object_get(result, "warnings"), cli_json_text(warning, strlen(warning)));
}

json_t *cli_result_output_text(const json_t *result, size_t output)
{
    return json_object_get(json_array_get(json_object_get(result, "outputs"), output), "text");
}

char *cli_result_line(const json_t *result)
{
    return json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

json_t *cli_result_json(const cli_result_form *form, const rill_result *result)
{
    if (result->status < 0) return cli_result_error(result->status, result->message);
    json_t *list = json_array(), *out = json_pack("{s:o, s:[]}", "outputs", list, "warnings");
    for (int32_t i = 0; out && i < result->n_outputs; i++)
        if (json_array_append_new(list, output_json(form, rill_result_output(result, i)))) {
            json_decref(out);
            return NULL;
        }
    if (out && result->warning[0]) cli_result_warn(out, result->warning);
    if (out && result->timed_out) cli_result_warn(out, "the deadline passed before the search ended");
    return out;
}
