/* Texts of constraints, tokenized into actions. A text has one or more phrases, separated by " ||| ".
 *
 * A constraint is a scorer. A scorer is created before it sees a model, so phrases are tokenized at the scorer's first call.
 * If a phrase cannot be tokenized, the run does not fail: the inputs that use the constraint are refused, with a message
 * that names it. If the domain can neither tokenize nor name actions, phrases are action ids separated by spaces. */
#ifndef RILL_PHRASES_H
#define RILL_PHRASES_H

#include "internal.h"
#include "rill/engine.h"

typedef struct phrase {
    int32_t first, n; /* the phrase's actions: phrases.action[first, first + n) */
} phrase;

typedef struct phrases {
    rill_context *ctx;
    int32_t *action; /* [n_actions] actions of all phrases, concatenated */
    size_t n_actions, actions_capacity;
    phrase *phrase; /* [n] */
    size_t n, phrases_capacity;
    rill_text fail_reason; /* why inputs with these phrases are refused; empty: they are not */
    int is_read;           /* 1: the phrases have been tokenized */
} phrases;

/* The common first member of the instances of all constraint scorers. */
typedef struct constraint {
    rill_context *ctx;
    size_t bytes;     /* size of the whole allocation */
    const char *name; /* name of the constraint, for messages */
    phrases phrases;
    char *arguments; /* NUL-terminated; in the same allocation, after the scorer's struct */
} constraint;

/* As rill_scorer.create, for an instance of `bytes` bytes that begins with a constraint; the other bytes are 0. */
rill_status constraint_create(const rill_scorer *table, rill_context *ctx, const char *arguments, size_t bytes,
                              void **self);
void constraint_destroy(void *self);

/* Tokenize a text and append its phrases. RILL_OK: the phrases are appended, or a refusal is recorded · RILL_ERR_MEMORY ·
 * RILL_ERR_PLUGIN (from the domain) */
rill_status phrases_read(phrases *list, const char *name, const rill_model *model, const char *text);
/* Append one phrase, given as action ids separated by spaces. */
rill_status phrases_read_ids(phrases *list, const char *name, const rill_model *model, const char *text);
/* Record that inputs with these phrases are refused, and why. The message begins with the constraint's name, `name`. */
rill_status phrases_fail(phrases *list, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Position in the output at which the phrases begin: 1 if all outputs begin with the forced action `first` (a language
 * token), 0 if there is no such action (`first` < 0). It is also 0 if the phrases begin with `first` themselves, as a
 * prefix copied from an earlier output does. */
static inline size_t phrases_start(const phrases *list, int32_t first)
{
    return first >= 0 && (list->n_actions == 0 || list->action[0] != first);
}

/* At the first call, tokenize the constraint's arguments. If that failed, refuse the inputs of all rows. *active is 1 if
 * there are phrases to apply, else 0. */
rill_status constraint_prepare(constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active);
/* Refuse the inputs of all rows if a refusal is recorded. *active is 1 if none is recorded, else 0. */
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

/* Whether the last n actions on the path from the root to hypothesis `h` are action[0, n). */
int hyp_ends_with(const rill_hyp_node *hyps, int32_t h, const int32_t *action, int32_t n);

#endif
