/* The domain: a model and its tokenizer, as a table of functions for the engine. The engine searches; the domain computes states and
 * scores of hypotheses.
 *
 * Dimensions
 *   n   rows (hypotheses) in a call, of any inputs and lengths, in any order; 0 is legal
 *   M   maximum number of best actions requested per row (rill_score_request.max_choices)
 *   m   inputs in an encode call
 *
 * Ids
 *   item    an input in flight
 *   slot    index of an item's encoder memory, 0 <= slot < slots
 *   node    index of a hypothesis state, such as a row of the KV cache, 0 <= node < nodes
 *   action  a token or parser transition, in [0, info.actions). An item's first node has action RILL_ACTION_START (-1) and parent
 *           RILL_NO_NODE (-1)
 *
 * Order of calls
 *   model   open, any other calls, close
 *   runner  (what an engine calls: one per thread) start, decoding calls, stop. Without `start` the model is its own runner
 *   item    encode(slot) · per timestep step and score · finalize once per output · drop(slot). Under a memory limit an item may restart
 *   node    step computes its state · score, and the step of its children, read the state · free releases the state: under
 *           RILL_STATE_PARENT after the children's step, under RILL_STATE_PATH when no hypothesis passes through the node
 *
 * Threads: with `start` the model is const, and several runners decode from it. A runner's methods run on its engine's thread, one at
 * a time. Any thread may call the model's methods: `close`, `start`, `recommend`, `action_name`, `find_action`, `unknown_action`,
 * `tokenize`, `first_action` and `split`. These use no memory but the stack and the caller's context (`ctx`, or that of `out`).
 * Without `start` all methods run on one thread, and each worker opens the model.
 *
 * Asynchronous scores: with `collect`, score may submit a call and return RILL_AGAIN. collect(group) waits for the result. Until then
 *   - rows, request and result stay valid, and reserve moves nothing that the call uses;
 *   - the engine may call measure, encode, reserve, drop, free, finalize and field, and step and score for the other micro-batch;
 *   - every call behaves as if all earlier calls were complete, and a micro-batch has at most one submitted call.
 * Every submitted call is collected before stop. step may always return before its work is done.
 *
 * A method keeps no pointer after it returns, except in a submitted call.
 * A method fails with rill_fail() and a negative status, which ends the run, except where noted.
 * A row's result depends on that row alone, not on the other rows of the call.
 *
 * Stability: members are only appended; RILL_ABI_VERSION and struct_size guard the rest. */
#ifndef RILL_DOMAIN_H
#define RILL_DOMAIN_H

#include "rill/model.h"
#include "rill/profile.h"

RILL_C_BEGIN

/* Whether an action ends the hypothesis. */
typedef enum rill_terminal {
    RILL_LIVE = 0, /* the hypothesis can be extended */
    RILL_END = 1,  /* the end action (</s>), not counted in the length */
    RILL_LAST = 2, /* an ordinary action that completes the hypothesis, counted in the length */
} rill_terminal;

/* Which actions that end a hypothesis are allowed. A bit set: rules from several sources are ORed. */
typedef enum rill_end_rule {
    RILL_END_ALLOWED = 0,
    RILL_END_FORBIDDEN = 1, /* no action may end the hypothesis */
    /* every action must end the hypothesis */
    RILL_END_REQUIRED = 2,
    /* below the minimum length: no RILL_END, but RILL_LAST */
    RILL_END_NOT_YET = 4,
} rill_end_rule;

/* Optional capabilities of a domain: a bit set. */
typedef enum rill_domain_feature {
    /* the domain supports ensembles (rill_open_options.ensemble) */
    RILL_TAKES_ENSEMBLES = 1,
    /* with the method "fixed", the search stops as in fairseq (finish "immediate") */
    RILL_FIXED_AS_FAIRSEQ = 2,
} rill_domain_feature;

/* An input to encode. */
typedef struct rill_input {
    const char *text; /* in: the input, [length] bytes without newline; not NUL-terminated */
    size_t length;    /* in: bytes of text */
    int64_t id;       /* in: position in the input stream from 0 */
    int32_t slot;     /* in: the slot (index) of the input's encoder memory */
    /* out: RILL_OK (preset) · RILL_EMPTY: nothing to decode, the output is empty · negative: this input alone fails, see rill_input_fail()
     */
    rill_status status;
    /* out: length limit in actions; 0 (preset): info.max_length. Users may lower it, or raise it up to info.max_positions */
    int32_t max_length;
    /* out, optional: size of the input in tokens, for scheduling and for max_length_factor and slot_unit_bytes */
    int64_t size;
    /* out: error message of a failed input, or a warning, see rill_input_warn() */
    char message[248];
    const char *options; /* in: the input's own options, read by rill_input_value(); NULL: none */
} rill_input;

