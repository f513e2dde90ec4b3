/* The contract between the engine and a domain: a kind of model that is decoded one action (token, parser transition) at a time.
 *
 * A domain is a const table of functions. The engine owns hypotheses, beams and the *ids* of states. The domain owns the memory of the
 * states, and never sees a beam. The engine never sees a tensor.
 *
 * Dimensions used below
 *   n   rows in a call: hypotheses whose states are computed or scored, of any items, of any lengths, in any order; 0 is legal
 *   M   maximum number of choices requested per row (rill_score_request.max_choices)
 *   m   inputs in an encode call
 *
 * Ids
 *   slot  index of an item in flight and of its encoder memory, 0 <= slot < slots
 *   node  index of one state in the domain's memory (a row of the KV cache), 0 <= node < nodes
 *   action  an integer in [0, info.actions): a token, a parser transition. RILL_ACTION_START (-1) is the action of an item's first node,
 *           whose parent is RILL_NO_NODE (-1)
 *
 * Life of a model: open, any mix of the calls below, close.
 * Life of a runner: start, any mix of the decoding calls, stop; before the model is closed. A domain without start and stop is its own
 * runner: the model decodes, for one engine at a time.
 * Life of an item: encode(slot) · step and score on its nodes, timestep after timestep · finalize once per output · drop(slot). Under a
 * memory limit an item may lose its nodes, or its slot too, and restart from a first node, or from encode() by any worker.
 * Life of a node: step makes it · score reads it, perhaps several times · step reads it as state_parent of its children · free ends it.
 * The engine frees it under RILL_STATE_PARENT as soon as its children were stepped or pruned, under RILL_STATE_PATH as soon as no live
 * or unfinished hypothesis passes through it.
 *
 * Self and threads: `close`, `start`, `recommend`, `action_name`, `find_action`, `unknown_action`, `tokenize`, `first_action` and `split`
 * get the model as their first argument. All other methods get the runner. With `start` the model is const from open to close: runners
 * decode from it in several threads, while any thread may call the functions named above. So these take working memory only from the stack
 * or from the caller's context (`ctx`, or the context of `out`), which also records their failures. A runner's methods run on its engine's
 * thread, one at a time, with the engine's context. Without `start` all methods run on the model's one thread, and each worker opens the
 * model.
 *
 * Asynchronous scores: with `collect`, score may return RILL_AGAIN: the call is submitted, and its result is ready when collect() of its
 * micro-batch (`group`) has returned. Until then its rows, request and result stay valid. Meanwhile the engine may call measure, encode,
 * reserve, drop, free, finalize and field for any ids, and step and score for the other micro-batch, which has other items. Each call must
 * behave as if all earlier calls were complete: submitted work runs in order. reserve moves nothing that a submitted call uses, or waits
 * for that call. A micro-batch has at most one submitted call. Every submitted call is collected before the runner is stopped. step may
 * always return before its work is done.
 *
 * A method keeps no pointer after it returns, except those of a submitted call.
 * A method that fails returns a negative status after rill_fail(); the run then ends, except where noted.
 * A row's result must depend on that row alone: not on the other rows of the call, their number or order.
 *
 * Stability: members are only appended; RILL_ABI_VERSION and struct_size guard the rest. */
#ifndef RILL_DOMAIN_H
#define RILL_DOMAIN_H

#include "rill/model.h"
#include "rill/profile.h"

RILL_C_BEGIN

/* Whether a choice (next action) ends the hypothesis. */
typedef enum rill_terminal {
    RILL_LIVE = 0, /* the hypothesis can be extended */
    RILL_END = 1,  /* the end action (</s>): not counted in the hypothesis's length */
    RILL_LAST = 2, /* an ordinary action that completes the hypothesis: counted in its length */
} rill_terminal;

/* Which terminal choices a row may return: a bit set, so that rules from several sources combine. */
typedef enum rill_end_rule {
    RILL_END_ALLOWED = 0,
    RILL_END_FORBIDDEN = 1, /* no terminal choice may be returned */
    /* only terminal choices may be returned; combined with RILL_END_FORBIDDEN, no choice at all */
    RILL_END_REQUIRED = 2,
    /* before the minimum length: RILL_END choices are forbidden, RILL_LAST choices are allowed */
    RILL_END_NOT_YET = 4,
} rill_end_rule;

