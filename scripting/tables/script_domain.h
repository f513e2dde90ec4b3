/* script_domain.h: domains written in Lua. Shared by script_domain.c (the declaration), domain_open.c (models),
 * domain_run.c (engine callbacks) and domain_choices.c (choices of a row).
 *
 * There are two interfaces. The simple one keeps a state per node, a Lua value: start() makes the state of the empty
 * hypothesis, advance() the state after an action, choices() the possible actions. The other one mirrors rill/domain.h:
 * encode(), step() and score() on the rows of a whole timestep, with states managed by the script.
 *
 * Invariant: only close() releases a model's references and C memory; Lua errors leave them in place. */
#ifndef RILL_SCRIPTING_SCRIPT_DOMAIN_H
#define RILL_SCRIPTING_SCRIPT_DOMAIN_H

#include "arrays/arrays.h"
#include "tables.h"

typedef enum domain_function {
    DOMAIN_OPEN,
    DOMAIN_START,
    DOMAIN_ADVANCE,
    DOMAIN_CHOICES,
    DOMAIN_ENCODE,
    DOMAIN_STEP,
    DOMAIN_SCORE,
    DOMAIN_FINALIZE,
    DOMAIN_DROP,
    DOMAIN_FREE,
    DOMAIN_CLOSE,
    DOMAIN_MEASURE,
    DOMAIN_CANONICAL,
    DOMAIN_TOKENIZE,
    DOMAIN_FUNCTIONS
} domain_function;

/* A domain made by rill.domain{}: a userdata anchored in the registry for the life of the script, since the context has
 * its table. */
typedef struct script_domain {
    rill_domain table; /* first member: a pointer to it is a pointer to this struct */
    rill_script *script;
    int declared;                   /* reference: the checked fields of the declaration; owns the table's strings */
    int function[DOMAIN_FUNCTIONS]; /* references; LUA_NOREF: not given */
    int by_rows;                    /* encode, step and score rather than start, advance and choices */
} script_domain;

/* One opened model. References are to the registry, LUA_NOREF until they are made. */
typedef struct script_model {
    const script_domain *domain;
    rill_script *script;
    rill_domain_info info;
    int32_t end_action; /* -1: none */
    int self;           /* what open() returned, or the options */
    int opened;         /* self exists, so close() must be called */
    int description, separator;
    int names, ids; /* tables id + 1 -> name and name -> id, when actions have names */
    int states;     /* table node + 1 -> state */
    int starts;     /* table slot + 1 -> what start() returned */
    int texts;      /* table slot + 1 -> the input's text */
    int rows;       /* metatable of the tables that step() and score() of the script get */
    int handle;     /* userdata that points here, NULL after close: for methods of Lua objects that outlive the model */
    struct script_model **handle_target;
    int64_t *inputs; /* [inputs_capacity] id of each slot's input */
    size_t inputs_capacity;

    /* the row being answered */
    int32_t n;         /* its choices */
    int32_t *action;   /* [n] */
    float *logp;       /* [n] */
    uint8_t *terminal; /* [n] of rill_terminal */
    size_t action_capacity, logp_capacity, terminal_capacity;
    uint8_t *seen; /* [info.actions] actions already among the choices */
    int has_last;  /* some of them are RILL_LAST */

    /* calls in progress */
    const struct domain_score_call *score_call; /* score() in progress */
    const void *score_call_rows;                /* identity of the table that the script's score() got */
    int32_t slot;                               /* slot of the current row or input; -1: none */
    rill_status late_status; /* failure of a callback that returns no status: reported by the next call */
    char late_message[SCRIPT_MESSAGE_MAX];
} script_model;

/* Limit of an input's size: sums over all inputs fit 64 bits. */
#define DOMAIN_MAX_SIZE (INT64_C(1) << 52)

/* A score() call. */
typedef struct domain_score_call {
    const rill_rows *rows;
    const rill_score_request *request;
    rill_score_result *out;
} domain_score_call;

/* --- domain_open.c ------------------------------------------------------------------------------------------------ */

rill_status domain_open(const rill_domain *table, rill_context *ctx, const rill_open_options *options, void **self,
                        rill_domain_info *info);
void domain_close(void *self);

/* --- domain_options.c --------------------------------------------------------------------------------------------- */

/* Option rows of the declaration at `declared`, which owns them; NULL: none. Raises. */
const rill_option *domain_options_read(lua_State *L, int declared);

/* Push the values of these options: a table whose keys have "_" instead of "-". */
void domain_options_push(lua_State *L, const rill_option *rows, const rill_open_options *options);

/* --- domain_run.c and domain_output.c: the other members of the table; `self` is a script_model --------------------- */

rill_status domain_reserve(void *self, int32_t nodes, int32_t slots);
rill_status domain_encode(void *self, int32_t n, rill_input *inputs);
rill_status domain_step(void *self, const rill_rows *rows);
rill_status domain_score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out);
rill_status domain_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out);
void domain_drop(void *self, int32_t slot);
void domain_free(void *self, int32_t n, const int32_t *nodes);
int64_t domain_measure(void *self, const char *text, size_t length);
rill_status domain_canonical(const rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out);
rill_status domain_action_name(void *self, int32_t action, rill_text *out);
int32_t domain_find_action(void *self, const char *text, size_t length);
rill_status domain_tokenize(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n);

/* rows:answer(), for the metatable of rows; upvalue 1 is the model's handle. */
int domain_rows_answer(lua_State *L);

/* Run fn(call) protected. The message of a failure names the domain, `what` was being done and the input. */
rill_status domain_protect(script_model *m, const char *what, lua_CFunction fn, void *call);

/* The same for callbacks that cannot fail: the failure is kept for the next call that can; an earlier error of the
 * context is kept. */
void domain_protect_deferred(script_model *m, const char *what, lua_CFunction fn, void *call);

/* --- domain_choices.c ---------------------------------------------------------------------------------------------- */

/* The action at `index`: a name, or an integer. Not converted in place, since lua_next() needs the original key. `ids`
 * is the index of the table from names to ids, 0 without names; `what` begins the message. Raises. */
int32_t domain_read_action(lua_State *L, const script_model *m, int index, int ids, const char *what);

/* Take the choices of a row from the table at `scores` (action -> log-probability). `last` says which actions complete the
 * hypothesis: true: all, a set of actions, or nil: none. Raises a Lua error. */
void domain_choices_read(lua_State *L, script_model *m, int scores, int last, int ids);

/* Write the choices to row `row` of the result. */
void domain_choices_fill(const script_model *m, const domain_score_call *score_call, int32_t row);

/* Push the action as scripts see it: its name, or its number. */
void domain_push_action(lua_State *L, const script_model *m, int32_t action);

/* --- shared ------------------------------------------------------------------------------------------------------- */

/* Push the value of a registry reference; nil for LUA_NOREF and LUA_REFNIL. */
static inline void domain_push(lua_State *L, int reference)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, reference);
}

#endif
