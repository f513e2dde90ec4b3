/* Moses tokenization, then BPE, and back: for FSMT models (fairseq's of WMT'19) of English, German and Russian, and for Argos Translate.
 *
 * Source: sacremoses 0.2, as in transformers' FSMTTokenizer: the rules of Moses' scripts replace-unicode-punctuation,
 * normalize-punctuation, remove-non-printing-char, tokenizer (aggressive dash splits, escapes) and detokenizer.
 * Threads: one at a time per object. */
#pragma once

#include <stdint.h>
#include <uchar.h>

#include "domain_base.h"
#include "rill/context.h"
#include "utf8.h"

/* --- rewrite rules: moses_rewrite.c ------------------------------------------------------------------------------- */

/* Regular-expression substitutions on UTF-8, as in Moses' scripts. A rule has a pattern and a result.
 * A pattern has at most eight elements: characters or classes, followed by RW_RUN (one or more) or RW_ANY (zero or more) if repeated.
 * Elements are captures, from 0; RW_P0 .. RW_P3 insert them.
 * Matches go from left to right. The last `keep` characters of a match may begin the next one. Only RW_ANY backtracks. */

/* Classes, as strings for use in patterns. Their code points are above Unicode's. */
#define RW_WHITE_SPACE U"\x110001" /* white space, as Python's \s */
#define RW_DIGIT U"\x110002"       /* decimal digits of any script */
#define RW_NUMBER U"\x110003"      /* decimal digits, fractions, Roman numbers, .. */
#define RW_NO_NUMBER U"\x110004"   /* every character except RW_NUMBER */
#define RW_LETTER U"\x110005"      /* letters and the marks that belong to them */
#define RW_NO_LETTER U"\x110006"   /* every character except RW_LETTER */
#define RW_NOT_ALNUM U"\x110007"   /* neither letter nor number */
#define RW_WORD U"\x110008"        /* letters and decimal digits */
#define RW_MARK U"\x110009"        /* neither letter nor number nor white space nor one of . ' ` , - */
#define RW_CLOSER U"\x11000A"      /* class: one of . ! : ? ; , */
#define RW_STOP U"\x11000B"        /* class: one of . , */
#define RW_NO_ANGLE U"\x11000C"    /* every character except < */
#define RW_NOT_HIDDEN U"\x11000D"  /* every character except RW_HIDDEN_DOT */
#define RW_INVISIBLE U"\x11000E"   /* category C: control, format, private, not assigned */
#define RW_RUN U"\x110010"
#define RW_ANY U"\x110011"
#define RW_END U"\x110012" /* end of the text, matches no character */
#define RW_P0 U"\x110020"
#define RW_P1 U"\x110021"
#define RW_P2 U"\x110022"
#define RW_P3 U"\x110023"

/* A dot of a run of dots, while rules are applied. Texts without RW_INVISIBLE characters cannot contain it. */
#define RW_HIDDEN_DOT U"\x1"

typedef struct rill_chars {
    rill_arena arena;
    char32_t *data; /* [length] */
    size_t length;
} rill_chars;

typedef struct rill_rewrite_rule {
    const char32_t *pattern, *result;
    int keep; /* number of characters at the end of a match that the next match may contain */
} rill_rewrite_rule;

/* Set `chars` to the characters of `text`, which must be valid UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_read(rill_chars *chars, const char *text, size_t length);

/* Append `count` characters. rill_chars_write() appends them to `out` as UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_append(rill_chars *chars, const char32_t *chars_to_add, size_t count);
rill_status rill_chars_write(const char32_t *text, size_t count, rill_text *out);

void rill_chars_clear(rill_chars *chars);
void rill_chars_swap(rill_chars *a, rill_chars *b);

/* Apply rules to `text`, one after the other; `spare` is scratch memory. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_rewrite(const rill_rewrite_rule *rules, size_t count, rill_chars *text, rill_chars *spare);

/* Returns 1 if the character c is in a class, e.g. RW_LETTER. */
int rill_char_is(char32_t c, const char32_t *class);

/* Returns the position of the next word from *from on, and moves *from past it. *length: 0 at the end. */
size_t rill_chars_word(const rill_chars *chars, size_t *from, size_t *length);

/* --- nonbreaking prefixes ----------------------------------------------------------------------------------------- */

/* Abbreviations whose period does not end a sentence: Dr. Smith, am 3. Mai, ул. Ленина. Files are Moses' nonbreaking_prefix.LANGUAGE: a
 * word per line, # comments; #NUMERIC_ONLY# words count only before a number. */

