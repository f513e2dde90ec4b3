/* The CUDA module's data of a network, a session and a run. Private header of the module.
 *
 * The host computes index spaces, columns and indices in pinned memory. One copy uploads them, and one copy downloads results.
 *
 * A frame is a run's memory that outlives the call. The host waits for a run only for its results, or to reuse its frame. */
#pragma once

#include "backend.h"
#include "launch.h"

/* Columns that a GEMM with n weight rows writes. Columns from n on are padding: zeros, or bias plus addend. */
static inline size_t cuda_product_width(size_t n)
{
    return (n + 7) / 8 * 8;
}

/* How an operation is launched. fuse.c decides this when the network is finished. */
typedef struct cuda_fused_op {
    gpu_matrix matrix; /* weights of a product (GEMM) or of a scan */
    /* The next four members are used by products (GEMMs) only. */
    int single_launch; /* 1: the GEMM's launch also adds, applies ReLU and writes the final output; 0: a second kernel does */
    int input_rounded; /* 1: an earlier operation has written the input rows in the matrix's type; 0: they are converted */
    /* 1 or -1: one GEMM also computes the next product, in the columns after or before this one's; 0: not merged */
    int merged_next;
    int merged_into_prev; /* 1: the GEMM of the previous product computes this one too */
    gpu_type output_type; /* type of the rounded copy of the output that GEMMs read; GPU_F32: there is no copy */
    int skip_fp32;        /* 1: no operation reads the output in fp32 */
} cuda_fused_op;

typedef struct cuda_fused_graph {
    cuda_fused_op *op;       /* [ops] launch of each operation */
    size_t *rounded_bytes;   /* [buffers] bytes of a row's bf16 or fp16 copy, which GEMMs read; 0: there is no copy */
    size_t n_ops, n_buffers; /* elements of `op` and of `rounded_bytes` */
    int is_fill;             /* 1: an encoder, whose runs update slots ahead of decoding, in another stream */
} cuda_fused_graph;

/* The CUDA data of a network (rill_network.data): weights on the device, uploaded in order while the network is built. */
typedef struct cuda_network {
    gpu_stream *cu_stream;
    gpu_region memory;
    size_t used;
    char *staging; /* pinned upload buffer */
    size_t staging_used;
    /* [matrices] weights, n padded by cuda_product_width(); cuda_fused_op.matrix has the algorithms */
    gpu_matrix *matrix;
    size_t matrix_capacity;
    cuda_fused_graph *graph; /* [graphs] launches of each graph */
    size_t n_graphs;
    const float **constant; /* [constants] the network's constants on the device */
    size_t constant_capacity;
} cuda_network;

/* A vocabulary subset of a session: the ids of all slots, in one region. */
typedef struct cuda_subsets {
    gpu_region ids;
    int32_t *first, *count; /* [slots] position of a slot's first symbol in `ids`; number of its symbols */
    size_t first_capacity, count_capacity;
    dev_ranges ranges;
    size_t free_capacity;
} cuda_subsets;

/* A CUDA graph, which replays the launches of one run for all runs with an equal key: see capture.c. */
typedef struct cuda_capture {
    gpu_graph_exec *exec; /* the CUDA graph; NULL: not captured yet */
    int64_t *key;         /* NULL: the entry is unused */
    size_t key_length;    /* number of elements of `key` */
    uint64_t last_used;   /* value of cuda_session.n_keyed at the last use */
} cuda_capture;
enum { CUDA_MAX_CAPTURES = 128, CUDA_MAX_CAPTURE_FAILURES = 3 };

/* A CUDA stream, and the memory for tensors and temporaries that its runs use one after another. */
typedef struct cuda_lane {
    gpu_stream *cu_stream;
    gpu_region workspace;
} cuda_lane;

enum { CUDA_FILL_EVENTS = 8 };

/* Slot updates (`fill`): GPU work that writes an input's data, such as encoder outputs. Numbered from 1 in the order of enqueueing
 * (streams.c). */
