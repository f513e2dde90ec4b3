/* Texts of constraints as actions: one or more phrases with " ||| " between them.
 *
 * A scorer is made before it sees a model, so phrases are read when it is first asked about rows. What cannot be written with the
 * model's actions is no failure of the run: the inputs that want it are refused, with a message that names the constraint. Where the
 * domain neither makes actions of texts nor names any, a phrase is numbers of actions with blanks between. */
#ifndef RILL_PHRASES_H
#define RILL_PHRASES_H

#include "internal.h"
#include "rill/engine.h"

typedef struct phrase {
    int32_t first, n; /* actions [first, first + n) */
} phrase;

typedef struct phrases {
    rill_context *ctx;
    int32_t *action; /* [n_actions] of all phrases */
    size_t n_actions, actions_capacity;
    phrase *phrase; /* [n] */
    size_t n, phrases_capacity;
    rill_text fail_reason; /* why inputs are refused; empty: they are not */
    int is_read;           /* they are read */
} phrases;

/* What all scorers here begin with. */
typedef struct constraint {
    rill_context *ctx;
    size_t bytes;     /* of all that was allocated */
    const char *name; /* for messages */
    phrases phrases;
    char *arguments; /* behind the struct that this one begins */
} constraint;

/* As rill_scorer.create, for an instance of `bytes` bytes, the rest of which is zero. */
rill_status constraint_create(const rill_scorer *table, rill_context *ctx, const char *arguments, size_t bytes,
                              void **self);
void constraint_destroy(void *self);

/* Read phrases from a text, behind those that are there. RILL_OK: they are there, or there is a refusal · RILL_ERR_MEMORY ·
 * RILL_ERR_PLUGIN (the domain's) */
rill_status phrases_read(phrases *list, const char *name, const rill_model *model, const char *text);
/* Read numbers of actions with blanks between as one phrase; likewise. */
rill_status phrases_read_ids(phrases *list, const char *name, const rill_model *model, const char *text);
/* Refuse with a message that begins with the constraint's name. */
rill_status phrases_fail(phrases *list, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where in outputs that begin with the action `first` the first of the phrases' actions stands that are their beginning: behind it,
 * unless it is theirs, too, as in pieces of an output that was found before. 0 without such an action. */
static inline size_t phrases_start(const phrases *list, int32_t first)
{
    return first >= 0 && (list->n_actions == 0 || list->action[0] != first);
}

/* Read the constraint's own phrases if that has not been done, and refuse the rows if they are to be. *go: there is something to say
 * about the rows. */
rill_status constraint_prepare(constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active);
/* Refuse all rows if there is a refusal; *go: there is none. */
rill_status constraint_check_rows(const constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active);

/* How many actions the hypothesis of a row has. */
static inline int32_t row_length(const rill_scorer_rows *rows, int32_t row)
{
    return rows->timestep[row] * rows->info->phases + rows->phase;
}

/* The action that the outputs of the row's input begin with whatever their texts say; RILL_NO_ACTION: there is none. */
static inline int32_t row_first_action(const rill_scorer_rows *rows, int32_t row, rill_context *ctx)
{
    return rill_model_first_action(rows->model, ctx, rows->text[row], rows->text_length[row]);
}

/* Whether the path that ends with history `h` ends with these actions. */
int hyp_ends_with(const rill_hyp_node *hyps, int32_t h, const int32_t *action, int32_t n);

#endif
