/* Lua functions as plugins of the engine.
 *
 * rill.heuristic{...}, rill.scorer{...} and rill.scheduler{...} store references to functions in a script_table, and return an object for
 * configurations. The first member of a script_table is the plugin's struct. A script_instance holds the value that the script's `create`
 * returned.
 *
 * Ownership: script_tables belong to their script, instances to the caller of create(). */
#pragma once

#include "arrays/arrays.h"

typedef enum script_kind { SCRIPT_HEURISTIC, SCRIPT_SCORER, SCRIPT_SCHEDULER, SCRIPT_DOMAIN } script_kind;

/* maximum size in bytes of the name of a heuristic, scorer, scheduler or domain, with its NUL */
enum { SCRIPT_NAME_MAX = 48 };

/* The members that the structs of all plugins have, of the type `type`, for a plugin `t` with a name and a summary. */
#define SCRIPT_PLUGIN(type, t) \
    .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(type), .name = (t)->name, .summary = (t)->summary

/* Define the function `create` of plugins of the type `type`, which calls `function`: it takes a plugin of any type. */
#define SCRIPT_CREATE(create, type, function)                                                           \
    static rill_status create(const type *table, rill_context *ctx, const char *arguments, void **self) \
    {                                                                                                   \
        return function(table, ctx, arguments, self);                                                   \
    }

/* Return the struct of the registered plugin or domain with this kind and name; NULL if there is none. */
const void *script_find(const rill_context *ctx, script_kind kind, const char *name);

/* The classes of the views that functions of heuristics, scorers and schedulers get: of rill_candidates, rill_scorer_rows and
 * rill_sched_view. */
extern const script_view_class script_candidates_class, script_rows_class, script_sched_view_class;

/* Return the modifiers that belong to the rows of a view. */
rill_modifiers *script_rows_modifiers(const script_view *rows);

/* Make a callback for max-batch-hypotheses from the Lua function at `index`. The function gets a scheduler view, and returns a number (0:
 * no limit), or nil for the configured value. `user` belongs to the script. Raises. */
void script_budget_create(lua_State *L, int index, rill_budget_fn *fn, void **user);

/* Make a callback for the option cube_key from the Lua function at `index`, which returns equal numbers for equivalent hypotheses. `user`
 * belongs to the script. Raises. */
void script_cube_key_create(lua_State *L, int index, rill_key_fn *fn, void **user);

/* Return the name of the domain object at `index`, or NULL if the value is not the result of rill.domain{}. */
const char *script_domain_name(lua_State *L, int index);

enum { SCRIPT_MAX_FUNCTIONS = 16, SCRIPT_MAX_TABLES = 1000 };

typedef struct script_instance script_instance;

/* A kind of declaration: heuristic, scorer, scheduler, budget or cube_key. All are constants. */
typedef struct script_declaration {
    script_kind kind;
    const char *word; /* name of the kind, such as "heuristic" in rill.heuristic{} */
    /* names of the functions in the script's table, NULL-terminated, without `create`; the first one is required */
    const char *functions[SCRIPT_MAX_FUNCTIONS + 1];
    /* 1: the script's table may have the key `arguments`; if that is missing or empty, the plugin takes no arguments */
    int has_arguments;
    /* name of an optional integer key whose default is 0; NULL: there is none. If max_number is 1, the key is a boolean */
    const char *number_key;
    int32_t max_number;   /* maximum value of the key number_key */
    size_t instance_size; /* bytes of an instance, a struct whose first member is script_instance */
    /* called in a protected call when the instance's value exists; may raise; NULL: nothing is left to do */
    void (*instance_start)(lua_State *L, script_instance *instance);
    /* frees memory that the instance holds in addition; NULL: there is none */
    void (*instance_finish)(script_instance *instance);
    /* fills the plugin's struct (rill_heuristic ...) and registers it; NULL: plugins of this kind are not registered */
    rill_status (*publish)(script_table *t);
} script_declaration;

