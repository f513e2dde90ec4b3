/* Statistics of a run: counters, seconds per stage, and a trace of every timestep.
 * Stability: members are only appended. */
#ifndef RILL_STATS_H
#define RILL_STATS_H

#include "rill/context.h"
#include "rill/profile.h"

RILL_C_BEGIN

typedef struct rill_seconds {
    double encode; /* seconds in the domain's encode(), with the allocation of states */
    double step;   /* seconds in the domain's step() */
    double score;  /* seconds in the domain's score() */
    /* seconds in scheduling and admission, without encode() */
    double choose;
    double select;   /* seconds in merging candidates and making outputs */
    double prune;    /* seconds in heuristics */
    double commit;   /* seconds in making new beams */
    double finalize; /* seconds in the domain's finalize(), and in sorting outputs */
    double scorers;  /* seconds in scorers */
    /* seconds in rill_engine_step() and rill_engine_submit(), and in finalizing on other threads (workers.h) */
    double total;
    double waited; /* seconds of `score` spent waiting for asynchronous scores */
    double hidden; /* seconds of `total` in which the engine worked while a device computed asynchronous scores */
} rill_seconds;

typedef struct rill_stats {
    size_t struct_size;
    /* The members are counters of type int64_t, apart from `seconds`: workers' counters are added by this rule. */
    int64_t inputs; /* number of finished inputs, failed ones included */
    int64_t failed; /* number of inputs that failed */
    int64_t timesteps;
    int64_t expansions;             /* number of live hypotheses expanded, over all timesteps */
    int64_t refills;                /* number of refills that admitted an input */
    int64_t longest_item_timesteps; /* largest number of timesteps of one input */
    int64_t candidates;             /* number of candidates after merging, before pruning, over all timesteps */
    int64_t pruned;                 /* number of candidates that heuristics dropped */
    int64_t outputs;                /* outputs found */
    /* number of outputs cut off by the length limit, a deadline or a heuristic */
    int64_t truncated;
    /* how often an overdue input went first, against the scheduler's order */
    int64_t passed_over_first;
    /* lower bound on timesteps under the budget: sum over lengths d of ceil(W_d / budget), for W_d expanded hypotheses of length d; 0
     * without a budget, or with a budget function */
    int64_t depth_bound;
    int64_t nodes_in_use, nodes_peak, nodes_capacity; /* hypothesis states (nodes): in use, peak, reserved */
    /* hypotheses in the hypothesis tree; the peak may include some of the previous timestep */
    int64_t histories_in_use, histories_peak, histories_capacity;
    int64_t items_peak;   /* maximum number of inputs in flight */
    int64_t waiting_peak; /* maximum number of results held back for input order */
    rill_seconds seconds;
    int64_t nodes_bound; /* limit on states, from the setting max_nodes or memory; 0: none */
    int64_t restarted;   /* how often an input restarted for lack of states */
    /* cube pruning: number of live hypotheses, over all timesteps and phases */
    int64_t cube_hypotheses;
    int64_t cube_classes;  /* cube pruning: number of equivalence classes expanded */
    int64_t cube_rescored; /* cube pruning: number of hypotheses expanded again for exact scores */
    int64_t certified;     /* number of inputs whose best output is proven the model's best (setting certify) */
    /* number of hypotheses expanded by exact search after the beam search, over all phases */
    int64_t exact_rows;
    rill_graph_runs graph_runs; /* on a GPU: how the model's graphs ran */
} rill_stats;

/* The fate of a candidate in its timestep. */
typedef enum rill_trace_fate {
    RILL_FATE_LIVE = -1, /* the candidate is in the new beam, and will be expanded */
    /* the candidate has ended, and stays in the beam until no live candidate ranks above it */
    RILL_FATE_WAITING = -2,
    RILL_FATE_OUTPUT = -3,    /* the candidate became an output */
    RILL_FATE_BEAM_FULL = -4, /* the candidate did not fit in the beam */
    RILL_FATE_SURPLUS = -5,   /* the candidate's input finished without it */
    /* >= 0: index of the heuristic that dropped the candidate */
} rill_trace_fate;

/* A candidate. An ended candidate that stays in the beam is its own parent. */
typedef struct rill_trace_hypothesis {
    int32_t item;      /* the candidate's input, an index in rill_trace_event.items */
    int32_t phase;     /* phase of the timestep */
    int32_t parent;    /* rank of the candidate's parent in the beam */
    int32_t rank;      /* rank of the candidate in the new beam; -1: not in the beam */
    int32_t action;    /* last action of the candidate */
    int32_t fate;      /* what became of the candidate: a rill_trace_fate */
    double path_score; /* sum of log-probabilities and scorers' bonuses */
} rill_trace_hypothesis;

/* Kinds of trace events. Arrays are valid during the call. */
typedef enum rill_trace_kind {
    RILL_TRACE_ADMITTED,
    RILL_TRACE_TIMESTEP,
    RILL_TRACE_FINISHED,
    RILL_TRACE_RESTARTED, /* an input lost its memory and will restart */
} rill_trace_kind;

typedef struct rill_trace_event {
    rill_trace_kind kind;
    int64_t timestep; /* number of the run's timestep */
    /* for the kinds ADMITTED, FINISHED and RESTARTED: the input */
    int64_t item_id;
    int32_t slot;
    int32_t item_timesteps; /* FINISHED, RESTARTED: number of the input's timesteps */
    int32_t outputs;        /* FINISHED: number of outputs */
    rill_status status;     /* FINISHED: status of the result */
    /* The members below are for TIMESTEP only, except `worker`. */
    int32_t n; /* number of inputs that the timestep expands */
    int32_t in_flight;
    int64_t rows;                 /* number of live hypotheses that the timestep expands, in its first phase */
    const int64_t *items;         /* [n] ids of the expanded inputs */
    const int32_t *depths;        /* [n] number of the input's earlier timesteps */
    const int32_t *widths_before; /* [n] number of the input's live hypotheses before expansion */
    const int32_t *widths_merged; /* [n] number of the input's candidates after merging, before pruning */
    /* [n] number of candidates in the input's new beam, live and ended; 0: the input is done */
    const int32_t *widths_after;
    rill_seconds seconds; /* seconds of each stage since the end of the previous timestep */
    /* index of the event's worker (rill/workers.h), which counts its own timesteps; 0 with one worker */
    int32_t worker;
    int32_t group; /* micro-batch of the timestep (rill_rows.group) */
    int32_t links; /* number of heuristics of the run */
    /* [links, n] candidates dropped by each heuristic, per input, in all phases */
    const int32_t *dropped;
    /* With rill_engine_setup.trace_hypotheses: all candidates, except from exact search and from at_limit = best-ended. */
    int32_t n_hypotheses;
    const rill_trace_hypothesis *hypotheses; /* [n_hypotheses] the candidates, phase after phase */
} rill_trace_event;

typedef void (*rill_trace_fn)(void *user, const rill_trace_event *event);

RILL_C_END

#endif
