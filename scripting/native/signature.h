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
 * Spaces may stand between words. Arguments have no names. Functions with "..." cannot be called. This code does not depend on Lua, so
 * it is fuzzed alone. */
#ifndef RILL_SCRIPTING_SIGNATURE_H
#define RILL_SCRIPTING_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

typedef enum signature_type {
    SIGNATURE_VOID,
    SIGNATURE_BOOL,
    SIGNATURE_I8,
    SIGNATURE_I16,
    SIGNATURE_I32,
    SIGNATURE_I64,
    SIGNATURE_U8,
    SIGNATURE_U16,
    SIGNATURE_U32,
    SIGNATURE_U64,
    SIGNATURE_FLOAT,
    SIGNATURE_DOUBLE,
    SIGNATURE_STRING,
    SIGNATURE_POINTER, /* the type void* */
    SIGNATURE_CANDIDATES,
    SIGNATURE_ROWS,
    SIGNATURE_MODIFIERS,
    SIGNATURE_SCHED_VIEW,
    SIGNATURE_DOUBLES, /* the type double* */
    SIGNATURE_FLOATS,
    SIGNATURE_INT32S,
    SIGNATURE_INT64S,
    SIGNATURE_BYTES, /* the type uint8* */
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

#endif