/* Returns the bytes of white space at a text's start: control, Unicode space, zero-width and direction characters, byte order marks.
 * Invalid UTF-8 is not white space. */
RILL_API size_t rill_blank_bytes(const char *text, size_t length);

/* Fail one input alone: set its status and message. Returns `status`. */
RILL_API rill_status rill_input_fail(rill_input *input, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Attach a warning to an input (rill_result.warning); the input is still decoded. Long messages are cut after a whole character. */
RILL_API void rill_input_warn(rill_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the input's own value of an option of rill_domain.input_options, already checked; NULL: unset, use the model's value. */
RILL_API const char *rill_input_value(const rill_input *input, const char *name);
/* Returns 1 if a switch is on for this input, else 0. opened: the model's value, used if the input sets none. */
RILL_API int rill_input_switch(const rill_input *input, const char *name, int opened);

/* The rows (live hypotheses) of a step or score call. Arrays have n entries and are read-only. */
typedef struct rill_rows {
    int32_t n;
    int32_t phase;       /* stage of the timestep, for models with several: 0 <= phase < info.phases */
    const int32_t *node; /* id of the hypothesis's state, computed by step */
    /* state id of the parent hypothesis. RILL_NO_NODE: no parent (an empty hypothesis), or the state is already freed */
    const int32_t *parent;
    /* id of the state to extend; RILL_NO_NODE for an empty hypothesis. Equals `parent`, except under cube pruning */
    const int32_t *state_parent;
    const int32_t *action; /* the hypothesis's last action; RILL_ACTION_START for an empty hypothesis */
    const int32_t *slot;
    const int32_t *depth; /* number of timesteps completed; 0 for an empty hypothesis */
    int32_t group;        /* micro-batch 0 or 1; two may run concurrently, see collect() */
} rill_rows;

/* What score shall return: the best choices (next actions) of each row, and picks: log-probabilities of particular actions.
 * The engine applies constraints and bonuses afterwards. */
typedef struct rill_score_request {
    int32_t max_choices; /* number M of best legal actions per row; 0: only the picks */
    /* [n] choices that the engine will read per row; NULL: M */
    const int32_t *row_max_choices;
    size_t legal_words;    /* actions / 64 rounded up */
    const uint64_t *legal; /* [sets, legal_words] sets of actions, bits as in info.legal; NULL: no sets */
    /* [n] index in `legal` of the row's set of legal actions; -1: all actions are legal. NULL if `legal` is NULL */
    const int32_t *legal_set;
    /* number of picks: actions whose log-probability is requested by id, legal or not */
    int32_t n_picks;
    const int32_t *pick_row;    /* [n_picks] row of each pick; ascending, see rill_lower_bound() */
    const int32_t *pick_action; /* [n_picks] action of each pick; ascending within a row, no duplicates */
} rill_score_request;

/* Which choices of a row end the hypothesis. */
typedef enum rill_row_ends {
    RILL_ENDS_BY_ACTION = 0, /* the choice info.end_action ends the hypothesis (RILL_END), others do not */
    /* every choice ends the hypothesis (RILL_LAST): a parser's last label, an empty input */
    RILL_ENDS_LAST = 1,
    /* rill_score_result.terminal says which choices end the hypothesis; for domains with info.terminals_by_flag */
    RILL_ENDS_BY_FLAG = 2,
} rill_row_ends;

/* Result of a score call: log-probabilities without constraints or bonuses, in arrays that the engine provides.
 * Row r has choices [r*stride, r*stride + count[r]), by descending logp, then ascending action.
 * If only one action is possible, its logp is 0. Fewer than M choices: all legal actions are listed.
 * A domain that lists all actions may include illegal ones. */
typedef struct rill_score_result {
    int32_t stride;    /* entries per row of `action`, `logp` and `terminal`; >= max_choices */
    int32_t *count;    /* [n] number of choices per row, 0 to M */
    int32_t *action;   /* [n, stride] actions of the choices */
    float *logp;       /* [n, stride] natural-log probabilities */
    uint8_t *ends;     /* [n] which choices end the row's hypothesis; preset to RILL_ENDS_BY_ACTION */
    uint8_t *terminal; /* [n, stride] rill_terminal per choice; only for rows with RILL_ENDS_BY_FLAG */
    /* [n_picks] log-probability of each pick, bit-identical to logp; RILL_SCORE_DEAD: illegal */
    float *pick_logp;
} rill_score_result;

/* Whether an action is legal in a row. */
static inline int rill_score_request_allows(const rill_score_request *request, int32_t row, int32_t action)
{
    if (request->legal == NULL || request->legal_set[row] < 0) return 1;
    const uint64_t *set = request->legal + (size_t)request->legal_set[row] * request->legal_words;
    return (int)(set[action / 64] >> (action % 64) & 1);
}

/* Write one row's result from all of its legal actions: its M best choices and its picks. Time n log M, less if sorted.
 *   action, logp: [n], any order, no duplicates; NaN and RILL_SCORE_DEAD are dropped
 *   terminal: [n] rill_terminal, sets RILL_ENDS_BY_FLAG; NULL: `ends` is unchanged
 * Threads: no shared state. */
RILL_API void rill_score_result_fill(const rill_score_request *request, int32_t row, int32_t n, const int32_t *action,
                                     const float *logp, const uint8_t *terminal, rill_score_result *out);

/* A finished hypothesis, oldest action first. */
typedef struct rill_hypothesis {
    int32_t slot;
    int32_t length;                 /* number of actions, with the end action */
    const int32_t *action;          /* [length] the actions */
    const float *action_logp;       /* [length] the model's log-probability of each action */
    const float *action_path_score; /* [length] action_logp plus scorers' bonuses */
    /* [length] id of the state after each action; RILL_NO_NODE, except under RILL_STATE_PATH */
    const int32_t *node;
    double path_score; /* sum of action_path_score */
    double logp;       /* sum of action_logp */
    int truncated;     /* 1: the output was cut off at the length limit, without an end action */
} rill_hypothesis;

typedef struct rill_domain {
    uint32_t abi_version; /* must be RILL_ABI_VERSION */
    uint32_t struct_size; /* must be sizeof(rill_domain) */
    const char *name;     /* name of the domain: characters a-z, 0-9, "_" and "-" */
    const char *summary;  /* one line for `rill list` */

    /* Load a model: set *self and *info. On failure nothing stays allocated. Mandatory.
     *   table: this rill_domain; a larger struct may begin with it */
    rill_status (*open)(const struct rill_domain *table, rill_context *ctx, const rill_open_options *options,
                        void **self, rill_domain_info *info);

    /* Reserve memory for node ids below `nodes` and slots below `slots`, keeping contents. Called before the first encode and on growth.
     * Mandatory. */
    rill_status (*reserve)(void *self, int32_t nodes, int32_t slots);

    /* Encode m inputs into their slots. A bad input fails alone, see rill_input.status. Failed and empty inputs are not dropped.
     * Inputs of white space alone never reach encode. A negative return ends the run. Mandatory. */
    rill_status (*encode)(void *self, int32_t m, rill_input *inputs);

    /* Compute each row's state, from the state in `state_parent` and the row's action. Mandatory. */
    rill_status (*step)(void *self, const rill_rows *rows);

    /* Compute each row's best legal actions, and the picks. A call may have only some of the stepped rows. Mandatory. */
    rill_status (*score)(void *self, const rill_rows *rows, const rill_score_request *request, rill_score_result *out);

    /* Append an output's text: one line, without newline. Mandatory. */
    rill_status (*finalize)(void *self, const rill_hypothesis *hypothesis, rill_text *out);

    /* (optional; NULL: nothing to do) Release the slot of a finished input. */
    void (*drop)(void *self, int32_t slot);

    /* (optional; NULL: nothing to do) Release hypothesis states. */
    void (*free)(void *self, int32_t n, const int32_t *nodes);

    /* Undo open; accepts NULL. Mandatory. */
    void (*close)(void *self);

    /* (optional; NULL: number of words) Return a cheap estimate of an input's size, to sort inputs before encoding. */
    int64_t (*measure)(void *self, const char *text, size_t length);

    /* (optional; NULL: white space normalised) Append an output's canonical form; equivalent outputs have equal forms. For evaluation,
     * without a model. table: this rill_domain */
    rill_status (*canonical)(const struct rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out);

    /* (optional; NULL: actions have no names) Append an action's name, as a user writes it.
     *   RILL_OK · RILL_ERR_NOT_FOUND (no name) · RILL_ERR_MEMORY */
    rill_status (*action_name)(void *self, int32_t action, rill_text *out);

    /* (optional; NULL: none) Return the action with this name, or RILL_NO_ACTION. */
    int32_t (*find_action)(void *self, const char *text, size_t length);

    /* (optional; NULL: "exact") Default evaluation metric: a name of `rill list metrics`. */
    const char *metric;
    /* (optional) Bits of rill_domain_feature. */
    uint32_t features;

    /* (optional; NULL: no fields) Append an additional output field (rill_engine_setup.fields): one line without newline or NUL.
     * Called after finalize, while the hypothesis's states exist. To check a name: hypothesis and `out` are NULL.
     *   RILL_OK · RILL_ERR_OPTION (recorded: unknown field or bad form) · RILL_ERR_MEMORY */
    rill_status (*field)(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out);

    /* (optional; NULL: none) Return the unknown token (<unk>), or RILL_NO_ACTION. */
    int32_t (*unknown_action)(void *self);

    /* (optional; NULL: none) Append the model makers' settings for another decoder (`like`, e.g. "hf"): NAME=VALUE, separated by spaces.
     * The user's settings override them. */
    rill_status (*recommend)(void *self, const char *like, rill_text *out);

    /* (optional; NULL: texts are action names separated by spaces) Tokenize a text within an output, without start and end actions.
     *   *n: number of actions, of which the first `capacity` are written
     *   ctx: the caller's, for temporary memory and failures
     *   RILL_OK · RILL_ERR_INPUT (recorded: the text cannot be tokenized) · RILL_ERR_MEMORY */
    rill_status (*tokenize)(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n);

    /* (optional, with `stop`; NULL: the model is its own runner) Create a runner, with its own state ids, slots and all memory that
     * decoding writes. On failure nothing stays allocated.
     *   ctx: the engine's context, for all allocations and failures of the runner
     *   threads: maximum number of threads that the runner may start */
    rill_status (*start)(const void *model, rill_context *ctx, int threads, void **runner);

    /* (with `start`) Undo start; accepts NULL. Called on the thread that destroys the engine. */
    void (*stop)(void *runner);

    /* (optional; NULL: no profiles) Start profiling operations from zero (on = 1), or stop (on = 0).
     *   RILL_OK · RILL_ERR_MEMORY */
    rill_status (*profile)(void *self, int on);
    /* (with `profile`) Write the profile of operation i to *out. Returns 1; 0 if there is none. */
    int (*profile_row)(const void *self, int32_t i, rill_op_profile *out);
    /* (with `profile`) Measure one thread's peak performance, in about 0.1 s.
     *   RILL_OK · RILL_ERR_MEMORY */
    rill_status (*limits)(void *self, rill_limits *out);

    /* (optional; NULL: score is synchronous) Wait for the micro-batch's submitted score call; see "Asynchronous scores".
     *   RILL_OK · the failure of that score call; the run then ends */
    rill_status (*collect)(void *self, int32_t group);

    /* (optional; NULL: none) Append the domain's default settings and heuristics: NAME=VALUE, separated by spaces. Called without a model.
     * The model's directory and the user override them.
     *   table: this rill_domain · path: of the model, or NULL
     *   RILL_OK · the failures of open() that the same files cause */
    rill_status (*advise)(const struct rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

    /* (optional; NULL: none) The domain's own options, of kind RILL_OPTION_MODEL, up to a row without name. open() gets the checked values
     * in rill_open_options.values.
     * A name has 2 to 40 characters a-z, 0-9 and -, with no - at its ends, and differs from all other options' names. */
    const rill_option *options;

    /* (optional; NULL: none) Values of "model_type" in config.json that select this domain, NULL-terminated. The first domain with the
     * type wins. */
    const char *const *model_types;

    /* (optional; NULL: by last action) Equivalence classes for cube pruning, before states are computed (rows->node is NULL).
     * Equivalent hypotheses share a state, so they must have the same legal actions.
     *   class_of: [rows->n] out, 0 on entry */
    rill_status (*classify)(void *self, const rill_rows *rows, int64_t *class_of);

    /* (optional; NULL: none) Return the forced first action of an input's outputs, e.g. a language token, or RILL_NO_ACTION. The texts of
     * tokenize and finalize exclude it. input: as rill_input.text */
    int32_t (*first_action)(void *self, rill_context *ctx, const char *input, size_t length);

    /* (optional; NULL: inputs are decoded whole) Split an input into sentences, decoded separately; their outputs are concatenated.
     *   always: 0: only if the input is longer than the model was trained for
     *   *n: number of sentences, the first `capacity` written; 1: decode whole, none written; 0: must not be split
     *   *head: bytes of a prefix to repeat before every sentence, e.g. a language tag; 0 on entry
     *   RILL_OK · RILL_ERR_NOT_FOUND (recorded: inputs are not made of sentences) · RILL_ERR_MEMORY */
    rill_status (*split)(void *self, rill_context *ctx, int always, const char *text, size_t length, rill_part *part,
                         int32_t capacity, int32_t *n, size_t *head);

    /* (optional; NULL: none) Options that an input may override, up to a row {0}: rows of `options`, and "tokenized". encode() reads them
     * by rill_input_value(). */
    const rill_option *input_options;

    /* (optional; NULL: zeros) Write how often graphs ran, and how. */
    void (*graph_runs)(const void *self, rill_graph_runs *out);
} rill_domain;

RILL_C_END

#endif
