/* Questions to logical forms: the domain "semparse".
 *
 * Model: attention sequence-to-sequence of Dong and Lapata (2016). An LSTM encodes the question in reverse, a second one decodes the
 * logical form. A model directory holds
 *   config.json                 sizes and settings
 *   model.safetensors           weights, F32, F16 or BF16; computed in fp32
 *   source.vocab, target.vocab  one token per line, the first three <s>, </s>, <unk>
 *   lexicon.tsv                 optional: maps typed text to training tokens (lexicon.h)
 *
 * Input: one question per line; with options.tokenized, tokens separated by spaces. Invalid UTF-8, or more than max_input_length tokens,
 * fails the input alone. Unknown names give a warning, and the output field "unknown".
 * Output: tokens of the logical form, with constants instead of placeholders.
 * State: reads the parent's state (RILL_STATE_PARENT). */
#pragma once

#include "domain_base.h"
#include "lexicon.h"
#include "question.h"
#include "rill/context.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "vocabulary.h"

extern const rill_domain rill_semparse_domain;

/* --- a loaded parser and a runner --------------------------------------------------------------------------------- */

/* Source: Dong and Lapata, Language to Logical Form with Neural Attention, 2016, section 3.
 * Dimensions: H hidden width, V target vocabulary size, T tokens of a question with <s> and </s>.
 *
 * Precomputed when loading:
 *   - W_ih embedding + bias for every source and target word, [words, 4H]: a step is one GEMM with K = H.
 *   - W_a [context; h] = W_c context + W_s h, where context = sum p_t m_t: encode() computes W_c m_t per token, so attention sums
 *     projected outputs.
 *   - The output bias is -infinity for <s> and <unk>, which are never output.
 *
 * A placeholder token ("c0") that a typed question does not mention is masked before the softmax. Tokenized questions mask nothing.
 *
 * Invariant: a loaded model is const, and any number of runners share it. */

enum { SEMPARSE_BOS = 0, SEMPARSE_EOS = 1, SEMPARSE_UNK = 2, SEMPARSE_N_SPECIALS = 3 };

/* An LSTM over word embeddings. H: hidden width. */
typedef struct semparse_lstm {
    rill_constant input_gates; /* [words, 4H] embedding of each word times W_ih, plus bias */
    rill_matrix recurrent;     /* 4H x H recurrent weights of the gates */
} semparse_lstm;

/* Weights of the model. H: hidden width; V: size of the target vocabulary. */
typedef struct semparse_weights {
    semparse_lstm encoder, decoder;
    rill_matrix context_weight, state_weight; /* H x H: W_c for the context vector, W_s for the decoder state */
    rill_matrix output;                       /* V x H weights of the output layer */
    rill_constant attention_bias;             /* [H] bias b_a of the attention layer */
    /* [V] bias of the target tokens; -infinity for tokens that are never output */
    rill_constant output_bias;
} semparse_weights;

/* A state's row holds h, then c, because both are read together. ld is H rounded up, to align h, c and m to cache lines. */
typedef struct semparse_tables {
    rill_table state;         /* [nodes, 2 ld] decoder states */
    rill_table encoder_state; /* [slots, 2 ld] the encoder's last state */
    /* [slots, T, ld] of each question: encoder outputs m_t, and W_c m_t */
    rill_table encoder_outputs, projected_outputs;
    /* for the question in each slot: the placeholders that it does not mention; this table exists only if the model has a lexicon */
    rill_vocab_subset unmentioned;
} semparse_tables;

typedef struct semparse {
    rill_context *ctx;
    rill_device *device;
    rill_network *network;
    rill_arena arena; /* memory borrowed by the network, and other data of fixed size */
    semparse_weights weights;
    semparse_tables tables;
    rill_graph encode, step, score;

    size_t hidden, ld; /* H, hidden width; H rounded up to a multiple of 16 */
    int32_t source_vocab_size, target_vocab_size;
    int32_t max_length; /* maximum number of actions of a hypothesis */
    int32_t max_input;  /* maximum tokens of a question */
    int tokenized;
    char description[200];
    rill_vocabulary *source_vocab, *target_vocab;
    rill_lexicon *lexicon;    /* NULL: the model has no lexicon */
    int32_t *placeholder_ids; /* [n_placeholders] target ids that are placeholders, ascending */
    size_t n_placeholders;    /* number of placeholder_ids; 0 if there is no lexicon */
} semparse;

/* The data that one decoding thread writes. */
typedef struct semparse_runner {
    rill_session *session; /* first member, read by rill_runner_drop() */
    const semparse *model;
    rill_context *ctx;
    rill_question *question;
    rill_arena arena;
    /* [n_placeholders] used by encode() for one question: ids of the placeholders that the question does not mention */
    int32_t *unmentioned;
    rill_mentions *mentions_by_slot; /* [slots] table of mentions of the question in each slot */
    rill_text *unknown_names;        /* [slots] names in the question that the model does not know, joined by ", " */
    size_t n_slots;

    int32_t *slot, *length; /* [questions of an encode() call] slot of each question, and number of its token ids */
    int32_t *token_ids;     /* token ids of all questions of the call, one question after the other */
    int32_t *column;        /* input columns of a step that the engine does not fill */
} semparse_runner;

/* --- defined in semparse_model.c ------------------------------------------------------------------------------------------- */

/* Open the device and a network, and read the model's files into a zeroed *s with ctx and arena.ctx set. On failure the caller frees *s.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status semparse_load(semparse *s, const rill_open_options *options);

/* --- defined in logical_form.c ------------------------------------------------------------------------------------ */

/* Canonical form of logical forms, for byte-wise comparison, as in the code of Dong and Lapata (2016). The unordered children of `and` and
 * `or` are sorted, innermost first. Other forms, such as Prolog, only get normal spaces. */

/* rill_domain.canonical: append the canonical form of `text`, tokens and brackets separated by single spaces. Unbalanced brackets, or more
 * than 1,000 levels, keep the order; this is no error. Time: at most length times depth; constant stack.
 *   table  not used
 *   out    unchanged on failure
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_logic_canonical(const rill_domain *table, rill_context *ctx, const char *text, size_t length,
                                 rill_text *out);
