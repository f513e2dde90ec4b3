/* The scorers prefix, ban and allow, functions of all constraint scorers (text_constraints.h), and the parser of constraint lines
 * (rill/constraints.h).
 *
 *   prefix:TEXT             outputs begin with the text
 *   ban:TEXT[ ||| TEXT]     outputs contain none of the phrases: the token that would complete one is banned
 *   allow:TEXT[ ||| TEXT]   outputs consist of these texts' tokens and the end token
 * Without arguments they have no effect. The texts follow a forced first action (rill_domain.first_action). */
#include "text_constraints.h"

#include <stdio.h>
#include <stdlib.h>

#include "internal.h"
#include "rill/constraints.h"

static const char PHRASE_SEPARATOR[] = " ||| ";
enum { PHRASE_SEPARATOR_LENGTH = sizeof PHRASE_SEPARATOR - 1 };

/* --- reading phrases ---------------------------------------------------------------------------------------------- */

rill_status constraint_refuse(constraint *c, const char *format, ...)
{
    char text[256];
    RILL__PRINT_ARGUMENTS(rill_print_message_list, text, sizeof text, format);
    rill_text_reset(&c->fail_reason);
    return rill_text_printf(&c->fail_reason, "%s: %s", c->name, text);
}

/* Make a phrase of the n actions written after c->action's first n_actions; none if n is 0. */
static rill_status add_phrase(constraint *c, int32_t n)
{
    if (n == 0) return RILL_OK;
    RILL__TRY(RILL__GROW(c->ctx, c->phrase, c->phrases_capacity, c->n_phrases + 1, "phrases"));
    c->phrase[c->n_phrases++] = (phrase){(int32_t)c->n_actions, n};
    c->n_actions += (size_t)n;
    return RILL_OK;
}

static rill_status reserve_actions(constraint *c, size_t more)
{
    return RILL__GROW(c->ctx, c->action, c->actions_capacity, c->n_actions + more, "phrases");
}

rill_status constraint_read_ids(constraint *c, const rill_model *model, const char *text, size_t length)
{
    const int32_t actions = rill_model_info(model)->actions;
    const char *end = text + length;
    int32_t n = 0;
    for (text += strspn(text, " "); text < end; text += strspn(text, " ")) {
        char *number_end;
        const long action = strtol(text, &number_end, 10);
        if (*text < '0' || *text > '9' || number_end > end || (*number_end != ' ' && number_end < end) || action < 0 ||
            action >= actions)
            return constraint_refuse(c, "\"%.*s\" is not an action id: expected 0 to %d - 1", (int)strcspn(text, " "),
                                     text, actions);
        RILL__TRY(reserve_actions(c, (size_t)n + 1));
        c->action[c->n_actions + (size_t)n++] = (int32_t)action;
        text = number_end;
    }
    return add_phrase(c, n);
}

static rill_status read_phrase(constraint *c, const rill_model *model, const char *text, size_t length)
{
    int32_t n = 0;
    if (rill_model_domain(model)->tokenize == NULL && rill_model_domain(model)->find_action == NULL)
        return constraint_read_ids(c, model, text, length);
    /* tokenize again only if the actions exceed the estimated capacity */
    for (int32_t capacity = (int32_t)(length / 4) + 4;; capacity = n) {
        RILL__TRY(reserve_actions(c, (size_t)capacity));
        rill_status status = rill_model_tokenize(model, c->ctx, text, length, c->action + c->n_actions, capacity, &n);
        if (status == RILL_ERR_INPUT)
            return constraint_refuse(c, "\"%.*s\": %s", (int)(length < 80 ? length : 80), text, rill_error(c->ctx));
        if (status < 0) return status;
        if (n <= capacity) return add_phrase(c, n);
    }
}

rill_status constraint_read(constraint *c, const rill_model *model, const char *text)
{
    for (;;) {
        const char *next = strstr(text, PHRASE_SEPARATOR);
        RILL__TRY(read_phrase(c, model, text, next != NULL ? (size_t)(next - text) : strlen(text)));
        if (next == NULL) return RILL_OK;
        text = next + PHRASE_SEPARATOR_LENGTH;
    }
}

/* --- instances of the scorers ------------------------------------------------------------------------------------- */