extern const script_declaration script_heuristic_declaration; /* defined in script_heuristic.c */
extern const script_declaration script_scorer_declaration;    /* defined in script_scorer.c */
extern const script_declaration script_scheduler_declaration; /* defined in script_scheduler.c */

struct script_instance {
    const script_table *table;
    /* registry reference of the value that `create` returned; if the script has no `create`, of the arguments */
    int value;
};

struct script_table {
    union {
        rill_heuristic heuristic;
        rill_scorer scorer;
        rill_scheduler scheduler;
        /* the only instance of a function that is used without a declaration and is no plugin */
        script_instance function_instance;
    } as; /* must be first, so that a pointer to the plugin's struct is a pointer to this script_table */
    script_table *next;
    rill_script *script;
    const script_declaration *declaration;
    const char *name, *arguments, *summary;
    int is_function; /* 1: the plugin is a function that was used without rill.WORD{} */
    int32_t number;  /* value of the key `number_key` */
    int create;      /* registry reference of the function `create`; LUA_NOREF: there is none */
    /* registry references of the script's functions, in the order of script_declaration.functions */
    int function[SCRIPT_MAX_FUNCTIONS];
};

/* --- declaring plugins -------------------------------------------------------------------------------------------- */

/* Add the function rill.WORD, which reads a declaration and returns an object for it. The table `rill` is on top of the stack. */
void script_declaration_open(lua_State *L, const script_declaration *declaration);

/* Declare the Lua function at `index` as a plugin with a generated name, once. Returns its script_table. Pushes two values, the object on
 * top. Raises. */
script_table *script_declare_function(lua_State *L, int index, const script_declaration *declaration);

/* Make an instance of the Lua function at `index` for script_instance_call(), without plugin struct, owned by the script. Raises. */
void *script_function_make(lua_State *L, int index, const script_declaration *declaration);

/* Return the script_table of the object at `index`, which a declaration returned; NULL if the value is no such object. */
script_table *script_table_get(lua_State *L, int index);

/* Implements create() for plugins of all kinds. `table` is the plugin's struct, and `ctx` the script's context. */
rill_status script_instance_create(const void *table, rill_context *ctx, const char *arguments, void **self);

/* Implements destroy() for plugins of all kinds. */
void script_instance_destroy(void *self);

/* --- calling plugins ---------------------------------------------------------------------------------------------- */

/* Call function `which` of the declaration with a view of the engine struct `data` and the instance's value, after script_begin().
 *   call: further data for the view's methods
 *   take: reads the single result on top of the stack (the function is at index 2), may raise; NULL: the result is ignored */
rill_status script_instance_call(const script_instance *instance, int which, const script_view_class *kind, void *data,
                                 const void *call, void (*take)(lua_State *L, void *out), void *out);

/* A `take` for functions whose result is ignored: raises if it is an array. `instead`: a string, what the script should do instead. */
void script_refuse_array(lua_State *L, void *instead);

/* Add the failing input to the message of a call that failed for n items; returns `status`. call_one(user, i, &id) repeats the call for
 * item i alone, and returns its input's id. first: id of item 0's input. */
rill_status script_locate_error(const script_instance *instance, rill_status status, int32_t n, int64_t first,
                                rill_status (*call_one)(void *user, int32_t i, int64_t *id), void *user);

/* --- opening the libraries ----------------------------------------------------------------------------------------- */

/* Open and close this module in a script's state: functions of the table `rill`, and views' classes. */
void script_open_heuristics(lua_State *L); /* adds rill.heuristic */
/* adds rill.scorer, and opens the view that functions for the option cube_key get */
void script_open_scorers(lua_State *L);
void script_open_schedulers(lua_State *L); /* adds rill.scheduler */
void script_open_domains(lua_State *L);    /* adds rill.domain */
void script_tables_free(rill_script *s);

/* The default refill() of schedulers: admit inputs when at most the share refill-threshold of max_items is in flight. */
rill_status script_default_refill(void *self, const rill_sched_view *view, int32_t *admit);

/* Write the name of an option to `out` with "_" in place of "-", as in "max_items". Returns `out`. */
const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX]);
