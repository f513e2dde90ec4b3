/* The lexicon of a semantic parser maps a typed question to the tokens of the training data.
 *
 * Read from lexicon.tsv (docs/lexicon.md), then const; threads may share a lexicon. The second part of this header is for question*.c. */
#pragma once

#include "domain_base.h"
#include "vocabulary.h"

typedef struct rill_lexicon rill_lexicon;

/* Read the lexicon at `path`. *out: closed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (file, line, what is wrong, the correction) */
rill_status rill_lexicon_open(rill_context *ctx, const char *path, rill_lexicon **out);

/* Like rill_lexicon_open(), for a file that is already in memory. `name` stands for the path in error messages. The bytes are copied. */
rill_status rill_lexicon_read(rill_context *ctx, const char *name, const char *bytes, size_t length,
                              rill_lexicon **out);

/* Close the lexicon. All question objects that use it must be closed before. NULL is allowed. */
void rill_lexicon_close(rill_lexicon *lexicon);

/* --- the parsed lexicon ------------------------------------------------------------------------------------------- */

/* Terms: a surface is a name's words in a question ("new york"); a constant stands for them in logical forms ("new_york:s"); a mention is
 * an occurrence, replaced by a placeholder ("s0"); a rewrite ("@rewrite") replaces words by other words.
 * One trie over word numbers has surfaces and rewrites. Rules and preferences are patterns, tried in file order.
 * Invariant: slices point into `source`, the file's bytes. */

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

/* A pattern: ranges of rill_lexicon.elements: [first, body) left context, [body, right) the replaced part, [right, last) right context. */
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

/* A preference chooses `type` for a name of several types, where the surrounding words match the pattern. The name stands in place of the
 * pattern's body. */

/* Replaces words of a question: by a name's placeholder, or by a rewrite's words. Candidates of the same words form a linked list, in file
 * order. */
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

    rill_vocabulary *words; /* vocabulary of words: a word's number is its id */
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

/* Return the type of a placeholder token: a type's name and a number ("s0"), or the name of an unnumbered type; RILL__NONE for other
 * tokens.
 * *number: 0 without one. */
int32_t rill__lexicon_placeholder(const rill_lexicon *lexicon, const char *data, size_t length, int64_t *number);
