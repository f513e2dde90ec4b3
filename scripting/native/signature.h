/* Signatures of native functions as scripts write them: "void(candidates*, double)".
 *
 *   signature  = result "(" [ "void" | argument { "," argument } ] ")"
 *   result     = type            void, a number, bool, string or void*
 *   argument   = type            at most 32
 *   type       = { "const" } word { word } [ "*" [ "const" ] ]
 *
 * Words: void  bool (_Bool)  char  int8 int16 int32 int64 uint8 uint16 uint32 uint64, each also with _t  size_t
 *       short int long, also "long long", "unsigned", "signed" and their combinations in C  float  double
 *       string   text that ends with NUL, the same as "const char*"
 *       rill_status   an int
 * Pointers: void*
 *       candidates* or view*   rill_candidates *                    rows*    const rill_scorer_rows *
 *       modifiers*              rill_modifiers *              sched_view*  const rill_sched_view *     also by their rill_ names
 *       double* float* int32* int64* uint8*   arrays of exactly that type, also as C spells it (int*, unsigned char*);
 *                                             without "const" the array must be writable
 *
 * Arguments have no names; no "...". This code does not depend on Lua, so it is fuzzed alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Types in signatures: X(TYPE, name, pointer, words...).
 *   name      shortest spelling
 *   pointer   type of a pointer to this type; VOID: none
 *   words     at most 3; for a pointer to an engine struct: the struct's names */
#define SIGNATURE_TYPES(X)                                                            \
    X(VOID, "void", POINTER, "void")                                                  \
    X(BOOL, "bool", VOID, "bool", "_Bool")                                            \
    X(I8, "int8", VOID, "int8", "int8_t")                                             \
    X(I16, "int16", VOID, "int16", "int16_t")                                         \
    X(I32, "int32", INT32S, "int32", "int32_t")                                       \
    X(I64, "int64", INT64S, "int64", "int64_t")                                       \
    X(U8, "uint8", BYTES, "uint8", "uint8_t")                                         \
    X(U16, "uint16", VOID, "uint16", "uint16_t")                                      \
    X(U32, "uint32", VOID, "uint32", "uint32_t")                                      \
    X(U64, "uint64", VOID, "uint64", "uint64_t")                                      \
    X(FLOAT, "float", FLOATS, "float")                                                \
    X(DOUBLE, "double", DOUBLES, NULL)                                                \
    X(STRING, "string", VOID, "string")                                               \
    X(POINTER, "void*", VOID, NULL)                                                   \
    X(CANDIDATES, "candidates*", CANDIDATES, "candidates", "view", "rill_candidates") \
    X(ROWS, "rows*", ROWS, "rows", "rill_scorer_rows")                                \
    X(MODIFIERS, "modifiers*", MODIFIERS, "modifiers", "rill_modifiers")              \
    X(SCHED_VIEW, "sched_view*", SCHED_VIEW, "sched_view", "rill_sched_view")         \
    X(DOUBLES, "double*", VOID, NULL)                                                 \
    X(FLOATS, "float*", VOID, NULL)                                                   \
    X(INT32S, "int32*", VOID, NULL)                                                   \
    X(INT64S, "int64*", VOID, NULL)                                                   \
    X(BYTES, "uint8*", VOID, NULL)

typedef enum signature_type {
#define ENTRY(TYPE, ...) SIGNATURE_##TYPE,
    SIGNATURE_TYPES(ENTRY)
#undef ENTRY
} signature_type;

enum { SIGNATURE_MAX_ARGUMENTS = 32, SIGNATURE_TEXT = 512 };

/* Return word number i of all words that a type may contain; NULL past the last one. */
const char *signature_word(size_t i);

typedef struct signature {
    signature_type result;
    int n;
    signature_type argument[SIGNATURE_MAX_ARGUMENTS]; /* [n] types of the function's arguments */
    uint32_t constant;                                /* bit set: bit i is 1 if argument i is a pointer to const */
} signature;

typedef struct signature_error {
    size_t column; /* column of the mistake, counted from 1 */
    char message[400];
} signature_error;

/* Parse a signature of `length` bytes. Returns 0, or -1 with *error filled in and *out undefined. */
int signature_parse(const char *text, size_t length, signature *out, signature_error *error);

/* Return how a signature spells this type, such as "int32*". The string is constant. */
const char *signature_type_name(signature_type type);

/* Write the signature in its shortest spelling; SIGNATURE_TEXT bytes hold any signature. Parsing the result gives
 * the same signature. */
void signature_write(const signature *s, char *out, size_t size);
