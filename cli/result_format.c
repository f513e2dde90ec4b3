/* Results as lines, n-best lists, indented trees and JSON; see cli_output.h. */

#include <math.h>

#include "report.h"

/* --- results as lines -------------------------------------------------------------------------------------------------- */

static void write_extras(cli_output *output, const cli_form *form, const rill_output *o, cli_output_form cell)
{
    const char *separator = cell == CLI_CELL ? "\t" : " ||| ";
    for (int32_t i = 0; i < form->n_fields; i++) {
        const char *field = rill_output_field(o, i);
        cli_output_printf(output, "%s", separator);
        cli_output_text(output, field, strlen(field), cell);
    }
    if (!form->has_word_scores) return;
    cli_output_printf(output, "%s%s", separator, cell == CLI_CELL ? "" : "WordScores=");
    for (int32_t i = 0; i < o->n_ids; i++)
        cli_output_printf(output, "%s%.5f", i > 0 || cell == CLI_LINE ? " " : "", (double)o->id_logps[i]);
}

static void write_text(cli_output *output, const cli_form *form, const rill_output *o, cli_output_form cell)
{
    if (!form->has_ids) cli_output_text(output, o->text, o->text_bytes, cell);
    for (int32_t i = 0; i < o->n_ids && form->has_ids; i++)
        cli_output_printf(output, "%s%" PRId32, i > 0 ? " " : "", o->ids[i]);
}

void cli_output_columns(cli_output *output, const cli_form *form, const rill_output *o, cli_output_form cell)
{
    write_text(output, form, o, cell);
    write_extras(output, form, o, cell);
}

void cli_output_scored(cli_output *output, const cli_form *form, int64_t id, const char *text, const char *columns,
                       const rill_output *o)
{
    cli_output_printf(output, "%" PRId64 " ||| ", id);
    if (text)
        cli_output_text(output, text, strlen(text), CLI_LINE);
    else
        write_text(output, form, o, CLI_LINE);
    cli_output_text(output, columns, strlen(columns), CLI_LINE);
    write_extras(output, form, o, CLI_LINE);
    cli_output_printf(output, " ||| logp= %.9g length= %" PRId32 "%s%s ||| %.9g\n", o->logp, o->length,
                      o->finish_reason != RILL_FINISH_REASON_STOP ? " truncated= 1" : "",
                      o->certified ? " certified= 1" : "", o->score);
}

void cli_output_result(cli_output *output, const cli_form *form, const rill_result *result)
{
    for (int32_t i = 0; form->format == CLI_FORMAT_NBEST && i < result->n_outputs; i++)
        cli_output_scored(output, form, result->id, NULL, "", rill_result_output(result, i));
    if (form->format == CLI_FORMAT_NBEST) return;
    if (form->format == CLI_FORMAT_NUMBERED) cli_output_printf(output, "%" PRId64 "\t", result->id);
    if (result->n_outputs > 0) cli_output_columns(output, form, rill_result_output(result, 0), CLI_LINE);
    cli_output_write(output, "\n", 1);
}

/* --- output formats ---------------------------------------------------------------------------------------------------- */

const char *cli_session_option(const cli_session *session, const char *name)
{
    const rill_option_source *const sources[] = {session->command_line, session->run_file};
    return rill_option_sources_get(sources, 2, name);
}

int cli_session_option_is_on(const cli_session *session, const char *name)
{
    const char *value = cli_session_option(session, name);
    return value && strcmp(value, "0") && strcmp(value, "false");
}

int cli_form_request(cli_form *form, const cli_session *session, rill_search_config *search_config)
{
    int n = 0, length = 0;
    const char *alignment = cli_session_option(session, "alignment");
    if (alignment) {
        length = snprintf(form->alignment, sizeof form->alignment, "alignment%s%s", alignment[0] ? "=" : "", alignment);
        form->field[n++] = form->alignment;
    }
    if (length >= (int)sizeof form->alignment) return cli_fail("--alignment: the value is too long");
    if (cli_session_option_is_on(session, "unknown-names")) form->field[n++] = "unknown";
    search_config->setup->fields = form->field;
    search_config->setup->n_fields = form->n_fields = n;
    form->has_word_scores = cli_session_option_is_on(session, "word-scores");
    form->has_ids = cli_session_option_is_on(session, "ids");
    return CLI_OK;
}

/* --- indented trees ---------------------------------------------------------------------------------------------------- */

/* Write the output as an indented tree to pretty->text. Returns 0 if it is no tree, or out of memory; the caller then writes the plain
 * line. */
