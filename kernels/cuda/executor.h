/* executor.h: what the module keeps of a plan and of a stream, and a run as its operations see it. Inner header of the executor.
 *
 * A run is one block of all rows. What spaces, columns and indices are is worked out on the host, by the same code as for the
 * processor (kernels/device/index_space.c), in pinned memory; that goes down in one copy, and an array of it lies on the device at the same
 * distance from the beginning: its twin. Choices and what else the host is given come back in one copy.
 *
 * Two queues work beside each other: programs that fill slots run ahead of those that decode (streams.c). A run is waited for where the
 * host is given something, and where the memory of its frame is wanted again. */
#ifndef RILL_CUDA_EXECUTOR_H
#define RILL_CUDA_EXECUTOR_H

#include "launch.h"
#include "module.h"

/* How an operation is put into the queue, where that is worked out when the plan is finished; see fuse.c. */
typedef struct cuda_fused_op {
    gpu_matrix matrix; /* of a product or a scan */
    int single_launch; /* product: cuBLASLt adds and cuts off, and the output goes where it belongs: one launch */
    int input_rounded; /* product: its rows are there in the matrix' type */
    int merged_next; /* product: it is one with the next, of the same rows: -1, whose columns come first; 1, behind; 0: it is not */
    int merged_into_prev; /* product: by the one before */
    gpu_type output_type; /* what the output is written in; GPU_F32: as it is alone */
    int skip_fp32;        /* nothing reads the output in fp32 */
} cuda_fused_op;

typedef struct cuda_fused_graph {
    cuda_fused_op *op;       /* [ops] */
    size_t *rounded_bytes;   /* [buffers] bytes of a row in the products' type; 0: there is none */
    size_t n_ops, n_buffers; /* that there is room for */
    int is_fill;             /* its runs fill slots, ahead of those that decode: streams.c */
} cuda_fused_graph;

/* plan->own: weights on the device. They are put down while the plan is built, in order. */
typedef struct cuda_network {
    gpu_stream *cu_stream;
    gpu_region memory;
    size_t used;
    char *staging; /* pinned */
    size_t staging_used;
    gpu_matrix *matrix; /* [matrices] weights; how to multiply with them is the operations' */
    size_t matrix_capacity;
    cuda_fused_graph *graph; /* [programs] */
    size_t n_graphs;
    const float **constant; /* [constants] */
    size_t constant_capacity;
} cuda_network;

/* A list of a stream: the numbers of all slots' symbols. */
typedef struct cuda_subsets {
    gpu_region ids;
    int32_t *first, *count; /* [slots] where a slot's begin, and how many it has room for */
    size_t first_capacity, count_capacity;
    dev_ranges ranges;
    size_t free_capacity;
} cuda_subsets;

/* Runs alike, by what their launches follow from: see capture.c. */
typedef struct cuda_capture {
    gpu_graph_exec *exec; /* NULL: not recorded yet */
    int64_t *key;         /* NULL: none */
    size_t key_length;    /* numbers of the key */
    uint64_t last_used;   /* when last */
} cuda_capture;
enum { CUDA_MAX_CAPTURES = 128, CUDA_MAX_CAPTURE_FAILURES = 3 };

/* A queue, and the values and work of its runs, which are done one after the other. */
typedef struct cuda_lane {
    gpu_stream *cu_stream;
    gpu_region workspace;
} cuda_lane;

enum { CUDA_FILL_EVENTS = 8 };

/* What is done ahead of decoding, numbered from 1 on; see streams.c. */
typedef struct cuda_fills {
    gpu_event *event[CUDA_FILL_EVENTS]; /* behind number i, or one that came later: mark i % CUDA_FILL_EVENTS */
    uint64_t n_fills;                   /* so many have been put into the queue */
    uint64_t waited_fill;               /* decoding comes behind these */
    uint64_t required_fill;             /* by every run that decodes */
    uint64_t *slot_fill;                /* [slots] by which number */
    size_t slot_fill_capacity;
    char *staging; /* pinned: what goes down outside runs */
    size_t staging_bytes, staging_used;
} cuda_fills;

