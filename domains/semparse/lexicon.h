/* The lexicon of a semantic-parsing model: maps a typed question to the tokens that the model was trained on.
 *
 * It is read from the model's lexicon.tsv (format: docs/lexicon.md). It is then const, and any number of rill_question objects (question.h)
 * may share it, in any threads. Close questions before their lexicon.
 * The second part of this header is for question*.c.
 * Stability: private header of the semparse domain; the file format is versioned by its `@format` line. */
#pragma once

#include "domain_base.h"
#include "vocabulary.h"

typedef struct rill_lexicon rill_lexicon;

/* Read the lexicon at `path`.
 *   out: on success a lexicon the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO
 *   RILL_ERR_FORMAT  the message names file and line, and says what is wrong and how to correct it */
rill_status rill_lexicon_open(rill_context *ctx, const char *path, rill_lexicon **out);

/* Like rill_lexicon_open(), for a file that is already in memory. `name` stands for the path in error messages. The bytes are copied. */
rill_status rill_lexicon_read(rill_context *ctx, const char *name, const char *bytes, size_t length,
                              rill_lexicon **out);

/* Close the lexicon. All question objects that use it must be closed before. NULL is allowed. */
void rill_lexicon_close(rill_lexicon *lexicon);

/* --- data of a lexicon -------------------------------------------------------------------------------------------- */

/* A surface is the words of a name in a question ("new york"), a constant what stands for it in logical forms ("new_york:s"). A mention is
 * a name's occurrence in a question; a placeholder ("s0") replaces it. A rewrite ("@rewrite" in the file) replaces words by other words.
 * One trie over word numbers holds the surfaces and the words that rewrites replace: the longest match costs one probe per token. Rules and
 * preferences are patterns, tried in file order.
 * Invariant: all slices point into `source`, the bytes of the file; indices are in range once reading has succeeded. */

enum {
    RILL__NONE = -1,         /* no word, state, type or candidate */
    RILL__MAX_ELEMENTS = 16, /* maximum elements of a pattern; it limits how deep matching recurses */
    /* maximum words of a surface, including the words before and after it that a lexicon entry adds */
    RILL__MAX_PATH_WORDS = 24,
    RILL__MAX_WORD_BYTES = 64, /* maximum bytes of a lexicon word; a longer token of a question matches none */
};

/* Kinds of alternatives in a pattern element. Each kind matches certain tokens of the question. */
typedef enum rill__pattern_class {
    RILL__WORD, /* the lexicon word with number `id` */
    /* a name of the lexicon that can have type number `id`; in a left context, a placeholder of that type */
    RILL__TYPE,
    RILL__DIGITS,      /* a number in digits within low..high */
    RILL__INT,         /* a number in digits or in words, within low..high */
    RILL__ORDINAL,     /* an ordinal: 27th, twenty seventh */
    RILL__YEAR,        /* a year: 1993, nineteen ninety three */
    RILL__CLOCK,       /* a clock reading in digits: 5, 530, 5:30, 1730 */
    RILL__CLOCK_WORDS, /* a clock time in words: five, five thirty */
    RILL__TIME,        /* a clock time with am or pm attached: 5pm, 5:30pm */
    RILL__ENTRY,       /* any name in the lexicon */
    RILL__ANY,         /* any one token */
    RILL__START,       /* the beginning of the line: takes no token */
    RILL__END,         /* the end of the line: takes no token */
} rill__pattern_class;

typedef struct rill__alternative {
    rill__pattern_class kind;
    int32_t id;
    int64_t low, high;
} rill__alternative;

/* One element of a pattern. It matches one of the alternatives first .. first + count - 1 of rill_lexicon.alternatives. */
typedef struct rill__element {
    int32_t first;
    int32_t count;
    int optional;
} rill__element;

/* A pattern: ranges of rill_lexicon.elements. [first, body) is the left context, [body, right) the part that is replaced, and [right, last)
 * the right context. */