typedef enum rill_moses_language {
    RILL_MOSES_EN,
    RILL_MOSES_DE,
    RILL_MOSES_RU,
    RILL_MOSES_OTHER, /* a language without rules of its own; its nonbreaking prefixes are the English ones */
} rill_moses_language;

typedef enum rill_prefix_kind {
    RILL_PREFIX_NONE,
    RILL_PREFIX_ALWAYS,
    RILL_PREFIX_NUMERIC_ONLY,
} rill_prefix_kind;

typedef struct rill_prefixes rill_prefixes;

/* Set *out to the language named "en", "de" or "ru". Returns 0 for another name; *out is then unchanged. */
int rill_moses_language_find(const char *name, rill_moses_language *out);

/* Read a directory's nonbreaking_prefix.LANGUAGE, or else a short built-in list. *out: closed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_IO · RILL_ERR_FORMAT (FILE: why) · RILL_ERR_MEMORY */
rill_status rill_prefixes_open(rill_prefixes **out, rill_context *ctx, const char *directory,
                               rill_moses_language language);

/* As rill_prefixes_open(), from bytes in memory; `name` stands for the path in errors. */
rill_status rill_prefixes_parse(rill_prefixes **out, rill_context *ctx, const char *name, const char *bytes,
                                size_t length);

void rill_prefixes_close(rill_prefixes *prefixes); /* closing NULL does nothing */

/* The kind of prefix that a word is; the word is given without its final period. */
rill_prefix_kind rill_prefixes_find(const rill_prefixes *prefixes, const char *word, size_t length);

/* --- tokens: moses.c ---------------------------------------------------------------------------------------------- */

/* The state of one kind of quotation mark while the detokenizer runs. */
typedef struct rill_quote {
    const char32_t *text; /* [length] the mark; points into the current text */
    size_t length;
    int open; /* 1: the last mark of this kind was an opening one */
} rill_quote;

/* A tokenizer for one language. Zero-initialise it and set the first three members. Buffers are reused from text to text. */
typedef struct rill_moses {
    rill_context *ctx;
    rill_moses_language language;
    /* 1: only Moses' default steps. FSMT adds replace-unicode-punctuation, remove-non-printing-char and aggressive
     * dash splits. */
    int default_steps;
    const rill_prefixes *prefixes; /* nonbreaking prefixes of the same language */
    rill_chars text, spare;        /* the current text; scratch memory */
    rill_text bytes;               /* a word as UTF-8 */
    rill_quote *quotes;            /* [n_quotes] kinds of quotation marks in the current output */
    size_t n_quotes;
    rill_arena arena;
} rill_moses;

void rill_moses_clear(rill_moses *moses);

/* Normalise UTF-8, in lower case if `lower`, and call fn with each token.
 *   RILL_OK · RILL_ERR_MEMORY · the status of fn */
rill_status rill_moses_split(rill_moses *moses, const char *text, size_t length, int lower, rill_word_fn fn,
                             void *user);

/* Detokenize `tokens`, valid UTF-8 separated by white space, and append the text to `out`.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_join(rill_moses *moses, const char *tokens, size_t length, rill_text *out);

/* --- subword tokens: moses.c -------------------------------------------------------------------------------------- */

/* Sources: transformers' tokenization_fsmt.py, and argostranslate/tokenizer.py. Here "</s>" in a text is ordinary text.
 * Threads may share a tokenizer, each with its own context. */

typedef struct rill_moses_bpe rill_moses_bpe;

/* Read merges, languages and the directory's nonbreaking prefixes. *out: closed by the caller; NULL on failure.
 *   codes   subword-nmt's codes of an Argos package, with the languages in metadata.json; NULL: FSMT's merges.txt, with the languages in
 *           tokenizer_config.json or config.json
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file, key or line) · RILL_ERR_MEMORY */
rill_status rill_moses_bpe_open(rill_moses_bpe **out, rill_context *ctx, const char *directory, const char *codes);

void rill_moses_bpe_close(rill_moses_bpe *self); /* closing NULL does nothing */

/* Call fn with each subword token of UTF-8 text, by the rules of one language.
 *   RILL_OK · RILL_ERR_MEMORY · the status of fn */
typedef enum rill_side { RILL_SIDE_SOURCE, RILL_SIDE_TARGET } rill_side;
rill_status rill_moses_bpe_split(const rill_moses_bpe *self, rill_context *ctx, rill_side side, const char *text,
                                 size_t length, rill_word_fn fn, void *user);

/* Detokenize n subword tokens, piece[i] of length[i] bytes, and append the text to `out`. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_bpe_join(const rill_moses_bpe *self, size_t n, const char *const *piece, const size_t *length,
                                rill_text *out);