static int indent_tree(cli_pretty *pretty, const rill_output *output)
{
    rill_text_reset(&pretty->text);
    int is_tree = rill_tree_parse(&pretty->tree, output->text, output->text_bytes, RILL_TREE_AS_WRITTEN) == RILL_OK &&
                  rill_tree_write(&pretty->tree, &pretty->text, 1) == RILL_OK;
    if (!is_tree) rill_error_clear(pretty->tree.ctx);
    pretty->n_trees += is_tree;
    pretty->n_others += !is_tree && output->text_bytes > 0;
    return is_tree;
}

void cli_pretty_result(cli_pretty *pretty, cli_output *output, const rill_result *result)
{
    if (result->n_outputs == 0 || !indent_tree(pretty, rill_result_output(result, 0))) {
        cli_output_result(output, &(cli_form){.format = CLI_FORMAT_PLAIN}, result);
    } else {
        cli_output_write(output, pretty->text.data, pretty->text.length);
        cli_output_write(output, "\n", 1);
    }
}

void cli_pretty_warn(const cli_pretty *pretty)
{
    if (pretty->n_trees == 0 && pretty->n_others > 0)
        cli_message("warning: --pretty has no effect: no output is a bracketed tree");
}

void cli_pretty_end(cli_pretty *pretty)
{
    if (pretty->tree.ctx == NULL) return;
    rill_tree_clear(&pretty->tree);
    rill_text_clear(&pretty->text);
}

/* --- results as JSON --------------------------------------------------------------------------------------------------- */

json_t *cli_json_text(const char *text, size_t length)
{
    json_t *string = json_stringn(text, length);
    char *mended = string ? NULL : malloc(3 * length + 1);
    size_t n = 0;
    if (!mended) return string;
    for (size_t i = 0; i < length;) {
        const size_t part = rill_utf8_length(text + i, length - i);
        memcpy(mended + n, part ? text + i : "\xef\xbf\xbd", part ? part : 3);
        n += part ? part : 3;
        i += part ? part : 1;
    }
    string = json_stringn(mended, n);
    free(mended);
    return string;
}

json_t *cli_json_real(double value)
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
    SCOPED(cli_context_close) rill_context *ctx = NULL;
    if (rill_context_create(&ctx, NULL) < 0) return NULL;
    SCOPED(rill_text_clear) rill_text name = {.ctx = ctx};
    json_t *list = json_array();
    for (int32_t i = 0; i < o->n_ids; i++) {
        rill_text_reset(&name);
        const int named = rill_model_action_name(model, o->ids[i], &name) == RILL_OK;
        json_array_append_new(list, json_pack("{s:o*, s:i, s:o}", "text",
                                              named ? cli_json_text(name.data ? name.data : "", name.length) : NULL,
                                              "id", (int)o->ids[i], "logprob", cli_json_real((double)o->id_logps[i])));
    }
    return list;
}

static json_t *output_json(const rill_model *model, const cli_form *form, const rill_output *o)
{
    json_t *out = json_pack("{s:o, s:o, s:o, s:o, s:i, s:s}", "text", cli_json_text(o->text, o->text_bytes), "score",
                            cli_json_real(o->score), "path_score", cli_json_real(o->path_score), "logp",
                            cli_json_real(o->logp), "length", (int)o->length, "finish_reason",
                            rill_finish_reason_name(o->finish_reason));
    if (!out) return NULL;
    if (o->certified) json_object_set_new(out, "certified", json_true());
    if (form->has_ids) json_object_set_new(out, "ids", ids_json(o));
    if (form->has_word_scores) json_object_set_new(out, "tokens", tokens_json(model, o));
    for (int32_t i = 0; i < form->n_fields; i++) {
        const char *text = rill_output_field(o, i);
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(form->field[i], "="), form->field[i]);
        json_object_set_new(out, name, cli_json_text(text, strlen(text)));
    }
    return out;
}

/* The value of "code" in the member "error" of a result. `rill serve` has further codes, for bad requests (serve/). */
static const char *error_code(rill_status status)
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
    return json_pack("{s:[], s:[], s:o}", "outputs", "warnings", "error", cli_error_json(error_code(status), why));
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

json_t *cli_result_json(const rill_model *model, const cli_form *form, const rill_result *result)
{
    char fewer[300];
    if (result->status < 0) return cli_result_error(result->status, result->message);
    json_t *list = json_array(), *out = json_pack("{s:o, s:[]}", "outputs", list, "warnings");
    for (int32_t i = 0; out && i < result->n_outputs; i++)
        if (json_array_append_new(list, output_json(model, form, rill_result_output(result, i)))) {
            json_decref(out);
            return NULL;
        }
    if (out && result->warning[0]) cli_result_warn(out, result->warning);
    if (out && result->timed_out) cli_result_warn(out, "the deadline passed before the search ended");
    if (out && rill_result_has_fewer(result, fewer, sizeof fewer)) cli_result_warn(out, fewer);
    return out;
}
