/* Declarations and calls: what the files that put Lua functions into the engine's tables share.
 *
 * rill.heuristic{...} and its relatives check the Lua table, keep references to its functions in a script_table, and return an
 * object that configurations may name. publish() fills the engine's table, which the script_table begins with, so that a
 * member that is given the one has the other, and registers it. An engine that names the table gets a script_instance, which
 * keeps what the script's `create` made of the arguments.
 *
 * Ownership: tables belong to their script and are freed with it; instances to whoever called create. */
#ifndef RILL_SCRIPTING_DECLARATION_H
#define RILL_SCRIPTING_DECLARATION_H

#include "arrays/arrays.h"
#include "arrays/script_view.h"
#include "tables.h"

enum { SCRIPT_MAX_FUNCTIONS = 16, SCRIPT_MAX_TABLES = 1000 };

typedef struct script_instance script_instance;

/* What can be declared. Constants. */
typedef struct script_declaration {
    script_kind kind;
    const char *word;                                /* "heuristic": declared by rill.heuristic */
    const char *functions[SCRIPT_MAX_FUNCTIONS + 1]; /* keys that hold functions, NULL-ended; `create` is not listed */
    int mandatory;                                   /* how many of them must be there, from the first on */
    int has_arguments;      /* the key `arguments` may be given, and says whether there are any */
    const char *number_key; /* a key of a whole number, 0 where it is not given; NULL: none */
    int32_t max_number;     /* that it may be */
    size_t instance_size;   /* of a struct that begins with script_instance */
    void (*instance_finish)(script_instance *instance); /* frees what else it owns; NULL: nothing */
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
        script_instance function_instance; /* of a function that nobody creates instances of */
    } as;                                  /* the first: a pointer to the engine's table points to this struct */
    script_table *next;
    rill_script *script;
    const script_declaration *declaration;
    char *text; /* the three below, one behind the other */
    size_t text_size;
    const char *name, *arguments, *summary;
    int is_function;                    /* made of a function alone */
    int32_t number;                     /* of the declaration's key, likewise */
    int create;                         /* registry reference; LUA_NOREF when it was not given */
    int function[SCRIPT_MAX_FUNCTIONS]; /* likewise, in the declaration's order */
};

/* --- declaring ---------------------------------------------------------------------------------------------------- */

/* Set rill.WORD: the function that reads a declaration, publishes it and returns its object. `rill` is on top of the stack. */
void script_declaration_open(lua_State *L, const script_declaration *declaration);

/* The same for a function alone, the value at `index`, under a name of our making: it becomes the first of the declaration's
 * functions. The same function has one table. Pushes two values, the upper one the object. Raises Lua errors. */
script_table *script_declare_function(lua_State *L, int index, const script_declaration *declaration);

/* The same for a function that no table of the engine's is made of: *user is what it is called with (script_instance_call()), and belongs
 * to the script. Raises nothing. */
rill_status script_function_make(lua_State *L, int index, const script_declaration *declaration, void **user);

/* The table that the object at `index` stands for, or NULL if it is none. */
script_table *script_table_get(lua_State *L, int index);

/* What the members `create` do; `table` is the engine's table of any kind, and `ctx` the script's context. */
rill_status script_instance_create(const void *table, rill_context *ctx, const char *arguments, void **self);

/* The member `destroy`. */
void script_instance_destroy(void *self);

/* --- calling ------------------------------------------------------------------------------------------------------ */

/* Call function `which` of the table with a view and the instance's value. `take` reads the one result, at the top of the
 * stack, with the function at index 2, and may raise Lua errors; NULL: nothing is read. The caller has called script_begin(). */
rill_status script_instance_call(const script_instance *instance, int which, const script_view_class *kind, void *data,
                                 void (*take)(lua_State *L, void *out), void *out);

/* For `take`, where results mean nothing: refuse an array, which was meant to do something. `instead`: a text, what does it. */
void script_refuse_array(lua_State *L, void *instead);

/* A call over n items has failed with `status`: say in the message which input it was at. Since items are treated one by one, each
 * is tried alone, in order, by alone(user, i, &id), which also says what input it is, until one fails too. `first`: the input of
 * item 0. Returns `status`. */
rill_status script_locate_error(const script_instance *instance, rill_status status, int32_t n, int64_t first,
                                rill_status (*call_one)(void *user, int32_t i, int64_t *id), void *user);

#endif
