/* Reads the options of single inputs: checks a request's text, NAME=VALUE pairs separated by spaces, and converts it to the form that the
 * domain reads.
 *
 * Invariant: `options` of a rill_input is "NAME\0VALUE\0" for each option, followed by a NUL. */
#include <string.h>

#include "engine_internal.h"
#include "rill/search_config.h"

const rill_option *rill_domain_input_rows(const rill_domain *domain)
{
    return domain->struct_size > offsetof(rill_domain, input_options) ? domain->input_options : NULL;
}

static int is_request_row(const rill_option *row)
{
    return row->kind != RILL_OPTION_SCHEDULE && rill_setting_is_per_request(row);
}

static rill_status fail_request_option(const rill_domain *domain, rill_context *ctx, const char *name)
{
    rill_option_near near = {.name = ""};
    const char *why = rill_refused_option("setting", name);
    if (rill_option_row(ctx, name) != NULL || strcmp(name, "heuristics") == 0 || strcmp(name, "scorers") == 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "\"%.60s\" is an option of the whole run: one input cannot set it",
                         name);
    if (why != NULL) return rill_fail(ctx, RILL_ERR_OPTION, "unknown option \"%.60s\": %s", name, why);
    for (const rill_option *row = rill_domain_input_rows(domain); row != NULL && row->name != NULL; row++)
        rill_option_nearer(row, name, &near);
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++)
        if (is_request_row(row)) rill_option_nearer(row, name, &near);
    if (near.name[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "unknown option \"%.60s\": did you mean \"%s\"?", name, near.name);
    return rill_fail(ctx, RILL_ERR_OPTION, "unknown option \"%.60s\": `rill list settings` names them", name);
}

rill_status rill_domain_request_option(const rill_domain *domain, rill_context *ctx, const char *name,
                                       const rill_option **out)
{
    const rill_option *row = rill_option_find(rill_setting_table(), name);
    if (row != NULL && !is_request_row(row)) row = NULL;
    *out = row != NULL ? row : rill_option_find(rill_domain_input_rows(domain), name);
    return *out != NULL ? RILL_OK : fail_request_option(domain, ctx, name);
}

static rill_status check_value_of(rill_context *ctx, const rill_domain *domain, const char *name, const char *value)
{
    const rill_option *row = rill_option_find(rill_domain_input_rows(domain), name);
    if (row != NULL) return rill_option_read(ctx, row, value, NULL);
    return rill_fail(ctx, RILL_ERR_NOT_FOUND, "domain %s has no option \"%.60s\" of single inputs", domain->name, name);
}

rill_status rill_domain_input_option(const rill_domain *domain, const char *name, const char *value, rill_text *out)
{
    RILL__TRY(check_value_of(out->ctx, domain, name, value));
    if (strchr(value, ' ') != NULL)
        return rill_fail(out->ctx, RILL_ERR_OPTION, "%s: the value \"%.60s\" has a space", name, value);
    return rill_text_printf(out, "%s%s=%s", out->length > 0 ? " " : "", name, value);
}

rill_status rill__input_options(rill_context *ctx, const rill_domain *domain, const char *text, rill_text *out)
{
    if (text[0] == '\0') return RILL_OK;
    RILL__TRY(rill_text_append(out, text, strlen(text) + 1));
    for (char *pos = out->data; pos < out->data + out->length;) {
        const size_t length = strcspn(pos, " ");
        char *equals = memchr(pos, '=', length);
        pos[length] = '\0';
        if (equals == NULL)
            return rill_fail(ctx, RILL_ERR_OPTION,
                             "the options of an input are NAME=VALUE separated by spaces, found \"%.60s\"", pos);
        *equals = '\0';
        if (check_value_of(ctx, domain, pos, equals + 1) < 0) return RILL_ERR_OPTION;
        pos += length + 1;
    }
    return RILL_OK;
}

const char *rill_input_value(const rill_input *input, const char *name)
{
    const char *pos = input->options, *found = NULL;
    while (pos != NULL && *pos != '\0') {
        const char *value = pos + strlen(pos) + 1;
        if (rill__same_name(pos, name)) found = value;
        pos = value + strlen(value) + 1;
    }
    return found;
}

int rill_input_switch(const rill_input *input, const char *name, int opened)
{
    const char *value = rill_input_value(input, name);
    return value != NULL ? strcmp(value, "0") != 0 && strcmp(value, "false") != 0 : opened;
}
