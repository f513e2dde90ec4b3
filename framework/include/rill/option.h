/* Named options: one row per option, used by everything that reads, explains, checks or prints options.
 *
 * Each table belongs to the code that uses its options: rill_setting_table() has the search settings (settings.h), rill_chain_table()
 * the options that name heuristics, scorers and schedulers (search_config.h), rill_domain.options a domain's own. A command line, a
 * script, a configuration file, a report or a server needs no list of its own. Stability: rows are only appended to. */
#ifndef RILL_OPTION_H
#define RILL_OPTION_H

#include "rill/context.h"

RILL_C_BEGIN

/* The type of values, and of the member at `offset` if values are stored in a struct. */
typedef enum rill_option_type {
    RILL_OPTION_INT = 1, /* int32_t: a whole number, min to max */
    RILL_OPTION_REAL,    /* double: min to max; accepts "1/6" and, if max is infinite, "inf" */
    RILL_OPTION_SWITCH,  /* int32_t 0 or 1: "1", "true", "" or "0", "false" */
    RILL_OPTION_WORD,    /* int32_t: which of the words of `argument`, from 1; 0: unset */
    RILL_OPTION_BYTES,   /* int64_t: a number of bytes, also as 500M or 2G */
    RILL_OPTION_TEXT,    /* any text; its storage is private to the owner */
    RILL_OPTION_PATH,    /* a text that begins with the path of an input file */
} rill_option_type;

typedef enum rill_option_kind {
    RILL_OPTION_SEARCH = 1, /* affects the results */
    RILL_OPTION_SCHEDULE,   /* affects only the order of computation, not the results */
    RILL_OPTION_OUTPUT,     /* affects which results are printed, and in which order */
    RILL_OPTION_MODEL,      /* how a model is opened */
} rill_option_kind;

typedef struct rill_option {
    const char *name; /* "max-in-flight"; NULL ends a table */
    /* placeholder of the value in help, "N"; for a word all words, "top|immediate"; "" for a switch */
    const char *argument;
    const char *initial; /* the default as shown in help; "": not shown */
    const char *help;    /* one sentence without full stop and without the default */
    rill_option_type type;
    rill_option_kind kind;
    double min, max;     /* of numbers */
    size_t offset;       /* of the member that stores it, in the owner's struct */
    const char *aliases; /* other names that mean the same, with spaces between: "k num-beams"; NULL: none */
} rill_option;

typedef struct rill_pair {
    const char *name, *value;
} rill_pair;

enum { RILL_OPTION_MAX = 64 };

/* The row with this name or alias, "-" and "_" being equivalent; NULL: none (or no table). */
RILL_API const rill_option *rill_option_find(const rill_option *table, const char *name);

/* The name nearest to a word, for "did you mean"; start zeroed. `name` stays "" while none is near. */
typedef struct rill_option_near {
    char name[RILL_OPTION_MAX];
    size_t distance;
} rill_option_near;

/* Compare the word with the name and the aliases of one row. */
RILL_API void rill_option_nearer(const rill_option *row, const char *word, rill_option_near *near);

/* How messages write the names of options. A context starts with the plain style; a worker's context inherits its parent's. */
typedef enum rill_option_style {
    RILL_OPTION_PLAIN = 0,   /* "beam-size", as in JSON */
    RILL_OPTION_DASHED,      /* "--beam-size" */
    RILL_OPTION_UNDERSCORED, /* "beam_size" */
} rill_option_style;

/* Returns the previous style. */
RILL_API rill_option_style rill_option_set_style(rill_context *ctx, rill_option_style style);

/* Parse a value into the row's member of `out`; NULL: only check it. Texts are not stored.
 *   RILL_OK · RILL_ERR_OPTION (recorded: name, value and what was expected) */
RILL_API rill_status rill_option_read(rill_context *ctx, const rill_option *option, const char *value, void *out);

/* A value as a JSON document or a script has it. */
typedef enum rill_value_kind {
    RILL_VALUE_NULL,
    RILL_VALUE_BOOLEAN, /* integer: 0 or 1 */
    RILL_VALUE_INTEGER,
    RILL_VALUE_REAL,
    RILL_VALUE_TEXT,
    RILL_VALUE_OTHER, /* text: what it is, "a list" */
} rill_value_kind;

typedef struct rill_value {
    rill_value_kind kind;
    int64_t integer;
    double real;
    const char *text;
    size_t length; /* of `text`, which is terminated too */
} rill_value;

/* Convert a value of a JSON document or a script to the text that rill_option_read() accepts, which then checks it. A number may be a
 * text and a whole number 4.0; a switch takes true, false, 1 and 0.
 *   *text: value->text, or `buffer`
 *   RILL_OK · RILL_ERR_OPTION (no value of this type can be right; recorded: name, what was found and what was expected) */
RILL_API rill_status rill_option_text(rill_context *ctx, const rill_option *option, const rill_value *value,
                                      char buffer[RILL_OPTION_MAX], const char **text);

/* Whether `key` is a misspelling of "options", the member with the options in a document, or the name that other programs give it, such
 * as "settings". */
RILL_API int rill_is_options_key(const char *key);

/* Write the row's member of `from` in the form that rill_option_read() accepts; "" for an unset word. Not for texts. */
RILL_API const char *rill_option_write(const rill_option *option, const void *from, char out[RILL_OPTION_MAX]);

/* Why a "setting", an option for "opening" a model, or a "heuristic" of this name is refused, and what to use instead: it was removed
 * from rill, or its values mean something else in another toolkit. NULL: the name is not known. */
RILL_API const char *rill_refused_option(const char *what, const char *name);

RILL_C_END

#endif
