/* Models: how to open a model, and to query its properties, actions, texts and tokens.
 *
 * A model belongs to a domain, such as "mt", which is registered by name (registry.h).
 * Threads: see engine.h.
 * Stability: structs are only appended to. */
#ifndef RILL_MODEL_H
#define RILL_MODEL_H

#include "rill/option.h"

RILL_C_BEGIN

#define RILL_ACTION_START (-1)
#define RILL_NO_NODE (-1)
#define RILL_NO_ACTION (-1)

/* The score (log-probability -infinity) of an action that must never be chosen. The engine skips such choices of a row. */
#define RILL_SCORE_DEAD (-__builtin_inf())

/* A kind of model that is decoded one action at a time; domain.h is for programmers who write one. */
typedef struct rill_domain rill_domain;

/* A domain together with the model that its open() made. */
typedef struct rill_model rill_model;

typedef enum rill_state_need {
    RILL_STATE_PARENT = 0, /* a row's state depends on its parent's state alone: recurrent networks, parsers */
    RILL_STATE_PATH = 1,   /* a row reads the states of all its ancestors: attention with a KV cache */
} rill_state_need;

typedef struct rill_open_options {
    size_t struct_size;
    const char *path;      /* the model's directory or file; may be NULL for domains that need none */
    int threads;           /* threads the domain may use inside a call, >= 1; slow when more than rill_processors() */
    int tokenized;         /* inputs are already tokenized: split them at spaces, change nothing */
    const char *arguments; /* free text for the domain ("seed=3"), or NULL */
    /* [n_ensemble] further models that decode together with the one at `path`: an ensemble */
    const char *const *ensemble;
    int32_t n_ensemble;
    int32_t n_values;
    /* [n_values] values of the domain's own options (rill_domain.options); valid during open() only */
    const rill_pair *values;
} rill_open_options;

/* Return the value of one of the domain's own options; NULL if it is unset. */
RILL_API const char *rill_open_option(const rill_open_options *options, const char *name);
/* Return 1 if one of the domain's own switches is on, else 0. */
RILL_API int rill_open_switch(const rill_open_options *options, const char *name);

/* A sequence of actions. */
typedef struct rill_sequence {
    const int32_t *action; /* [n] the actions, in order */
    int32_t n;             /* number of actions, >= 1 */
} rill_sequence;

typedef struct rill_domain_info {
    int32_t actions; /* number of actions (vocabulary size), >= 1 */
    /* parts of a timestep, each with its own step and score, 1..8; 0 is read as 1. Most models have 1 */
    int32_t phases;
    rill_state_need state_need;
    /* bit p set: the setting max_candidates limits the choices in phase p; 0 stands for all phases */
    uint32_t max_choices_phases;
    int32_t max_length;      /* default bound on actions per hypothesis, > 0 */
    const char *description; /* one line about the loaded model, owned by the domain until close; may be NULL */
    /* Memory use in bytes, for the setting `memory`. Where node_bytes is 0, that setting is refused. */
    int64_t node_bytes; /* bytes of the state of one node (recurrent state, or KV cache of a position) */
    int64_t slot_bytes; /* bytes of one input in flight, without slot_unit_bytes */
    /* further bytes of an input in flight for each unit (token) of its size (rill_input.size) */
    int64_t slot_unit_bytes;
    /* hard limit on actions per hypothesis (position embeddings); 0: none beyond the input's own limit */
    int32_t max_positions;
    int has_end_action; /* 1: `end_action` is valid; choosing it is RILL_END, see rill_row_ends */
    /* the end action (</s>); without has_end_action it is ignored, and the engine sets it to RILL_NO_ACTION */
    int32_t end_action;
    /* 1: a row's result may have a terminal flag per choice (RILL_ENDS_BY_FLAG). Under an end rule the engine then requests all of its
     * actions */
    int terminals_by_flag;
    /* For domains with `collect`: number of live hypotheses that fill the device; 0: one micro-batch only. With at least twice as many,
     * the engine forms two micro-batches and prepares one while the device computes the other */
    int32_t group_rows;
    /* 1: finalize reads nothing that other calls write, and of a hypothesis only length, action, action_logp, path_score, logp and
     * truncated. Then any runner may finalize any output, with slot -1 and NULL for other fields; with several workers the thread that
     * delivers results does it. */
    int finalize_anywhere;
    /* [actions / 64 rounded up] bit a % 64 of word a / 64: action a is legal in some row. NULL: all are. The domain's until close */
    const uint64_t *legal;
    /* bytes of temporary memory of one row of a timestep, for the setting `memory`; 0: negligible */
    int64_t row_bytes;
    /* the compute device: "cpu", "cuda:1, NAME OF THE GPU" (device.h); NULL: unknown. Owned by the domain until close */
    const char *device;
    /* 1: log-probabilities of choices are not normalised: their exponentials may add up to more than 1 */
    int unnormalised;
    int has_start_action; /* 1: `start_action` is valid; the start symbol is one of the actions */
    int32_t start_action;
    int64_t runner_bytes; /* bytes of fixed memory of a runner, for the setting `memory`; 0: negligible */
    /* [n_forbidden] sequences that no output may contain: an action that would complete one is masked. The start action matches the
     * position before the first action. Owned by the domain until close */
    const rill_sequence *forbidden;
    int32_t n_forbidden;
    /* the language codes of a multilingual model, NULL-terminated; NULL: not multilingual. Owned by the domain until close */
    const char *const *languages;
    /* bytes of device memory free for states and buffers: the limit if the setting `memory` is unset; 0: none */
    int64_t memory_bytes;
} rill_domain_info;