typedef struct cuda_fills {
    gpu_event *event[CUDA_FILL_EVENTS]; /* event i % CUDA_FILL_EVENTS is recorded after slot update i or a later one */
    uint64_t n_fills;                   /* number of slot updates enqueued so far */
    uint64_t waited_fill;               /* latest slot update for which the decoding stream waits */
    uint64_t required_fill;             /* last slot update that every decoding run must wait for */
    uint64_t *slot_fill;                /* [slots] number of the slot's last update; 0: none */
    size_t slot_fill_capacity;
    char *staging; /* pinned memory for uploads outside runs */
    size_t staging_bytes, staging_used;
} cuda_fills;

/* The CUDA data of a session (rill_session.data). */
typedef struct cuda_session {
    gpu_device *gpu;
    cuda_lane decode, fill;
    cuda_fills fills;
    /* [tables + 1] the tables; the last element has the parent of each hypothesis state */
    gpu_region *table;
    cuda_subsets *subset;                   /* [subsets] the network's vocabulary subsets */
    struct cuda_frame *frame;               /* [graphs, DEV_GROUPS] memory of each graph's run, for each micro-batch */
    struct cuda_frame *pending[DEV_GROUPS]; /* frame of each micro-batch whose results are pending; NULL: none */
    cuda_capture capture[CUDA_MAX_CAPTURES];
    uint64_t n_keyed; /* number of runs so far that may be captured: the clock of cuda_capture.last_used */
    rill_graph_runs runs;
    int64_t *key; /* numbers that identify the current run (capture.c) */
    size_t key_capacity;
    int capture_failures;
    int guarded;         /* 1: runs have guards, known bytes after each array that show writes beyond it (guards.c) */
    char *guard_pattern; /* pinned: the bytes of a guard, then the bytes that the device has in the run's guards */
    size_t guard_bytes;
} cuda_session;

/* Keys and values that each row of an attention's index space reads. */
typedef struct cuda_kv {
    rill_index_space space;
    /* host arrays from which `first` and `length` were made: attention operations with the same three arrays share them */
    const int32_t *source_first, *source_length, *source_slot;
    /* [rows] for each row, its first row of keys and values (or its first path entry), and their number; in pinned memory */
    int32_t *first, *length;
    size_t max_length;
} cuda_kv;

/* The steps of a scan. Step t processes the live[t] longest sequences; read_row and write_row have its rows from
 * step_start[t] on. */
typedef struct cuda_scan {
    int32_t n_steps;
    int32_t *step_start, *live;    /* [steps] first row of each step; number of sequences that the step processes */
    int32_t *read_row, *write_row; /* [tokens] row of the gates to read; row of `out` to write */
    int32_t *sorted_pos;           /* [sequences] position in the sorted order; -1: the sequence is empty */
} cuda_scan;

/* Requests and results of an operation that selects symbols. */
typedef struct cuda_selection {
    int32_t *set;       /* [rows] legal set of each row, or NULL */
    int32_t *tag_entry; /* [rows] column entry that receives the row's best symbol; NULL: entry r for row r */
    int32_t n_picks; /* number of picks (actions whose log-probabilities the host requests) in the operation's rows */
    int32_t *pick_count; /* [1] n_picks, as uploaded for the kernel */
    /* [picks] row and symbol of each pick; position of each pick in the host's arrays */
    int32_t *pick_row, *pick_symbol, *pick_index;
    int32_t *count, *action; /* [rows] number of choices; [rows, M] actions of the choices; downloaded */
    /* [rows, M] log-probabilities of the choices; [picks] log-probabilities of the picks; downloaded */
    float *logp, *pick_logp;
} cuda_selection;

