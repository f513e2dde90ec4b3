/* Opens models, starts runners (one engine's use of a model, with states and buffers), and looks up actions.
 *
 * Threads: a model with runners is const, so any thread may query it; otherwise it serves one engine at a time. */
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"

static rill_status check_bad_words(rill_context *ctx, const rill_domain *domain, const rill_domain_info *info)
{
    for (int32_t i = 0; i < info->n_forbidden; i++) {
        const rill_sequence *s = &info->forbidden[i];
        int32_t known = 0;
        while (known < s->n && s->action[known] >= 0 && s->action[known] < info->actions) known++;
        if (s->n >= 1 && known == s->n) continue;
        return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s: forbidden sequence %d has an action outside its %d actions",
                         domain->name, i, info->actions);
    }
    return RILL_OK;
}

/* Check what the domain's open() wrote to *info: replace zeros by defaults, and fail on invalid values. */
static rill_status check_info(rill_context *ctx, const rill_domain *domain, rill_domain_info *info)
{
    if (info->phases == 0) info->phases = 1;
    if (info->max_choices_phases == 0) info->max_choices_phases = UINT32_MAX;
    if (info->actions < 1)
        return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s has %d actions: expected at least 1", domain->name,
                         info->actions);
    if (info->phases < 1 || info->phases > 8)
        return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s has %d phases: expected 1 to 8", domain->name, info->phases);
    if (!info->has_end_action) info->end_action = RILL_NO_ACTION;
    if (!info->has_start_action) info->start_action = RILL_NO_ACTION;
    if (info->has_start_action && (info->start_action < 0 || info->start_action >= info->actions))
        return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s has %d actions, and its start action %d is not one of them",
                         domain->name, info->actions, info->start_action);
    if (info->has_end_action && (info->end_action < 0 || info->end_action >= info->actions))
        return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s has %d actions, and its end action %d is not one of them",
                         domain->name, info->actions, info->end_action);
    if (info->max_length < 1)
        return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s has a max_length of %d: expected a number above 0",
                         domain->name, info->max_length);
    return check_bad_words(ctx, domain, info);
}

/* Fail if the caller sets options that the domain does not have. */
static rill_status check_options(rill_context *ctx, const rill_domain *domain, const rill_open_options *options)
{
    if (options->n_ensemble > 0 && !(domain->features & RILL_TAKES_ENSEMBLES))
        return rill_fail(ctx, RILL_ERR_OPTION, "domain %s decodes with one model, found %d: it has no ensembles",
                         domain->name, options->n_ensemble + 1);
    for (int32_t i = 0; i < options->n_values; i++) {
        const rill_pair *pair = &options->values[i];
        const rill_option *row = rill_option_find(domain->options, pair->name);
        if (row == NULL)
            return rill_fail(ctx, RILL_ERR_OPTION, "domain %s has no option %s, found the value \"%.60s\"",
                             domain->name, pair->name, pair->value);
        if (!rill__same_name(row->name, pair->name))
            return rill_fail(ctx, RILL_ERR_OPTION, "domain %s: the name of option %s is %s", domain->name, pair->name,
                             row->name);
        if (rill_option_read(ctx, row, pair->value, NULL) == RILL_OK) continue;
        return rill_fail(ctx, RILL_ERR_OPTION, "domain %s: %s", domain->name, rill_error(ctx));
    }
    return RILL_OK;
}

const char *rill_open_option(const rill_open_options *options, const char *name)
{
    for (int32_t i = 0; i < options->n_values; i++)
        if (rill__same_name(options->values[i].name, name)) return options->values[i].value;
    return NULL;
}