rill_status constraint_create(const rill_scorer *table, rill_context *ctx, const char *arguments, size_t bytes,
                              void **self)
{
    const size_t length = strlen(arguments) + 1, size = bytes + length;
    constraint *c = rill_calloc(ctx, 1, size);
    if (c == NULL) return rill_fail_memory(ctx, size, "a constraint");
    *c = (constraint){
        .ctx = ctx, .bytes = size, .name = table->name, .arguments = (char *)c + bytes, .fail_reason.ctx = ctx};
    memcpy(c->arguments, arguments, length);
    *self = c;
    return RILL_OK;
}

void constraint_destroy(void *self)
{
    constraint *c = self;
    if (c == NULL) return;
    rill_free(c->ctx, c->action, c->actions_capacity * sizeof *c->action);
    rill_free(c->ctx, c->phrase, c->phrases_capacity * sizeof *c->phrase);
    rill_text_clear(&c->fail_reason);
    rill_free(c->ctx, c, c->bytes);
}

/* --- preparing rows ----------------------------------------------------------------------------------------------- */

rill_status constraint_check_rows(const constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active)
{
    *active = c->fail_reason.length == 0;
    for (int32_t row = 0; row < rows->n && !*active; row++)
        RILL__TRY(rill_modifiers_fail_input(mods, row, c->fail_reason.data));
    return RILL_OK;
}

/* Tokenize the arguments at the first call; if that fails, refuse the inputs of all rows. *active: whether there are phrases. */
static rill_status constraint_prepare(constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active)
{
    if (!c->is_read) RILL__TRY(constraint_read(c, rows->model, c->arguments));
    c->is_read = 1;
    RILL__TRY(constraint_check_rows(c, rows, mods, active));
    *active = *active && c->n_phrases > 0;
    return RILL_OK;
}

/* --- prefix, ban and allow ---------------------------------------------------------------------------------------- */

static rill_status create_constraint(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    return constraint_create(table, ctx, arguments, sizeof(constraint), self);
}

