/* Reading the signatures of native functions; the grammar is in signature.h.
 *
 * A type is read in two steps: its words are gathered (type_words), then judged as a whole (type_of_words), since C's
 * integer types are made of words in any order. Errors point at the type's first word or at the sign that does not fit.
 *
 * Divisions: words · errors · one type · the whole · writing. */
#include "signature.h"

#include "rill/context.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NUMBERS "bool char int8..int64 uint8..uint64 short int long size_t float double"
#define ARRAYS "double* float* int32* int64* uint8*"
#define STRUCTS "beams* rows* ask* flight*"

/* --- words -------------------------------------------------------------------------------------------------------- */

/* The integer of that many bytes. */
#define SIGNED_OF(bytes) \
    ((bytes) == 1 ? SIGNATURE_I8 : (bytes) == 2 ? SIGNATURE_I16 : (bytes) == 4 ? SIGNATURE_I32 : SIGNATURE_I64)
#define UNSIGNED_OF(bytes) (SIGNED_OF(bytes) + (SIGNATURE_U8 - SIGNATURE_I8))

/* Words that are a type by themselves. */
static const struct {
    const char *word;
    signature_type type;
} words[] = {
    {"void", SIGNATURE_VOID},
    {"bool", SIGNATURE_BOOL},
    {"_Bool", SIGNATURE_BOOL},
    {"int8", SIGNATURE_I8},
    {"int8_t", SIGNATURE_I8},
    {"int16", SIGNATURE_I16},
    {"int16_t", SIGNATURE_I16},
    {"int32", SIGNATURE_I32},
    {"int32_t", SIGNATURE_I32},
    {"int64", SIGNATURE_I64},
    {"int64_t", SIGNATURE_I64},
    {"uint8", SIGNATURE_U8},
    {"uint8_t", SIGNATURE_U8},
    {"uint16", SIGNATURE_U16},
    {"uint16_t", SIGNATURE_U16},
    {"uint32", SIGNATURE_U32},
    {"uint32_t", SIGNATURE_U32},
    {"uint64", SIGNATURE_U64},
    {"uint64_t", SIGNATURE_U64},
    {"size_t", UNSIGNED_OF(sizeof(size_t))},
    {"float", SIGNATURE_FLOAT},
    {"string", SIGNATURE_STRING},
    {"rill_status", SIGNED_OF(sizeof(int))},
    {"beams", SIGNATURE_BEAMS},
    {"view", SIGNATURE_BEAMS},
    {"rill_beams", SIGNATURE_BEAMS},
    {"rows", SIGNATURE_ROWS},
    {"rill_scorer_rows", SIGNATURE_ROWS},
    {"ask", SIGNATURE_ASK},
    {"rill_ask_builder", SIGNATURE_ASK},
    {"flight", SIGNATURE_FLIGHT},
    {"rill_flight", SIGNATURE_FLIGHT},
};

/* Words that make a type together. */
enum { SIGNED, UNSIGNED, SHORT, INT, LONG, CHAR, DOUBLE, COMBINING };
static const char *const combining[COMBINING] = {"signed", "unsigned", "short", "int", "long", "char", "double"};

const char *signature_word(size_t i)
{
    const size_t n = sizeof words / sizeof *words;
    if (i < n) return words[i].word;
    return i - n < COMBINING ? combining[i - n] : NULL;
}

typedef struct type_words {
    size_t start;         /* of the first word but const */
    size_t end;           /* behind the last word */
    int constant;         /* const was there */
    int alone;            /* index into words[], -1: none */
    int count[COMBINING]; /* how often each */
    int combined;         /* sum of count */
} type_words;

typedef struct reader {
    const char *text;
    size_t length, at;
    signature_error *error;
} reader;

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_blanks(reader *r)
{
    while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t' || r->text[r->at] == '\n')) r->at++;
}

static int see(reader *r, char c)
{
    skip_blanks(r);
    return r->at < r->length && r->text[r->at] == c;
}

static int take(reader *r, char c)
{
    int found = see(r, c);
    r->at += (size_t)found;
    return found;
}

/* The bytes of the word that starts here; 0 when none does. */
static size_t word_here(reader *r)
{
    skip_blanks(r);
    size_t n = 0;
    while (r->at + n < r->length &&
           (is_letter(r->text[r->at + n]) || (n > 0 && r->text[r->at + n] >= '0' && r->text[r->at + n] <= '9')))
        n++;
    return n;
}

