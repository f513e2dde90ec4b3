/* Statistics of a run: counters, seconds per stage, and a trace of every timestep.
 * Stability: members are only appended. */
#ifndef RILL_STATS_H
#define RILL_STATS_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_seconds {
    double encode;   /* in the domain, allocating states included */
    double step;     /* in the domain */
    double score;    /* in the domain */
    double choose;   /* admission without encode, scheduler, budget, collecting rows */
    double select;   /* validating and merging choices, making outputs */
    double prune;    /* heuristics, checking mode included */
    double commit;   /* making new beams, node bookkeeping */
    double finalize; /* in the domain, and sorting outputs */
    double scorers;  /* scorer chain */
    double total;    /* inside rill_engine_step() and rill_engine_submit(), and in finalizing elsewhere (workers.h) */
    double waited;   /* part of score: waiting for asynchronous scores */
    double hidden;   /* part of total, not waiting: overlapped with asynchronous scores */
} rill_seconds;

typedef struct rill_stats {
    size_t struct_size;
    int64_t inputs; /* inputs finished */
    int64_t failed; /* of these, failed */
    int64_t timesteps;
    int64_t expansions;             /* live candidates expanded */
    int64_t refills;                /* admissions of at least one input */
    int64_t longest_item_timesteps; /* maximum timesteps of any item */
    int64_t candidates;             /* candidates after merging, before pruning */
    int64_t pruned;                 /* of these, dropped by heuristics */
    int64_t outputs;                /* outputs found */
    int64_t truncated;              /* of these, ended by the length limit */
    /* times the scheduler was overruled because an item had been passed over, or left unexpanded, too long */
    int64_t passed_over_first;
    /* sum over depths d of ceil(W_d / budget), W_d the live candidates expanded at depth d: a lower bound on the timesteps of a
     * least-advanced schedule; 0 without a budget, or with a budget function */
    int64_t depth_bound;
    int64_t nodes_in_use, nodes_peak, nodes_capacity; /* nodes that hold a state */
    int64_t histories_in_use, histories_peak,
        histories_capacity; /* hypotheses in the pool; the peak may include some of the previous timestep */
    int64_t items_peak;     /* most items in flight */
    int64_t waiting_peak;   /* most results held back to restore input order */
    rill_seconds seconds;
    int64_t nodes_bound;     /* limit on nodes from max_nodes or memory; 0: none */
    int64_t restarted;       /* times an item was restarted because the node limit left too few nodes */
    int64_t cube_hypotheses; /* in items with cube pruning, per phase: live hypotheses, ... */
    int64_t cube_classes;    /* ... classes expanded on their behalf ... */
    int64_t cube_rescored;   /* ... and rows expanded in addition to score cells exactly */
    int64_t certified;       /* inputs whose best output is proven to be the model's best (setting certify) */
    int64_t exact_rows;      /* hypotheses that exact search expanded after the beam search, phases counted apart */
} rill_stats;

/* What happened to a candidate. */
typedef enum rill_trace_fate {
    RILL_FATE_LIVE = -1,      /* in the beam, to be expanded */
    RILL_FATE_WAITING = -2,   /* ended and in the beam, below a live one */
    RILL_FATE_OUTPUT = -3,    /* left the beam as an output */
    RILL_FATE_BEAM_FULL = -4, /* did not fit in the beam */
    RILL_FATE_SURPLUS = -5,   /* its input finished in this timestep, without it */
    /* from 0 on: dropped by the heuristic of that index in the chain */
} rill_trace_fate;

/* A candidate of a timestep. An ended candidate that stays in the beam is its own parent. */
typedef struct rill_trace_hypothesis {
    int32_t item;      /* index in `items` */
    int32_t phase;     /* of the timestep */
    int32_t parent;    /* rank in the item's beam before the phase */
    int32_t rank;      /* in its beam after the phase; -1: not in the beam */
    int32_t action;    /* its last */
    int32_t fate;      /* rill_trace_fate */
    double path_score; /* sum of log-probabilities and scorers' bonuses */
} rill_trace_hypothesis;

/* Events of a trace. Arrays are valid during the call. */
typedef enum rill_trace_kind {
    RILL_TRACE_ADMITTED,
    RILL_TRACE_TIMESTEP,
    RILL_TRACE_FINISHED,
    RILL_TRACE_RESTARTED, /* an item was preempted for lack of nodes; it will be admitted again and restart */
} rill_trace_kind;

typedef struct rill_trace_event {
    rill_trace_kind kind;
    int64_t timestep; /* of the run, from 0 */
    /* RILL_TRACE_ADMITTED, RILL_TRACE_FINISHED, RILL_TRACE_RESTARTED */
    int64_t item_id;
    int32_t slot;
    int32_t item_timesteps; /* FINISHED, RESTARTED: timesteps of the item */
    int32_t outputs;        /* FINISHED */
    rill_status status;     /* FINISHED */
    /* RILL_TRACE_TIMESTEP */
    int32_t n; /* items selected */
    int32_t in_flight;
    int64_t rows;                 /* rows expanded in the first phase */
    const int64_t *items;         /* [n] their input ids */
    const int32_t *depths;        /* [n] timesteps they had before this one */
    const int32_t *widths_before; /* [n] live candidates before expansion */
    const int32_t *widths_merged; /* [n] candidates before pruning */
    const int32_t *widths_after;  /* [n] candidates of the new beam, live and ended; 0 when the item is done */
    rill_seconds seconds;         /* since the end of the previous timestep */
    /* index of the worker that the event belongs to and that counts its timesteps (rill/workers.h); 0 with one */
    int32_t worker;
    int32_t group;          /* TIMESTEP: which of the two concurrent groups (rill_rows.group) */
    int32_t links;          /* TIMESTEP: number of heuristics in the chain */
    const int32_t *dropped; /* [links * n] by heuristic, then item: candidates it dropped, in all phases */
    /* With rill_engine_setup.trace_hypotheses. Excluded are items in exact search, and outputs that at_limit best-ended had set aside. */
    int32_t n_hypotheses;
    const rill_trace_hypothesis *hypotheses; /* [n_hypotheses] phase by phase */
} rill_trace_event;

typedef void (*rill_trace_fn)(void *user, const rill_trace_event *event);

RILL_C_END

#endif
