/* Parser of native functions' signatures (grammar: signature.h). A type's words may have any order, as in C. Errors point at the type's
 * first word, or at the unexpected character. */
#include "signature.h"

#include "rill/context.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NUMBERS "bool char int8..int64 uint8..uint64 short int long size_t float double"
#define ARRAYS "double* float* int32* int64* uint8*"
#define STRUCTS "candidates* rows* modifiers* sched_view*"

/* --- words of C types --------------------------------------------------------------------------------------------- */

/* The signature_type of a signed integer with this many bytes. */
#define SIGNED_TYPE(bytes) \
    ((bytes) == 1 ? SIGNATURE_I8 : (bytes) == 2 ? SIGNATURE_I16 : (bytes) == 4 ? SIGNATURE_I32 : SIGNATURE_I64)
#define UNSIGNED_TYPE(bytes) (SIGNED_TYPE(bytes) + (SIGNATURE_U8 - SIGNATURE_I8))

/* The types that a signature may contain, indexed by signature_type. */
static const struct {
    const char *name, *words[3];
    signature_type pointer;
} types[] = {
#define ENTRY(TYPE, name, pointer, ...) {name, {__VA_ARGS__}, SIGNATURE_##pointer},
    SIGNATURE_TYPES(ENTRY)
#undef ENTRY
};
enum { TYPES = sizeof types / sizeof *types, WORDS_OF_TYPE = 3 };

/* Words for integer types whose size depends on the machine. */
static const struct {
    const char *word;
    signature_type type;
} sized_words[] = {{"size_t", UNSIGNED_TYPE(sizeof(size_t))}, {"rill_status", SIGNED_TYPE(sizeof(int))}};
enum { SIZED_WORDS = sizeof sized_words / sizeof *sized_words };

/* Words that are combined to form a type, such as "unsigned long int". */
enum { SIGNED, UNSIGNED, SHORT, INT, LONG, CHAR, DOUBLE, COMBINING };
static const char *const combining[COMBINING] = {"signed", "unsigned", "short", "int", "long", "char", "double"};

const char *signature_word(size_t i)
{
    for (int type = 0; type < TYPES; type++)
        for (int w = 0; w < WORDS_OF_TYPE && types[type].words[w] != NULL; w++)
            if (i-- == 0) return types[type].words[w];
    if (i < SIZED_WORDS) return sized_words[i].word;
    return i - SIZED_WORDS < COMBINING ? combining[i - SIZED_WORDS] : NULL;
}

typedef struct type_words {
    size_t start; /* position of the first word of the type, not counting "const" */
    size_t end;   /* position after the last word of the type */
    int constant; /* 1: the word const occurred */
    /* the signature_type of a word that is a complete type on its own, such as "int32"; -1: there is no such word */
    int single;
    int count[COMBINING]; /* how often each word of combining[] occurred */
    int n_combining;      /* sum of `count` */
} type_words;

typedef struct reader {
    const char *text;
    size_t length, pos;
    signature_error *error;
} reader;

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_spaces(reader *r)
{
    while (r->pos < r->length && (r->text[r->pos] == ' ' || r->text[r->pos] == '\t' || r->text[r->pos] == '\n'))
        r->pos++;
}

static int next_is(reader *r, char c)
{
    skip_spaces(r);
    return r->pos < r->length && r->text[r->pos] == c;
}

static int consume(reader *r, char c)
{
    int found = next_is(r, c);
    r->pos += (size_t)found;
    return found;
}

/* Return the number of bytes of the word at the current position; 0 if no word begins there. */
static size_t word_length(reader *r)
{
    skip_spaces(r);
    size_t n = 0;
    while (r->pos + n < r->length &&
           (is_letter(r->text[r->pos + n]) || (n > 0 && r->text[r->pos + n] >= '0' && r->text[r->pos + n] <= '9')))
        n++;
    return n;
}

