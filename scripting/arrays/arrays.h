/* Arrays over engine memory or owned by the script, and views: access to engine structs during one call.
 *
 * An array is a userdata: the struct `array`, then its elements unless in engine memory. Operations compute with doubles: int64 values
 * beyond 2^53 are rounded.
 *
 * C functions get arrays only through array_check() or operand_read(), which refuse arrays of another engine call. */
#pragma once

#include "state/state.h"

typedef enum array_type { ARRAY_F64, ARRAY_F32, ARRAY_I32, ARRAY_I64, ARRAY_U8 } array_type;
typedef enum array_level {
    ARRAY_PLAIN, /* n values that belong neither to inputs nor to candidates or rows */
    ARRAY_ITEMS, /* one value per item (input) of the engine call */
    ARRAY_CELLS, /* one value per candidate or row of the engine call (a cell); an item's cells are adjacent, and form a segment */
} array_level;

/* What a script may assign to the elements of an array. */
typedef enum array_writing {
    ARRAY_READ_ONLY,
    ARRAY_ANY, /* any number in the type's range */
    /* marks or widths (script_array_store()): a mask accepts 0 and 1, other types accept numbers >= 0 */
    ARRAY_MARKS,
} array_writing;

/* Push an array over engine memory, valid until script_end().
 *   data   begins with the element or elements of the call's first item
 *   n      the call's number of items or cells; of a plain array, its length */
void script_array_push(lua_State *L, array_type type, const void *data, int32_t n, array_level level,
                       array_writing writable);

/* Push an array of zeros owned by the script. Returns its n elements. An array of items or cells is valid only during the engine call. */
void *script_array_make(lua_State *L, array_type type, int32_t n, array_level level);

/* Return 1 if the value at `index` is an array, even one of another call. Raises nothing. */
int script_array_is(lua_State *L, int index);

/* Return the *n elements of the array at `index`. Raises if the type differs, or it is not valid now, or read-only with `writable`. */
void *script_array_data(lua_State *L, int index, array_type type, int writable, int32_t *n);

/* Assign the value at `index` to data[0, n). A number is repeated, an array of items broadcast to cells. Integers are rounded down and
 * clamped; masks get 0 or 1. NaN in an integer raises.
 *   marks: NULL, or the name of a field of marks (ARRAY_U8: 0 or 1) or widths (>= 0), for which other values raise */
void script_array_store(lua_State *L, int index, array_type type, void *data, int32_t n, array_level level,
                        const char *marks);

/* --- arrays ----------------------------------------------------------------------------------------------------------- */

typedef struct array {
    void *data;
    uint64_t stamp; /* serial number of the engine call in which the array is valid; 0: it is always valid */
    int32_t n;
    uint8_t type;     /* type of the elements: an array_type */
    uint8_t level;    /* whether there is an element per item, per candidate or row, or neither: an array_level */
    uint8_t writable; /* what a script may assign to elements: an array_writing */
    /* in a watched script, the number of the line that made this mask, from 1, until the mask is used; else 0 */
    uint8_t unused_place;
} array;

/* Return the array at `index`, or NULL if the value is no array. The array may be one of another call. */
array *array_test(lua_State *L, const rill_script *s, int index);

/* Return the array at `index`. Raises if the value is no array, or an array of another call. */
array *array_check(lua_State *L, const rill_script *s, int index);

enum { ARRAY_LOCAL = 512 }; /* maximum number of elements on the C stack, in functions that need all elements at once */

/* Return all elements of an array as doubles. They are in the array itself, in `local`, or in memory that is pushed. */
const double *array_doubles(lua_State *L, const array *a, double local[ARRAY_LOCAL]);

/* --- views ------------------------------------------------------------------------------------------------------------ */

/* A pointer to an engine struct, and the stamp of its engine call. Use after the call is an error. */
typedef struct script_view {
    uint64_t stamp;
    void *data;       /* the engine struct; the view's fields are its members */
    const void *call; /* further data of the call, for methods; NULL: none */
} script_view;

typedef enum view_field_kind {
    VIEW_INT32, /* a member of type int32_t in the engine struct */
    VIEW_INT64,
    VIEW_DOUBLE,
    VIEW_ARRAY, /* a member that points to an array; an array of ARRAY_MARKS can also be assigned as a whole */
    VIEW_ITEMS, /* the number of items (inputs) in the engine call */
    VIEW_CELLS, /* the number of candidates or rows in the engine call */
    VIEW_READ,  /* a value that the field's function read() computes and pushes */
} view_field_kind;

typedef struct script_view_field {
    const char *name; /* NULL ends a list of fields */
    view_field_kind kind;
    size_t offset; /* offset of the member in the engine's struct */
    array_type type;
    array_level level;
    array_writing writing;
    void (*read)(lua_State *L, const script_view *view, array_level level);
} script_view_field;

typedef struct script_view_method {
    const char *name; /* NULL ends a list of methods */
    /* the method; it gets its view by script_view_self(), and `number` by script_view_number() */
    lua_CFunction function;
    int number;
} script_view_method;

typedef struct script_view_class {
    const char *word;     /* name of the class for messages, such as "candidates" */
    const char *variable; /* name of the view in the documentation, for messages: "b" */
    const script_view_field *fields;
    const script_view_method *methods;
    /* byte offset in the engine struct of the int32_t that is the length of arrays of level ARRAY_PLAIN */
    size_t n_offset;
} script_view_class;

