/* Search settings: one struct, and one table with the name, help and range of every field.
 *
 * Order of use: rill_settings_default(), then fields or rill_settings_set(), then rill_settings_resolve(), which applies presets,
 * replaces 0 by defaults and refuses contradictions. rill_engine_create() resolves a copy itself.
 * Stability: fields are only appended, unset at 0. Functions read and write the shorter struct of an older program as far as it goes. */
#ifndef RILL_SETTINGS_H
#define RILL_SETTINGS_H

#include "rill/option.h"

RILL_C_BEGIN

/* Bytes reserved for a rill_settings inside other structs: it may grow without moving the members after it. */
enum { RILL_SETTINGS_SPACE = 1024 };

/* Values of settings (docs/search.md). 0 stands for the default of the method or preset, else for rill's default, the value 1. */
typedef enum rill_finish {
    RILL_FINISH_DEFAULT = 0,
    RILL_FINISH_TOP = 1,
    RILL_FINISH_IMMEDIATE = 2,
    RILL_FINISH_SHRINK = 3,
    RILL_FINISH_ONE_STEP = 4,
} rill_finish;
typedef enum rill_keep { RILL_KEEP_ALL = 1, RILL_KEEP_FIRST = 2, RILL_KEEP_BEST = 3 } rill_keep;
typedef enum rill_stop {
    RILL_STOP_COUNT = 1,
    RILL_STOP_BOUND = 2,
    RILL_STOP_BOUND_MAX = 3,
    RILL_STOP_TOP = 4,
} rill_stop;
typedef enum rill_at_limit {
    RILL_LIMIT_OPEN = 1,
    RILL_LIMIT_FIRST = 2,
    RILL_LIMIT_END = 3,
    RILL_LIMIT_END_FREE = 4,
    RILL_LIMIT_BEST_ENDED = 5,
} rill_at_limit;
typedef enum rill_cube { RILL_CUBE_NONE = 1, RILL_CUBE_NAIVE = 2, RILL_CUBE_ACCELERATED = 3 } rill_cube;
typedef enum rill_like { RILL_LIKE_HF = 1, RILL_LIKE_FAIRSEQ = 2, RILL_LIKE_MARIAN = 3, RILL_LIKE_CT2 = 4 } rill_like;
typedef enum rill_sort { RILL_SORT_NONE = 0, RILL_SORT_LENGTH = 1, RILL_SORT_LONGEST_FIRST = 2 } rill_sort;

typedef struct rill_settings {
    size_t struct_size;
    char method[32]; /* name in rill_method_table(): scheduler and preset of a run; default "stream-all" */
    int32_t k;       /* beam size, 1..65536; 0 = 10 (greedy: 1) */
    int32_t n;       /* batch size: items decoded together, 1..1048576; 0 = 10 */
    /* N: maximum number of items in flight; 0 = n, or 100 n under a budget (streaming methods only) */
    int32_t max_items;
    int32_t budget; /* maximum number of hypotheses expanded per timestep; 0 = no limit */
    /* inputs are admitted when at most this share (0..1) of max_items is in flight; < 0 = the method's default (1/6; top-up 1/2) */
    double refill;
    /* M: maximum number of children per hypothesis; 0 = 2k if `finish` is "immediate", else k */
    int32_t max_candidates;
    /* when an ended candidate leaves the beam as an output; 0 = "top", or "immediate" with RILL_FIXED_AS_FAIRSEQ under the method
     * "fixed" */
    rill_finish finish;
    int32_t stop_after; /* number of outputs after which an item stops; 0 = k, under stop top 1 */
    double patience;    /* stop_after = round(k * patience); 0 = unset; cannot be combined with stop_after */
    int32_t min_length; /* minimum number of actions before the end action */
    int32_t max_length; /* maximum number of actions; 0 = the input's own limit, else the model's */
    /* alpha: outputs are ordered by path_score / length^alpha. 0 = the sum of log-probabilities, 1 = their mean per action */
    double length_penalty;
    int32_t n_best;      /* maximum number of outputs returned per input; 0 = 1 */
    rill_sort sort;      /* order in which inputs are admitted within a window of the input stream */
    int32_t sort_window; /* number of inputs in that window; 0 = the larger of N and 1,000 */
    /* after this many timesteps admit no input until all items in flight have finished; 0 = never */
    int32_t flush_every;
    int32_t unordered; /* 1: deliver results in order of completion, not of input */
    int32_t check;     /* 1: check that heuristics and scorers give the same result for each item alone */
    /* Maximum number of states of all items together; 0 = no limit. An input whose own search needs more states fails; other
     * inputs' outputs do not change. docs/search.md explains this and the following settings. */
    int32_t max_nodes;
    /* limit in bytes for states and inputs in flight, computed from the sizes in rill_domain_info; 0 = no limit */
    int64_t memory;
    int32_t like;      /* rill_like: use another decoder's defaults for unset settings; 0 = none */
    int32_t keep;      /* rill_keep: which outputs to keep once an item has stop_after outputs */
    int32_t stop;      /* rill_stop: the rule by which an item stops once it has stop_after outputs */
    int32_t at_limit;  /* rill_at_limit: what happens to live candidates at the length limit */
    int32_t count_end; /* 1: the length in the penalties counts the end action */
    /* A: outputs have at most A * (the input's size) + max_length actions; 0 = max_length alone limits them */
    double max_length_factor;
    double word_penalty; /* W: outputs are ordered by (path_score - W length) / length^alpha */
    /* subtracted from the score of the unknown-token action (<unk>); infinity = never chosen */
    double unknown_penalty;
    int32_t distinct; /* 1: drop an output whose text equals the text of a better output */
    uint64_t given;   /* bit set of the rows of rill_setting_table() that rill_settings_set() has set */
    /* minimum number of candidates, outputs included, that heuristics leave an item; 0 = no minimum */
    int32_t min_width;
    int32_t require_end;     /* 1: drop outputs truncated by a limit, a deadline or a heuristic's stop */
    int32_t cube;            /* rill_cube: cube pruning, which expands one hypothesis per equivalence class; 0 = none */
    int32_t certify;         /* 1: report whether outputs are provably the model's best (rill_output.certified) */
    int32_t no_repeat_ngram; /* N: block repeated n-grams of N actions; 0 = off */
    double repetition_penalty; /* P: multiplies the log-probabilities of actions already in the hypothesis; 0 = 1 */
    int32_t exact;             /* 1: search until the n_best outputs are certified; sets certify */
    int32_t exact_rows;        /* limit on hypotheses expanded for exact search, per input; 0 = 10000 */
    int32_t sample;            /* sample this many outputs instead of searching; 0 = off */
    /* sample from this many best choices of a row; 0 = 50, INT32_MAX = from all choices (the text "0") */
    int32_t top_k;
    int32_t seed;       /* random seed, combined with the input's number */
    int32_t groups;     /* number of groups of diverse beam search; 0 = 1 */
    double temperature; /* divides scores before sampling; 0 = 1 */
    double diversity;   /* with groups: penalty of a choice for each earlier group that has made it; 0 = 0.5 */
    /* sample from the smallest set of best choices whose probabilities sum to at least this; 0 = 1 */
    double top_p;
} rill_settings;

