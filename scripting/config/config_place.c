/* Telling the line of a key: Lua keeps none for tables, so the source text is scanned for it.
 *
 * The scanner knows Lua's words, texts, comments and blocks, no more. Where the script ends with `return {`, keys are looked for at
 * their depth inside these braces, which is exact for what is written out there; where the table was put together elsewhere, the
 * first assignment to such a name is taken. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "rill/file.h"

/* --- tokens ------------------------------------------------------------------------------------------------------- */

typedef enum kind { END, WORD, TEXT, SIGN } kind;

typedef struct scanner {
    const char *at, *end;
    int line;
    /* the latest token */
    kind kind;
    const char *word; /* of a WORD or TEXT, without quotes */
    size_t length;
    char sign;  /* of a SIGN; '=' stands for a single one, '~' for ==, <=, >= and ~= */
    int blocks; /* open function, do, if, repeat */
    int braces;
} scanner;

static char peek(const scanner *s, size_t ahead)
{
    return (size_t)(s->end - s->at) > ahead ? s->at[ahead] : '\0';
}

static void advance(scanner *s)
{
    if (*s->at++ == '\n') s->line++;
}

/* Length of "[[", "[=[" ... at the scanner; 0 when it is something else. */
static size_t long_bracket(const scanner *s)
{
    size_t n = 1;
    if (peek(s, 0) != '[') return 0;
    while (peek(s, n) == '=') n++;
    return peek(s, n) == '[' ? n + 1 : 0;
}

/* Past a text in long brackets, whose opening has this length. */
static void skip_long(scanner *s, size_t bracket)
{
    s->at += bracket;
    s->word = s->at;
    while (s->at < s->end) {
        size_t n = 1;
        if (*s->at == ']') {
            while (n < bracket - 1 && peek(s, n) == '=') n++;
            if (n == bracket - 1 && peek(s, n) == ']') break;
        }
        advance(s);
    }
    s->length = (size_t)(s->at - s->word);
    s->at += (size_t)(s->end - s->at) < bracket ? (size_t)(s->end - s->at) : bracket;
}

static void skip_blank(scanner *s)
{
    while (s->at < s->end) {
        if (peek(s, 0) == '-' && peek(s, 1) == '-') {
            s->at += 2;
            size_t bracket = long_bracket(s);
            if (bracket)
                skip_long(s, bracket);
            else
                while (s->at < s->end && *s->at != '\n') s->at++;
        } else if (isspace((unsigned char)*s->at)) {
            advance(s);
        } else {
            return;
        }
    }
}

static void read_quoted(scanner *s)
{
    char quote = *s->at++;
    s->word = s->at;
    while (s->at < s->end && *s->at != quote && *s->at != '\n') {
        if (*s->at == '\\' && s->at + 1 < s->end) advance(s);
        advance(s);
    }
    s->length = (size_t)(s->at - s->word);
    if (s->at < s->end) advance(s);
}

static int is(const scanner *s, const char *word, size_t length)
{
    return (s->kind == WORD || s->kind == TEXT) && s->length == length && memcmp(s->word, word, length) == 0;
}

static void count_block(scanner *s)
{
    static const char *const opening[] = {"function", "do", "if", "repeat"}, *const closing[] = {"end", "until"};
    for (size_t i = 0; i < sizeof opening / sizeof *opening; i++) s->blocks += is(s, opening[i], strlen(opening[i]));
    for (size_t i = 0; i < sizeof closing / sizeof *closing; i++) s->blocks -= is(s, closing[i], strlen(closing[i]));
}

static void read_word(scanner *s)
{
    s->kind = WORD;
    s->word = s->at;
    while (s->at < s->end && (isalnum((unsigned char)*s->at) || *s->at == '_')) s->at++;
    s->length = (size_t)(s->at - s->word);
    count_block(s);
}

static void read_sign(scanner *s)
{
    s->kind = SIGN;
    s->sign = *s->at++;
    if (strchr("=<>~", s->sign) && peek(s, 0) == '=') {
        s->sign = '~';
        s->at++;
    }
    s->braces += (s->sign == '{') - (s->sign == '}');
}

