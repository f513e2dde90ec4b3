/* tables.h: Lua functions as plugins of the engine.
 *
 * rill.heuristic{...}, rill.scorer{...} and rill.scheduler{...} check the Lua table, store references to its functions
 * in a script_table, and return an object that configurations may contain. publish() fills the plugin's struct
 * (rill_heuristic ...) and registers the plugin. That struct is the first member of the script_table, so that callbacks
 * can convert a pointer to the struct into a pointer to its script_table. An engine that uses the plugin creates a
 * script_instance, which holds the value that the script's `create` returned.
 *
 * Ownership: script_tables belong to their script and are freed with it. Instances belong to the caller of create(). */
#ifndef RILL_SCRIPTING_TABLES_H
#define RILL_SCRIPTING_TABLES_H

#include "arrays/arrays.h"

typedef enum script_kind { SCRIPT_HEURISTIC, SCRIPT_SCORER, SCRIPT_SCHEDULER, SCRIPT_DOMAIN } script_kind;

enum { SCRIPT_NAME_MAX = 48 }; /* maximum bytes of the name of a heuristic, scorer, scheduler or domain, with its NUL */

/* Return the struct of the registered plugin or domain of that kind and name, or NULL. */
const void *script_find(const rill_context *ctx, script_kind kind, const char *name);

/* Return the engine's struct that the view at `index` refers to. Raises if the value is not such a view, or the
 * view's call has returned. */
rill_candidates *script_candidates_check(lua_State *L, int index);
const rill_scorer_rows *script_rows_check(lua_State *L, int index, rill_modifiers **modifiers);
const rill_sched_view *script_sched_view_check(lua_State *L, int index);

/* Make a callback for max-batch-hypotheses from the Lua function at `index`. The function gets a scheduler view and
 * returns a number (0: no limit), or nil for the configured value. `user` belongs to the script. Raises nothing. */
rill_status script_budget_create(lua_State *L, int index, rill_budget_fn *fn, void **user);

/* Make a callback for the option cube_key from the Lua function at `index`, which gets the hypotheses and returns an
 * array of numbers: hypotheses with equal numbers are one class of cube pruning. `user` belongs to the script.
 * Raises nothing. */
rill_status script_cube_key_create(lua_State *L, int index, rill_key_fn *fn, void **user);

/* Return the name of the domain object at `index`, or NULL if the value is not the result of rill.domain{}. */
const char *script_domain_name(lua_State *L, int index);

enum { SCRIPT_MAX_FUNCTIONS = 16, SCRIPT_MAX_TABLES = 1000 };

typedef struct script_instance script_instance;

/* A kind of declaration: heuristic, scorer, scheduler, budget or cube_key. All are constants. */
typedef struct script_declaration {
    script_kind kind;
    const char *word; /* name of the kind, such as "heuristic" for rill.heuristic{} */
    /* keys of the table's functions, NULL-terminated, without `create`; the first is required */
    const char *functions[SCRIPT_MAX_FUNCTIONS + 1];
    /* the table may have the key `arguments`; if it is missing or empty, the plugin takes no arguments */
    int has_arguments;
    /* key of an optional integer, default 0; NULL: none. If max_number is 1, of an optional boolean */
    const char *number_key;
    int32_t max_number;   /* maximum of that integer */
    size_t instance_size; /* bytes of an instance, a struct whose first member is script_instance */
    void (*instance_finish)(script_instance *instance); /* frees other memory of the instance; NULL: there is none */
    /* fills the plugin's struct and registers it; NULL: this kind is not registered */
    rill_status (*publish)(script_table *t);
} script_declaration;

extern const script_declaration script_heuristic_declaration; /* script_heuristic.c */
extern const script_declaration script_scorer_declaration;    /* script_scorer.c */
extern const script_declaration script_scheduler_declaration; /* script_scheduler.c */

struct script_instance {
    const script_table *table;
    int value; /* registry reference of the value that `create` returned; without `create`, of the arguments */
};