/* Optional capabilities of a domain: a bit set. */
typedef enum rill_domain_feature {
    /* rill_open_options.ensemble is supported; without this bit rill_model_open() refuses ensembles */
    RILL_TAKES_ENSEMBLES = 1,
    /* under the method "fixed", hypotheses end as in fairseq (finish "immediate"); without this bit as under other methods ("top") */
    RILL_FIXED_AS_FAIRSEQ = 2,
} rill_domain_feature;

/* One input that is being admitted to a slot. */
typedef struct rill_input {
    const char *text; /* in: the input, [length] bytes as read, without newline; not NUL-terminated */
    size_t length;    /* in: bytes of text */
    int64_t id;       /* in: position in the input stream from 0 */
    int32_t slot;     /* in: slot for the input's encoder memory */
    /* out: RILL_OK on entry; a negative status fails this input alone (rill_input_fail()); RILL_EMPTY: nothing to decode, the output is
     * empty and the slot stays unused */
    rill_status status;
    /* out: this input's length limit, in actions; 0, as on entry: info.max_length. The user's setting can lower it, and can raise it up to
     * info.max_positions */
    int32_t max_length;
    /* out, optional: this input's size in the domain's unit (tokens), for scheduling and proportional limits (max_length_factor,
     * slot_unit_bytes) */
    int64_t size;
    /* out: why status is negative; otherwise a warning about how the input was read, see rill_input_warn() */
    char message[248];
    const char *options; /* in: the input's own values of input_options, for rill_input_value(); NULL: none */
} rill_input;

/* Returns the length in bytes of a text's leading white space: control characters, Unicode spaces, zero-width characters, direction marks
 * and byte order marks. Invalid UTF-8 is not white space.
 * A text of white space alone has an empty output. */
RILL_API size_t rill_blank_bytes(const char *text, size_t length);

