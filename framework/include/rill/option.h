/* What can be set by name: one row per option, which everything that takes, explains, checks or tells options reads.
 *
 * Tables of rows belong to whoever heeds the options: rill_setting_table() holds the search's (settings.h), rill_chain_table() those
 * that name heuristics, scorers and policies (search_config.h), rill_domain.options a domain's own. A command line, a script, a
 * configuration file, a report or a server needs no list of its own. Stability: rows are only appended to. */
#ifndef RILL_OPTION_H
#define RILL_OPTION_H

#include "rill/context.h"

RILL_C_BEGIN

/* What values are like, and what the member at `offset` is where values are kept in a struct. */
typedef enum rill_option_type {
    RILL_OPTION_INT = 1, /* int32_t: a whole number, least to most */
    RILL_OPTION_REAL,    /* double: least to most; "1/6" and, where most is infinite, "inf" are numbers */
    RILL_OPTION_SWITCH,  /* int32_t 0 or 1: "1", "true", "" or "0", "false" */
    RILL_OPTION_WORD,    /* int32_t: which of the words of `argument`, from 1; 0: none was said */
    RILL_OPTION_BYTES,   /* int64_t: a number of bytes, also as 500M or 2G */
    RILL_OPTION_TEXT,    /* any text; in a struct its owner's affair */
    RILL_OPTION_PATH,    /* a text that begins with the path of a file that is read */
} rill_option_type;

typedef enum rill_option_kind {
    RILL_OPTION_SEARCH = 1, /* answers depend on it */
    RILL_OPTION_SCHEDULE,   /* what is computed when: no answer depends on it */
    RILL_OPTION_OUTPUT,     /* what of the answers is given, and in which order */
    RILL_OPTION_MODEL,      /* how a model is opened */
} rill_option_kind;

typedef struct rill_option {
    const char *name;     /* "max-in-flight"; NULL ends a table */
    const char *argument; /* what help calls the value, "N"; of a word all words, "top|immediate"; "" of a switch */
    const char *initial;  /* what help calls the default; "": there is nothing to tell */
    const char *help;     /* one sentence without end, without the default */
    rill_option_type type;
    rill_option_kind kind;
    double min, max;     /* of numbers */
    size_t offset;       /* of the member that holds it, in its owner's struct */
    const char *aliases; /* other names that mean the same, with blanks between: "k num-beams"; NULL: none */
} rill_option;

typedef struct rill_pair {
    const char *name, *value;
} rill_pair;

enum { RILL_OPTION_MAX = 64 };

/* The row that has this name or alias, in which "-" and "_" are one; NULL: the table has none (or is NULL). */
RILL_API const rill_option *rill_option_find(const rill_option *table, const char *name);

/* The name nearest to a word, for "did you mean"; starts zeroed, and name stays "" while none is near. */
typedef struct rill_option_near {
    char name[RILL_OPTION_MAX];
    size_t distance;
} rill_option_near;

/* Compare the word with the name and the aliases of one row. */
RILL_API void rill_option_nearer(const rill_option *row, const char *word, rill_option_near *near);

/* How messages about options write their names. A context starts with the plain style; contexts of workers take their parent's. */
typedef enum rill_option_style {
    RILL_OPTION_PLAIN = 0,   /* "beam-size", as in JSON */
    RILL_OPTION_DASHED,      /* "--beam-size" */
    RILL_OPTION_UNDERSCORED, /* "beam_size" */
} rill_option_style;

/* Returns the style until now. */
RILL_API rill_option_style rill_option_set_style(rill_context *ctx, rill_option_style style);

/* Read a value into the member of `out` that the row names; `out` may be NULL: it is checked only. Texts are not stored.
 *   RILL_OK · RILL_ERR_OPTION (recorded: name, value and what was expected) */
RILL_API rill_status rill_option_read(rill_context *ctx, const rill_option *option, const char *value, void *out);

/* Write the member of `from` as rill_option_read() takes it; "" for a word that was not said. Not for texts. */
RILL_API const char *rill_option_write(const rill_option *option, const void *from, char out[RILL_OPTION_MAX]);

/* Why a "setting" or "heuristic" of this name is refused, and what to use instead: rill had it once, or another toolkit has it with
 * values that mean something else. NULL: nothing is known of the name. */
RILL_API const char *rill_refused_option(const char *what, const char *name);

RILL_C_END

#endif