struct script_table {
    union {
        rill_heuristic heuristic;
        rill_scorer scorer;
        rill_scheduler scheduler;
        script_instance function_instance; /* the single instance of a bare function that is no plugin */
    } as; /* first member, so a pointer to the plugin's struct is a pointer to this struct */
    script_table *next;
    rill_script *script;
    const script_declaration *declaration;
    const char *name, *arguments, *summary;
    int is_function; /* 1: declared from a bare function, without rill.WORD{} */
    int32_t number;  /* value of the key `number_key` */
    int create;      /* registry reference of the function `create`; LUA_NOREF: there is none */
    /* registry references of the functions, in the order of script_declaration.functions */
    int function[SCRIPT_MAX_FUNCTIONS];
};

/* --- declaring ---------------------------------------------------------------------------------------------------- */

/* Set rill.WORD to a function that reads a declaration, publishes it and returns its object. The table `rill` is on
 * top of the stack. */
void script_declaration_open(lua_State *L, const script_declaration *declaration);

/* Declare the bare function at `index` under a generated name; it becomes the declaration's first function. Repeated
 * calls for one function return the same table. Pushes two values, of which the upper one is the object. Raises Lua
 * errors. */
script_table *script_declare_function(lua_State *L, int index, const script_declaration *declaration);

/* Declare the bare function at `index` for a kind that has no plugin struct. *user: the instance for
 * script_instance_call(), which belongs to the script. Raises nothing. */
rill_status script_function_make(lua_State *L, int index, const script_declaration *declaration, void **user);

/* Return the script_table of the declared object at `index`, or NULL if the value is no such object. */
script_table *script_table_get(lua_State *L, int index);

/* Implements create() of all kinds of plugin; `table` is the plugin's struct, and `ctx` the script's context. */
rill_status script_instance_create(const void *table, rill_context *ctx, const char *arguments, void **self);

/* Implements destroy() of all kinds of plugin. */
void script_instance_destroy(void *self);

/* --- calling ------------------------------------------------------------------------------------------------------ */

/* Call function number `which` of the declaration. Its arguments are a view of `data`, whose methods use `call`, and the
 * instance's value. `take` reads the function's single result from the top of the stack; the function is at index 2.
 * `take` may raise Lua errors; NULL: the result is ignored. The caller has called script_begin(). */
rill_status script_instance_call(const script_instance *instance, int which, const script_view_class *kind, void *data,
                                 const void *call, void (*take)(lua_State *L, void *out), void *out);

/* A `take` for functions whose result is ignored: raise if it is an array. `instead`: a string that describes what
 * the script should do. */
void script_refuse_array(lua_State *L, void *instead);

/* Add the failing input to the message of a call over n items that failed with `status`. The call is repeated for
 * each item alone, in order, by call_one(user, i, &id), which also returns the input's id. `first`: the id of item
 * 0's input. Returns `status`. */
rill_status script_locate_error(const script_instance *instance, rill_status status, int32_t n, int64_t first,
                                rill_status (*call_one)(void *user, int32_t i, int64_t *id), void *user);

/* --- opening ------------------------------------------------------------------------------------------------------- */

/* Functions that open and close this module in a script's state: each adds one function to `rill`, or opens a view's
 * class. */
void script_open_heuristics(lua_State *L); /* rill.heuristic */
void script_open_scorers(lua_State *L);    /* rill.scorer, and the view that functions for the option cube_key get */
void script_open_schedulers(lua_State *L); /* rill.scheduler */
void script_open_domains(lua_State *L);    /* rill.domain */
void script_tables_free(rill_script *s);

/* Default refill() of schedulers: admit inputs when at most the share refill-threshold of max_items is in flight. */
rill_status script_default_refill(void *self, const rill_sched_view *view, int32_t *admit);

/* Write the option's name to `out` with "_" instead of "-", as in "max_items". Returns `out`. */
const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX]);

#endif