/* stream->own */
typedef struct cuda_session {
    gpu_device *gpu;
    cuda_lane decode, fill;
    cuda_fills fills;
    gpu_region *table;                      /* [tables], and `above` behind them */
    cuda_subsets *subset;                   /* [lists] */
    struct cuda_frame *frame;               /* [programs, DEV_GROUPS] */
    struct cuda_frame *pending[DEV_GROUPS]; /* what is to be collected */
    cuda_capture capture[CUDA_MAX_CAPTURES];
    uint64_t n_runs;
    int64_t *key; /* of the run at work */
    size_t key_capacity;
    int capture_failures; /* of records that could not be had */
} cuda_session;

/* Rows that an attention reads, per row of its space. */
typedef struct cuda_kv {
    rill_index_space space;
    const int32_t *source_first, *source_length, *source_slot; /* which it is, by what it was made of */
    int32_t *first, *length;                                   /* [rows], host */
    size_t max_length;
} cuda_kv;

/* A scan's steps, one behind the other: step t has the first live[t] inputs, longest first, and its rows from start[t] on. */
typedef struct cuda_scan {
    int32_t n_steps;
    int32_t *step_start, *live;    /* [steps] */
    int32_t *read_row, *write_row; /* [units] rows of gates; of out */
    int32_t *sorted_pos;           /* [inputs] where an input stands; -1: it has no units */
} cuda_scan;

/* What an operation that selects is asked, and where its answers come. */
typedef struct cuda_selection {
    int32_t *set;        /* [rows] or NULL */
    int32_t *tag_entry;  /* [rows] entries of the column that a tag goes to, or NULL: the rows themselves */
    int32_t n_picks;     /* of the operation's rows */
    int32_t *pick_count; /* [1] */
    int32_t *pick_row, *pick_symbol, *pick_index; /* [picks] the last is the host's */
    int32_t *count, *action;                      /* [rows], [rows, M]: these come back */
    float *logp, *pick_logp;                      /* [rows, M], [picks] likewise */
} cuda_selection;

typedef struct cuda_run {
    rill_session *session;
    cuda_session *cuda;
    struct cuda_frame *frame;
    cuda_lane *lane;
    gpu_stream *cu_stream; /* the line's */
    const cuda_network *network;
    const cuda_fused_graph *fused;
    const dev_graph *graph;
    const rill_run_arguments *host_arguments;
    rill_run_arguments arguments; /* with columns in pinned memory */
    dev_run host_run;             /* as index_space.c has it */
    dev_block block;
    int captured;                            /* the run is, or will be, recorded: sizes are rounded up */
    size_t n_slots;                          /* of the stream, rounded up likewise */
    size_t *max_rows;                        /* [spaces + 1] rows that memory and launches are made for */
    size_t zeroed_bytes;                     /* bytes of the layout that begin as zeros */
    size_t host_end, down_end, columns_end;  /* parts of pinned memory, see run.c */
    size_t used;                             /* of what goes down */
    size_t back_begin, back_end;             /* what comes back */
    int32_t *space_rows;                     /* [spaces + 1] rows of each */
    uint8_t *visited;                        /* [indices] that name slots, see streams.c */
    const int32_t **column;                  /* [columns] pinned */
    const int32_t **index;                   /* [indices] device; NULL: to be made there */
    cuda_kv *kv;                             /* [memories] */
    size_t n_kv, *kv_index;                  /* [ops] which, of attentions */
    cuda_scan *scan;                         /* [ops] */
    cuda_selection *selection;               /* [ops] */
    uint64_t *legal;                         /* the host's sets, pinned, or NULL */
    size_t *path_entries;                    /* [paths] entries */
    int32_t **path_entry;                    /* [paths] device */
    int32_t **subset_first, **subset_length; /* [lists] by slot, pinned; NULL: not used */
    size_t *max_subset;                      /* [lists] */
    int32_t *slot_first; /* [slots] first rows, pinned, where slots follow from a column that the run writes; or NULL */
    float *watched;      /* [n, ld_watched] comes back, or NULL */
    char **tensor;       /* [buffers] device */
    char **rounded;      /* [buffers] the same rows in the products' type, or NULL */
    char *panel, *sums, *attention_part, *choices,
        *log_norm; /* device: inputs of products, their outputs, attention's and choices' memory */
    char *scan_h, *scan_c, *scan_gates;
} cuda_run;

