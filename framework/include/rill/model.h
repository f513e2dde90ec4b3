/* Open a model; query its properties, its actions (tokens), and tokenize.
 *
 * A model belongs to a domain, such as "mt", registered by name (registry.h).
 * Threads: see engine.h.
 * Stability: structs are only appended to. */
#ifndef RILL_MODEL_H
#define RILL_MODEL_H

#include "rill/option.h"

RILL_C_BEGIN

#define RILL_ACTION_START (-1)
#define RILL_NO_NODE (-1)
#define RILL_NO_ACTION (-1)

/* The log-probability of a forbidden action; the engine skips it. */
#define RILL_SCORE_DEAD (-__builtin_inf())

/* A kind of model, such as "mt"; see domain.h to write one. */
typedef struct rill_domain rill_domain;

/* A domain with an opened model. */
typedef struct rill_model rill_model;

typedef enum rill_state_need {
    RILL_STATE_PARENT = 0, /* a state depends on the parent's state alone: recurrent networks, parsers */
    RILL_STATE_PATH = 1,   /* a state reads all ancestors' states: attention with a KV cache */
} rill_state_need;

typedef struct rill_open_options {
    size_t struct_size;
    const char *path;      /* the model's directory or file; may be NULL for domains that need none */
    int threads;           /* number of threads inside a call, >= 1; slow above rill_processors() */
    int tokenized;         /* inputs are tokenized: split at spaces only */
    const char *arguments; /* free text for the domain ("seed=3"), or NULL */
    /* [n_ensemble] further models, decoded together with the one at `path` */
    const char *const *ensemble;
    int32_t n_ensemble;
    int32_t n_values;
    /* [n_values] values of the domain's own options (rill_domain.options); valid during open() */
    const rill_pair *values;
} rill_open_options;

/* Return the value of a domain option; NULL if unset. */
RILL_API const char *rill_open_option(const rill_open_options *options, const char *name);
/* Return 1 if a switch of the domain is on, else 0. */
RILL_API int rill_open_switch(const rill_open_options *options, const char *name);

/* A sequence of actions. */
typedef struct rill_sequence {
    const int32_t *action; /* [n] the actions, in order */
    int32_t n;             /* number of actions, >= 1 */
} rill_sequence;

typedef struct rill_domain_info {
    int32_t actions; /* number of actions (vocabulary size), >= 1 */
    /* stages of a timestep, each with a step and a score call, 1..8; 0 means 1. Most models have 1 */
    int32_t phases;
    rill_state_need state_need;
    /* bit p is set if max_candidates limits the choices in phase p; 0: in all phases */
    uint32_t max_choices_phases;
    int32_t max_length;      /* default length limit in actions, > 0 */
    const char *description; /* one line about the loaded model, owned by the domain until close; may be NULL */
    /* Memory use in bytes, for the setting `memory`. node_bytes 0: that setting is refused. */
    int64_t node_bytes; /* bytes per hypothesis state (recurrent state, or one position of the KV cache) */
    int64_t slot_bytes; /* bytes per input in flight */
    /* further memory per token of an input, in bytes (rill_input.size) */
    int64_t slot_unit_bytes;
    /* hard limit on an output's length in actions (position embeddings); 0: none */
    int32_t max_positions;
    int has_end_action; /* 1: end_action is valid, and ends a hypothesis (RILL_END) */
    /* the end token (</s>); only with has_end_action */
    int32_t end_action;
    /* 1: choices may have terminal flags (RILL_ENDS_BY_FLAG). The engine then requests all actions under an end rule */
    int terminals_by_flag;
    /* for domains with collect(): number of live hypotheses that fill the device; 0: one micro-batch. With twice as many, the engine forms
     * two micro-batches and prepares one while the device computes the other */
    int32_t group_rows;
    /* 1: finalize reads only length, action, action_logp, path_score, logp and truncated of a hypothesis, and nothing that other calls
     * write. Any runner may then finalize, with slot -1 and other pointers NULL */
    int finalize_anywhere;
    /* [actions / 64 rounded up] bit a % 64 of word a / 64: action a is legal in some row. NULL: all. Valid until close */
    const uint64_t *legal;
    /* temporary memory per row of a timestep, in bytes, for the setting `memory`; 0: negligible */
    int64_t row_bytes;
    /* compute device: "cpu", "cuda:1, NAME OF THE GPU" (device.h); NULL: unknown. Valid until close */
    const char *device;
    /* 1: scores are not normalised; probabilities may add up to more than 1 */
    int unnormalised;
    int has_start_action; /* 1: start_action is valid */
    int32_t start_action;
    int64_t runner_bytes; /* fixed memory of a runner in bytes, for the setting `memory`; 0: negligible */
    /* [n_forbidden] banned sequences: the action that completes one is masked. The start action may stand for the beginning. Valid until
     * close */
    const rill_sequence *forbidden;
    int32_t n_forbidden;
    /* language codes, NULL-terminated; NULL: not multilingual. Valid until close */
    const char *const *languages;
    /* free device memory in bytes, the limit if the setting `memory` is unset; 0: none */
    int64_t memory_bytes;
} rill_domain_info;

