/* Phrases; phrases.h.
 *
 * Divisions: reading · instances · rows. */
#include "phrases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char PHRASE_SEPARATOR[] = " ||| ";

/* --- reading ------------------------------------------------------------------------------------------------------ */

rill_status phrases_fail(phrases *list, const char *name, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    rill_print_message_list(text, sizeof text, format, arguments);
    va_end(arguments);
    rill_text_reset(&list->fail_reason);
    return rill_text_printf(&list->fail_reason, "%s: %s", name, text);
}

/* Append a phrase that consists of the n actions written after the first n_actions of list->action. */
static rill_status add_phrase(phrases *list, int32_t n)
{
    RILL__TRY(RILL__GROW(list->ctx, list->phrase, list->phrases_capacity, list->n + 1, "phrases"));
    list->phrase[list->n++] = (phrase){(int32_t)list->n_actions, n};
    list->n_actions += (size_t)n;
    return RILL_OK;
}

static rill_status add_ids(phrases *list, const char *name, int32_t actions, const char *text, size_t length)
{
    const char *end = text + length;
    int32_t n = 0;
    for (text += strspn(text, " "); text < end; text += strspn(text, " ")) {
        char *number_end;
        const long action = strtol(text, &number_end, 10);
        if (number_end == text || number_end > end || (*number_end != ' ' && number_end < end) || action < 0 ||
            action >= actions)
            return phrases_fail(list, name, "\"%.*s\" is not an action id: expected 0 to %d - 1",
                                (int)strcspn(text, " "), text, actions);
        RILL__TRY(
            RILL__GROW(list->ctx, list->action, list->actions_capacity, list->n_actions + (size_t)n + 1, "phrases"));
        list->action[list->n_actions + (size_t)n++] = (int32_t)action;
        text = number_end;
    }
    return n > 0 ? add_phrase(list, n) : RILL_OK;
}

static rill_status add_text(phrases *list, const char *name, const rill_model *model, const char *text, size_t length)
{
    int32_t n = 0;
    if (rill_model_domain(model)->tokenize == NULL && rill_model_domain(model)->find_action == NULL)
        return add_ids(list, name, rill_model_info(model)->actions, text, length);
    for (int32_t capacity = (int32_t)(length / 4) + 4;; capacity = n) { /* one pass usually suffices */
        RILL__TRY(
            RILL__GROW(list->ctx, list->action, list->actions_capacity, list->n_actions + (size_t)capacity, "phrases"));
        rill_status status = rill_model_tokenize(model, list->ctx, text, length, list->action + list->n_actions,
                                                 capacity, &n);
        if (status == RILL_ERR_INPUT)
            return phrases_fail(list, name, "\"%.*s\": %s", (int)(length < 80 ? length : 80), text,
                                rill_error(list->ctx));
        if (status < 0) return status;
        if (n <= capacity) break;
    }
    return n > 0 ? add_phrase(list, n) : RILL_OK;
}

rill_status phrases_read(phrases *list, const char *name, const rill_model *model, const char *text)
{
    for (;;) {
        const char *next = strstr(text, PHRASE_SEPARATOR);
        RILL__TRY(add_text(list, name, model, text, next != NULL ? (size_t)(next - text) : strlen(text)));
        if (next == NULL) return RILL_OK;
        text = next + sizeof PHRASE_SEPARATOR - 1;
    }
}

rill_status phrases_read_ids(phrases *list, const char *name, const rill_model *model, const char *text)
{
    return add_ids(list, name, rill_model_info(model)->actions, text, strlen(text));
}

/* --- instances ---------------------------------------------------------------------------------------------------- */

rill_status constraint_create(const rill_scorer *table, rill_context *ctx, const char *arguments, size_t bytes,
                              void **self)
{
    const size_t length = strlen(arguments) + 1, size = bytes + length;
    constraint *c = rill_calloc(ctx, 1, size);
    if (c == NULL) return rill_fail_memory(ctx, size, "a constraint");
    *c = (constraint){.ctx = ctx, .bytes = size, .name = table->name, .arguments = (char *)c + bytes};
    c->phrases.ctx = c->phrases.fail_reason.ctx = ctx;
    memcpy(c->arguments, arguments, length);
    *self = c;
    return RILL_OK;
}

void constraint_destroy(void *self)
{
    constraint *c = self;
    if (c == NULL) return;
    rill_free(c->ctx, c->phrases.action, c->phrases.actions_capacity * sizeof *c->phrases.action);
    rill_free(c->ctx, c->phrases.phrase, c->phrases.phrases_capacity * sizeof *c->phrases.phrase);
    rill_text_clear(&c->phrases.fail_reason);
    rill_free(c->ctx, c, c->bytes);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

rill_status constraint_check_rows(const constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active)
{
    const phrases *list = &c->phrases;
    *active = list->fail_reason.length == 0;
    for (int32_t row = 0; row < rows->n && !*active; row++)
        RILL__TRY(rill_modifiers_fail_input(mods, row, list->fail_reason.data));
    return RILL_OK;
}

rill_status constraint_prepare(constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active)
{
    if (!c->phrases.is_read) RILL__TRY(phrases_read(&c->phrases, c->name, rows->model, c->arguments));
    c->phrases.is_read = 1;
    RILL__TRY(constraint_check_rows(c, rows, mods, active));
    *active = *active && c->phrases.n > 0;
    return RILL_OK;
}

int hyp_ends_with(const rill_hyp_node *hyps, int32_t h, const int32_t *action, int32_t n)
{
    for (; n > 0; n--, h = hyps[h].parent)
        if (hyps[h].parent < 0 || hyps[h].action != action[n - 1]) return 0;
    return 1;
}
