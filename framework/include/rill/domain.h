/* The contract between the engine and a domain: something that is decoded one action at a time.
 *
 * A domain is a const table of functions. The engine owns hypotheses, beams and the *ids* of states; the domain owns the
 * memory behind these ids, wherever it lives, and never sees a beam. The engine never sees a tensor.
 *
 * Dimension letters used below
 *   n   rows in a call: states to make or to score, of any items, of any lengths, in any order; 0 is legal
 *   M   the most choices wanted per row (ask->most)
 *   m   inputs in an encode call
 *
 * Ids
 *   slot  a small integer naming an item in flight: where its encoder memory lies, 0 <= slot < slots
 *   node  a small integer naming one state: where the domain keeps it, 0 <= node < nodes
 *   action an integer in [0, info.actions): what a hypothesis is extended with. RILL_ACTION_START (-1) is the action
 *         of an item's first node, whose parent is RILL_NO_NODE (-1)
 *
 * Life of a model   open, then any mix of the calls below, then close.
 * Life of a runner  start, any mix of the calls that decode, stop; before the model is closed. A domain without start and stop is
 *                   its own runner: the model decodes, for one engine at a time.
 * Life of an item   encode(slot) · step and score on its nodes, timestep after timestep · finalize once per output that
 *                   is asked for · drop(slot). Where memory is bounded the engine may free all of its nodes and begin
 *                   again from a first node, in the same slot.
 * Life of a node    step makes it · score reads it, perhaps several times · step reads it as state_parent of its children ·
 *                   free ends it. With RILL_STATE_PARENT free comes as soon as its children have been stepped or died; with
 *                   RILL_STATE_PATH as soon as no live or unprinted hypothesis passes through it.
 *
 * Self and threads. `close`, `start`, `recommend`, `action_name`, `find_action`, `unknown_action`, `tokenize`, `first_action` and `split`
 * get the model, all others the runner. A domain that has `start` must hold the model const from open to close: runners decode from it in
 * several threads at once, and any of these may ask for its names meanwhile. So what the last seven need to work with they take from the
 * stack, or from the context of the one who asks (`ctx`, or that of `out`), which records what fails. A runner's methods run on its
 * engine's thread, one at a time, with the engine's context. Without `start` all of them run on the model's one thread; where several
 * workers are wanted, the model is opened once for each.
 *
 * Answers that come later. A domain with `collect` may return RILL_AGAIN from score: the call is submitted, and its answer is there
 *                   when collect() of its group has returned. Until then its rows, ask and out stay where they are. Meanwhile the
 *                   engine makes any other calls: measure, encode, reserve, drop, free, finalize and field for any ids, step
 *                   and score for the other group's rows, of other items. Each must work as if those before it were complete: what
 *                   is submitted is done in order. reserve moves nothing that a submitted call uses, or waits for it. A group has
 *                   one call submitted at the most, and whatever is submitted is collected before the runner is stopped. step may
 *                   return before it is done in any case.
 *
 * No pointer given to a method may be kept after it returns, but for those of a submitted call.
 * A method that fails returns a negative status after rill_fail(); the run then ends, except where said otherwise.
 * Results must depend on the row alone: not on the other rows of a call, their number or order.
 *
 * Stability: members are only appended; RILL_ABI_VERSION and struct_size guard the rest. */
#ifndef RILL_DOMAIN_H
#define RILL_DOMAIN_H

#include "rill/context.h"
#include "rill/option.h"
#include "rill/profile.h"

RILL_C_BEGIN

#define RILL_ACTION_START (-1)
#define RILL_NO_NODE (-1)
#define RILL_NO_ACTION (-1)

/* The score of something that must never be chosen. Domains may use it in choices; such choices are skipped. */
#define RILL_SCORE_DEAD (-__builtin_inf())

typedef enum rill_state_need {
    RILL_STATE_PARENT = 0, /* a row's state follows from its parent's alone: recurrent nets, parsers */
    RILL_STATE_PATH = 1,   /* a row reads the states of all its ancestors: attention */
} rill_state_need;

/* What a choice does to the hypothesis. */
typedef enum rill_terminal {
    RILL_LIVE = 0, /* it can still grow */
    RILL_END = 1,  /* the end action: not counted in the length */
    RILL_LAST = 2, /* an ordinary action after which nothing is left to do: counted in the length */
} rill_terminal;