static int word_is(const reader *r, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(r->text + r->pos, word, n) == 0;
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Record an error at byte `pos`. Returns -1. */
#define FAIL_PARSE(r, pos, ...)                                                                                       \
    ((r)->error->column = (pos) + 1, rill_print_message((r)->error->message, sizeof(r)->error->message, __VA_ARGS__), \
     -1)

/* Bytes [start, end) of the signature as shown in a message: shortened if long, and without control characters. */
typedef struct excerpt {
    char text[40];
} excerpt;

static excerpt make_excerpt(const reader *r, size_t start, size_t end)
{
    excerpt e;
    size_t n = end - start < sizeof e.text ? end - start : sizeof e.text - 1;
    for (size_t i = 0; i < n; i++) {
        char c = r->text[start + i];
        e.text[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    e.text[n] = '\0';
    return e;
}

static int fail_word(reader *r, size_t pos, size_t n)
{
    return FAIL_PARSE(r, pos,
                      "\"%s\" is not a type: expected void " NUMBERS " string void*, " STRUCTS ", or an array " ARRAYS,
                      make_excerpt(r, pos, pos + n).text);
}

/* Fail with the message that `expected` was expected at the current position. */
static int fail_expected(reader *r, const char *expected)
{
    skip_spaces(r);
    if (r->pos == r->length) return FAIL_PARSE(r, r->pos, "%s expected, but the signature ends here", expected);
    if (r->text[r->pos] == '.')
        return FAIL_PARSE(r, r->pos,
                          "functions with \"...\" cannot be bound: bind one that takes a fixed list of arguments");
    size_t n = word_length(r);
    if (n > 0)
        return FAIL_PARSE(r, r->pos, "%s expected, not \"%s\": a signature has types only, no names", expected,
                          make_excerpt(r, r->pos, r->pos + n).text);
    return FAIL_PARSE(r, r->pos, "%s expected, not \"%s\"", expected, make_excerpt(r, r->pos, r->pos + 1).text);
}

/* --- parsing a type ----------------------------------------------------------------------------------------------- */

/* Return the signature_type of the word at the current position, which has n bytes; -1: this word alone is not a type. */
static int find_type(const reader *r, size_t n)
{
    for (int type = 0; type < TYPES; type++)
        for (int w = 0; w < WORDS_OF_TYPE && types[type].words[w] != NULL; w++)
            if (word_is(r, n, types[type].words[w])) return type;
    for (int i = 0; i < SIZED_WORDS; i++)
        if (word_is(r, n, sized_words[i].word)) return (int)sized_words[i].type;
    return -1;
}

static int find_combining(const reader *r, size_t n)
{
    for (int i = 0; i < COMBINING; i++)
        if (word_is(r, n, combining[i])) return i;
    return -1;
}

/* Collect the words of a type, up to the first word that cannot belong to it. */
static int gather_words(reader *r, type_words *w)
{
    *w = (type_words){.single = -1};
    for (size_t n = word_length(r); n > 0; n = word_length(r)) {
        int first = w->single < 0 && w->n_combining == 0;
        int single = find_type(r, n), part = find_combining(r, n);
        if (word_is(r, n, "const")) {
            w->constant = 1;
        } else if (part >= 0 && w->single < 0) {
            if (first) w->start = r->pos;
            w->count[part]++;
            w->n_combining++;
            w->end = r->pos + n;
        } else if (single >= 0 && first) {
            w->start = r->pos;
            w->single = single;
            w->end = r->pos + n;
        } else {
            return first ? fail_word(r, r->pos, n) : 0;
        }
        r->pos += n;
    }
    if (w->single < 0 && w->n_combining == 0) return fail_expected(r, "a type");
    return 0;
}

/* Set *out to the type that the collected words mean, without a following "*". Only "long" may occur twice. */
static int type_from_words(reader *r, const type_words *w, signature_type *out)
{
    if (w->single >= 0) {
        *out = (signature_type)w->single;
        return 0;
    }
    const int *c = w->count;
    int good = c[SIGNED] + c[UNSIGNED] <= 1 && c[SHORT] <= 1 && c[INT] <= 1 && c[LONG] <= 2 && c[CHAR] <= 1;
    if (c[CHAR] && c[SHORT] + c[INT] + c[LONG] > 0) good = 0;
    if (c[SHORT] && c[LONG]) good = 0;
    if (c[DOUBLE] && w->n_combining > 1) good = 0;
    if (!good) return fail_word(r, w->start, w->end - w->start);
    size_t bytes = c[CHAR]        ? 1
                   : c[SHORT]     ? sizeof(short)
                   : c[LONG] == 1 ? sizeof(long)
                   : c[LONG] == 2 ? sizeof(long long)
                                  : sizeof(int);
    int is_unsigned = c[UNSIGNED] || (c[CHAR] && !c[SIGNED] && CHAR_MIN == 0);
    *out = c[DOUBLE] ? SIGNATURE_DOUBLE : is_unsigned ? UNSIGNED_TYPE(bytes) : SIGNED_TYPE(bytes);
    return 0;
}

static int is_struct(signature_type type)
{
    return type >= SIGNATURE_CANDIDATES && type <= SIGNATURE_SCHED_VIEW;
}

/* Replace *type, the type that the words in `w` mean, by the type of a pointer to it. */
static int make_pointer(reader *r, const type_words *w, signature_type *type)
{
    if (w->n_combining == 1 && w->count[CHAR]) {
        if (!w->constant)
            return FAIL_PARSE(
                r, w->start,
                "char* is not supported: write const char* (or string) for text that is only read, uint8* for bytes");
        *type = SIGNATURE_STRING;
        return 0;
    }
    if (types[*type].pointer == SIGNATURE_VOID)
        return FAIL_PARSE(r, w->start, "arrays of %s are not supported: expected " ARRAYS " or void*",
                          make_excerpt(r, w->start, w->end).text);
    *type = types[*type].pointer;
    return 0;
}

static int read_type(reader *r, signature_type *out, int *constant, size_t *start)
{
    type_words w;
    if (gather_words(r, &w) != 0 || type_from_words(r, &w, out) != 0) return -1;
    *constant = 0;
    *start = w.start;
    if (!consume(r, '*')) {
        if (!is_struct(*out)) return 0;
        excerpt e = make_excerpt(r, w.start, w.end);
        return FAIL_PARSE(r, w.start, "%s must be passed as a pointer: %s*", e.text, e.text);
    }
    if (make_pointer(r, &w, out) != 0) return -1;
    size_t n = word_length(r);
    /* skip a "const" after the "*": whether the pointer itself is constant does not matter to callers */
    if (n > 0 && word_is(r, n, "const")) r->pos += n;
    if (next_is(r, '*')) return FAIL_PARSE(r, r->pos, "pointers to pointers are not supported: use void*");
    *constant = w.constant && *out >= SIGNATURE_CANDIDATES;
    if (*out == SIGNATURE_ROWS || *out == SIGNATURE_SCHED_VIEW) *constant = 1;
    return 0;
}

/* --- parsing a signature ------------------------------------------------------------------------------------------ */

static int read_result(reader *r, signature *s)
{
    int constant;
    size_t start;
    if (read_type(r, &s->result, &constant, &start) != 0) return -1;
    if (s->result > SIGNATURE_POINTER)
        return FAIL_PARSE(r, start, "a result cannot be %s: expected void, " NUMBERS ", string or void*",
                          signature_type_name(s->result));
    return 0;
}

static int read_argument(reader *r, signature *s)
{
    int constant;
    size_t start;
    signature_type type;
    if (read_type(r, &type, &constant, &start) != 0) return -1;
    if (type == SIGNATURE_VOID)
        return FAIL_PARSE(r, start, "an argument cannot be void: write \"()\" for a function without arguments");
    if (s->n == SIGNATURE_MAX_ARGUMENTS) return FAIL_PARSE(r, start, "more than %d arguments", SIGNATURE_MAX_ARGUMENTS);
    if (constant) s->constant |= UINT32_C(1) << s->n;
    s->argument[s->n++] = type;
    return 0;
}

/* Return 1 if the parameter list is empty: "()" or, as in C, "(void)", whose word void is then consumed. */
static int is_empty_list(reader *r)
{
    size_t old_pos = r->pos, n = word_length(r);
    if (n > 0 && word_is(r, n, "void")) {
        r->pos += n;
        if (next_is(r, ')')) return 1;
    }
    r->pos = old_pos;
    return next_is(r, ')');
}

int signature_parse(const char *text, size_t length, signature *out, signature_error *error)
{
    reader r = {text, length, 0, error};
    *out = (signature){0};
    if (read_result(&r, out) != 0) return -1;
    if (!consume(&r, '(')) return fail_expected(&r, "\"(\" and the types of the arguments");
    if (!is_empty_list(&r)) {
        do {
            if (read_argument(&r, out) != 0) return -1;
        } while (consume(&r, ','));
    }
    if (!consume(&r, ')')) return fail_expected(&r, "\",\" or \")\"");
    skip_spaces(&r);
    if (r.pos < r.length)
        return FAIL_PARSE(&r, r.pos, "the signature must end after the closing parenthesis, not with \"%s\"",
                          make_excerpt(&r, r.pos, r.length).text);
    return 0;
}

/* --- writing a signature ------------------------------------------------------------------------------------------ */

const char *signature_type_name(signature_type type)
{
    return types[type].name;
}

void signature_write(const signature *s, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = -1; i < s->n && used < size; i++) {
        signature_type type = i < 0 ? s->result : s->argument[i];
        int is_const = i >= 0 && (s->constant >> i & 1) && type != SIGNATURE_ROWS && type != SIGNATURE_SCHED_VIEW;
        int n = snprintf(out + used, size - used, "%s%s%s%s", i > 0 ? ", " : "", is_const ? "const " : "",
                         signature_type_name(type), i < 0 ? "(" : "");
        used += (size_t)n;
    }
    if (used < size) snprintf(out + used, size - used, ")");
}