/* Create the metatable of the class; called once per Lua state. */
void script_view_open(lua_State *L, const script_view_class *kind);

/* Push a view of an engine struct; it belongs to the engine call in progress. */
void script_view_push(lua_State *L, const script_view_class *kind, void *data, const void *call);

/* For methods: return the view at stack index 1. Raises if it has another class, or its call has returned. */
const script_view *script_view_self(lua_State *L);
/* For methods: return the method's number (script_view_method). */
int script_view_number(lua_State *L);
/* For methods: return p for the item number at stack index 2; its cells are [p[0], p[1]). Raises if out of range. */
const int32_t *script_view_cells(lua_State *L);
/* Implements the method view:range(item), which returns the numbers of the item's first and last candidate or row. */
int script_view_range(lua_State *L);

/* For other functions: return the view of class `kind` at `index`. Raises if it is no such view, or its call has returned. */
const script_view *script_view_check(lua_State *L, int index, const script_view_class *kind);

/* Advance the struct's pointers to one item. item: index in arrays of items; cell: of its first cell in arrays of cells. */
void script_view_advance(const script_view_class *kind, void *data, int32_t item, int32_t cell);

/* --- opening ---------------------------------------------------------------------------------------------------------- */

/* Add this module's parts to a script's state. The table `rill` is on top of the stack. Call script_open_arrays() first. */
void script_open_arrays(lua_State *L);           /* adds rill.array, rill.zeros and access to elements */
void script_open_array_arithmetic(lua_State *L); /* adds operators, rill.where, rill.max ... */
void script_open_array_segments(lua_State *L);   /* adds reductions, ranks and cumulative sums */
void script_watch_free(rill_script *s);

/* === for the files of scripting/arrays only =========================================================================== */

extern const char *const array_type_names[];  /* names of the types as scripts see them, by array_type */
extern const char *const array_level_names[]; /* plural names of the levels for messages, by array_level */
extern const uint8_t array_sizes[];           /* bytes of an element, by array_type */

/* Push a new array owned by the script, with uninitialised elements. Raises when out of memory. */
array *array_new(lua_State *L, rill_script *s, array_type type, int32_t n, array_level level);

/* Push a userdata with memory for `count` elements of `size` bytes, valid while it is on the stack. */
void *array_scratch(lua_State *L, size_t count, size_t size);

/* Raise if scripts may only read the array. */
void array_check_writable(lua_State *L, const array *a);
/* Raise if an array of items or cells does not have the length of the engine call in progress. */
void array_check_fits(lua_State *L, const rill_script *s, int32_t n, array_level level);
/* Raise unless x[0, n) are marks (type ARRAY_U8) or widths (other types). `name`: the field that they are assigned to, for the message. */
void array_check_marks(lua_State *L, array_type type, const double *x, int32_t n, const char *name);

/* How scripts call a function of arrays: a + b, a:sum(), rill.max(a, b). */
typedef enum array_place { ARRAY_METAMETHOD, ARRAY_METHOD, ARRAY_LIBRARY } array_place;

/* Add `fn` to the arrays' metatable or methods, or to the table `rill` on top of the stack.
 *   number   upvalue 1, by which a C function with several names knows its name */
void array_add_function(lua_State *L, array_place where, const char *name, lua_CFunction fn, int number);

/* Record that the running C function made a mask, in a watched script (rill_script_watch()). */
void script_watch_mask(lua_State *L, const rill_script *s, array *mask);

/* --- array_arith.c: elements as blocks of doubles ------------------------------------------------------------------- */

enum {
    /* number of elements in a block: three blocks of operands and one of results fit the first-level cache */
    ARRAY_BLOCK = 256,
    ARRAY_PAD = 4, /* the memory of so many elements after the end of a block may be overwritten */
};

/* An argument of an array operation over n elements. */
typedef struct operand {
    const array *a; /* the array; NULL: the argument is the number in `number` */
    double number;
    /* 1: an array of items in an operation over cells: each element is repeated for all cells of its item */
    int spread;
    int32_t segment; /* if `spread` is 1: number of the segment that contains the first element of the next block */
} operand;

/* Level and length of an operation's result: the highest of its operands' (cells, items, plain). n -1: no operand is an array. */
typedef struct shape {
    int32_t n;
    array_level level;
} shape;

/* Read the argument at `index`: a number, an array valid now, or, with `booleans`, a boolean; else raises. */
operand operand_read(lua_State *L, const rill_script *s, int index, int booleans);

/* Return the level and length of the result of an operation on these operands. Raises if the operands do not fit each other. */
shape operand_join(lua_State *L, operand *in, int count);

/* Write elements [from, from + n) of the array to out[0, n) as doubles. */
void array_widen(const array *a, int32_t from, int32_t n, double *out);

/* Write x[0, n) to elements [from, from + n). Integers are rounded down and clamped; masks get x != 0. */
void array_narrow(const array *to, int32_t from, int32_t n, const double *restrict x);

/* Return an operand repeated to n elements, as doubles. They are in the array itself, in `local`, or in memory that is pushed. */
const double *operand_doubles(lua_State *L, const rill_script *s, operand *o, int32_t n, double local[ARRAY_LOCAL]);