/* What a row may do about ending: a set of bits, so that rules from several sources unite. */
typedef enum rill_end_rule {
    RILL_END_ALLOWED = 0,
    RILL_END_FORBIDDEN = 1, /* no terminal choice may be returned */
    RILL_END_REQUIRED = 2,  /* only terminal choices may be returned; with FORBIDDEN nothing is left */
    RILL_END_NOT_YET = 4,   /* no RILL_END choice may be returned, RILL_LAST ones may: before the minimum length */
} rill_end_rule;

typedef struct rill_open_options {
    size_t struct_size;
    const char *path;      /* the model's directory or file; may be NULL for domains that need none */
    int threads;           /* threads the domain may use inside a call, >= 1; slow when more than rill_processors() */
    int tokenized;         /* inputs are in the model's own form: split at blanks, change nothing */
    const char *arguments; /* free text for the domain ("seed=3"), or NULL */
    const char *const
        *ensemble; /* [n_ensemble] further models that decode together with the one at `path`: an ensemble */
    int32_t n_ensemble;
    int32_t n_values;
    const rill_pair
        *values; /* [n_values] of the domain's own options, rill_domain.options; the model does not keep them */
} rill_open_options;

/* What is given for an option of the domain's; NULL: nothing. */
RILL_API const char *rill_open_option(const rill_open_options *options, const char *name);
/* Whether a switch of the domain's is on. */
RILL_API int rill_open_switch(const rill_open_options *options, const char *name);

/* What a domain can do beyond what every domain does: a set of bits. */
typedef enum rill_domain_feature {
    RILL_TAKES_ENSEMBLES = 1, /* rill_open_options.also; without it rill_model_open() refuses them */
} rill_domain_feature;

/* Actions in a row. */
typedef struct rill_sequence {
    const int32_t *action; /* [n] */
    int32_t n;             /* >= 1 */
} rill_sequence;

typedef struct rill_domain_info {
    int32_t actions; /* number of actions, >= 1 */
    int32_t phases;  /* phases per timestep, 1..8; 0 is read as 1 */
    rill_state_need state_need;
    uint32_t max_choices_phases; /* bit p set: the setting max_candidates applies in phase p; 0 is read as "all" */
    int32_t max_length;          /* default bound on actions per hypothesis, > 0 */
    const char *description;     /* one line about the loaded model, owned by the domain until close; may be NULL */
    /* What memory costs, in bytes, for the setting `memory`, which is refused where node_bytes is 0. */
    int64_t node_bytes;      /* of one node's state */
    int64_t slot_bytes;      /* of one input in flight ... */
    int64_t slot_unit_bytes; /* ... and of each unit of its size (rill_input) */
    int32_t max_positions;   /* what actions cannot exceed whatever is asked (positions); 0: an input's own bound */
    int has_end_action;      /* `end_action` is set: choosing it is RILL_END, see rill_row_ends */
    int32_t end_action;      /* not read without has_end_action; the engine then has RILL_NO_ACTION here */
    int terminals_by_flag;   /* some row's ends may be RILL_ENDS_BY_FLAG: under rules the engine asks for all actions */
    /* With `collect`: so many live hypotheses fill the device. Twice as many are decoded as two groups, one of which the engine works
     * on while the other is computed. 0: never. */
    int32_t group_rows;
    /* finalize looks at nothing that other calls write, and of a hypothesis at length, action, action_logp, score, logp and
     * truncated only: any runner of the model may be given any output, with slot -1 and NULL for the rest. What several workers
     * find is then written in the thread that delivers it. */
    int finalize_anywhere;
    const uint64_t
        *legal; /* [actions / 64 rounded up] bit a%64 of word a/64: action a is legal in some row; owned by the
                                 domain until close. NULL: all are */
    int64_t
        row_bytes; /* that a row of a timestep takes while it is worked out, for the setting `memory`; 0: hardly any */
    const char *
        device; /* what computes: "cpu", "cuda:1, NAME OF THE GPU" (device.h); owned by the domain until close. NULL: not said */
    int unnormalised; /* what choices say are no log-probabilities: their exponentials may add up to more than 1 */
    int has_start_action; /* `start_action` is set: what the model reads before the first action is one of its actions; without, likewise */
    int32_t start_action;
    int64_t runner_bytes; /* that a runner takes whatever it decodes, for the setting `memory`; 0: hardly any */
    const rill_sequence *
        forbidden; /* [n_forbidden] that no output contains, the start action taken for one that stands before the first: the last
                               action of each is struck where the others have just been written. Owned by the domain until close */
    int32_t n_forbidden;
    const char *const
        *languages; /* the names of the languages that a multilingual model knows, a NULL behind them; owned by the
                                     domain until close. NULL: it is none */
} rill_domain_info;

