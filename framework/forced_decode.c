/* A given output: the one path that a beam may take, so that its score is that of the search that found it.
 *
 *   given:text TEXT   the text, the end behind it, and before it the action that outputs begin with, if there is one
 *   given:ids 5 7 2   these actions, the end among them where there is one
 *
 * Each timestep has one allowed action, so the engine asks the domain for its log-probability alone (topk.c). What the model
 * cannot write, or holds impossible, has no output. An output that is cut short is one without an end, whose length is the item's limit.
 *
 * Divisions: the scorer · the layer of settings. */
#include "builtin.h"
#include "option_sources.h"
#include "phrases.h"

/* --- the scorer --------------------------------------------------------------------------------------------------- */

static rill_status create_forced(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    if (strncmp(arguments, "text ", 5) != 0 && strncmp(arguments, "ids ", 4) != 0 && arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "given: \"%.40s\" begins neither with \"text \" nor with \"ids \"",
                         arguments);
    return constraint_create(table, ctx, arguments, sizeof(constraint), self);
}

/* One phrase, whatever stands in the text. */
static rill_status read_output(constraint *c, const rill_scorer_rows *rows)
{
    phrases *list = &c->phrases;
    const int as_ids = c->arguments[0] == 'i';
    if (as_ids)
        RILL__TRY(phrases_read_ids(list, c->name, rows->model, c->arguments + 4));
    else
        RILL__TRY(phrases_read(list, c->name, rows->model, c->arguments + 5));
    list->is_read = 1;
    if (as_ids || rows->info->end_action < 0) return RILL_OK;
    RILL__TRY(RILL__GROW(c->ctx, list->action, list->actions_capacity, list->n_actions + 1, "an output"));
    list->action[list->n_actions++] = rows->info->end_action;
    return RILL_OK;
}

static rill_status score_forced(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    if (c->arguments[0] == '\0') return RILL_OK;
    if (!c->phrases.is_read) RILL__TRY(read_output(c, rows));
    RILL__TRY(constraint_check_rows(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++) {
        const int32_t first = row_first_action(rows, row, c->ctx);
        const size_t first_pos = phrases_start(&c->phrases, first);
        size_t pos = (size_t)row_length(rows, row);
        if (pos < first_pos) {
            RILL__TRY(rill_modifiers_allow(mods, row, first));
            RILL__TRY(rill_modifiers_end_rule(mods, row, RILL_END_FORBIDDEN));
            continue;
        }
        pos -= first_pos;
        if (pos >= c->phrases.n_actions) {
            RILL__TRY(rill_modifiers_fail_input(mods, row, "the output stops before the model can end it"));
            continue;
        }
        RILL__TRY(rill_modifiers_allow(mods, row, c->phrases.action[pos]));
        if (pos + 1 < c->phrases.n_actions) RILL__TRY(rill_modifiers_end_rule(mods, row, RILL_END_FORBIDDEN));
    }
    return RILL_OK;
}

const rill_scorer rill__forced_scorer = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "given",
    .arguments = "text TEXT|ids N N ...",
    .summary = "the output is this one: what `rill score` asks for",
    .create = create_forced,
    .score = score_forced,
    .destroy = constraint_destroy,
};

/* --- the layer of settings ---------------------------------------------------------------------------------------- */

/* How it is searched, where one path is all there is. */
static const rill_pair forced_settings[] = {
    {"beam-size", "1"}, {"n-best", "1"},      {"stop-after", "1"},        {"keep", "all"},
    {"stop", "count"},  {"at-limit", "open"}, {"min-length", "0"},        {"max-length", "1000000"},
    {"min-width", "0"}, {"require-end", "0"}, {"max-length-factor", "0"}, {"no-repeat-ngram-size", "0"},
};
/* Of the rest these shape an output's score, or nothing. */
static const char *const allowed_settings[] = {"like",      "length-penalty",  "word-penalty",
                                               "count-end", "unknown-penalty", "repetition-penalty"};

static int is_allowed_setting(const rill_option *row)
{
    int allowed = row->kind == RILL_OPTION_SCHEDULE;
    for (size_t i = 0; i < sizeof allowed_settings / sizeof *allowed_settings; i++)
        allowed |= !strcmp(allowed_settings[i], row->name);
    return allowed;
}

rill_status rill_option_source_force_decode(rill_option_source *layer)
{
    char label[RILL_OPTION_MAX];
    for (const rill_option *row = rill_setting_table(); row->name; row++)
        if (!is_allowed_setting(row) && rill_option_source_get(layer, row->name) != NULL)
            return rill_fail(layer->ctx, RILL_ERR_OPTION,
                             "%s is for a search, and given outputs need none: leave it out",
                             rill__option_label(layer->ctx, row->name, label));
    if (rill_option_source_has_chain(layer, RILL_CHAIN_HEURISTICS))
        return rill_fail(layer->ctx, RILL_ERR_OPTION,
                         "heuristics are for a search, and given outputs need none: leave them out");
    for (size_t i = 0; i < sizeof forced_settings / sizeof *forced_settings; i++)
        RILL__TRY(rill_option_source_set(layer, forced_settings[i].name, forced_settings[i].value));
    rill_option_source_set_chain(layer, RILL_CHAIN_HEURISTICS);
    return RILL_OK;
}
