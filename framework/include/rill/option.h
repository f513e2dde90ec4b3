/* Named options: one row per option, used by command lines, scripts, configuration files, reports and servers.
 *
 * rill_setting_table() has the search settings (settings.h), rill_chain_table() the options that name heuristics, scorers and schedulers
 * (search_config.h), rill_domain.options a domain's own.
 * Stability: rows are only appended to. */
#ifndef RILL_OPTION_H
#define RILL_OPTION_H

#include "rill/context.h"

RILL_C_BEGIN

/* The type of an option's values, and of the struct member at `offset` that stores them, if any. */
typedef enum rill_option_type {
    RILL_OPTION_INT = 1, /* int32_t: a whole number, min to max */
    RILL_OPTION_REAL,    /* double: min to max; accepts "1/6" and, if max is infinite, "inf" */
    RILL_OPTION_SWITCH,  /* int32_t 0 or 1: "1", "true", "" or "0", "false" */
    RILL_OPTION_WORD,    /* int32_t: index, from 1, of one of the words in `argument`; 0: unset */
    RILL_OPTION_BYTES,   /* int64_t: a number of bytes; accepts 500M and 2G */
    RILL_OPTION_TEXT,    /* any text; the owner of the table stores it */
    RILL_OPTION_PATH,    /* a text that begins with the path of a file to read */
} rill_option_type;

typedef enum rill_option_kind {
    RILL_OPTION_SEARCH = 1, /* the option affects the results of the search */
    RILL_OPTION_SCHEDULE,   /* the option affects only the order of computation, not the results */
    RILL_OPTION_OUTPUT,     /* the option affects which results are printed, and in which order */
    RILL_OPTION_MODEL,      /* the option affects how a model is opened */
} rill_option_kind;

typedef struct rill_option {
    const char *name; /* "max-in-flight"; NULL ends a table */
    /* placeholder of the value in help, "N"; for RILL_OPTION_WORD all words, "top|immediate"; "" for a switch */
    const char *argument;
    const char *initial; /* the default as shown in help; "": not shown */
    const char *help;    /* one sentence without full stop and without the default */
    rill_option_type type;
    rill_option_kind kind;
    double min, max;     /* smallest and largest value of an option whose value is a number */
    size_t offset;       /* offset of the member that stores the value, in the owner's struct */
    const char *aliases; /* other names of the option, separated by spaces: "k num-beams"; NULL: none */
} rill_option;

typedef struct rill_pair {
    const char *name, *value;
} rill_pair;

enum { RILL_OPTION_MAX = 64 };

/* Return the row with this name or alias, "-" and "_" being equivalent; NULL if there is none or `table` is NULL. */
RILL_API const rill_option *rill_option_find(const rill_option *table, const char *name);

/* Returns name number i of the option: 0 is its main name, others are aliases, written to `out`; NULL: no such name. */
RILL_API const char *rill_option_name(const rill_option *option, int i, char out[RILL_OPTION_MAX]);

/* The option name nearest to a misspelt word, for "did you mean". Zero-initialise it; `name` stays "" until a near name is found. */
typedef struct rill_option_near {
    char name[RILL_OPTION_MAX];
    size_t distance;
} rill_option_near;

/* Compare the word with the name and the aliases of one row, and update *near if one of them is nearer. */
RILL_API void rill_option_nearer(const rill_option *row, const char *word, rill_option_near *near);

/* How messages write the names of options. A context starts with the plain style; a worker's context inherits its parent's. */
typedef enum rill_option_style {
    RILL_OPTION_PLAIN = 0,   /* as in the option tables: "beam-size" */
    RILL_OPTION_DASHED,      /* as on command lines: "--beam-size" */
    RILL_OPTION_UNDERSCORED, /* as in Python and in files: "beam_size" */
} rill_option_style;

/* Write an option's name in a style. Returns `out`. */
RILL_API const char *rill_option_spell(rill_option_style style, const char *name, char out[RILL_OPTION_MAX]);

/* Set how the context's messages write option names. Returns the previous style. */
RILL_API rill_option_style rill_option_set_style(rill_context *ctx, rill_option_style style);

/* Parse a value and store it in the row's member of `out`; with NULL, only check it. Texts are not stored.
 *   RILL_OK · RILL_ERR_OPTION (recorded: name, value and what was expected) */
RILL_API rill_status rill_option_read(rill_context *ctx, const rill_option *option, const char *value, void *out);

/* Return 1 if two texts stand for the same value of the option, as "1" and "1.0" do, else 0. */
RILL_API int rill_option_same_value(const rill_option *option, const char *a, const char *b);

/* The type of a value that was read from a JSON document or a script. */
typedef enum rill_value_kind {
    RILL_VALUE_NULL,
    RILL_VALUE_BOOLEAN, /* a boolean, stored in the member `integer` as 0 or 1 */
    RILL_VALUE_INTEGER,
    RILL_VALUE_REAL,
    RILL_VALUE_TEXT,
    /* a value of another type, described in the member `text` by a noun for messages, such as "a list" */
    RILL_VALUE_OTHER,
} rill_value_kind;

typedef struct rill_value {
    rill_value_kind kind;
    int64_t integer;
    double real;
    const char *text;
    size_t length; /* bytes of `text`, without its NUL */
} rill_value;

/* Convert a value of a JSON document or a script to text for rill_option_read(). Numbers may also be texts, whole numbers 4.0, and switches
 * true, false, 1 or 0.
 *   *text: value->text, or `buffer`
 *   RILL_OK · RILL_ERR_OPTION (the option takes no value of this type; recorded: name, what was found and what was expected) */
RILL_API rill_status rill_option_text(rill_context *ctx, const rill_option *option, const rill_value *value,
                                      char buffer[RILL_OPTION_MAX], const char **text);

/* Returns 1 if `key`, a key of a document, is a misspelling of "options" or another program's name for it, such as "settings"; else 0. */
RILL_API int rill_is_options_key(const char *key);

/* Write the option's value in the struct `from` to `out`, in the form of rill_option_read(); "" for an unset word. Not for texts. Returns
 * the written text. */
RILL_API const char *rill_option_write(const rill_option *option, const void *from, char out[RILL_OPTION_MAX]);

/* Returns why a name is refused and what to use instead, as a sentence; NULL if it is not refused. Refused names were removed from rill, or
 * mean something else in another toolkit.
 *   what: "setting", "opening" (of a model) or "heuristic" */
RILL_API const char *rill_refused_option(const char *what, const char *name);

RILL_C_END

#endif