int rill_open_switch(const rill_open_options *options, const char *name)
{
    const char *value = rill_open_option(options, name);
    return value != NULL && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

rill_status rill_model_open(rill_model **out, rill_context *ctx, const char *domain, const rill_open_options *options)
{
    *out = NULL;
    const rill_domain *table = rill_find_domain(ctx, domain);
    RILL__TRY(rill__check_registered(ctx, RILL__DOMAIN, domain));
    const size_t min_size = offsetof(rill_open_options, ensemble); /* size of the struct in ABI version 1 */
    rill_open_options own;
    RILL__TRY(rill_copy_struct(ctx, "rill_open_options", &own, sizeof own, options, min_size));
    RILL__TRY(check_options(ctx, table, &own));
    if ((table->start == NULL) != (table->stop == NULL))
        return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s: start() and stop() must both be set, or both NULL", domain);
    rill_model *model = rill_calloc(ctx, 1, sizeof *model);
    if (model == NULL) return rill_fail_memory(ctx, sizeof *model, "a model");
    model->ctx = ctx;
    model->domain = table;
    model->threads = own.threads;
    rill_error_clear(ctx);
    rill_status status = table->open(table, ctx, &own, &model->self, &model->info);
    if (status < 0) {
        rill_free(ctx, model, sizeof *model);
        return rill__domain_status(ctx, table, status, "open");
    }
    *out = model;
    return RILL_OPENED(check_info(ctx, table, &model->info), out, rill_model_close);
}

void rill_model_close(rill_model *model)
{
    if (model == NULL) return;
    model->domain->close(model->self);
    rill_free(model->ctx, model, sizeof *model);
}

int rill_domain_has_runners(const rill_domain *domain)
{
    return domain->start != NULL;
}

rill_status rill__runner_start(rill_model *model, rill_context *ctx, int threads, rill__runner *out)
{
    const rill_domain *domain = model->domain;
    *out = (rill__runner){.model = model};
    if (domain->start == NULL) {
        if (model->busy)
            return rill_fail(ctx, RILL_ERR_ARGUMENT,
                             "another engine uses the model already: destroy it, or open the model again");
        model->busy = 1;
        out->self = model->self;
        out->reserved = &model->reserved;
        return RILL_OK;
    }
    out->reserved = &out->own_reserved;
    rill_error_clear(ctx);
    rill_status status = domain->start(model->self, ctx, threads, &out->self);
    if (status >= 0) return RILL_OK;
    out->model = NULL;
    return rill__domain_status(ctx, domain, status, "start");
}

void rill__runner_stop(rill__runner *runner)
{
    rill_model *model = runner->model;
    if (model == NULL) return;
    if (model->domain->start != NULL)
        model->domain->stop(runner->self);
    else
        model->busy = 0;
    runner->model = NULL;
}

const rill_domain *rill_model_domain(const rill_model *model)
{
    return model->domain;
}

const rill_domain_info *rill_model_info(const rill_model *model)
{
    return &model->info;
}

rill_status rill_model_action_name(const rill_model *model, int32_t action, rill_text *out)
{
    const rill_domain *domain = model->domain;
    rill_context *ctx = out->ctx;
    if (domain->action_name == NULL)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND, "the actions of domain %s have no names", domain->name);
    if (action < 0 || action >= model->info.actions)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND, "action %d of %d does not exist", action, model->info.actions);
    size_t old_length = out->length;
    rill_error_clear(ctx);
    rill_status status = domain->action_name(model->self, action, out);
    if (status >= 0) return RILL_OK;
    out->length = old_length;
    if (out->data != NULL) out->data[old_length] = '\0';
    return rill__domain_status(ctx, domain, status, "action_name");
}

int32_t rill__model_unknown(const rill_model *model)
{
    if (model->domain->unknown_action == NULL) return RILL_NO_ACTION;
    int32_t action = model->domain->unknown_action(model->self);
    return action >= 0 && action < model->info.actions ? action : RILL_NO_ACTION;
}

rill_status rill__model_recommend(const rill_model *model, rill_context *ctx, rill_settings *settings)
{
    const rill_domain *domain = model->domain;
    char like[RILL_OPTION_MAX];
    rill__settings_use_domain(settings, domain);
    rill_settings_get(settings, rill__setting("like"), like);
    if (like[0] == '\0' || domain->recommend == NULL) return RILL_OK;
    RILL__SCOPED_TEXT(text, ctx);
    rill_error_clear(ctx);
    rill_status status = domain->recommend(model->self, like, &text);
    if (status >= 0 && text.length > 0) status = rill__settings_fill(ctx, settings, text.data);
    return rill__domain_status(ctx, domain, status, "recommend");
}

int32_t rill_model_find_action(const rill_model *model, const char *text, size_t length)
{
    if (model->domain->find_action == NULL) return RILL_NO_ACTION;
    int32_t action = model->domain->find_action(model->self, text, length);
    return action >= 0 && action < model->info.actions ? action : RILL_NO_ACTION;
}

/* Check the actions that tokenize() returned: n in all, of which `action` has the first `written`. */
static rill_status check_actions(const rill_model *model, rill_context *ctx, const int32_t *action, int32_t written,
                                 int32_t n)
{
    const char *domain = model->domain->name;
    if (n < 0) return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s: tokenize() returned %d actions", domain, n);
    for (int32_t i = 0; i < written; i++)
        if (action[i] < 0 || action[i] >= model->info.actions)
            return rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s: tokenize() returned action %d, which is not one of %d",
                             domain, action[i], model->info.actions);
    return RILL_OK;
}

/* Returns the action with the name `word`, else the unnamed action with this number, else RILL_NO_ACTION. */
static int32_t named_action(const rill_model *model, rill_context *ctx, const char *word, size_t length)
{
    const int32_t found = rill_model_find_action(model, word, length);
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < length && word[digits] >= '0' && word[digits] <= '9' && number <= INT32_MAX; digits++)
        number = 10 * number + (word[digits] - '0');
    if (found >= 0 || digits < length || number >= model->info.actions) return found;
    RILL__SCOPED_TEXT(name, ctx);
    const rill_status status = rill_model_action_name(model, (int32_t)number, &name);
    rill_error_clear(ctx);
    return status == RILL_ERR_NOT_FOUND ? (int32_t)number : RILL_NO_ACTION;
}