/* A run's memory. It is the run's until its mark is reached, and its answers are delivered. */
typedef struct cuda_frame {
    char *pinned; /* the run's arrays, and behind them what comes back */
    size_t pinned_bytes;
    gpu_region device_copy;
    char *layout_memory; /* the run's layout */
    size_t layout_capacity;
    gpu_event *event;
    int in_flight; /* the mark has been set and not waited for */
    int32_t group; /* 1 or 2; 0: none */
    rill_run_arguments host_arguments;
    rill_selection selection;
    cuda_run run;
} cuda_frame;

/* In what a device multiplies weights of a type. */
static inline gpu_type cuda_gpu_type(rill_weight_type type)
{
    return type == RILL_WEIGHT_BF16 ? GPU_BF16 : type == RILL_WEIGHT_F16 ? GPU_F16 : GPU_F32;
}

/* --- module.c, memory.c --------------------------------------------------------------------------------------------- */

rill_status cuda_fail(rill_context *ctx, const char *what, const char *why);
rill_status cuda_grow_region(const rill_session *session, gpu_region *region, size_t bytes, const char *what);

/* Members of dev_module. */
rill_status cuda_session_open(rill_session *session);
void cuda_session_close(rill_session *session);
rill_status cuda_grow_table(rill_session *session, size_t idx, size_t rows);
rill_status cuda_write_rows(rill_session *session, size_t idx, size_t first, size_t n, const float *rows);
rill_status cuda_read_rows(const rill_session *session, size_t idx, size_t first, size_t n, float *rows);
rill_status cuda_set_subset(rill_session *session, size_t idx, int32_t slot);

/* Room for so many bytes of pinned memory; what was there is lost. */
rill_status cuda_grow_pinned(const rill_session *session, char **pinned, size_t *capacity, size_t bytes);

/* --- streams.c ------------------------------------------------------------------------------------------------------- */

/* Which programs run ahead: cuda_fused_graph.ahead. */
void cuda_find_fill_graphs(const rill_network *network);
rill_status cuda_streams_open(rill_session *session);
void cuda_streams_close(rill_session *session); /* no queue works any more */
/* Work outside runs, in the queue ahead: pinned memory for so many bytes that go down, and when they are in the queue. Every run comes
 * behind them, or with a slot those that read it. */
rill_status cuda_begin_staging(const rill_session *session, int32_t slot, size_t bytes, char **out);
rill_status cuda_end_staging(rill_session *session, int32_t slot);
enum { CUDA_ALL_SLOTS = -1 };
/* Have the run come behind what it needs; its arrays are made. Then that it is in the queue. */
rill_status cuda_begin_run(cuda_run *r);
void cuda_end_run(cuda_run *r);
/* Wait for the frame's run, and deliver its answers. */
rill_status cuda_finish_frame(rill_session *session, cuda_frame *frame);
rill_status cuda_collect(rill_session *session, int32_t group);

/* --- memory_bound.c ------------------------------------------------------------------------------------------------------ */

/* A member of dev_module. */
void cuda_add_sizes(const rill_network *network, rill_network_bytes *bytes);

/* --- run.c -------------------------------------------------------------------------------------------------------- */

rill_status cuda_run_program(rill_session *session, const dev_graph *graph, const rill_run_arguments *arguments);

/* Where an array of the run's pinned memory lies on the device. */
static inline void *cuda_device_ptr(const cuda_run *r, const void *host)
{
    return host != NULL ? r->frame->device_copy.base + ((const char *)host - r->frame->pinned) : NULL;
}