typedef struct cuda_run {
    rill_session *session;
    cuda_session *cuda;
    struct cuda_frame *frame;
    cuda_lane *lane;
    gpu_stream *cu_stream; /* the CUDA stream of `lane` */
    const cuda_network *network;
    const cuda_fused_graph *fused;
    const dev_graph *graph;
    const rill_run_arguments *host_arguments;
    rill_run_arguments arguments; /* copy of host_arguments with the columns in pinned memory */
    dev_run host_run;             /* the run in the form that index_space.c reads */
    dev_block block;
    int captured;                        /* 1: the run may be captured as a CUDA graph, so sizes are rounded up */
    size_t n_slots;                      /* slots of the session, rounded up if runs are captured */
    size_t *frame_guard, n_frame_guards; /* ends of arrays in pinned memory; NULL: no guards */
    size_t *work_guard;                  /* ends of arrays in the workspace; host_run.n_guards is their number */
    /* [spaces + 1] rows for which memory is allocated and kernels are launched: space_rows, rounded up if the run may be captured */
    size_t *max_rows;
    size_t zeroed_bytes;                    /* bytes at the start of layout_memory that a new run zeroes */
    size_t host_end, down_end, columns_end; /* ends of the first three parts of pinned memory, see cuda_run.c */
    size_t used;                            /* offset of the next upload array in pinned memory */
    size_t back_begin, back_end;            /* range of pinned memory to download */
    /* [spaces + 1] number of rows: space_rows[0] of the run, the others of its index spaces; pinned */
    int32_t *space_rows;
    uint8_t *visited;          /* [indices] 1: visit_slots() in streams.c has read this index */
    const int32_t **column;    /* [columns] the run's columns, in pinned memory */
    const int32_t **index;     /* [indices] device address; NULL: not enqueued yet */
    cuda_kv *kv;               /* [n_kv] keys and values of the attention operations */
    size_t n_kv, *kv_index;    /* [ops] element of `kv` that an attention operation reads */
    cuda_scan *scan;           /* [ops] */
    cuda_selection *selection; /* [ops] */
    uint64_t *legal;           /* the host's legal sets, pinned, or NULL */
    size_t *path_entries;      /* [paths] number of entries (hypothesis states) on all rows' paths */
    /* for each vocabulary subset, an array [slots] in pinned memory; NULL: the run does not use the subset */
    int32_t **subset_first, **subset_length;
    int32_t *slot_first; /* [slots] first row of each slot in ragged tables, pinned; only if the run computes slots */
    float *watched;      /* [n, ld_watched] attention weights that the host requested, downloaded; or NULL */
    char *values;        /* device: tensors with their bf16 or fp16 copies, and entries of paths, see dev_layout */
    /* working memory on the device: inputs and outputs of GEMMs (panel, sums), partial results of attention, best tokens of parts of rows
     */
    char *panel, *sums, *attention_part, *choices, *log_norm;
    char *scan_h, *scan_c, *scan_gates;
} cuda_run;

/* The memory of a run, until its event completes and its results are delivered. */
typedef struct cuda_frame {
    char *pinned; /* pinned memory: arrays of the run, then its downloads */
    size_t pinned_bytes;
    gpu_region device_copy;
    char *layout_memory; /* memory of the arrays in `run` that only the host uses */
    size_t layout_capacity;
    gpu_event *event;
    int in_flight; /* 1: the event was recorded, and the host has not waited for it yet */
    int32_t group; /* async_group of the run: 1 or 2, its micro-batch; 0: synchronous */
    rill_run_arguments host_arguments;
    rill_selection selection;
    cuda_run run;
} cuda_frame;

/* The GPU type in which weights of `type` are stored and multiplied. */
static inline gpu_type cuda_gpu_type(rill_weight_type type)
{
    return type == RILL_WEIGHT_BF16 ? GPU_BF16 : type == RILL_WEIGHT_F16 ? GPU_F16 : GPU_F32;
}

/* --- defined in module.c, memory.c ---------------------------------------------------------------------------------- */

rill_status cuda_fail(rill_context *ctx, const char *what, const char *why);
rill_status cuda_grow_region(const rill_session *session, gpu_region *region, size_t bytes, const char *what);

/* Implementations of members of dev_backend. */
rill_status cuda_session_open(rill_session *session, int threads);
void cuda_session_close(rill_session *session);
rill_status cuda_grow_table(rill_session *session, size_t idx, size_t rows);
rill_status cuda_write_rows(rill_session *session, size_t idx, size_t first, size_t n, const float *rows);
rill_status cuda_read_rows(const rill_session *session, size_t idx, size_t first, size_t n, float *rows);
rill_status cuda_set_subset(rill_session *session, size_t idx, int32_t slot);

