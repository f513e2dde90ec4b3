/* Phrases; phrases.h.
 *
 * Divisions: reading · instances · rows. */
#include "phrases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char BETWEEN[] = " ||| ";

/* --- reading ------------------------------------------------------------------------------------------------------ */

rill_status phrases_refuse(phrases *list, const char *name, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    rill_print_message_list(text, sizeof text, format, arguments);
    va_end(arguments);
    rill_text_reset(&list->refusal);
    return rill_text_printf(&list->refusal, "%s: %s", name, text);
}

/* Note a phrase of the n actions that stand behind the others. */
static rill_status add(phrases *list, int32_t n)
{
    RILL__TRY(RILL__GROW(list->ctx, list->at, list->room, list->n + 1, "phrases"));
    list->at[list->n++] = (phrase){(int32_t)list->n_actions, n};
    list->n_actions += (size_t)n;
    return RILL_OK;
}

static rill_status add_ids(phrases *list, const char *name, int32_t actions, const char *text, size_t length)
{
    const char *end = text + length;
    int32_t n = 0;
    for (text += strspn(text, " "); text < end; text += strspn(text, " ")) {
        char *behind;
        const long action = strtol(text, &behind, 10);
        if (behind == text || behind > end || (*behind != ' ' && behind < end) || action < 0 || action >= actions)
            return phrases_refuse(list, name, "\"%.*s\" is not the number of an action: there are %d from 0",
                                  (int)strcspn(text, " "), text, actions);
        RILL__TRY(RILL__GROW(list->ctx, list->action, list->capacity, list->n_actions + (size_t)n + 1, "phrases"));
        list->action[list->n_actions + (size_t)n++] = (int32_t)action;
        text = behind;
    }
    return n > 0 ? add(list, n) : RILL_OK;
}

static rill_status add_text(phrases *list, const char *name, const rill_model *model, const char *text, size_t length)
{
    int32_t n = 0;
    if (rill_model_domain(model)->tokenize == NULL && rill_model_domain(model)->find_action == NULL)
        return add_ids(list, name, rill_model_info(model)->actions, text, length);
    for (int32_t room = (int32_t)(length / 4) + 4;; room = n) { /* once is mostly enough */
        RILL__TRY(RILL__GROW(list->ctx, list->action, list->capacity, list->n_actions + (size_t)room, "phrases"));
        rill_status status = rill_model_tokenize(model, list->ctx, text, length, list->action + list->n_actions, room,
                                                 &n);
        if (status == RILL_ERR_INPUT)
            return phrases_refuse(list, name, "\"%.*s\": %s", (int)(length < 80 ? length : 80), text,
                                  rill_error(list->ctx));
        if (status < 0) return status;
        if (n <= room) break;
    }
    return n > 0 ? add(list, n) : RILL_OK;
}

rill_status phrases_read(phrases *list, const char *name, const rill_model *model, const char *text)
{
    for (;;) {
        const char *next = strstr(text, BETWEEN);
        RILL__TRY(add_text(list, name, model, text, next != NULL ? (size_t)(next - text) : strlen(text)));
        if (next == NULL) return RILL_OK;
        text = next + sizeof BETWEEN - 1;
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
    *c = (constraint){.ctx = ctx, .size = size, .name = table->name, .arguments = (char *)c + bytes};
    c->list.ctx = c->list.refusal.ctx = ctx;
    memcpy(c->arguments, arguments, length);
    *self = c;
    return RILL_OK;
}

void constraint_destroy(void *self)
{
    constraint *c = self;
    if (c == NULL) return;
    rill_free(c->ctx, c->list.action, c->list.capacity * sizeof *c->list.action);
    rill_free(c->ctx, c->list.at, c->list.room * sizeof *c->list.at);
    rill_text_clear(&c->list.refusal);
    rill_free(c->ctx, c, c->size);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

rill_status constraint_heed(const constraint *c, const rill_scorer_rows *rows, rill_ask_builder *ask, int *go)
{
    const phrases *list = &c->list;
    *go = list->refusal.length == 0;
    for (int32_t row = 0; row < rows->n && !*go; row++) RILL__TRY(rill_ask_refuse(ask, row, list->refusal.data));
    return RILL_OK;
}

rill_status constraint_begin(constraint *c, const rill_scorer_rows *rows, rill_ask_builder *ask, int *go)
{
    if (!c->list.ready) RILL__TRY(phrases_read(&c->list, c->name, rows->model, c->arguments));
    c->list.ready = 1;
    RILL__TRY(constraint_heed(c, rows, ask, go));
    *go = *go && c->list.n > 0;
    return RILL_OK;
}

int path_ends_with(const rill_history *histories, int32_t h, const int32_t *action, int32_t n)
{
    for (; n > 0; n--, h = histories[h].parent)
        if (histories[h].parent < 0 || histories[h].action != action[n - 1]) return 0;
    return 1;
}
