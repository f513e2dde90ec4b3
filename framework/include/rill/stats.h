/* Statistics of a run: counters, seconds per stage, and a trace of every timestep.
 * Stability: members are only appended. */
#ifndef RILL_STATS_H
#define RILL_STATS_H

#include "rill/context.h"
#include "rill/profile.h"

RILL_C_BEGIN

typedef struct rill_seconds {
    double encode; /* seconds in the domain's encode(), including the allocation of states */
    double step;   /* seconds in the domain's step() */
    double score;  /* seconds in the domain's score() */
    /* seconds in admission without encode(), in the scheduler, in the budget function, and in collecting rows */
    double choose;
    double select;   /* seconds in validating and merging choices, and in making outputs */
    double prune;    /* seconds in heuristics, and in further calls of them for the setting `check` */
    double commit;   /* seconds in making new beams and in bookkeeping of states */
    double finalize; /* seconds in the domain's finalize(), and in sorting outputs */
    double scorers;  /* seconds in scorers */
    /* seconds inside rill_engine_step() and rill_engine_submit(), and in finalizing on other threads (workers.h) */
    double total;
    double waited; /* part of `score`: seconds spent waiting for asynchronous scores */
    double hidden; /* part of `total`: seconds of the engine's work while a device computed asynchronous scores */
} rill_seconds;

typedef struct rill_stats {
    size_t struct_size;
    int64_t inputs; /* number of inputs that are finished, failed ones included */
    int64_t failed; /* number of inputs that failed */
    int64_t timesteps;
    int64_t expansions;             /* live hypotheses expanded, summed over all timesteps */
    int64_t refills;                /* number of refills, in which at least one input was admitted */
    int64_t longest_item_timesteps; /* largest number of timesteps of any item */
    int64_t candidates;             /* number of candidates after merging and before pruning, summed over timesteps */
    int64_t pruned;                 /* number of candidates that heuristics dropped */
    int64_t outputs;                /* outputs found */
    /* number of outputs that were cut off: by the length limit, a deadline or a heuristic's stop */
    int64_t truncated;
    /* how often the scheduler was overruled, because an item had been passed over or left unexpanded for too long */
    int64_t passed_over_first;
    /* lower bound on timesteps when the least advanced items are expanded first. It is the sum over lengths d of ceil(W_d / budget), for
     * W_d expanded hypotheses of length d; 0 without a budget, or with a budget function */
    int64_t depth_bound;
    int64_t nodes_in_use, nodes_peak, nodes_capacity; /* ids of model states: in use, maximum in use, reserved */
    /* nodes of the hypothesis tree; the peak may include some hypotheses of the previous timestep */
    int64_t histories_in_use, histories_peak, histories_capacity;
    int64_t items_peak;   /* maximum number of items in flight */
    int64_t waiting_peak; /* maximum number of results held back to restore input order */
    rill_seconds seconds;
    int64_t nodes_bound; /* limit on model states, from the setting max_nodes or memory; 0: none */
    int64_t restarted;   /* number of times that an item restarted because nodes_bound left too few states */
    /* live hypotheses of inputs with cube pruning, summed over all timesteps and their phases */
    int64_t cube_hypotheses;
    int64_t cube_classes;  /* equivalence classes expanded in place of these hypotheses */
    int64_t cube_rescored; /* hypotheses expanded in addition, for exact scores of children (cube pruning) */
    int64_t certified;     /* inputs whose best output is proven to be the model's best (setting certify) */
    /* hypotheses that exact search expanded after the beam search, counted once per phase */
    int64_t exact_rows;
    rill_graph_runs graph_runs; /* on a GPU: how the model's graphs ran */
} rill_stats;

/* The fate of a candidate in its timestep. */
typedef enum rill_trace_fate {
    RILL_FATE_LIVE = -1,      /* in the new beam: the candidate will be expanded */
    RILL_FATE_WAITING = -2,   /* ended, and stays in the beam below a live candidate */
    RILL_FATE_OUTPUT = -3,    /* has left the beam as an output */
    RILL_FATE_BEAM_FULL = -4, /* the candidate did not fit in the beam */
    RILL_FATE_SURPLUS = -5,   /* its input finished in this timestep, and the candidate is not an output */
    /* 0 and above: index of the heuristic that dropped the candidate */
} rill_trace_fate;

/* A candidate of a timestep. An ended candidate that stays in the beam is its own parent. */
typedef struct rill_trace_hypothesis {
    int32_t item;      /* the candidate's item, as an index in rill_trace_event.items */
    int32_t phase;     /* the phase of the timestep in which this is a candidate */
    int32_t parent;    /* rank of the candidate's parent in the item's beam before the phase */
    int32_t rank;      /* rank of the candidate in the item's beam after the phase; -1: not in the beam */
    int32_t action;    /* last action of the candidate */
    int32_t fate;      /* what became of the candidate: a rill_trace_fate */
    double path_score; /* sum of log-probabilities and scorers' bonuses */
} rill_trace_hypothesis;

/* Kinds of events in a trace. An event's arrays are valid only during the call. */
typedef enum rill_trace_kind {
    RILL_TRACE_ADMITTED,
    RILL_TRACE_TIMESTEP,
    RILL_TRACE_FINISHED,
    RILL_TRACE_RESTARTED, /* an item was preempted for lack of nodes; it will be admitted again and restart */
} rill_trace_kind;

typedef struct rill_trace_event {
    rill_trace_kind kind;
    int64_t timestep; /* timestep of the run, from 0 */
    /* for the kinds RILL_TRACE_ADMITTED, RILL_TRACE_FINISHED and RILL_TRACE_RESTARTED: the item */
    int64_t item_id;
    int32_t slot;
    int32_t item_timesteps; /* FINISHED, RESTARTED: timesteps of the item */
    int32_t outputs;        /* FINISHED: number of outputs */
    rill_status status;     /* FINISHED: status of the result */
    /* The members from here on are set for the kind RILL_TRACE_TIMESTEP; `worker` is set for all kinds. */
    int32_t n; /* number of items (inputs in flight) that the timestep expands */
    int32_t in_flight;
    int64_t rows;                 /* number of live hypotheses that the timestep expands, in its first phase */
    const int64_t *items;         /* [n] ids of the selected items' inputs */
    const int32_t *depths;        /* [n] number of timesteps of the item before this one */
    const int32_t *widths_before; /* [n] live hypotheses of the item before it is expanded */
    const int32_t *widths_merged; /* [n] candidates of the item after merging, before heuristics prune them */
    const int32_t *widths_after;  /* [n] candidates of the new beam, live and ended; 0 when the item is done */
    rill_seconds seconds;         /* seconds of each stage since the end of the previous timestep */
    /* index of the event's worker, whose timesteps `timestep` counts (rill/workers.h); 0 with one worker */
    int32_t worker;
    int32_t group; /* TIMESTEP: which of the two concurrent micro-batches (rill_rows.group) */
    int32_t links; /* TIMESTEP: number of heuristics of the run */
    /* [links * n] number of candidates that a heuristic dropped of an item, in all phases; ordered by heuristic, then item */
    const int32_t *dropped;
    /* If rill_engine_setup.trace_hypotheses is 1: the timestep's candidates, without those of exact search and outputs that the setting
     * at_limit = best-ended adds. */
    int32_t n_hypotheses;
    const rill_trace_hypothesis *hypotheses; /* [n_hypotheses] the candidates, phase after phase */
} rill_trace_event;

typedef void (*rill_trace_fn)(void *user, const rill_trace_event *event);

RILL_C_END

#endif
