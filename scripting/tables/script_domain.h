/* Domains written in Lua. They have one of two interfaces:
 *   - start(), advance() and choices() for one hypothesis, whose state (a Lua value) rill stores;
 *   - encode(), step() and score() for a timestep's rows, as in rill/domain.h; the script stores the states.
 *
 * Invariant: only close() releases a model's references and C memory. */
#pragma once

#include "rill/carve.h"
#include "tables.h"

/* The functions of a domain, as entries X(FUNCTION, name, form of the domains that have it; see script_domain.c). */
#define DOMAIN_FUNCTION_LIST(X)    \
    X(OPEN, "open", ANY)           \
    X(START, "start", PLAIN)       \
    X(ADVANCE, "advance", PLAIN)   \
    X(CHOICES, "choices", PLAIN)   \
    X(ENCODE, "encode", BY_ROWS)   \
    X(STEP, "step", BY_ROWS)       \
    X(SCORE, "score", BY_ROWS)     \
    X(FINALIZE, "finalize", ANY)   \
    X(DROP, "drop", BY_ROWS)       \
    X(FREE, "free", BY_ROWS)       \
    X(CLOSE, "close", ANY)         \
    X(MEASURE, "measure", ANY)     \
    X(CANONICAL, "canonical", ANY) \
    X(TOKENIZE, "tokenize", ANY)

typedef enum domain_function {
#define ENTRY(FUNCTION, ...) DOMAIN_##FUNCTION,
    DOMAIN_FUNCTION_LIST(ENTRY)
#undef ENTRY
        DOMAIN_FUNCTIONS
} domain_function;

/* A domain declared by rill.domain{}: a userdata that the registry keeps until the script ends, since the context
 * refers to its rill_domain. */
typedef struct script_domain {
    rill_domain table; /* must be first, so that a pointer to this rill_domain is a pointer to the script_domain */
    rill_script *script;
    /* registry reference of the table of declared fields, which owns the strings in `table` */
    int declared;
    /* registry references of the domain's functions; LUA_NOREF: the function is not declared */
    int function[DOMAIN_FUNCTIONS];
    int by_rows; /* 1: the domain declares encode, step and score; 0: start, advance and choices */
} script_domain;

/* One opened model. The int members from self to texts are registry references; they are LUA_NOREF until they are created. */
typedef struct script_model {
    const script_domain *domain;
    rill_script *script;
    rill_domain_info info; /* model information; end_action is -1 if none */
    /* the value that open() returned; without open(), the table of options. If it exists, the script's close() must be called */
    int self;
    int description, separator;
    /* names: table from action + 1 to the action's name; ids: table from names to actions. LUA_NOREF: actions have no names */
    int names, ids;
    int states;      /* table from node + 1 to the state that advance() returned */
    int starts;      /* table from slot + 1 to the state that start() returned */
    int texts;       /* table from slot + 1 to the input's text */
    int64_t *inputs; /* [inputs_capacity] id of the input in each slot */
    size_t inputs_capacity;

    /* The members from n to has_last hold the choices of the row that is being read. */
    int32_t n;            /* number of choices */
    int32_t *action;      /* [n] action of each choice */
    float *logp;          /* [n] log-probability of each choice */
    uint8_t *terminal;    /* [n] a rill_terminal for each choice */
    rill_columns choices; /* memory of `action`, `logp` and `terminal` */
    uint8_t *seen;        /* [info.actions] 1: the action is among the choices */
    int has_last;         /* 1: some choice is RILL_LAST, the last action of its hypothesis */

    /* The members below belong to calls in progress. */
    int32_t slot;       /* slot of the current row or input; -1: none */
    script_late failed; /* failure in a callback that cannot return a status; a later callback returns it */
} script_model;

/* Maximum size of an input; with it sums over all inputs fit in 64 bits. */
#define DOMAIN_MAX_SIZE (INT64_C(1) << 52)

/* --- defined in domain_open.c ------------------------------------------------------------------------------------- */

/* Fields that describe a model: in the second result of a Lua domain's open(), or in its declaration. */
enum { DOMAIN_INFO_NAMES = 12 };
extern const char *const domain_info_names[DOMAIN_INFO_NAMES];

rill_status domain_open(const rill_domain *table, rill_context *ctx, const rill_open_options *options, void **self,
                        rill_domain_info *info);
void domain_close(void *self);

/* --- domain_run.c and domain_output.c (`self`: a script_model) ------------------------------------------------------ */

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

/* Metatable of the tables `rows` that the script's step() and score() get. domain_rows_answer() is its method rows:answer(row, choices,
 * last). */
#define DOMAIN_ROWS "rill.domain.rows"
int domain_rows_answer(lua_State *L);

/* Run fn(call) in a protected call. If it fails, the message names the domain, the engine's call (`what`) and the input. */
rill_status domain_protect(script_model *m, const char *what, lua_CFunction fn, void *call);

/* domain_protect() for callbacks without a status: a failure is kept for the next callback that returns one. */
void domain_protect_deferred(script_model *m, const char *what, lua_CFunction fn, void *call);

/* Return the action at `index`, a name or an integer. The value is not converted, since lua_next() needs the original key. Raises.
 *   ids    stack index of the table from names to actions, or 0
 *   what   the message begins with it */
int32_t domain_read_action(lua_State *L, const script_model *m, int index, int ids, const char *what);

/* Push the action as scripts see it: its name, or its number if actions have no names. */
void domain_push_action(lua_State *L, const script_model *m, int32_t action);

/* --- functions for all files -------------------------------------------------------------------------------------- */

/* Push the value of a registry reference; nil for LUA_NOREF and LUA_REFNIL. */
static inline void domain_push(lua_State *L, int reference)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, reference);
}

/* Push entry `index`, the number of a slot, state or action from 0, of the table with this registry reference. */
static inline void domain_push_entry(lua_State *L, int reference, int32_t index)
{
    domain_push(L, reference);
    lua_rawgeti(L, -1, (lua_Integer)index + 1);
    lua_remove(L, -2);
}

/* Push a function of the domain, and its first argument `self`. */
static inline void domain_push_method(lua_State *L, const script_model *m, domain_function function)
{
    domain_push(L, m->domain->function[function]);
    domain_push(L, m->self);
}

static inline int domain_has(const script_model *m, domain_function function)
{
    return m->domain->function[function] != LUA_NOREF;
}