/* A sentence of an input: a byte range. */
typedef struct rill_part {
    size_t begin, length; /* first byte of the sentence, and its number of bytes */
} rill_part;

/* Open a model. *out: closed by the caller after its engines; NULL on failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND (unknown domain) · RILL_ERR_OPTION (not supported by the domain) · RILL_ERR_ABI (the options' size) ·
 *   a failure of the domain's open() */
RILL_API rill_status rill_model_open(rill_model **out, rill_context *ctx, const char *domain,
                                     const rill_open_options *options);
RILL_API void rill_model_close(rill_model *model); /* closing NULL does nothing */
RILL_API const rill_domain *rill_model_domain(const rill_model *model);
RILL_API const rill_domain_info *rill_model_info(const rill_model *model);

/* Return 1 if one model can serve several engines (the domain has start and stop), else 0. */
RILL_API int rill_domain_has_runners(const rill_domain *domain);

/* Append an action's name. On failure `out` is unchanged; its context records the failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no name, or no such action) · RILL_ERR_MEMORY */
RILL_API rill_status rill_model_action_name(const rill_model *model, int32_t action, rill_text *out);
/* Return the action with this name, or RILL_NO_ACTION. */
RILL_API int32_t rill_model_find_action(const rill_model *model, const char *text, size_t length);
/* Tokenize a text in the form of an output, without start and end actions.
 * If outputs are trees, or the domain cannot tokenize: action names separated by spaces; an action without name is its number.
 *   *n: number of actions, of which the first `capacity` are written; 0 on failure
 *   ctx: the calling thread's; records failures
 *   RILL_OK · RILL_ERR_NOT_FOUND (no tokenizer, no names) · RILL_ERR_INPUT (the text cannot be tokenized) ·
 *   RILL_ERR_ARGUMENT (NULL with length > 0) · RILL_ERR_PLUGIN (the domain returned invalid actions) · RILL_ERR_MEMORY */
RILL_API rill_status rill_model_tokenize(const rill_model *model, rill_context *ctx, const char *text, size_t length,
                                         int32_t *action, int32_t capacity, int32_t *n);
/* Returns the forced first action of an input's outputs, e.g. a language token; RILL_NO_ACTION: none. ctx: the calling thread's. */
RILL_API int32_t rill_model_first_action(const rill_model *model, rill_context *ctx, const char *input, size_t length);

/* Split an input into sentences; see rill_domain.split. The caller submits each sentence after the prefix of *head bytes, and
 * copies the text between sentences to the output.
 *   ctx: the calling thread's
 *   RILL_OK · RILL_ERR_NOT_FOUND (recorded: inputs are not made of sentences) · RILL_ERR_PLUGIN (invalid ranges) · RILL_ERR_MEMORY;
 *   on failure *n is 0 */
RILL_API rill_status rill_model_split(const rill_model *model, rill_context *ctx, int always, const char *text,
                                      size_t length, rill_part *part, int32_t capacity, int32_t *n, size_t *head);

/* Return the options that an input may override (rill_domain.input_options), or NULL. */
RILL_API const rill_option *rill_domain_input_rows(const rill_domain *domain);
/* Find an option that an input may override: a setting with rill_setting_is_per_request(), or an input option of the domain.
 *   *out: NULL on failure
 *   RILL_OK · RILL_ERR_OPTION (recorded: unknown, with the nearest name, or an option of the whole run) */
RILL_API rill_status rill_domain_request_option(const rill_domain *domain, rill_context *ctx, const char *name,
                                                const rill_option **out);
/* Append NAME=VALUE to a request's options (rill_request.input_options). On failure `out` is unchanged; its context records the failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such input option) · RILL_ERR_OPTION (invalid value) · RILL_ERR_MEMORY */
RILL_API rill_status rill_domain_input_option(const rill_domain *domain, const char *name, const char *value,
                                              rill_text *out);

RILL_C_END

#endif