/* Fail one input: set its status and message. Returns `status`. */
RILL_API rill_status rill_input_fail(rill_input *input, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Attach a warning to an input that is decoded nevertheless (rill_result.warning). Too long messages are cut after a whole character. */
RILL_API void rill_input_warn(rill_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the input's own value of an option in rill_domain.input_options, already checked; NULL: unset, so the value at opening
 * applies. */
RILL_API const char *rill_input_value(const rill_input *input, const char *name);
/* Returns 1 if a switch is on for this input, else 0. `opened`: the value at opening, used if the input sets none. */
RILL_API int rill_input_switch(const rill_input *input, const char *name, int opened);

/* The rows (live hypotheses) of one call of step or score. Arrays have n entries and are read-only. */
typedef struct rill_rows {
    int32_t n;
    int32_t phase;       /* 0 <= phase < info.phases */
    const int32_t *node; /* id of the row's state, which step computes */
    /* id of the parent hypothesis's state. RILL_NO_NODE for an item's first node (its empty hypothesis), or if that state is already freed:
     * under RILL_STATE_PARENT, with another state_parent */
    const int32_t *parent;
    /* id of the state from which the row's state is computed; RILL_NO_NODE for a first node. Differs from `parent` only under cube
     * pruning */
    const int32_t *state_parent;
    const int32_t *action; /* the action that extends the parent; RILL_ACTION_START for a first node */
    const int32_t *slot;
    const int32_t *depth; /* number of timesteps that the item has completed; 0 for a first node */
    int32_t group;        /* the micro-batch, 0 or 1: one of two timesteps that may run concurrently, see collect() */
} rill_rows;

/* What a score call shall return: the best choices (next actions) of each row, and the log-probabilities of particular actions, called
 * picks.
 * The engine applies rules, constraints and bonuses afterwards. It therefore requests enough choices for an exact result, and picks for
 * actions that may gain a bonus. */
typedef struct rill_score_request {
    int32_t max_choices; /* number M of best legal actions to return per row; 0: only the picks */
    /* [n] number of choices of the row that the engine reads; NULL: M for all rows */
    const int32_t *row_max_choices;
    size_t legal_words;    /* actions / 64 rounded up */
    const uint64_t *legal; /* [sets, legal_words] sets of actions, bits as in info.legal; NULL: no sets */
    /* [n] index of the set that restricts a row's choices, -1: any legal action. With info.legal every row has a subset of it. NULL if
     * `legal` is NULL */
    const int32_t *legal_set;
    /* number of picks: actions whose log-probability is requested besides the best choices, even outside the row's set */
    int32_t n_picks;
    const int32_t *pick_row;    /* [n_picks] row of each pick, an index in the call; ascending */
    const int32_t *pick_action; /* [n_picks] action of each pick; ascending within a row, without duplicates */
} rill_score_request;

/* Which choices of a row are terminal. */
typedef enum rill_row_ends {
    RILL_ENDS_BY_ACTION = 0, /* info.end_action is RILL_END, all others are RILL_LIVE */
    /* all choices are RILL_LAST, as for a parser's last label, or at the end of an empty input */
    RILL_ENDS_LAST = 1,
    /* rill_score_result.terminal has a flag per choice; for domains with info.terminals_by_flag */
    RILL_ENDS_BY_FLAG = 2,
} rill_row_ends;

/* The result of a score call. Row r has the choices [r*stride, r*stride + count[r]), best first: logp descending, then smaller action.
 * Values are the model's log-probabilities, without rules or bonuses. The engine provides the arrays and does not read entries past count.
 * A row with one possible action gets it with logp 0, without running the network. Fewer choices than requested must be all actions of
 * the row's set. A domain that returns all actions of a row may ignore the set, which the engine applies itself. */
typedef struct rill_score_result {
    int32_t stride;    /* entries per row of `action`, `logp` and `terminal`; >= max_choices of the request */
    int32_t *count;    /* [n] number of choices returned for each row, 0 to M */
    int32_t *action;   /* [n, stride] actions of the choices */
    float *logp;       /* [n, stride] natural-log probabilities */
    uint8_t *ends;     /* [n] rill_row_ends of the row; RILL_ENDS_BY_ACTION on entry */
    uint8_t *terminal; /* [n, stride] rill_terminal of the choice; read only for rows with RILL_ENDS_BY_FLAG */
    /* [n_picks] log-probability of each pick, bit-identical to the action's logp among choices; RILL_SCORE_DEAD: not legal */
    float *pick_logp;
} rill_score_result;

/* Return the index of the first pick whose row is >= `row`; n_picks if there is none. */
static inline int32_t rill_score_request_first_pick(const rill_score_request *request, int32_t row)
{
    return rill_lower_bound(request->pick_row, request->n_picks, row);
}

/* Whether the row's set contains the action. */
static inline int rill_score_request_allows(const rill_score_request *request, int32_t row, int32_t action)
{
    if (request->legal == NULL || request->legal_set[row] < 0) return 1;
    const uint64_t *set = request->legal + (size_t)request->legal_set[row] * request->legal_words;
    return (int)(set[action / 64] >> (action % 64) & 1);
}

/* Write a row's result: its best M choices, sorted, and its picks, selected from all of the row's legal actions: [n], in any order,
 * without duplicates. terminal: [n] a rill_terminal for each action, which makes the row RILL_ENDS_BY_FLAG; NULL leaves the row's `ends`
 * unchanged. Actions with log-probability NaN or RILL_SCORE_DEAD are dropped. Takes time n log M, less for sorted actions. No shared
 * state. */
RILL_API void rill_score_result_fill(const rill_score_request *request, int32_t row, int32_t n, const int32_t *action,
                                     const float *logp, const uint8_t *terminal, rill_score_result *out);

/* A finished hypothesis, oldest action first. */
typedef struct rill_hypothesis {
    int32_t slot;
    int32_t length;                 /* number of actions, a RILL_END action included */
    const int32_t *action;          /* [length] the actions */
    const float *action_logp;       /* [length] the model's log-probability of each action */
    const float *action_path_score; /* [length] log-probability plus scorers' bonuses of each action */
    /* [length] under RILL_STATE_PATH the node of the state that each action led to, else RILL_NO_NODE */
    const int32_t *node;
    double path_score; /* sum of action_path_score */
    double logp;       /* sum of action_logp */
    int truncated;     /* 1: the hypothesis was cut off by the length limit and has no terminal action */
} rill_hypothesis;

typedef struct rill_domain {
    uint32_t abi_version; /* must be RILL_ABI_VERSION */
    uint32_t struct_size; /* must be sizeof(rill_domain) */
    const char *name;     /* name of the domain, of the characters a-z, 0-9, "_" and "-" */
    const char *summary;  /* one line for `rill list` */

    /* Load a model. On success sets *self and *info; on failure nothing stays allocated. `table`: the registered table, the first member of
     * a larger struct if several domains share functions. Mandatory. */
    rill_status (*open)(const struct rill_domain *table, rill_context *ctx, const rill_open_options *options,
                        void **self, rill_domain_info *info);

    /* Reserve memory for node ids below `nodes` and slots below `slots`. Ids in use keep their contents. Called before the first encode and
     * whenever a capacity grows; capacities never shrink. Mandatory. */
    rill_status (*reserve)(void *self, int32_t nodes, int32_t slots);

    /* Admit m inputs: their encoder memory goes to the given slots. An input that cannot be decoded fails alone (rill_input_fail()), and an
     * input with nothing to decode is RILL_EMPTY: its slot stays unused, without drop(). Inputs of white space alone never reach encode. A
     * negative return ends the run. Mandatory. */
    rill_status (*encode)(void *self, int32_t m, rill_input *inputs);

    /* Compute the state of each row's node, from the state of the node in `state_parent` and the row's action. Mandatory. */
    rill_status (*step)(void *self, const rill_rows *rows);

    /* Compute each row's best legal choices, and the scores of the picks. The rows' nodes have been stepped in this phase. A call may cover
     * a subset of the stepped rows. Mandatory. */
    rill_status (*score)(void *self, const rill_rows *rows, const rill_score_request *request, rill_score_result *out);

    /* Append an output's text to `out`: one line, without newline. Mandatory. */
    rill_status (*finalize)(void *self, const rill_hypothesis *hypothesis, rill_text *out);

    /* (optional; NULL: nothing to do) Release a slot, because the item in it is finished. */
    void (*drop)(void *self, int32_t slot);

    /* (optional; NULL: nothing to do) Release the states of these nodes. */
    void (*free)(void *self, int32_t n, const int32_t *nodes);

    /* Undo open; accepts NULL. Mandatory. */
    void (*close)(void *self);

    /* (optional; NULL: the number of words separated by spaces) Return a cheap estimate of an input's size, to sort inputs before
     * encoding. */
    int64_t (*measure)(void *self, const char *text, size_t length);

    /* (optional; NULL: byte equality after white space is normalised) Append an output's canonical form: equivalent outputs are byte-equal
     * in it. Called without a model; `table` is this rill_domain. */
    rill_status (*canonical)(const struct rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out);

    /* (optional; NULL: actions have no names) Append the text of an action, as a user would write it.
     *   RILL_OK · RILL_ERR_NOT_FOUND (this action has no name) · RILL_ERR_MEMORY */
    rill_status (*action_name)(void *self, int32_t action, rill_text *out);

    /* (optional; NULL: no name is known) Return the action of that name, or RILL_NO_ACTION. */
    int32_t (*find_action)(void *self, const char *text, size_t length);

    /* (optional; NULL: "exact") The default evaluation metric: a name of `rill list metrics`. */
    const char *metric;
    /* (optional; default 0) Bits of rill_domain_feature. */
    uint32_t features;

    /* (optional; NULL: no fields) Append an additional field of an output: one line without newlines and NULs. Called after finalize() with
     * the same hypothesis, whose states still exist, for each name in rill_engine_setup.fields. To check the name, engine creation calls it
     * with NULL for hypothesis and `out`.
     *   RILL_OK · RILL_ERR_OPTION (recorded: unknown field or bad form) · RILL_ERR_MEMORY */
    rill_status (*field)(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out);

    /* (optional; NULL: RILL_NO_ACTION) Return the unknown-token action (<unk>), or RILL_NO_ACTION if the model has none. */
    int32_t (*unknown_action)(void *self);

    /* (optional; NULL: nothing) Append the settings that the model's makers recommend for another decoder (`like`, such as "hf"), as
     * NAME=VALUE separated by spaces. They apply where the user sets nothing. */
    rill_status (*recommend)(void *self, const char *like, rill_text *out);

    /* (optional; NULL: texts are names of actions separated by spaces, if actions have names) Tokenize a text: the actions that write it
     * within an output, without start and end actions. *n: number of actions, of which the first `capacity` are written.
     *   ctx: the caller's, for temporary memory and for failures
     *   RILL_OK · RILL_ERR_INPUT (recorded: the model's actions cannot write this text) · RILL_ERR_MEMORY */
    rill_status (*tokenize)(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n);

    /* (optional, with `stop`; NULL: the model is its own runner) Make a runner for a model: it has its own node ids and slots, and owns all
     * memory that decoding writes. On success sets *runner; on failure nothing stays allocated.
     *   ctx: the engine's context, for all allocations and failures of the runner
     *   threads: number of threads that the runner may use inside a call, at most rill_open_options.threads; the runner starts them */
    rill_status (*start)(const void *model, rill_context *ctx, int threads, void **runner);

    /* (with `start`) Undo start; accepts NULL. Called on the thread that destroys the engine. */
    void (*stop)(void *runner);

    /* (optional; NULL: no profiles) Start profiling operations with all counters at zero (on = 1), or stop (on = 0).
     *   RILL_OK · RILL_ERR_MEMORY */
    rill_status (*profile)(void *self, int on);
    /* (with `profile`) Write operation i of the profile, in execution order, to *out. Returns 1, or 0 if there is no operation i. */
    int (*profile_row)(const void *self, int32_t i, rill_op_profile *out);
    /* (with `profile`) Measure the peak performance of one thread, in about a tenth of a second.
     *   RILL_OK · RILL_ERR_MEMORY */
    rill_status (*limits)(void *self, rill_limits *out);

    /* (optional; NULL: score is synchronous) Wait for the micro-batch's submitted score call; see "Asynchronous scores" above.
     *   RILL_OK · a failure of that score call; the run then ends */
    rill_status (*collect)(void *self, int32_t group);

    /* (optional; NULL: rill's defaults) Append the domain's default settings and heuristics, as NAME=VALUE separated by spaces. Used if the
     * model's directory defines none; the user's options override them. Called without a model.
     *   table: this rill_domain · path: of the model, or NULL
     *   RILL_OK · the failures of open() that the same files cause */
    rill_status (*advise)(const struct rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

    /* (optional; NULL: none) The domain's own options, of kind RILL_OPTION_MODEL, up to a row with name == NULL. Users set them like
     * settings; open() gets their checked values in rill_open_options.values.
     * A name has 2 to 40 characters of a-z, 0-9 and -, with no - at its ends. It differs from the names of settings, of output options
     * and of heuristics', scorers' and schedulers' options. */
    const rill_option *options;

    /* (optional; NULL: none) The "model_type" values of config.json that this domain reads, NULL-terminated. They select the domain of a
     * model directory that names none; the first domain that reads the type wins. */
    const char *const *model_types;

    /* (optional; NULL: by last action) The equivalence classes of cube pruning: set class_of[i] for each row i. A hypothesis may continue
     * the state of an equivalent one, so the same actions must be legal for both.
     * The rows' states are not computed yet: rows->node is NULL, but the states in rows->state_parent exist.
     *   class_of: [rows->n], 0 on entry. */
    rill_status (*classify)(void *self, const rill_rows *rows, int64_t *class_of);

    /* (optional; NULL: none) Return the forced first action of all outputs of an input, such as a language token; RILL_NO_ACTION: none, or
     * the input cannot be read. Texts of tokenize and finalize do not contain it. Called with the model, not a runner. input: as
     * rill_input.text */
    int32_t (*first_action)(void *self, rill_context *ctx, const char *input, size_t length);

    /* (optional; NULL: inputs are decoded whole) Split an input into sentences that are decoded as separate inputs; their outputs are
     * concatenated. Called with the model, not a runner.
     *   always: 0: split only inputs longer than the model was trained for
     *   *n: number of sentences, of which the first `capacity` are written, ascending; 1: the input is decoded whole, and none is written;
     *   0: the input is decoded whole, because its task must not be split
     *   *head: length in bytes of a prefix, such as a language tag, to repeat before every sentence; 0 on entry
     *   RILL_OK · RILL_ERR_NOT_FOUND (recorded: this model's inputs are not made of sentences) · RILL_ERR_MEMORY */
    rill_status (*split)(void *self, rill_context *ctx, int always, const char *text, size_t length, rill_part *part,
                         int32_t capacity, int32_t *n, size_t *head);

    /* (optional; NULL: none) Options that an input may override (words, numbers and switches), up to a row {0}: rows of `options`, and
     * "tokenized" (rill_open_options.tokenized). encode() reads them by rill_input_value(). */
    const rill_option *input_options;

    /* (optional; NULL: zeros) Write how the model's graphs have run so far. */
    void (*graph_runs)(const void *self, rill_graph_runs *out);
} rill_domain;

RILL_C_END

#endif