static int word_is(const reader *r, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(r->text + r->at, word, n) == 0;
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int refuse(reader *r, size_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    r->error->column = at + 1;
    rill_print_message_list(r->error->message, sizeof r->error->message, format, arguments);
    va_end(arguments);
    return -1;
}

/* The text [start, end) for a message: short, and without what a terminal would not show. */
typedef struct excerpt {
    char text[40];
} excerpt;

static excerpt excerpt_of(const reader *r, size_t start, size_t end)
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

static int refuse_word(reader *r, size_t at, size_t n)
{
    return refuse(r, at,
                  "\"%s\" is not a type: there are void " NUMBERS " string void*, " STRUCTS ", and arrays " ARRAYS,
                  excerpt_of(r, at, at + n).text);
}

/* Something else stands where `expected` should. */
static int refuse_sign(reader *r, const char *expected)
{
    skip_blanks(r);
    if (r->at == r->length) return refuse(r, r->at, "%s expected, but the signature ends here", expected);
    if (r->text[r->at] == '.')
        return refuse(r, r->at,
                      "functions with \"...\" cannot be bound: bind one that takes a fixed list of arguments");
    size_t n = word_here(r);
    if (n > 0)
        return refuse(r, r->at, "%s expected, not \"%s\": types stand alone, without names", expected,
                      excerpt_of(r, r->at, r->at + n).text);
    return refuse(r, r->at, "%s expected, not \"%s\"", expected, excerpt_of(r, r->at, r->at + 1).text);
}

/* --- one type ----------------------------------------------------------------------------------------------------- */

static int find_word(const reader *r, size_t n)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word_is(r, n, words[i].word)) return (int)i;
    return -1;
}

static int find_combining(const reader *r, size_t n)
{
    for (int i = 0; i < COMBINING; i++)
        if (word_is(r, n, combining[i])) return i;
    return -1;
}

/* Gather words until something cannot belong to this type any more. */
static int gather_words(reader *r, type_words *w)
{
    *w = (type_words){.alone = -1};
    for (size_t n = word_here(r); n > 0; n = word_here(r)) {
        int first = w->alone < 0 && w->combined == 0;
        int single = find_word(r, n), part = find_combining(r, n);
        if (word_is(r, n, "const")) {
            w->constant = 1;
        } else if (part >= 0 && w->alone < 0) {
            if (first) w->start = r->at;
            w->count[part]++;
            w->combined++;
            w->end = r->at + n;
        } else if (single >= 0 && first) {
            w->start = r->at;
            w->alone = single;
            w->end = r->at + n;
        } else {
            return first ? refuse_word(r, r->at, n) : 0;
        }
        r->at += n;
    }
    if (w->alone < 0 && w->combined == 0) return refuse_sign(r, "a type");
    return 0;
}

/* What the words mean, before any "*". C allows them in any order, each once but "long". */
static int type_of_words(reader *r, const type_words *w, signature_type *out)
{
    if (w->alone >= 0) {
        *out = words[w->alone].type;
        return 0;
    }
    const int *c = w->count;
    int good = c[SIGNED] + c[UNSIGNED] <= 1 && c[SHORT] <= 1 && c[INT] <= 1 && c[LONG] <= 2 && c[CHAR] <= 1;
    if (c[CHAR] && c[SHORT] + c[INT] + c[LONG] > 0) good = 0;
    if (c[SHORT] && c[LONG]) good = 0;
    if (c[DOUBLE] && w->combined > 1) good = 0;
    if (!good) return refuse_word(r, w->start, w->end - w->start);
    size_t bytes = c[CHAR]        ? 1
                   : c[SHORT]     ? sizeof(short)
                   : c[LONG] == 1 ? sizeof(long)
                   : c[LONG] == 2 ? sizeof(long long)
                                  : sizeof(int);
    int is_unsigned = c[UNSIGNED] || (c[CHAR] && !c[SIGNED] && CHAR_MIN == 0);
    *out = c[DOUBLE] ? SIGNATURE_DOUBLE : is_unsigned ? UNSIGNED_OF(bytes) : SIGNED_OF(bytes);
    return 0;
}

static int is_struct(signature_type type)
{
    return type >= SIGNATURE_BEAMS && type <= SIGNATURE_FLIGHT;
}

/* The pointer to what `w` names. */
static int point_to(reader *r, const type_words *w, signature_type *type)
{
    excerpt e = excerpt_of(r, w->start, w->end);
    if (is_struct(*type)) return 0;
    if (w->combined == 1 && w->count[CHAR]) {
        if (!w->constant)
            return refuse(r, w->start, "text that is only read is const char* (or string), bytes are uint8*");
        *type = SIGNATURE_STRING;
        return 0;
    }
    switch (*type) {
    case SIGNATURE_VOID: *type = SIGNATURE_POINTER; return 0;
    case SIGNATURE_DOUBLE: *type = SIGNATURE_DOUBLES; return 0;
    case SIGNATURE_FLOAT: *type = SIGNATURE_FLOATS; return 0;
    case SIGNATURE_I32: *type = SIGNATURE_INT32S; return 0;
    case SIGNATURE_I64: *type = SIGNATURE_INT64S; return 0;
    case SIGNATURE_U8: *type = SIGNATURE_BYTES; return 0;
    default: return refuse(r, w->start, "there are no arrays of %s: there are " ARRAYS ", else void*", e.text);
    }
}