/* A stretch of an input. */
typedef struct rill_part {
    size_t begin, length; /* bytes */
} rill_part;

/* One input on its way into a slot. */
typedef struct rill_input {
    const char *text;    /* in: [length] bytes as read, without newline; not NUL-terminated */
    size_t length;       /* in */
    int64_t id;          /* in: position in the input stream from 0 */
    int32_t slot;        /* in */
    rill_status status;  /* out: RILL_OK as given; a negative status fails this input alone, see rill_input_fail();
                            RILL_EMPTY: there is nothing in it to decode, so its output is the empty one and its slot is
                            unused */
    int32_t max_length;  /* out: this input's own bound on actions, which the user's setting can lower, and raise up to
                            info.max_positions; 0 as given = info.max_length, which it can do both to */
    int64_t size;        /* out, optional: this input's size in the domain's unit (tokens), for scheduling and for
                            bounds that follow from it (max_length_factor, slot_unit_bytes) */
    char message[248];   /* out: why status is negative; else what the user is to know about how the input was read, see
                            rill_input_warn() */
    const char *options; /* in: those of input_options that it has of its own, for rill_input_value(); NULL: none */
} rill_input;

/* Bytes of the blank at the beginning of some text, 0 if it begins with none: a control character, a space of Unicode's, what has no width
 * or marks a direction of writing, a byte order mark. Texts of these alone are blank. Bytes that are no UTF-8 are no blank. */
RILL_API size_t rill_blank_bytes(const char *text, size_t length);

