/* Constraints as texts: common functions of the scorers prefix, ban, allow, require, given and trie.
 *
 * A text has phrases separated by " ||| ", tokenized at the scorer's first call. If the domain has no tokenizer, phrases are action ids. */
#pragma once

#include "internal.h"
#include "rill/engine.h"

typedef struct phrase {
    int32_t first, n; /* the phrase's actions are constraint.action[first, first + n) */
} phrase;

/* The common first member of the instances of all constraint scorers. */
typedef struct constraint {
    rill_context *ctx;
    size_t bytes;     /* size of the whole allocation */
    const char *name; /* name of the constraint, for messages */
    char *arguments;  /* NUL-terminated; in the same allocation, after the scorer's struct */
    int32_t *action;  /* [n_actions] actions of all phrases, concatenated */
    size_t n_actions, actions_capacity;
    phrase *phrase; /* [n_phrases] the phrases */
    size_t n_phrases, phrases_capacity;
    rill_text fail_reason; /* why inputs with this constraint are refused; empty: they are accepted */
    int is_read;           /* 1: the phrases have been tokenized */
} constraint;

/* As rill_scorer.create, for an instance of `bytes` bytes that begins with a constraint; the other bytes are 0. */
rill_status constraint_create(const rill_scorer *table, rill_context *ctx, const char *arguments, size_t bytes,
                              void **self);
void constraint_destroy(void *self);

/* Tokenize a text and append its phrases. RILL_OK: appended, or a refusal recorded · RILL_ERR_MEMORY · RILL_ERR_PLUGIN (from the domain) */
rill_status constraint_read(constraint *c, const rill_model *model, const char *text);
/* Append one phrase, given as action ids separated by spaces. */
rill_status constraint_read_ids(constraint *c, const rill_model *model, const char *text, size_t length);
/* Record that inputs with this constraint are refused, and why. */
rill_status constraint_refuse(constraint *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Refuse the inputs of all rows if the constraint has a refusal recorded. *active: 0 then, else 1. */
rill_status constraint_check_rows(const constraint *c, const rill_scorer_rows *rows, rill_modifiers *mods, int *active);

/* Position of the phrases in the output: 1 after a forced first action `first`; 0 without one, or if the phrases include it. */
static inline size_t constraint_start(const constraint *c, int32_t first)
{
    return first >= 0 && (c->n_actions == 0 || c->action[0] != first);
}

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

/* --- tries, shared by their users (trie_file.c); format: rill/constraints.h ----------------------------------------------- */

#define TRIE_MAGIC "rilltrie" /* first bytes of a trie file, without the NUL */
enum { TRIE_VERSION = 1 };

/* The header of a trie file. */
typedef struct trie_header {
    char magic[8] __attribute__((nonstring));
    uint32_t version, actions, nodes, longest;
    uint64_t sequences;
} trie_header;

_Static_assert(sizeof(trie_header) == 32, "as the format has it");

typedef struct trie {
    struct trie *next; /* next trie in the root context's list */
    rill__file_id id;
    int64_t modified_ns; /* the file's modification time in nanoseconds */
    int32_t n_users;
    size_t bytes; /* size of the allocation */
    trie_header header;
    const uint32_t *first; /* [nodes + 1] trie node v has the children first[v] to first[v + 1] - 1 */
    const int32_t *action; /* [nodes] the action that leads to each trie node */
} trie;

/* Get a file's trie, reading it if not loaded. Release with trie_release().
 *   RILL_OK · a failure of rill_file_open() · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status trie_acquire(trie **out, rill_context *ctx, const char *path);
void trie_release(rill_context *ctx, trie *t); /* stop using a trie; NULL is allowed */

/* The child of `node` that `action` leads to; 0: there is none. */
uint32_t trie_child(const trie *t, uint32_t node, int32_t action);
