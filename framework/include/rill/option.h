/* Named options: one table row per option, for command line, scripts, JSON and help.
 *
 * Tables: rill_setting_table() (search settings, settings.h), rill_chain_table() (options that name heuristics, scorers and schedulers,
 * search_config.h), rill_domain.options (a domain's own).
 * Stability: rows are only appended to. */
#ifndef RILL_OPTION_H
#define RILL_OPTION_H

#include "rill/context.h"

RILL_C_BEGIN

/* Type of a value, and of the struct member that stores it. */
typedef enum rill_option_type {
    RILL_OPTION_INT = 1, /* int32_t: a whole number, min to max */
    RILL_OPTION_REAL,    /* a double, min to max; accepts "1/6", and "inf" if max is infinite */
    RILL_OPTION_SWITCH,  /* int32_t 0 or 1: "1", "true", "" or "0", "false" */
    RILL_OPTION_WORD,    /* int32_t: index, from 1, of one of the words in `argument`; 0: unset */
    RILL_OPTION_BYTES,   /* int64_t: a number of bytes; accepts 500M and 2G */
    RILL_OPTION_TEXT,    /* any text; stored by the table's owner */
    RILL_OPTION_PATH,    /* a text that begins with an input file's path */
} rill_option_type;

typedef enum rill_option_kind {
    RILL_OPTION_SEARCH = 1, /* the option changes the results of the search */
    RILL_OPTION_SCHEDULE,   /* the option changes only speed and memory, not the results */
    RILL_OPTION_OUTPUT,     /* the option changes which results are printed, and their order */
    RILL_OPTION_MODEL,      /* the option changes how a model is opened */
} rill_option_kind;

typedef struct rill_option {
    const char *name; /* "max-in-flight"; NULL ends a table */
    /* placeholder in help, "N"; the words of a RILL_OPTION_WORD, "top|immediate"; "" for a switch */
    const char *argument;
    const char *initial; /* the default as shown in help; "": not shown */
    const char *help;    /* one sentence without full stop and without the default */
    rill_option_type type;
    rill_option_kind kind;
    double min, max;     /* smallest and largest value of a number */
    size_t offset;       /* offset of the member that stores the value, in the owner's struct */
    const char *aliases; /* other names of the option, separated by spaces: "k num-beams"; NULL: none */
} rill_option;

typedef struct rill_pair {
    const char *name, *value;
} rill_pair;

enum { RILL_OPTION_MAX = 64 };

/* Return the row with this name or alias, or NULL. "-" and "_" are equivalent; `table` may be NULL. */
RILL_API const rill_option *rill_option_find(const rill_option *table, const char *name);

/* Write name i of the option to `out`: 0 is the main name, others are aliases. Returns it; NULL: no such name. */
RILL_API const char *rill_option_name(const rill_option *option, int i, char out[RILL_OPTION_MAX]);

/* Most similar option name, for "did you mean". Zero-initialise; name "": none. */
typedef struct rill_option_near {
    char name[RILL_OPTION_MAX];
    size_t distance;
} rill_option_near;

/* Compare a word with the row's names, and update *near if one is more similar. */
RILL_API void rill_option_nearer(const rill_option *row, const char *word, rill_option_near *near);

/* How messages spell option names. A worker's context inherits its parent's style. */
typedef enum rill_option_style {
    RILL_OPTION_PLAIN = 0,   /* as in the option tables: "beam-size" */
    RILL_OPTION_DASHED,      /* as on command lines: "--beam-size" */
    RILL_OPTION_UNDERSCORED, /* as in Python and in files: "beam_size" */
} rill_option_style;

/* Spell an option's name in a style. Returns `out`. */
RILL_API const char *rill_option_spell(rill_option_style style, const char *name, char out[RILL_OPTION_MAX]);

/* Set how the context's messages spell option names. Returns the old style. */
RILL_API rill_option_style rill_option_set_style(rill_context *ctx, rill_option_style style);

/* Parse a value and store it in the option's member of `out`; NULL: only check. Texts are not stored.
 *   RILL_OK · RILL_ERR_OPTION (recorded: name, value, what was expected) */
RILL_API rill_status rill_option_read(rill_context *ctx, const rill_option *option, const char *value, void *out);

/* Return 1 if two texts are the same value, as "1" and "1.0", else 0. */
RILL_API int rill_option_same_value(const rill_option *option, const char *a, const char *b);

/* Type of a value from JSON or a script. */
typedef enum rill_value_kind {
    RILL_VALUE_NULL,
    RILL_VALUE_BOOLEAN, /* a boolean; the member `integer` is 0 or 1 */
    RILL_VALUE_INTEGER,
    RILL_VALUE_REAL,
    RILL_VALUE_TEXT,
    /* a value of another type; the member `text` names it in messages: "a list" */
    RILL_VALUE_OTHER,
} rill_value_kind;

typedef struct rill_value {
    rill_value_kind kind;
    int64_t integer;
    double real;
    const char *text;
    size_t length; /* bytes of `text`, without its NUL */
} rill_value;

/* Convert a JSON or script value to text for rill_option_read(). Numbers may also be texts; whole numbers 4.0; switches 1 or 0.
 *   *text: value->text, or `buffer`
 *   RILL_OK · RILL_ERR_OPTION (recorded: name, what was found, what was expected) */
RILL_API rill_status rill_option_text(rill_context *ctx, const rill_option *option, const rill_value *value,
                                      char buffer[RILL_OPTION_MAX], const char **text);

/* Returns 1 if a document's key is a misspelling of "options" or a foreign name such as "settings"; else 0. */
RILL_API int rill_is_options_key(const char *key);

/* Write the option's value in struct `from` as text, for rill_option_read(); "" for an unset word. Not for texts. Returns `out`. */
RILL_API const char *rill_option_write(const rill_option *option, const void *from, char out[RILL_OPTION_MAX]);

/* Returns why an option name is refused, and what to use instead; NULL if it is not. These names were removed, or differ in meaning
 * from another toolkit's.
 *   what: "setting", "opening" (of a model) or "heuristic" */
RILL_API const char *rill_refused_option(const char *what, const char *name);

RILL_C_END

#endif
