/* What a run tells about itself: counters, seconds per stage, and a trace of every timestep.
 * Stability: members are only appended. */
#ifndef RILL_STATS_H
#define RILL_STATS_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_seconds {
    double encode;   /* in the domain, room for states included */
    double step;     /* in the domain */
    double score;    /* in the domain */
    double choose;   /* admission but for encode, policy, budget, collecting rows */
    double select;   /* checking and merging choices, outputs */
    double prune;    /* heuristics, checking mode included */
    double commit;   /* new beams, node bookkeeping */
    double finalize; /* in the domain, and sorting outputs */
    double scorers;  /* scorer chain */
    double total;  /* inside rill_engine_step() and rill_engine_submit(), and in writing texts elsewhere (workers.h) */
    double waited; /* of score: for answers that come later */
    double hidden; /* of total, not waiting: while an answer was being worked out elsewhere */
} rill_seconds;

typedef struct rill_stats {
    size_t struct_size;
    int64_t inputs; /* inputs finished */
    int64_t failed; /* of these, with a status */
    int64_t timesteps;
    int64_t expansions;             /* live candidates expanded */
    int64_t refills;                /* admissions of at least one input */
    int64_t longest_item_timesteps; /* most timesteps any item had */
    int64_t candidates;             /* candidates after merging, before pruning */
    int64_t pruned;                 /* of these, dropped by heuristics */
    int64_t outputs;                /* hypotheses output by items */
    int64_t truncated;              /* of these, ended by the length limit */
    int64_t passed_over_first;      /* times an item went first after being passed over, or left waiting, too long */
    int64_t depth_bound; /* sum over depths d of ceil(W_d / budget), W_d the live candidates expanded at depth d:
                                       the fewest timesteps of a least-advanced schedule; 0 without a budget, or with one that a
                                       function sets */
    int64_t nodes_in_use, nodes_peak, nodes_capacity; /* nodes holding a state */
    int64_t histories_in_use, histories_peak,
        histories_capacity; /* at the peak some of the timestep before may be counted */
    int64_t items_peak;     /* most items in flight */
    int64_t waiting_peak;   /* most results held back for order */
    rill_seconds seconds;
    int64_t nodes_bound;     /* most nodes there may be, by max_nodes or memory; 0: no bound */
    int64_t restarted;       /* times an item gave its nodes back, to begin anew later, since the bound left too few */
    int64_t cube_hypotheses; /* of items with cube pruning, per phase: live hypotheses, ... */
    int64_t cube_classes;    /* ... of which so many were expanded for all ... */
    int64_t cube_rescored;   /* ... and so many more to score their own cells */
    int64_t certified;       /* inputs whose best output is certified, with the setting certify */
    int64_t exact_rows;      /* hypotheses that exact search expanded behind the beam search, per phase */
} rill_stats;

/* What became of a candidate. */
typedef enum rill_trace_fate {
    RILL_FATE_LIVE = -1,      /* it is in the beam and will be expanded */
    RILL_FATE_WAITING = -2,   /* it has ended and is in the beam, below a live one */
    RILL_FATE_OUTPUT = -3,    /* it left as an output */
    RILL_FATE_BEAM_FULL = -4, /* the beam had no room for it */
    RILL_FATE_SURPLUS = -5,   /* its input ended in this timestep, without it */
    /* from 0 on: the heuristic of that index in the chain dropped it */
} rill_trace_fate;

/* A candidate of a timestep. One that waited in the beam before is its own parent. */
typedef struct rill_trace_hypothesis {
    int32_t item;      /* index in `items` */
    int32_t phase;     /* of the timestep */
    int32_t parent;    /* rank in the item's beam before the phase */
    int32_t rank;      /* in its beam behind the phase; -1: it is not there */
    int32_t action;    /* its last */
    int32_t fate;      /* rill_trace_fate */
    double path_score; /* natural-log probabilities and what scorers added, summed */
} rill_trace_hypothesis;

/* Events of a trace. Arrays are valid during the call. */
typedef enum rill_trace_kind {
    RILL_TRACE_ADMITTED,
    RILL_TRACE_TIMESTEP,
    RILL_TRACE_FINISHED,
    RILL_TRACE_RESTARTED, /* an item left the flight for want of nodes; it will be admitted again and begin anew */
} rill_trace_kind;

typedef struct rill_trace_event {
    rill_trace_kind kind;
    int64_t timestep; /* of the run, from 0 */
    /* RILL_TRACE_ADMITTED, RILL_TRACE_FINISHED, RILL_TRACE_RESTARTED */
    int64_t item_id;
    int32_t slot;
    int32_t item_timesteps; /* FINISHED, SENT_BACK: how many it had */
    int32_t outputs;        /* FINISHED */
    rill_status status;     /* FINISHED */
    /* RILL_TRACE_TIMESTEP */
    int32_t n; /* items selected */
    int32_t in_flight;
    int64_t rows;                 /* rows expanded in the first phase */
    const int64_t *items;         /* [n] their input ids */
    const int32_t *depths;        /* [n] timesteps they had before */
    const int32_t *widths_before; /* [n] live candidates before expansion */
    const int32_t *widths_merged; /* [n] candidates before pruning */
    const int32_t *widths_after;  /* [n] candidates of the new beam, live and waiting; 0 when the item is done */
    rill_seconds seconds;         /* since the timestep before it was over */
    int32_t worker; /* which of several workers it is about (rill/workers.h), and counts its timesteps; else 0 */
    int32_t group;  /* TIMESTEP: which of the two that may be under way at once (rill_rows.group) */
    int32_t links;  /* TIMESTEP: heuristics of the chain */
    const int32_t *dropped; /* [links * n] by link, then item: candidates that it dropped, in all phases */
    /* With rill_engine_setup.trace_hypotheses. There are none of items that exact search goes on with, and none for an output that
     * at_limit best-ended had put aside. */
    int32_t n_hypotheses;
    const rill_trace_hypothesis *hypotheses; /* [n_hypotheses] phase by phase */
} rill_trace_event;

typedef void (*rill_trace_fn)(void *user, const rill_trace_event *event);

RILL_C_END

#endif
