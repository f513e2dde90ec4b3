/* Forced decoding: the beam follows an existing output, which gets the score of a search.
 *
 *   given:text TEXT   the actions of TEXT and the end action
 *   given:ids 5 7 2   these actions, with an end action if any
 *
 * A forced first action of the model comes before them. If the model gives an action probability 0, the input has no output. To score an
 * output without end action, set the input's max_length to the output's length. */
#include "internal.h"
#include "rill/search_config.h"
#include "text_constraints.h"

/* --- the scorer --------------------------------------------------------------------------------------------------- */

static rill_status create_forced(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    if (strncmp(arguments, "text ", 5) != 0 && strncmp(arguments, "ids ", 4) != 0 && arguments[0] != '\0')
        return rill_fail(ctx, RILL_ERR_OPTION, "given: \"%.40s\" must begin with \"text \" or \"ids \"", arguments);
    return constraint_create(table, ctx, arguments, sizeof(constraint), self);
}

/* Read the forced output's actions. The phrases of a text form one output. */
static rill_status read_output(constraint *c, const rill_scorer_rows *rows)
{
    const int as_ids = c->arguments[0] == 'i';
    if (as_ids)
        RILL__TRY(constraint_read_ids(c, rows->model, c->arguments + 4, strlen(c->arguments + 4)));
    else
        RILL__TRY(constraint_read(c, rows->model, c->arguments + 5));
    c->is_read = 1;
    if (as_ids || rows->info->end_action < 0) return RILL_OK;
    RILL__TRY(RILL__GROW(c->ctx, c->action, c->actions_capacity, c->n_actions + 1, "an output"));
    c->action[c->n_actions++] = rows->info->end_action;
    return RILL_OK;
}

static rill_status score_forced(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    if (c->arguments[0] == '\0') return RILL_OK;
    if (!c->is_read) RILL__TRY(read_output(c, rows));
    RILL__TRY(constraint_check_rows(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++) {
        const int32_t first = row_first_action(rows, row, c->ctx);
        const size_t first_pos = constraint_start(c, first);
        size_t pos = (size_t)row_length(rows, row);
        if (pos < first_pos) {
            RILL__TRY(rill_modifiers_allow(mods, row, first));
            RILL__TRY(rill_modifiers_end_rule(mods, row, RILL_END_FORBIDDEN));
            continue;
        }
        pos -= first_pos;
        if (pos >= c->n_actions) {
            RILL__TRY(rill_modifiers_fail_input(mods, row, "the output ends where the model cannot end it"));
            continue;
        }
        RILL__TRY(rill_modifiers_allow(mods, row, c->action[pos]));
        if (pos + 1 < c->n_actions) RILL__TRY(rill_modifiers_end_rule(mods, row, RILL_END_FORBIDDEN));
    }
    return RILL_OK;
}

const rill_scorer rill__forced_scorer = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "given",
    .arguments = "text TEXT|ids N N ...",
    .summary = "force this output; `rill score` uses it",
    .create = create_forced,
    .score = score_forced,
    .destroy = constraint_destroy,
};

/* --- option source for forced decoding ---------------------------------------------------------------------------- */

/* Settings with which the search follows the one allowed path to its end. */
static const char forced_settings[] =
    "beam-size=1 n-best=1 stop-after=1 keep=all stop=count at-limit=open min-length=0 max-length=1000000 min-width=0 "
    "require-end=0 max-length-factor=0 no-repeat-ngram-size=0";
/* Other settings that are allowed: they shape an output's score, or have no effect. */
static const char *const allowed_settings[] = {"like",      "length-penalty",  "word-penalty",
                                               "count-end", "unknown-penalty", "repetition-penalty"};

static int is_allowed_setting(const rill_option *row)
{
    int allowed = row->kind == RILL_OPTION_SCHEDULE;
    for (size_t i = 0; i < sizeof allowed_settings / sizeof *allowed_settings; i++)
        allowed |= !strcmp(allowed_settings[i], row->name);
    return allowed;
}

rill_status rill_option_source_force_decode(rill_option_source *source)
{
    char label[RILL_OPTION_MAX];
    for (const rill_option *row = rill_setting_table(); row->name; row++)
        if (!is_allowed_setting(row) && rill_option_source_get(source, row->name) != NULL)
            return rill_fail(rill__source_context(source), RILL_ERR_OPTION,
                             "%s has no effect on given outputs, which are scored without a search: leave it out",
                             rill__option_label(rill__source_context(source), row->name, label));
    if (rill_option_source_has_chain(source, RILL_CHAIN_HEURISTICS))
        return rill_fail(rill__source_context(source), RILL_ERR_OPTION,
                         "heuristics have no effect on given outputs, which are scored without a search: leave "
                         "them out");
    RILL__TRY(rill_option_source_set_all(source, forced_settings));
    rill_option_source_set_chain(source, RILL_CHAIN_HEURISTICS);
    return RILL_OK;
}
