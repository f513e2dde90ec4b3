/* Search settings: a struct, and a table with name, help and range of each field.
 *
 * Order of use: rill_settings_default(); set fields, or rill_settings_set(); rill_engine_create(), which resolves a copy: applies presets
 * and defaults, and refuses contradictions (rill_settings_resolve()).
 * Stability: fields are only appended, and 0 is unset. Functions accept the shorter struct of an older program. */
#ifndef RILL_SETTINGS_H
#define RILL_SETTINGS_H

#include "rill/option.h"

RILL_C_BEGIN

/* Space for rill_settings inside other structs, so that it can grow. */
enum { RILL_SETTINGS_SPACE = 1024 };

/* Values of settings (docs/search.md). 0: the default of the method or preset, or else the value 1. */
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
    char method[32]; /* method: scheduler and preset, a name in rill_method_table(); default "stream-all" */
    int32_t k;       /* beam size, 1..65536; 0 = 10 (greedy: 1) */
    int32_t n;       /* batch size: inputs decoded together, 1..1048576; 0 = 10 */
    /* N: maximum number of inputs in flight; 0 = n, or 100 n under a budget (streaming methods only) */
    int32_t max_items;
    int32_t budget; /* maximum number of hypotheses per timestep; 0 = no limit */
    /* admit inputs when at most this share (0..1) of max_items is in flight; < 0 = the method's default (1/6; top-up 1/2) */
    double refill;
    /* M: maximum number of children per hypothesis; 0 = k, or 2k if `finish` is "immediate" */
    int32_t max_candidates;
    /* when an ended hypothesis becomes an output; 0 = "top", or the method's default */
    rill_finish finish;
    int32_t stop_after; /* number of outputs after which an input's search stops; 0 = k, or 1 if `stop` is "top" */
    double patience;    /* stop_after = round(k * patience); 0 = unset; not combined with stop_after */
    int32_t min_length; /* minimum number of actions before the end action */
    int32_t max_length; /* maximum number of actions; 0 = the input's own limit, else the model's */
    /* alpha: outputs are ordered by path_score / length^alpha; 0 = sum, 1 = mean of log-probabilities */
    double length_penalty;
    int32_t n_best;      /* maximum number of outputs per input; 0 = 1 */
    rill_sort sort;      /* sort inputs by length within a window of the stream, before admission */
    int32_t sort_window; /* number of inputs in the sorting window; 0 = the larger of N and 1,000 */
    /* finish all inputs in flight before admitting more, after this many timesteps; 0 = never */
    int32_t flush_every;
    int32_t unordered; /* 1: results come in order of completion, not of input */
    int32_t check;     /* 1: check that heuristics and scorers treat each input independently */
    /* maximum number of hypothesis states in memory; 0 = no limit. An input that alone needs more fails. See docs/search.md */
    int32_t max_nodes;
    /* memory limit in bytes for states and inputs in flight (rill_domain_info); 0 = no limit */
    int64_t memory;
    int32_t like;      /* rill_like: another decoder's defaults; 0 = none */
    int32_t keep;      /* rill_keep: which outputs to keep beyond stop_after */
    int32_t stop;      /* rill_stop: when the search stops after stop_after outputs */
    int32_t at_limit;  /* rill_at_limit: what to do with live hypotheses at the length limit */
    int32_t count_end; /* 1: penalties count the end action in the length */
    /* A: maximum length is A * (input size) + max_length; 0 = max_length alone */
    double max_length_factor;
    double word_penalty; /* W: outputs are ordered by (path_score - W length) / length^alpha */
    /* penalty subtracted from the score of <unk>; infinity = never chosen */
    double unknown_penalty;
    int32_t distinct; /* 1: drop outputs with the text of a better output */
    uint64_t given;   /* bit set of settings (rows of rill_setting_table()) set by rill_settings_set() */
    /* minimum number of candidates that heuristics leave an input; 0 = none */
    int32_t min_width;
    int32_t require_end;       /* 1: drop outputs cut off by a limit, a deadline or a heuristic */
    int32_t cube;              /* rill_cube: cube pruning, one hypothesis expanded per equivalence class; 0 = none */
    int32_t certify;           /* 1: report whether outputs are provably the model's best */
    int32_t no_repeat_ngram;   /* N: block repeated n-grams of N tokens; 0 = off */
    double repetition_penalty; /* P: multiplies the log-probability of tokens already in the hypothesis; 0 = 1 */
    int32_t exact;             /* 1: exact search: continue until the n_best outputs are proven best; sets certify */
    int32_t exact_rows;        /* limit on hypotheses that exact search expands per input; 0 = 10000 */
    int32_t sample;            /* number of outputs to sample instead of searching; 0 = off */
    /* sample from this many best tokens; 0 = 50, INT32_MAX = all (the text "0") */
    int32_t top_k;
    int32_t seed;       /* random seed, combined with the input's position */
    int32_t groups;     /* number of groups of diverse beam search; 0 = 1 */
    double temperature; /* divides scores before sampling; 0 = 1 */
    double diversity;   /* diverse beam search: penalty per earlier group that chose the token; 0 = 0.5 */
    /* nucleus sampling: smallest set of best tokens with this total probability; 0 = 1 */
    double top_p;
} rill_settings;

/* Fill the struct with defaults. size: sizeof of the caller's struct; functions refuse a newer header's struct with RILL_ERR_ABI. */
RILL_API void rill_settings_init(rill_settings *settings, size_t size);
static inline void rill_settings_default(rill_settings *settings)
{
    rill_settings_init(settings, sizeof *settings);
}

/* Set a field from text: name "max-in-flight", "max_in_flight" or an alias; value "1000". Only this value is checked.
 *   RILL_OK · RILL_ERR_OPTION (unknown name, or invalid value) · RILL_ERR_ABI (the caller's struct lacks the field) */
RILL_API rill_status rill_settings_set(rill_context *ctx, rill_settings *settings, const char *name, const char *value);

/* Apply the presets of method and `like`, fill in defaults, refuse contradictions. Idempotent; engines do this themselves.
 * Presets change only fields that are unset.
 *   has_heuristics: 1 if the search has heuristics, else 0
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_ABI */
RILL_API rill_status rill_settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics);

/* Returns an output's score under resolved settings: (path_score - W length) / length^alpha. An empty output has length 1; with count_end
 * the length includes the end action. */
RILL_API double rill_settings_final_score(const rill_settings *settings, double score, int32_t length);

/* One row per setting, with offsets in rill_settings. method and sort have type RILL_OPTION_TEXT. */
RILL_API const rill_option *rill_setting_table(void);

/* Write a field's value as text, as rill_settings_set() reads it. option: a row of rill_setting_table(). Returns `out`. */
RILL_API const char *rill_settings_get(const rill_settings *settings, const rill_option *option,
                                       char out[RILL_OPTION_MAX]);

/* One row per method; ends with name == NULL. */
typedef struct rill_method_info {
    const char *name;      /* name of the method, such as "var-stream" */
    const char *scheduler; /* name of the method's scheduler */
    const char *summary;   /* description in one line */
    int32_t streaming;     /* 1: admits inputs while others are in flight; max_items, refill and flush_every apply */
    int32_t pruned;        /* 1: the method allows heuristics and max_candidates */
    rill_finish finish;    /* default of the setting finish; domains with RILL_FIXED_AS_FAIRSEQ may differ */
    int32_t finish_free;   /* 1: the setting finish may be changed */
    int32_t greedy;        /* 1: k is 1 */
    double refill;         /* default of the setting refill */
} rill_method_info;
RILL_API const rill_method_info *rill_method_table(void);

RILL_C_END

#endif