/* Grow pinned memory to `bytes`; contents are lost. */
rill_status cuda_grow_pinned(const rill_session *session, char **pinned, size_t *capacity, size_t bytes);

/* --- defined in streams.c -------------------------------------------------------------------------------------------- */

/* Find the graphs whose runs are slot updates (encoders), and set their cuda_fused_graph.is_fill. */
void cuda_find_fill_graphs(const rill_network *network);
rill_status cuda_streams_open(rill_session *session);
void cuda_streams_close(rill_session *session); /* Close the streams, which must be idle. */
/* Get pinned memory for a copy of `bytes`, which the caller enqueues in the stream of slot updates. After cuda_end_staging(), later runs
 * that read `slot` (or all, CUDA_ALL_SLOTS) wait for the copy. */
rill_status cuda_begin_staging(const rill_session *session, int32_t slot, size_t bytes, char **out);
rill_status cuda_end_staging(rill_session *session, int32_t slot);
enum { CUDA_ALL_SLOTS = -1 };
/* cuda_begin_run(): call before enqueueing a run. A decoding run waits for updates of its slots, a slot update for decoding runs.
 * cuda_end_run(): call after enqueueing. Records the frame's event, and which slots are written. */
rill_status cuda_begin_run(cuda_run *r);
void cuda_end_run(cuda_run *r);
/* Wait for the run whose memory is this frame, and deliver its results. */
rill_status cuda_finish_frame(rill_session *session, cuda_frame *frame);
rill_status cuda_collect(rill_session *session, int32_t group);

/* --- defined in memory_bound.c ------------------------------------------------------------------------------------------- */

/* A member of dev_backend. */
void cuda_add_sizes(const rill_network *network, rill_network_bytes *bytes);

/* --- defined in cuda_run.c ---------------------------------------------------------------------------------------- */

rill_status cuda_run_program(rill_session *session, const dev_graph *graph, const rill_run_arguments *arguments);

/* Device address of an array in the run's pinned memory. */
static inline void *cuda_device_ptr(const cuda_run *r, const void *host)
{
    return host != NULL ? r->frame->device_copy.base + ((const char *)host - r->frame->pinned) : NULL;
}

/* Return the state ids on all rows' paths from the root, on the device. */
static inline int32_t *cuda_path_entries(const cuda_run *r, int32_t path)
{
    return (int32_t *)(void *)(r->values + r->host_run.layout.entry_offset[path]);
}

/* Allocate an array in the run's pinned memory, which cuda_run.c has sized: cuda_alloc_down() for uploads, cuda_alloc_back() for
 * downloads. */
static inline size_t cuda_array_bytes(const cuda_run *r, size_t count, size_t size)
{
    return dev_lines(count * size) + (r->cuda->guarded ? DEV_GUARD : 0);
}

static inline void *cuda_alloc(cuda_run *r, size_t *used, size_t count, size_t size)
{
    void *array = r->frame->pinned + *used;
    if (r->cuda->guarded) r->frame_guard[r->n_frame_guards++] = *used + count * size;
    *used += cuda_array_bytes(r, count, size);
    return array;
}

static inline void *cuda_alloc_down(cuda_run *r, size_t count, size_t size)
{
    return cuda_alloc(r, &r->used, count, size);
}

static inline void *cuda_alloc_back(cuda_run *r, size_t count, size_t size)
{
    return cuda_alloc(r, &r->back_end, count, size);
}

/* --- defined in capture.c ------------------------------------------------------------------------------------------- */

/* Whether a run may be captured as a CUDA graph, because its launches depend only on row counts, which recur. */
int cuda_can_capture(const cuda_run *r);
/* n, or for a captured run n rounded up to one of a few sizes. */
size_t cuda_round_up(const cuda_run *r, size_t n);
/* Enqueue the run with `enqueue_fn`, or replay the CUDA graph captured from an equal run. */
rill_status cuda_capture_or_replay(cuda_run *r, rill_status (*enqueue_fn)(cuda_run *));
/* Enqueue the run with `enqueue_fn`, and count it. */
rill_status cuda_run_directly(cuda_run *r, rill_status (*enqueue_fn)(cuda_run *));
void cuda_captures_free(rill_session *session);
void cuda_graph_runs(const rill_session *session, rill_graph_runs *out); /* a member of dev_backend */