static kind next(scanner *s)
{
    skip_blank(s);
    size_t bracket = long_bracket(s);
    if (s->at >= s->end) return s->kind = END;
    if (*s->at == '"' || *s->at == '\'') {
        s->kind = TEXT;
        read_quoted(s);
    } else if (bracket) {
        s->kind = TEXT;
        skip_long(s, bracket);
    } else if (isalnum((unsigned char)*s->at) || *s->at == '_') {
        read_word(s);
    } else {
        read_sign(s);
    }
    return s->kind;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* The return of the script itself, which is the last statement and in no block. *s: behind it; 0 when there is none. */
static int find_return(const char *text, size_t length, scanner *s)
{
    scanner all = {.at = text, .end = text + length, .line = 1};
    int line = 0;
    while (next(&all) != END)
        if (all.kind == WORD && all.blocks == 0 && is(&all, "return", 6)) {
            *s = all;
            line = all.line;
        }
    return line;
}

/* Is the scanner behind NAME, or "NAME"], and before a single "="? */
static int assigned(scanner ahead)
{
    kind named = ahead.kind;
    if (next(&ahead) == SIGN && ahead.sign == ']' && named == TEXT) next(&ahead);
    return ahead.kind == SIGN && ahead.sign == '=';
}

/* The next assignment to `name`, at this depth of braces unless `anywhere`; its line, or 0. */
static int find_key(scanner *s, const char *name, size_t length, int depth, int anywhere)
{
    while (next(s) != END && (anywhere || s->braces >= depth))
        if ((anywhere || (s->braces == depth && s->blocks == 0)) && is(s, name, length) && assigned(*s)) return s->line;
    return 0;
}

/* Into the braces of the value of the key that the scanner is behind: {...}, rill.sweep{...}, rill.sweep({...}). */
static int enter(scanner *s)
{
    if (next(s) == END) return 0; /* the "=" */
    do next(s);
    while (s->kind == WORD || (s->kind == SIGN && (s->sign == '.' || s->sign == '(')));
    return s->kind == SIGN && s->sign == '{';
}

int script_config_line(const char *text, size_t length, const char *path)
{
    scanner s = {.at = text, .end = text + length, .line = 1}, behind = s;
    int line = find_return(text, length, &behind), depth = behind.braces, anywhere = 1;
    scanner ahead = behind;
    if (line != 0 && next(&ahead) == SIGN && ahead.sign == '{') {
        anywhere = 0;
        s = ahead;
    }
    for (int found = 1; *path != '\0' && found;) {
        size_t n = strcspn(path, ".[");
        found = find_key(&s, path, n, ++depth, anywhere);
        if (found) line = found;
        path += n;
        if (*path == '[') path += strcspn(path, ".");
        if (*path == '.') path++;
        if (found && *path != '\0' && !anywhere) found = enter(&s);
    }
    return line;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

enum { SOURCE_MAX = 1 << 20 };

/* The file may be gone, or there never was one: then there is no line. */
static int line_in_file(rill_script *s, const char *path)
{
    rill_text text = {.ctx = s->ctx};
    int line = 0;
    if (rill_file_read(&text, s->path, SOURCE_MAX) == RILL_OK) line = script_config_line(text.data, text.length, path);
    rill_text_clear(&text);
    return line;
}

rill_status script_config_fail(rill_script *s, const char *path, const char *format, ...)
{
    char sentence[SCRIPT_MESSAGE_MAX], place[32] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    int line = line_in_file(s, path);
    if (line > 0) snprintf(place, sizeof place, ":%d", line);
    return rill_fail(s->ctx, RILL_ERR_OPTION, "%s%s: %s%s%s", s->path, place, path, path[0] != '\0' ? ": " : "",
                     sentence);
}

rill_status rill_script_config_refuse(rill_script *script, const char *key, const char *why)
{
    return script_config_fail(script, key, "%s", why);
}