static int read_type(reader *r, signature_type *out, int *constant, size_t *start)
{
    type_words w;
    if (gather_words(r, &w) != 0 || type_of_words(r, &w, out) != 0) return -1;
    *constant = 0;
    *start = w.start;
    if (!take(r, '*')) {
        if (!is_struct(*out)) return 0;
        excerpt e = excerpt_of(r, w.start, w.end);
        return refuse(r, w.start, "%s is passed by its address: %s*", e.text, e.text);
    }
    if (point_to(r, &w, out) != 0) return -1;
    size_t n = word_here(r);
    if (n > 0 && word_is(r, n, "const")) r->at += n; /* of the pointer itself: nothing to the caller */
    if (see(r, '*')) return refuse(r, r->at, "there are no pointers to pointers: use void*");
    *constant = w.constant && *out >= SIGNATURE_BEAMS;
    if (*out == SIGNATURE_ROWS || *out == SIGNATURE_FLIGHT) *constant = 1;
    return 0;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static int read_result(reader *r, signature *s)
{
    int constant;
    size_t start;
    if (read_type(r, &s->result, &constant, &start) != 0) return -1;
    if (s->result > SIGNATURE_POINTER)
        return refuse(r, start, "a result cannot be %s: it is void, " NUMBERS ", string or void*",
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
        return refuse(r, start, "void is no argument: a function without any is written \"()\"");
    if (s->n == SIGNATURE_MOST) return refuse(r, start, "more than %d arguments", SIGNATURE_MOST);
    if (constant) s->constant |= UINT32_C(1) << s->n;
    s->argument[s->n++] = type;
    return 0;
}

/* "(void)" as C writes an empty list. */
static int is_empty_list(reader *r)
{
    size_t before = r->at, n = word_here(r);
    if (n > 0 && word_is(r, n, "void")) {
        r->at += n;
        if (see(r, ')')) return 1;
    }
    r->at = before;
    return see(r, ')');
}

int signature_parse(const char *text, size_t length, signature *out, signature_error *error)
{
    reader r = {text, length, 0, error};
    *out = (signature){0};
    if (read_result(&r, out) != 0) return -1;
    if (!take(&r, '(')) return refuse_sign(&r, "\"(\" and the types of the arguments");
    if (!is_empty_list(&r)) {
        do {
            if (read_argument(&r, out) != 0) return -1;
        } while (take(&r, ','));
    }
    if (!take(&r, ')')) return refuse_sign(&r, "\",\" or \")\"");
    skip_blanks(&r);
    if (r.at < r.length)
        return refuse(&r, r.at, "nothing may follow the closing parenthesis, not \"%s\"",
                      excerpt_of(&r, r.at, r.length).text);
    return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

const char *signature_type_name(signature_type type)
{
    static const char *const names[] = {
        [SIGNATURE_VOID] = "void",       [SIGNATURE_BOOL] = "bool",     [SIGNATURE_I8] = "int8",
        [SIGNATURE_I16] = "int16",       [SIGNATURE_I32] = "int32",     [SIGNATURE_I64] = "int64",
        [SIGNATURE_U8] = "uint8",        [SIGNATURE_U16] = "uint16",    [SIGNATURE_U32] = "uint32",
        [SIGNATURE_U64] = "uint64",      [SIGNATURE_FLOAT] = "float",   [SIGNATURE_DOUBLE] = "double",
        [SIGNATURE_STRING] = "string",   [SIGNATURE_POINTER] = "void*", [SIGNATURE_BEAMS] = "beams*",
        [SIGNATURE_ROWS] = "rows*",      [SIGNATURE_ASK] = "ask*",      [SIGNATURE_FLIGHT] = "flight*",
        [SIGNATURE_DOUBLES] = "double*", [SIGNATURE_FLOATS] = "float*", [SIGNATURE_INT32S] = "int32*",
        [SIGNATURE_INT64S] = "int64*",   [SIGNATURE_BYTES] = "uint8*",
    };
    return names[type];
}

void signature_write(const signature *s, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = -1; i < s->n && at < size; i++) {
        signature_type type = i < 0 ? s->result : s->argument[i];
        int is_const = i >= 0 && (s->constant >> i & 1) && type != SIGNATURE_ROWS && type != SIGNATURE_FLIGHT;
        int n = snprintf(out + at, size - at, "%s%s%s%s", i > 0 ? ", " : "", is_const ? "const " : "",
                         signature_type_name(type), i < 0 ? "(" : "");
        at += (size_t)n;
    }
    if (at < size) snprintf(out + at, size - at, ")");
}