/* Read action names separated by spaces, for domains without tokenize(). *n: number of names; only the first `capacity` are written. */
static rill_status read_action_names(const rill_model *model, rill_context *ctx, const char *text, size_t length,
                                     int32_t *action, int32_t capacity, int32_t *n)
{
    for (size_t pos = 0, end; pos < length; pos = end) {
        for (end = pos; end < length && (unsigned char)text[end] > ' ';) end++;
        if (end == pos) {
            end++;
            continue;
        }
        const int32_t found = named_action(model, ctx, text + pos, end - pos);
        if (found < 0)
            return rill_fail(ctx, RILL_ERR_INPUT, "the model has no action \"%.*s\"",
                             end - pos < 60 ? (int)(end - pos) : 60, text + pos);
        if (*n < capacity) action[*n] = found;
        ++*n;
    }
    return RILL_OK;
}

rill_status rill_model_tokenize(const rill_model *model, rill_context *ctx, const char *text, size_t length,
                                int32_t *action, int32_t capacity, int32_t *n)
{
    enum { MAX_TEXT_BYTES = 1 << 26 }; /* tokenizers count bytes in 32 bits, and normalisation may lengthen a text */
    const rill_domain *domain = model->domain;
    *n = 0;
    if (domain->tokenize == NULL && domain->find_action == NULL)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND, "domain %s cannot tokenize texts", domain->name);
    if (length > MAX_TEXT_BYTES)
        return rill_fail(ctx, RILL_ERR_INPUT, "the text has %zu bytes: the maximum is %d", length, MAX_TEXT_BYTES);
    RILL__TRY(rill__check_text(ctx, text, length));
    rill_error_clear(ctx);
    rill_status status = domain->tokenize != NULL
                             ? domain->tokenize(model->self, ctx, text, length, action, capacity, n)
                             : read_action_names(model, ctx, text, length, action, capacity, n);
    if (status >= 0) status = check_actions(model, ctx, action, *n < capacity ? *n : capacity, *n);
    if (status < 0) *n = 0;
    return rill__domain_status(ctx, domain, status, "tokenize");
}

/* Returns 1 if the parts are in order, do not overlap, and lie after the first `head` bytes; else 0. */
static int is_valid_split(const rill_part *part, int32_t n, size_t length, size_t head)
{
    size_t min_begin = head;
    for (int32_t i = 0; i < n; min_begin = part[i].begin + part[i].length, i++)
        if (part[i].begin < min_begin || part[i].begin > length || part[i].length > length - part[i].begin) return 0;
    return head <= length;
}

rill_status rill_model_split(const rill_model *model, rill_context *ctx, int always, const char *text, size_t length,
                             rill_part *part, int32_t capacity, int32_t *n, size_t *head)
{
    const rill_domain *domain = model->domain;
    *n = 0;
    *head = 0;
    if (domain->struct_size <= offsetof(rill_domain, split) || domain->split == NULL)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND, "domain %s does not split inputs into sentences", domain->name);
    RILL__TRY(rill__check_text(ctx, text, length));
    rill_error_clear(ctx);
    rill_status status = domain->split(model->self, ctx, always, text, length, part, capacity, n, head);
    if (status >= 0 && !is_valid_split(part, *n < 2 ? 0 : *n < capacity ? *n : capacity, length, *head))
        status = rill_fail(ctx, RILL_ERR_PLUGIN, "domain %s: split() returned invalid ranges of the input",
                           domain->name);
    if (status < 0) *n = 0;
    return rill__domain_status(ctx, domain, status, "split");
}

int32_t rill_model_first_action(const rill_model *model, rill_context *ctx, const char *input, size_t length)
{
    if (model->domain->first_action == NULL) return RILL_NO_ACTION;
    const int32_t action = model->domain->first_action(model->self, ctx, input, length);
    rill_error_clear(ctx);
    return action >= 0 && action < model->info.actions ? action : RILL_NO_ACTION;
}

rill_status engine_check_fields(rill_engine *e)
{
    for (int32_t i = 0; i < e->output_writer.n_fields; i++) {
        if (e->domain->field == NULL)
            return rill_fail(e->ctx, RILL_ERR_OPTION, "%s: outputs of domain %s have no such field",
                             e->output_writer.fields[i], e->domain->name);
        rill_error_clear(e->ctx);
        rill_status status = e->domain->field(e->self, e->output_writer.fields[i], NULL, NULL);
        if (status < 0 && rill_error_status(e->ctx) != status)
            rill_fail(e->ctx, status, "%s: outputs of domain %s have no such field", e->output_writer.fields[i],
                      e->domain->name);
        if (status < 0) return status;
    }
    return RILL_OK;
}
