/* model.h: a loaded semantic parser, and the tables its states live in. Inner header of the semparse domain.
 *
 * Source: Dong and Lapata, Language to Logical Form with Neural Attention, 2016, section 3.
 * Letters: E embedding width, H hidden width, V target symbols, T tokens of a framed question, R rows of a call.
 *
 * What is done once, at load, so that a step need not do it:
 *   embedding times W_ih plus bias, for every word of either side    [words, 4H]: a step is one gemm over K = H
 *   W_a [context; h] = W_c context + W_s h, and context = sum p_t m_t, so W_c m_t is computed per question token in encode():
 *     attention sums up projected memory, and the layer behind it is half as wide
 *   <s> and <unk>, which are never actions, get a bias of -infinity
 *
 * Placeholders: a target token that is written as a placeholder of the lexicon ("c0") stands for words of the question. Where a
 * question was typed, and does not mention it, nothing could be put in its place, so its logit is -infinity for that
 * question's rows: before the softmax, as if the model had never heard of it. Questions in token form bring placeholders of
 * their own, and nothing is forbidden.
 *
 * States: one table addressed by node id whose rows are h, then c: they are always read together, and a beam's rows lie scattered.
 * Slots hold memory m and W_c m [T, ld] each, and the encoder's last state, a row of the same form. ld is H rounded up to 16
 * floats, so that h, c and m start on cache lines. */
#ifndef RILL_SEMPARSE_MODEL_H
#define RILL_SEMPARSE_MODEL_H

#include "blocks.h"
#include "kernels.h"
#include "lexicon.h"
#include "rill/carve.h"
#include "rill/domain.h"
#include "rooms.h"
#include "text.h"
#include "threads.h"
#include "try.h"
#include "vocabulary.h"

enum { SEMPARSE_START = 0, SEMPARSE_END = 1, SEMPARSE_UNKNOWN = 2, SEMPARSE_SPECIALS = 3 };

/* An LSTM whose inputs are words. */
typedef struct semparse_lstm {
    const float *start;     /* [words, 4H] embedding times W_ih plus bias */
    rill_weights recurrent; /* 4H x H */
} semparse_lstm;

/* What belongs to an item in flight. */
typedef struct semparse_slot {
    rill_room room; /* rows for tokens: memory [capacity, ld], then projected memory [capacity, ld] */
    size_t banned;  /* actions its question must not use: how many entries of its row of `ban` count */
    rill_mentions mentions;
} semparse_slot;

/* A question on its way into a slot: its framed ids are ids[offset .. offset + length - 1]. */
typedef struct semparse_reading {
    int32_t slot, length;
    size_t offset;
} semparse_reading;

typedef struct semparse {
    rill_context *ctx;
    rill_kernels kernels;
    rill_threads threads;
    rill_pool *pool;    /* that of `threads`: NULL with one thread */
    rill_blocks blocks; /* everything of fixed size below */
    rill_blocks rooms;  /* slabs that slots keep their memory in */

    size_t hidden, ld;      /* H, and H rounded up */
    int32_t words, actions; /* source and target vocabulary */
    int32_t max_length;     /* actions of a hypothesis */
    int32_t max_input;      /* tokens of a question */
    int tokenized;
    char description[200];
    semparse_lstm encoder, decoder;
    rill_weights from_context, from_state; /* H x H: W_c, W_s */
    rill_weights output;                   /* V x H */
    const float *attention_bias;           /* [H] */
    const float *output_bias;              /* [V], -infinity for symbols that are never actions */
    rill_vocabulary *source, *target;
    rill_lexicon *lexicon; /* NULL: the model has none */
    rill_question *question;
    int32_t *placeholder; /* [placeholders] actions that stand for words of the question */
    size_t placeholders;  /* 0 when tokenized, or without a lexicon */
    char *mentioned;      /* [actions] while a question is read: its tokens among the actions */

    float *state; /* [nodes, 2 ld] h, c */
    size_t state_room;

    semparse_slot *slot;     /* [slots] */
    const float **memory;    /* [slots] -> [T, ld] */
    const float **projected; /* [slots] -> [T, ld] */
    int32_t *length;         /* [slots] T, 0 when free */
    float *last;             /* [slots, 2 ld] the encoder's last h, c */
    int32_t *ban;            /* [slots, placeholders] actions: of each row its first slot.banned */
    size_t slot_room, memory_room, projected_room, length_room, last_room, ban_room;
    size_t slots; /* initialised so far */

    semparse_reading *reading; /* the questions of an encode() call */
    size_t reading_room;
    int32_t *ids;
    size_t ids_room;
    char *scratch; /* arrays of one call, see rill_carve() */
    size_t scratch_room;
} semparse;

/* --- model.c ------------------------------------------------------------------------------------------------------ */

/* Read config.json, model.safetensors and both vocabularies of the directory into a zeroed *s whose ctx, kernels and pool
 * are set. On failure the caller clears what is there.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status semparse_load(semparse *s, const char *directory);

/* --- encode.c, step.c --------------------------------------------------------------------------------------------- */

/* Of the domain's table (rill/domain.h); self is the semparse. */
rill_status semparse_encode(void *self, int32_t m, rill_input *inputs);
rill_status semparse_step(void *self, const rill_rows *rows);
rill_status semparse_score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out);

/* --- scratch ------------------------------------------------------------------------------------------------------ */

/* Room for c->used bytes; then *c is at the start of the buffer. */
static inline rill_status semparse_carve_again(semparse *s, rill_carver *c)
{
    return rill_carve_again(s->ctx, &s->scratch, &s->scratch_room, c);
}

#endif