/* Fail one input: sets status and message; returns status. */
RILL_API rill_status rill_input_fail(rill_input *input, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Say something about an input that is decoded all the same: it comes with the result (rill_result.note). What is too long is cut
 * behind a whole character. */
RILL_API void rill_input_warn(rill_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What an input has of its own for an option of rill_domain.input_options, a value that its row allows. NULL: nothing, and so what the
 * model was opened with counts. */
RILL_API const char *rill_input_value(const rill_input *input, const char *name);
/* Whether a switch is on; `opened`: as the model was opened. */
RILL_API int rill_input_switch(const rill_input *input, const char *name, int opened);

/* Rows of one call. Arrays of [n]; read-only. */
typedef struct rill_rows {
    int32_t n;
    int32_t phase;         /* 0 <= phase < info.phases */
    const int32_t *node;   /* the state; in step: to be made */
    const int32_t *parent; /* that of the history's parent; RILL_NO_NODE for a first node, and when the parent's is
                                   already recycled (RILL_STATE_PARENT with another state_parent) */
    const int32_t
        *state_parent;     /* the one whose state this one continues; RILL_NO_NODE for a first node. Equal to parent
                                   except under cube pruning */
    const int32_t *action; /* the action that leads here; RILL_ACTION_START for a first node */
    const int32_t *slot;
    const int32_t *depth; /* timesteps completed by the item, 0 for a first node */
    int32_t group;        /* 0, or 1: which of the timesteps that may be under way at once, see collect() */
} rill_rows;

/* What the engine wants of the rows of a score call. Rules, rewards and additions are the engine's own affair: it asks for
 * enough choices that applying them cannot go wrong, and for the log-probabilities of actions that it may have to lift. */
typedef struct rill_score_request {
    int32_t max_choices;            /* M >= 0: the best M legal actions of each row; 0: picks only */
    const int32_t *row_max_choices; /* [n] so many of the row suffice, the engine reads no more; NULL: M of each */
    size_t legal_words;             /* actions / 64 rounded up */
    const uint64_t *legal;    /* [sets, legal_words] sets of actions, bits as in info.legal; NULL: there are none */
    const int32_t *legal_set; /* [n] the set that a row's choices come from, -1: all its legal actions, which no row has
                                       where there is info.legal: sets lie within that. NULL without sets */
    int32_t n_picks;          /* log-probabilities that are wanted besides, whatever sets say: */
    const int32_t *pick_row;  /* [n_picks] index into the rows of the call, ascending ... */
    const int32_t *pick_action; /* [n_picks] ... and in a row ascending, each once */
} rill_score_request;

/* How the choices of a row end. */
typedef enum rill_row_ends {
    RILL_ENDS_BY_ACTION = 0, /* info.end_action is RILL_END, all others are RILL_LIVE */
    RILL_ENDS_LAST = 1,      /* every one is RILL_LAST: a parser's last label, the end of an empty input */
    RILL_ENDS_BY_FLAG = 2,   /* rill_score_result.terminal tells; for domains with info.terminals_by_flag */
} rill_row_ends;

/* What a domain answers: for row r its choices [r*stride, r*stride + count[r]), best first: logp descending, then smaller
 * action. They are the model's own, nothing added. A row with one possible action gives that one, at logp 0: the network need
 * not run. An answer with fewer choices than were asked for must have all that there are (of the row's set; a row that gives
 * all that it has need not look at its set, since the engine does).
 * The engine provides the arrays; entries behind count are not read. */
typedef struct rill_score_result {
    int32_t stride;    /* >= ask->most */
    int32_t *count;    /* [n], 0 <= count <= M */
    int32_t *action;   /* [n, stride] */
    float *logp;       /* [n, stride] natural-log probabilities */
    uint8_t *ends;     /* [n] of rill_row_ends; given as RILL_ENDS_BY_ACTION */
    uint8_t *terminal; /* [n, stride] of rill_terminal; read of rows with RILL_ENDS_BY_FLAG only */
    float *pick_logp;  /* [n_picks] to the bit what choices say; RILL_SCORE_DEAD for an action that is not legal */
} rill_score_result;

/* The first pick of a row at or behind `row`; n_picks when there is none. */
static inline int32_t rill_score_request_first_pick(const rill_score_request *ask, int32_t row)
{
    int32_t low = 0, high = ask->n_picks;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (ask->pick_row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether a row's choices may have the action. */
static inline int rill_score_request_allows(const rill_score_request *ask, int32_t row, int32_t action)
{
    if (ask->legal == NULL || ask->legal_set[row] < 0) return 1;
    const uint64_t *set = ask->legal + (size_t)ask->legal_set[row] * ask->legal_words;
    return (int)(set[action / 64] >> (action % 64) & 1);
}

/* Answer a row from all of its legal actions, in any order, each once: its best M, sorted, and its picks. `terminal`, [n] of
 * rill_terminal, makes the row RILL_ENDS_BY_FLAG; NULL leaves its ends alone. Choices of NaN or RILL_SCORE_DEAD are left
 * out. For domains that have a row's actions at hand; time n log M, less when they come sorted. No shared state. */
RILL_API void rill_score_result_fill(const rill_score_request *ask, int32_t row, int32_t n, const int32_t *action,
                                     const float *logp, const uint8_t *terminal, rill_score_result *out);

/* A finished hypothesis, oldest action first. */
typedef struct rill_hypothesis {
    int32_t slot;
    int32_t length;                 /* number of actions, a RILL_END action included */
    const int32_t *action;          /* [length] */
    const float *action_logp;       /* [length] the model's log-probability of each */
    const float *action_path_score; /* [length] with what scorers added */
    const int32_t *node; /* [length] of the state each action led to under RILL_STATE_PATH, else RILL_NO_NODE */
    double path_score;   /* sum of action_score */
    double logp;         /* sum of action_logp */
    int truncated;       /* ended by the length limit, without a terminal action */
} rill_hypothesis;

typedef struct rill_domain {
    uint32_t abi_version; /* RILL_ABI_VERSION */
    uint32_t struct_size; /* sizeof(rill_domain) */
    const char *name;     /* [a-z0-9_-]+ */
    const char *summary;  /* one line for `rill list` */

    /* Load a model. *self, the model, and *info are set on success; on failure nothing is kept. `table` is this table, where it was
     * registered: the beginning of a larger struct when several share their functions. Mandatory. */
    rill_status (*open)(const struct rill_domain *table, rill_context *ctx, const rill_open_options *options,
                        void **self, rill_domain_info *info);

    /* Ids below `nodes` and `slots` may be used from now on; contents of ids in use stay. Called before the first encode
     * and whenever a capacity grows; never shrinks. Mandatory. */
    rill_status (*reserve)(void *self, int32_t nodes, int32_t slots);

    /* Admit m inputs: their encoder memory goes to the given slots. An input that cannot be decoded fails alone through
     * rill_input_fail(), and one with nothing in it is RILL_EMPTY; its slot is then unused and is not dropped. Inputs of blanks alone
     * never get here: the engine gives them the empty output. A negative return ends the run. Mandatory. */
    rill_status (*encode)(void *self, int32_t m, rill_input *inputs);

    /* Make the state of each row's node from its state_parent's and its action. Mandatory. */
    rill_status (*step)(void *self, const rill_rows *rows);

    /* The best legal choices of each row, and its picks; its nodes have been stepped in this phase. A call may be about a part
     * of the rows that were stepped. Mandatory. */
    rill_status (*score)(void *self, const rill_rows *rows, const rill_score_request *ask, rill_score_result *out);

    /* Append what the user reads to `out`: one line without newline. Mandatory. */
    rill_status (*finalize)(void *self, const rill_hypothesis *hypothesis, rill_text *out);

    /* (optional: nothing to do) The slot's item is done. */
    void (*drop)(void *self, int32_t slot);

    /* (optional: nothing to do) These nodes are free. */
    void (*free)(void *self, int32_t n, const int32_t *nodes);

    /* Undo open; accepts NULL. Mandatory. */
    void (*close)(void *self);

    /* (optional: the number of blank-separated words) Cheap estimate of an input's size, for sorting before encoding. */
    int64_t (*measure)(void *self, const char *text, size_t length);

    /* (optional: byte equality of blank-normalised texts) Bring an output into the form in which two right answers are
     * byte-equal, appended to `out`. Needs no model; `table`: this table. */
    rill_status (*canonical)(const struct rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out);

    /* (optional: actions have no names) Append
     * the text of an action, as a user would write it.
     *   RILL_OK · RILL_ERR_NOT_FOUND (this one has none) · RILL_ERR_MEMORY */
    rill_status (*action_name)(void *self, int32_t action, rill_text *out);

    /* (optional: no name is known) The action of that name, RILL_NO_ACTION if there is none. */
    int32_t (*find_action)(void *self, const char *text, size_t length);

    /* (optional: "exact") By which metric outputs are judged unless one is asked for: a name of `rill list metrics`. */
    const char *metric;
    /* (optional: 0) Bits of rill_domain_feature. */
    uint32_t features;

    /* (optional: no field is known) Append a further field of an output: one line without newlines and NULs. Called behind
     * finalize() with the same hypothesis, whose states are still there, for each field that rill_engine_setup names;
     * with neither a hypothesis nor `out`, when the engine is made, only to learn whether there is such a field.
     *   RILL_OK · RILL_ERR_OPTION (recorded: no such field, or not of that form) · RILL_ERR_MEMORY */
    rill_status (*field)(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out);

    /* (optional: there is none) The action that stands for what the model has no action for, or RILL_NO_ACTION. */
    int32_t (*unknown_action)(void *self);

    /* (optional: nothing) Settings that the model's makers give for decoding like `like` ("hf"), appended to `out` as
     * NAME=VALUE with blanks between; they stand in for what the user has not given. */
    rill_status (*recommend)(void *self, const char *like, rill_text *out);

    /* (optional: texts are names of actions with blanks between, if there are names) The actions that write a text within an output,
     * none that begins or ends one: *n is how many they are, and the first `room` of them are written.
     *   ctx: of the one who asks, for what this takes meanwhile and for what it records
     *   RILL_OK · RILL_ERR_INPUT (recorded: it cannot be written with this model's actions) · RILL_ERR_MEMORY */
    rill_status (*tokenize)(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t room, int32_t *n);

    /* (optional, with `stop`: the model is its own runner) Make what decodes with a model: ids of nodes and slots are its own, and
     * so is all memory that decoding writes to. On success *runner is set; on failure nothing is kept.
     *   ctx: the engine's, for everything that the runner allocates and records
     *   threads: those it may use inside a call, as rill_open_options said, or fewer; it starts them, if any */
    rill_status (*start)(const void *model, rill_context *ctx, int threads, void **runner);

    /* (with `start`) Undo start; accepts NULL. On the thread of the engine's destruction. */
    void (*stop)(void *runner);

    /* (optional: there are no profiles) Begin to count what operations cost (on = 1), from zero, or stop.
     *   RILL_OK · RILL_ERR_MEMORY */
    rill_status (*profile)(void *self, int on);
    /* (with `profile`) Operation i of those that decoding is made of, in order; 0 when there is none left. */
    int (*profile_row)(const void *self, int32_t i, rill_op_profile *out);
    /* (with `profile`) Measure what a thread of the machine can do at best, in about a tenth of a second.
     *   RILL_OK · RILL_ERR_MEMORY */
    rill_status (*limits)(void *self, rill_limits *out);

    /* (optional: score answers before it returns) Wait for the answer to the group's score call that returned RILL_AGAIN; see "Answers
     * that come later" above.
     *   RILL_OK · what score fails with; the run then ends */
    rill_status (*collect)(void *self, int32_t group);

    /* (optional: rill's own defaults) How a model is best searched whose directory says nothing of it, appended to `out` as NAME=VALUE
     * with blanks between: settings and heuristics, which stand behind all that the user says. Needs no model; `table`: this
     * table, `path`: the model's, or NULL.
     *   RILL_OK · as open, which says the same of the files */
    rill_status (*advise)(const struct rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

    /* (optional: it has none) Options of its own, of kind RILL_OPTION_MODEL; ends with name == NULL. A name is 2 to 40 of a-z, 0-9
     * and -, with no - at the ends, and none of the settings, chains or outputs has it. Users give them by these
     * names wherever settings are given. open() finds them in rill_open_options.values: names in this table, values as their row says. */
    const rill_option *options;

    /* (optional: none) What config.json calls models that this domain reads ("model_type"); ends with NULL. A directory that names no
     * domain is opened with the first that reads its type. */
    const char *const *model_types;

    /* (optional: nothing more than its last action) What must be equal for a hypothesis to continue another one's state under cube
     * pruning, so that what is legal for one is for the other: class_of[i] of row i, which has not been stepped; rows->node is NULL,
     * and rows->state_parent has been. class_of: [rows->n], given as 0. */
    rill_status (*classify)(void *self, const rill_rows *rows, int64_t *class_of);

    /* (optional: there is none) The action that all outputs of an input begin with whatever their texts say, as the symbol of a language:
     * RILL_NO_ACTION where there is none, and where the input cannot be read. Texts (tokenize, finalize) are without it. Asked of the
     * model, as `tokenize`. input: as rill_input.text */
    int32_t (*first_action)(void *self, rill_context *ctx, const char *input, size_t length);

    /* (optional: inputs are decoded whole) The sentences of an input, where each may be decoded as an input of its own and the outputs
     * stand one behind the other. Asked of the model, as `tokenize`.
     *   always: 0: only if the input is longer than the model was made for
     *   *n: how many there are, of which the first `room` are written, ascending; 1: the input is decoded whole, and nothing is written;
     *       0: likewise, since it is another task than those that go sentence by sentence
     *   *head: so many bytes of the input, as a language's tag, belong before every sentence; given as 0
     *   RILL_OK · RILL_ERR_NOT_FOUND (recorded: this model has no such inputs) · RILL_ERR_MEMORY */
    rill_status (*split)(void *self, rill_context *ctx, int always, const char *text, size_t length, rill_part *part,
                         int32_t room, int32_t *n, size_t *head);

    /* (optional: there are none) Options that an input may have of its own, words, numbers and switches, ends with {0}: rows of
     * `options`, and "tokenized", as rill_open_options.tokenized. encode() finds them by rill_input_value(). */
    const rill_option *input_options;
} rill_domain;

/* A domain together with what its open() made; see engine.h. */
typedef struct rill_model rill_model;

RILL_C_END

#endif