/* A sentence of an input: a range of its bytes. */
typedef struct rill_part {
    size_t begin, length; /* byte at which the range begins, and its length in bytes */
} rill_part;

/* Open a model with a registered domain.
 *   out: on success a model the caller closes after its engine; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND (unknown domain) · RILL_ERR_OPTION (unsupported by the domain) · RILL_ERR_ABI (the options' size) · a
 *   failure of the domain's open() */
RILL_API rill_status rill_model_open(rill_model **out, rill_context *ctx, const char *domain,
                                     const rill_open_options *options);
RILL_API void rill_model_close(rill_model *model); /* NULL is allowed */
RILL_API const rill_domain *rill_model_domain(const rill_model *model);
RILL_API const rill_domain_info *rill_model_info(const rill_model *model);

/* Return 1 if a model of the domain can serve several engines at once (the domain has start and stop), else 0. */
RILL_API int rill_domain_has_runners(const rill_domain *domain);

/* Append the text of an action to `out`, whose context records failures; `out` is then unchanged.
 *   RILL_OK · RILL_ERR_NOT_FOUND (the domain names no actions, or not this action; the action does not exist) · RILL_ERR_MEMORY */
RILL_API rill_status rill_model_action_name(const rill_model *model, int32_t action, rill_text *out);
/* Return the action with that name; RILL_NO_ACTION if no action has it, or if the domain names no actions. */
RILL_API int32_t rill_model_find_action(const rill_model *model, const char *text, size_t length);
/* Tokenize a text: find the actions that write it within an output, without start and end actions. *n is their number, and the first
 * `capacity` are in `action`; an empty text has none. The text has the form of an output: a sentence for translation, space-separated
 * tokens for logical forms. If outputs are trees, or the domain cannot tokenize, the text is names of actions separated by spaces; an
 * action without a name is its number.
 *   ctx: the calling thread's context, for example a scorer's; it records failures
 *   on failure *n is 0
 *   RILL_OK · RILL_ERR_NOT_FOUND (the domain cannot tokenize and names no actions) · RILL_ERR_INPUT (the model's actions cannot write
 *   this text) · RILL_ERR_ARGUMENT (NULL with length > 0) · RILL_ERR_PLUGIN (the domain returned invalid actions) · RILL_ERR_MEMORY */
RILL_API rill_status rill_model_tokenize(const rill_model *model, rill_context *ctx, const char *text, size_t length,
                                         int32_t *action, int32_t capacity, int32_t *n);
/* Returns the forced first action of all outputs of an input, such as a language token; RILL_NO_ACTION: none. ctx: the calling thread's;
 * nothing is recorded there. */
RILL_API int32_t rill_model_first_action(const rill_model *model, rill_context *ctx, const char *input, size_t length);

/* Split an input into sentences; parameters as in rill_domain.split. The caller submits `head` followed by each sentence, and keeps the
 * original text between sentences in the output.
 *   ctx: the calling thread's
 *   RILL_OK · RILL_ERR_NOT_FOUND (recorded: the model's inputs are not made of sentences) · RILL_ERR_PLUGIN (the domain returned invalid
 *   ranges) · RILL_ERR_MEMORY; on failure *n is 0 */
RILL_API rill_status rill_model_split(const rill_model *model, rill_context *ctx, int always, const char *text,
                                      size_t length, rill_part *part, int32_t capacity, int32_t *n, size_t *head);

/* Return the options that a single input may override (rill_domain.input_options); NULL: there are none. */
RILL_API const rill_option *rill_domain_input_rows(const rill_domain *domain);
/* Find an option of a single input by name: a setting with rill_setting_is_per_request(), or an input option of the domain.
 *   RILL_OK · RILL_ERR_OPTION (recorded: the option applies to the whole run, or is unknown, with the nearest name); *out is then NULL */
RILL_API rill_status rill_domain_request_option(const rill_domain *domain, rill_context *ctx, const char *name,
                                                const rill_option **out);
/* Append NAME=VALUE to a request's options (rill_request.input_options) in `out`, whose context records failures; `out` is then unchanged.
 *   RILL_OK · RILL_ERR_NOT_FOUND (inputs have no option of that name) · RILL_ERR_OPTION (invalid value) · RILL_ERR_MEMORY */
RILL_API rill_status rill_domain_input_option(const rill_domain *domain, const char *name, const char *value,
                                              rill_text *out);

RILL_C_END

#endif