static rill_status score_prefix(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    RILL__TRY(constraint_prepare(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++) {
        const int32_t first = row_first_action(rows, row, c->ctx);
        const size_t pos = (size_t)row_length(rows, row), first_pos = constraint_start(c, first);
        if (pos == 0 && first_pos > 0) RILL__TRY(rill_modifiers_allow(mods, row, first));
        if (pos >= first_pos && pos - first_pos < c->n_actions)
            RILL__TRY(rill_modifiers_allow(mods, row, c->action[pos - first_pos]));
    }
    return RILL_OK;
}

static rill_status score_ban(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    RILL__TRY(constraint_prepare(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++)
        for (const phrase *p = c->phrase; p < c->phrase + c->n_phrases; p++) {
            const int32_t *action = c->action + p->first;
            if (rill__hyp_ends_with(rows->hyp_nodes, rows->hyp_node[row], action, p->n - 1, RILL_NO_ACTION))
                RILL__TRY(rill_modifiers_ban(mods, row, action[p->n - 1]));
        }
    return RILL_OK;
}

static rill_status score_allow(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    constraint *c = self;
    int active;
    RILL__TRY(constraint_prepare(c, rows, mods, &active));
    for (int32_t row = 0; row < rows->n && active; row++) {
        for (size_t i = 0; i < c->n_actions; i++) RILL__TRY(rill_modifiers_allow(mods, row, c->action[i]));
        if (rows->info->end_action >= 0) RILL__TRY(rill_modifiers_allow(mods, row, rows->info->end_action));
        const int32_t first = row_length(rows, row) == 0 ? row_first_action(rows, row, c->ctx) : RILL_NO_ACTION;
        if (first >= 0) RILL__TRY(rill_modifiers_allow(mods, row, first));
    }
    return RILL_OK;
}

#define CONSTRAINT(word, written, what)                                                                           \
    {                                                                                                             \
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_scorer), .name = #word, .arguments = written, \
        .summary = what, .create = create_constraint, .score = score_##word, .destroy = constraint_destroy,       \
        .max_bonus = rill__no_bonus                                                                               \
    }
const rill_scorer rill__text_scorers[] = {
    CONSTRAINT(prefix, "TEXT", "outputs begin with the text"),
    CONSTRAINT(ban, "TEXT[ ||| TEXT]", "outputs contain none of the phrases"),
    CONSTRAINT(allow, "TEXT[ ||| TEXT]", "outputs are made of the actions of these texts"),
};

/* --- constraint lines --------------------------------------------------------------------------------------------- */

/* A scorer of the run: its name, and storage for its arguments. */
typedef struct line_scorer {
    rill_text name, text;
} line_scorer;

struct rill_constraints {
    rill_context *ctx;
    int32_t n;
    const char **arguments; /* [n] arguments in the current line */
    line_scorer *scorer;    /* [n] */
};

const char *const *rill_constraint_names(void)
{
    static const char *const names[] = {"prefix", "ban", "allow", "require", NULL};
    return names;
}

void rill_constraints_free(rill_constraints *c)
{
    if (c == NULL) return;
    for (int32_t i = 0; i < c->n && c->scorer != NULL; i++) {
        rill_text_clear(&c->scorer[i].name);
        rill_text_clear(&c->scorer[i].text);
    }
    rill_free(c->ctx, c->arguments, (size_t)c->n * sizeof *c->arguments);
    rill_free(c->ctx, c->scorer, (size_t)c->n * sizeof *c->scorer);
    rill_free(c->ctx, c, sizeof *c);
}

rill_status rill_constraints_create(rill_constraints **out, rill_context *ctx, const rill_engine_setup *setup)
{
    const size_t n = (size_t)setup->n_scorers;
    rill_constraints *c = *out = rill_calloc(ctx, 1, sizeof *c);
    if (c == NULL) return rill_fail_memory(ctx, sizeof *c, "constraints");
    *c = (rill_constraints){.ctx = ctx,
                            .n = setup->n_scorers,
                            .arguments = rill_calloc(ctx, n, sizeof *c->arguments),
                            .scorer = rill_calloc(ctx, n, sizeof *c->scorer)};
    rill_status status = RILL_OK;
    if (c->arguments == NULL || c->scorer == NULL) status = rill_fail_memory(ctx, n * sizeof *c->scorer, "constraints");
    for (int32_t i = 0; i < c->n && status >= 0; i++) {
        c->scorer[i].name.ctx = c->scorer[i].text.ctx = ctx;
        status = rill_text_append(&c->scorer[i].name, setup->scorers[i].name, strlen(setup->scorers[i].name));
    }
    return RILL_OPENED(status, out, rill_constraints_free);
}

static rill_status add_constraint(rill_constraints *c, const char *part, size_t length)
{
    const char *colon = memchr(part, ':', length);
    if (colon == NULL)
        return rill_fail(c->ctx, RILL_ERR_INPUT, "constraints: expected NAME:TEXT, found \"%.*s\"",
                         (int)(length < 60 ? length : 60), part);
    const size_t name = (size_t)(colon - part), skip = name + 1;
    for (int32_t i = 0; i < c->n; i++) {
        if (c->scorer[i].name.length != name || memcmp(c->scorer[i].name.data, part, name) != 0) continue;
        if (c->arguments[i] != NULL)
            RILL__TRY(rill_text_append(&c->scorer[i].text, PHRASE_SEPARATOR, PHRASE_SEPARATOR_LENGTH));
        RILL__TRY(rill_text_append(&c->scorer[i].text, part + skip, length - skip));
        /* mark the scorer as named; the pointer is set after the line's last part, since the growing text may move */
        c->arguments[i] = "";
        return RILL_OK;
    }
    return rill_fail(c->ctx, RILL_ERR_INPUT, "constraints: this run has no scorer \"%.*s\"",
                     (int)(name < 60 ? name : 60), part);
}

rill_status rill_constraints_read(rill_constraints *c, const char *line, size_t length, const char *const **scorers)
{
    const char *end = line + length;
    *scorers = NULL;
    for (int32_t i = 0; i < c->n; i++) {
        c->arguments[i] = NULL;
        rill_text_reset(&c->scorer[i].text);
    }
    while (line < end && *line == ' ') line++;
    if (line == end) return RILL_OK;
    for (const char *next; line != NULL; line = next != NULL ? next + PHRASE_SEPARATOR_LENGTH : NULL) {
        next = memmem(line, (size_t)(end - line), PHRASE_SEPARATOR, PHRASE_SEPARATOR_LENGTH);
        RILL__TRY(add_constraint(c, line, (size_t)((next != NULL ? next : end) - line)));
    }
    for (int32_t i = 0; i < c->n; i++)
        if (c->arguments[i] != NULL && c->scorer[i].text.data != NULL) c->arguments[i] = c->scorer[i].text.data;
    *scorers = c->arguments;
    return RILL_OK;
}