typedef struct rill__pattern {
    int32_t first, body, right, last;
} rill__pattern;

/* What a rule inserts in its constant: nothing, the captured value ({}), or the value's a.m. or p.m. reading ({am}, {pm}). */
typedef enum rill__slot { RILL__SLOT_NONE, RILL__SLOT_VALUE, RILL__SLOT_AM, RILL__SLOT_PM } rill__slot;

/* A rule replaces the words that match the pattern's body by a placeholder of `type` for the constant prefix + value + suffix. */
typedef struct rill__rule {
    rill__pattern pattern;
    int32_t type;
    rill__slot slot;
    rill_slice prefix, suffix;
} rill__rule;

/* A surface may have several types. A preference reads it as `type` where the surrounding words match the pattern's contexts. The
 * pattern's body is empty; the name stands in its place. */

/* A replacement for words of a question: a name's placeholder, or a rewrite's words. The trie leads to the first candidate. Candidates
 * of the same words are a linked list, in file order. */
typedef struct rill__candidate {
    /* index of the name's type; RILL__NONE: a rewrite */
    int32_t type;
    /* of a name: its constant in logical forms; of a rewrite: the words that replace the matched words */
    rill_slice text;
    /* 1: the candidate is used only if a preference asks for its type; 0: without a preference too */
    int needs_preference;
    int32_t next;
    int line;
} rill__candidate;

typedef struct rill__type {
    rill_slice name;
    int unnumbered; /* 1: a placeholder of this type is the type's name alone; 0: the name and a number */
} rill__type;

struct rill_lexicon {
    rill_context *ctx;
    const char *name; /* name of the file for messages, while it is read */
    int line;         /* line number for messages, while the file is read */
    rill_text source;
    rill_arena arena; /* memory of the arrays below */

    int has_format;                        /* 1: the format line has been read */
    int stem;                              /* 1: plain tokens are stemmed (Snowball English) */
    int keep_apostrophe;                   /* 1: i'd and don't stay as they are; 0: they become id, dont */
    int keep_possessive;                   /* 1: the 's after a mention stays, as a token; 0: it is dropped */
    int64_t afternoon_low, afternoon_high; /* clock hours from low to high are read as p.m. by default; 0: none are */

    rill_vocabulary *words; /* its ids are the numbers of words */
    rill_vocabulary *edges; /* edges of the trie, see lexicon.c */
    int32_t *states;        /* [state_count] index of the state's first candidate, or RILL__NONE */
    size_t state_count;
    rill__candidate *candidates;
    size_t candidate_count;

    rill__type *types;
    size_t type_count;
    rill__rule *rules, *preferences;
    size_t rule_count, preference_count;
    rill__element *elements;
    size_t element_count;
    rill__alternative *alternatives;
    size_t alternative_count;
};

/* --- lexicon.c: tables -------------------------------------------------------------------------------------------- */

/* Return the trie state that `word` leads to from `state`; RILL__NONE if there is none. State 0 is the root. */
int32_t rill__lexicon_next_state(const rill_lexicon *lexicon, int32_t state, int32_t word);

/* Set *out to the trie state that `word` leads to from `state`; a missing state is added. RILL_OK · RILL_ERR_MEMORY */
rill_status rill__lexicon_add_state(rill_lexicon *lexicon, int32_t state, int32_t word, int32_t *out);

/* Return the index in lexicon->types of the type with this name; RILL__NONE if the lexicon declares no such type. */
int32_t rill__lexicon_type(const rill_lexicon *lexicon, const char *data, size_t length);

/* Return the type's index of a placeholder token: a type's name followed by a number ("s0"), or alone if the type is unnumbered. Returns
 * RILL__NONE for other tokens. *number: the placeholder's number, 0 without one. */
int32_t rill__lexicon_placeholder(const rill_lexicon *lexicon, const char *data, size_t length, int64_t *number);
