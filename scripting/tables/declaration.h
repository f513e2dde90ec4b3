/* declaration.h: Lua functions as engine callbacks. Private header of scripting/tables.
 *
 * rill.heuristic{...} and the like check the Lua table, keep references to its functions in a script_table, and return
 * an object for configurations. publish() fills the engine's table, the first member of the script_table, so that
 * callbacks can convert between the two, and registers it. An engine that uses the table gets a script_instance, which
 * keeps the value that the script's `create` returned.
 *
 * Ownership: tables belong to their script and are freed with it; instances to the caller of create. */
#ifndef RILL_SCRIPTING_DECLARATION_H
#define RILL_SCRIPTING_DECLARATION_H

#include "arrays/arrays.h"
#include "arrays/script_view.h"
#include "tables.h"

enum { SCRIPT_MAX_FUNCTIONS = 16, SCRIPT_MAX_TABLES = 1000 };

typedef struct script_instance script_instance;

/* A kind of declaration. Constants. */
typedef struct script_declaration {
    script_kind kind;
    const char *word;                                /* "heuristic": declared by rill.heuristic */
    const char *functions[SCRIPT_MAX_FUNCTIONS + 1]; /* keys of functions, NULL-terminated; `create` is not listed */
    int mandatory;                                   /* how many of them are required, from the first on */
    int has_arguments;      /* accepts the key `arguments`, which says whether the object takes arguments */
    const char *number_key; /* key of an optional integer, default 0; NULL: none */
    int32_t max_number;     /* its maximum */
    size_t instance_size;   /* of a struct whose first member is script_instance */
    void (*instance_finish)(script_instance *instance); /* frees the struct's other data; NULL: nothing */
    rill_status (*publish)(script_table *t); /* fill the engine's table and register it; NULL: nothing to do */
} script_declaration;

extern const script_declaration script_heuristic_declaration; /* script_heuristic.c */
extern const script_declaration script_scorer_declaration;    /* script_scorer.c */
extern const script_declaration script_scheduler_declaration; /* script_scheduler.c */

struct script_instance {
    const script_table *table;
    int value; /* registry reference of what create returned, or of the arguments */
};

struct script_table {
    union {
        rill_heuristic heuristic;
        rill_scorer scorer;
        rill_scheduler scheduler;
        script_instance function_instance; /* instance of a plain function */
    } as; /* first member: a pointer to the engine's table is a pointer to this struct */
    script_table *next;
    rill_script *script;
    const script_declaration *declaration;
    char *text; /* the three strings below, concatenated */
    size_t text_size;
    const char *name, *arguments, *summary;
    int is_function;                    /* made from a plain function */
    int32_t number;                     /* of the declaration's key, likewise */
    int create;                         /* registry reference; LUA_NOREF: none */
    int function[SCRIPT_MAX_FUNCTIONS]; /* likewise, in the declaration's order */
};

/* --- declaring ---------------------------------------------------------------------------------------------------- */

/* Set rill.WORD: the function that reads a declaration, publishes it and returns its object. `rill` is on top of the
 * stack. */
void script_declaration_open(lua_State *L, const script_declaration *declaration);

/* The same for a plain function, the value at `index`, under a generated name: it becomes the declaration's first
 * function. The same function always gets the same table. Pushes two values, the upper one the object. Raises Lua
 * errors. */
script_table *script_declare_function(lua_State *L, int index, const script_declaration *declaration);

/* The same for a function without an engine table: *user is the argument for script_instance_call(), and belongs to the
 * script. Raises nothing. */
rill_status script_function_make(lua_State *L, int index, const script_declaration *declaration, void **user);

/* The table that the object at `index` stands for, or NULL if it is none. */
script_table *script_table_get(lua_State *L, int index);

/* Implements `create`; `table` is the engine's table of any kind, and `ctx` the script's context. */
rill_status script_instance_create(const void *table, rill_context *ctx, const char *arguments, void **self);

/* Implements `destroy`. */
void script_instance_destroy(void *self);

/* --- calling ------------------------------------------------------------------------------------------------------ */

/* Call function `which` of the table with a view and the instance's value. `take` reads the single result, on top of
 * the stack, with the function at index 2, and may raise Lua errors; NULL: no result is read. The caller has called
 * script_begin(). */
rill_status script_instance_call(const script_instance *instance, int which, const script_view_class *kind, void *data,
                                 void (*take)(lua_State *L, void *out), void *out);

/* For `take`, where a result has no effect: refuse an array. `instead`: a text that names the right way. */
void script_refuse_array(lua_State *L, void *instead);

/* A call over n items failed with `status`: add the failing input to the message. Each item is retried alone, in order,
 * with call_one(user, i, &id), which also returns the input's id, until one fails. `first`: the input of item 0.
 * Returns `status`. */
rill_status script_locate_error(const script_instance *instance, rill_status status, int32_t n, int64_t first,
                                rill_status (*call_one)(void *user, int32_t i, int64_t *id), void *user);

#endif
