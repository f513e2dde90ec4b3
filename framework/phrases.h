/* Constraint texts as actions: one or more phrases separated by " ||| ".
 *
 * A scorer is created before it sees a model, so phrases are tokenized at its first call. If the model's actions cannot write a phrase,
 * the run does not fail: the inputs that use it are refused, with a message that names the constraint. If the domain can neither
 * tokenize nor name actions, a phrase consists of action numbers separated by spaces. */
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
    rill_text fail_reason; /* why inputs are refused; empty: not refused */
    int is_read;           /* the phrases have been tokenized */
} phrases;

/* The common first member of all constraint scorers. */
typedef struct constraint {
    rill_context *ctx;
    size_t bytes;     /* total allocation */
    const char *name; /* name of the constraint, for messages */
    phrases phrases;
    char *arguments; /* stored after the struct that this one begins */
} constraint;

/* As rill_scorer.create, for an instance of `bytes` bytes, the rest of which is zero. */
rill_status constraint_create(const rill_scorer *table, rill_context *ctx, const char *arguments, size_t bytes,
                              void **self);
void constraint_destroy(void *self);

/* Append phrases tokenized from a text. RILL_OK: appended, or a refusal is recorded · RILL_ERR_MEMORY · RILL_ERR_PLUGIN (the domain's) */
rill_status phrases_read(phrases *list, const char *name, const rill_model *model, const char *text);
/* Add one phrase, given by action numbers separated by spaces. */
rill_status phrases_read_ids(phrases *list, const char *name, const rill_model *model, const char *text);
/* Record a refusal with a message that begins with the constraint's name. */
rill_status phrases_fail(phrases *list, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Position in the output where the phrases begin, if all outputs begin with the action `first` (a language token): 1, or 0 if there is
 * no such action or the phrases include it, as prefixes of earlier outputs do. */
static inline size_t phrases_start(const phrases *list, int32_t first)
{
    return first >= 0 && (list->n_actions == 0 || list->action[0] != first);
}

/* Tokenize the constraint's own phrases if not yet done, and refuse the rows if that failed. *active: the constraint applies to the
 * rows. */
rill_status constraint_prepare(constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active);
/* Refuse all rows if a refusal is recorded; *active: none is. */
rill_status constraint_check_rows(const constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active);

/* Number of actions of a row's hypothesis. */
static inline int32_t row_length(const rill_scorer_rows *rows, int32_t row)
{
    return rows->timestep[row] * rows->info->phases + rows->phase;
}

/* The forced first action of the row's input (a language token); RILL_NO_ACTION: none. */
static inline int32_t row_first_action(const rill_scorer_rows *rows, int32_t row, rill_context *ctx)
{
    return rill_model_first_action(rows->model, ctx, rows->text[row], rows->text_length[row]);
}

/* Whether the path that ends with hyp `h` ends with these actions. */
int hyp_ends_with(const rill_hyp_node *hyps, int32_t h, const int32_t *action, int32_t n);

#endif