/* --- defined in guards.c -------------------------------------------------------------------------------------------- */

/* Whether RILL_CUDA_GUARDS in the environment asks for guards. For tests, because a run with guards waits for the device. */
int cuda_are_guards_wanted(void);
/* The largest number of guards in a run's pinned memory and its copy on the device, and in its workspace. */
size_t cuda_max_frame_guards(const cuda_run *r);
size_t cuda_max_work_guards(const cuda_run *r);
/* cuda_fill_guards(): enqueue the upload of all guards. cuda_check_guards(): wait for the run, and fail if a guard was overwritten. Without
 * guards they do nothing. */
rill_status cuda_fill_guards(cuda_run *r);
rill_status cuda_check_guards(const cuda_run *r);

/* --- defined in index.c ------------------------------------------------------------------------------------------- */

/* Whether an index depends on a column that the run itself writes. */
int cuda_is_written(const dev_graph *graph, int32_t index);
/* Compute the indices that depend only on the host's data, and the inputs from which the device computes all others. */
void cuda_make_indices(cuda_run *r);
/* Enqueue the computation of an index, unless it was enqueued before. The operations that write its columns must be enqueued first. */
void cuda_enqueue_index(cuda_run *r, int32_t index);

/* --- defined in fuse.c -------------------------------------------------------------------------------------------- */

/* Decide how operations are launched, for all graphs of a network. The network records failures. */
void cuda_fuse(rill_network *network);
void cuda_fused_free(rill_network *network);

static inline const cuda_fused_op *cuda_get_fused_op(const cuda_run *r, const dev_op *op)
{
    return r->fused->op + (op - r->graph->op);
}

/* Bytes per row that the fused operation moves, minus the bytes that the unfused operation moves in fp32. Mostly negative. */
double cuda_fused_bytes(const cuda_run *r, const dev_op *op);

/* --- defined in ops.c --------------------------------------------------------------------------------------------- */

gpu_rows cuda_rows(const cuda_run *r, rill_index_space space);
const int32_t *cuda_index(cuda_run *r, int32_t index);
gpu_operand cuda_operand(cuda_run *r, const dev_operand *operand);
const float *cuda_constant(const cuda_run *r, rill_constant constant);
gpu_subsets cuda_get_subsets(const cuda_run *r, rill_vocab_subset subset);
void cuda_enqueue_op(cuda_run *r, const dev_op *op, size_t number);

/* Enqueue a GEMM on rows [x, x2], concatenated; x2 has width2 columns. The caller fills matrix, add and c of `product`. */
void cuda_enqueue_product(cuda_run *r, gpu_product product, gpu_rows rows, gpu_operand x, gpu_operand x2,
                          int32_t width2);

/* --- defined in scan.c -------------------------------------------------------------------------------------------- */

size_t cuda_scan_bytes(const cuda_run *r, size_t units, size_t inputs);
void cuda_make_scan(cuda_run *r, const dev_op *op, cuda_scan *scan);
void cuda_enqueue_scan(cuda_run *r, const dev_op *op, const cuda_scan *scan);

/* --- defined in selection.c ----------------------------------------------------------------------------------------- */

/* cuda_legal_bytes(): bytes of the legal sets, which are uploaded. cuda_back_bytes(): bytes of the results to download, without columns.
 * cuda_choices_work_bytes(): an operation's working memory on the device. */
size_t cuda_legal_bytes(const cuda_run *r);
size_t cuda_back_bytes(const cuda_run *r);
size_t cuda_choices_work_bytes(const cuda_run *r, const dev_op *op);
void cuda_make_legal(cuda_run *r);
void cuda_make_selection(cuda_run *r, const dev_op *op, cuda_selection *selection);
void cuda_enqueue_best(cuda_run *r, const dev_op *op, const cuda_selection *selection);
void cuda_enqueue_mix(cuda_run *r, const dev_op *op, const cuda_selection *selection);
/* Copy downloaded results to the host's arrays. */
void cuda_deliver_results(cuda_run *r);