/* Arrays of pinned memory, of what goes down and of what comes back; there is room, see run.c. */
static inline void *cuda_alloc_down(cuda_run *r, size_t count, size_t size)
{
    void *array = r->frame->pinned + r->used;
    r->used += dev_lines(count * size);
    return array;
}

static inline void *cuda_alloc_back(cuda_run *r, size_t count, size_t size)
{
    void *array = r->frame->pinned + r->back_end;
    r->back_end += dev_lines(count * size);
    return array;
}

/* --- capture.c ------------------------------------------------------------------------------------------------------ */

/* Whether runs of a program are recorded: those whose work follows from numbers of rows that come again. */
int cuda_can_capture(const cuda_run *r);
/* The number itself, or for a run that is recorded the next of a few. */
size_t cuda_round_up(const cuda_run *r, size_t n);
/* Put the run into the queue by `put`, or replay what it put there before in a run alike. */
rill_status cuda_capture_or_replay(cuda_run *r, rill_status (*enqueue_fn)(cuda_run *));
void cuda_captures_free(rill_session *session);

/* --- index.c ------------------------------------------------------------------------------------------------------ */

/* Whether an index follows from a column that the run itself writes. */
int cuda_is_written(const dev_graph *graph, int32_t index);
/* Work out the indices that the host knows, and what the others are made of. */
void cuda_make_indices(cuda_run *r);
/* Put an index into the queue unless it is there; the columns that it follows from are written by now. */
void cuda_enqueue_index(cuda_run *r, int32_t index);

/* --- fuse.c ------------------------------------------------------------------------------------------------------- */

/* How operations are put into the queue, for all programs of a plan. Failures are the plan's. */
void cuda_fuse(rill_network *network);
void cuda_fused_free(rill_network *network);

static inline const cuda_fused_op *cuda_get_fused_op(const cuda_run *r, const dev_op *op)
{
    return r->fused->op + (op - r->graph->op);
}

/* Bytes that a row of an operation moves beyond those of one by one in fp32, mostly fewer. */
double cuda_fused_bytes(const cuda_run *r, const dev_op *op);

/* --- ops.c -------------------------------------------------------------------------------------------------------- */

gpu_rows cuda_rows(const cuda_run *r, rill_index_space space);
const int32_t *cuda_index(cuda_run *r, int32_t index);
gpu_operand cuda_operand(cuda_run *r, const dev_operand *operand);
const float *cuda_constant(const cuda_run *r, rill_constant constant);
gpu_subsets cuda_get_subsets(const cuda_run *r, rill_vocab_subset subset);
void cuda_enqueue_op(cuda_run *r, const dev_op *op, size_t number);

/* A product of rows [x, x2], of which x2 has so many columns. What else it is made of is the caller's. */
void cuda_enqueue_product(cuda_run *r, gpu_product product, gpu_rows rows, gpu_operand x, gpu_operand x2,
                          int32_t width2);

/* --- scan.c ------------------------------------------------------------------------------------------------------- */

size_t cuda_scan_bytes(size_t units, size_t inputs);
void cuda_make_scan(cuda_run *r, const dev_op *op, cuda_scan *scan);
void cuda_enqueue_scan(cuda_run *r, const dev_op *op, const cuda_scan *scan);

/* --- selection.c ---------------------------------------------------------------------------------------------------- */

/* Bytes of the legal sets that go down, and of all that comes back but columns; bytes of work on the device. */
size_t cuda_legal_bytes(const cuda_run *r);
size_t cuda_back_bytes(const cuda_run *r);
size_t cuda_choices_work_bytes(const cuda_run *r, const dev_op *op);
void cuda_make_legal(cuda_run *r);
void cuda_make_selection(cuda_run *r, const dev_op *op, cuda_selection *selection);
void cuda_enqueue_best(cuda_run *r, const dev_op *op, const cuda_selection *selection);
void cuda_enqueue_mix(cuda_run *r, const dev_op *op, const cuda_selection *selection);
/* What came back, to the host's arrays. */
void cuda_deliver_results(cuda_run *r);

#endif