/* Fill the struct with default values. `size`: size of the program's struct. Functions refuse a struct of a newer header with
 * RILL_ERR_ABI. */
RILL_API void rill_settings_init(rill_settings *settings, size_t size);
static inline void rill_settings_default(rill_settings *settings)
{
    rill_settings_init(settings, sizeof *settings);
}

/* Set a field from text, as on a command line: name "max-in-flight", "max_in_flight" or an alias, value "1000". Values are checked alone.
 *   RILL_OK · RILL_ERR_OPTION (unknown name, with the nearest known one; value not a number or out of range) · RILL_ERR_ABI (the
 *   program's struct is too short for this setting) */
RILL_API rill_status rill_settings_set(rill_context *ctx, rill_settings *settings, const char *name, const char *value);

/* Apply the presets of method and `like`, fill in defaults, refuse contradictions. Idempotent. `has_heuristics`: 1 if heuristics are set,
 * else 0. A preset only fills fields that have their default value and were not set by rill_settings_set(). Engines resolve settings
 * themselves, with their model's defaults; here the method `fixed` has finish "top" with every model.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_ABI */
RILL_API rill_status rill_settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics);

/* Returns an output's final score under resolved settings: (path_score - W length) / length^alpha. An empty output has length 1; with
 * count_end the length includes the end action. */
RILL_API double rill_settings_final_score(const rill_settings *settings, double score, int32_t length);

/* One row per field of rill_settings_set(); offsets are in rill_settings. method and sort have the type RILL_OPTION_TEXT. */
RILL_API const rill_option *rill_setting_table(void);

/* Write a field's value to `out`, in the form that rill_settings_set() reads. `option`: a row of rill_setting_table(). Returns `out`. */
RILL_API const char *rill_settings_get(const rill_settings *settings, const rill_option *option,
                                       char out[RILL_OPTION_MAX]);

/* One row per method; ends with name == NULL. */
typedef struct rill_method_info {
    const char *name;      /* name of the method, such as "var-stream" */
    const char *scheduler; /* name of the method's scheduler */
    const char *summary;   /* description in one line */
    int32_t streaming;     /* 1: admits inputs while items are in flight; max_items, refill and flush_every apply */
    int32_t pruned;        /* 1: heuristics and max_candidates may be set */
    rill_finish finish;    /* default of the setting finish, unless the domain has RILL_FIXED_AS_FAIRSEQ */
    int32_t finish_free;   /* 1: the setting finish can be changed */
    int32_t greedy;        /* 1: k is 1 */
    double refill;         /* default of the setting refill, a fraction of N */
} rill_method_info;
RILL_API const rill_method_info *rill_method_table(void);

RILL_C_END

#endif
