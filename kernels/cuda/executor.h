/* executor.h: what the module keeps of a plan and of a stream, and a run as its operations see it. Inner header of the executor.
 *
 * A run is one block of all rows. What spaces, columns and indices are is worked out on the host, by the same code as for the
 * processor (kernels/device/space.c), in pinned memory; that goes down in one copy, and an array of it lies on the device at the same
 * distance from the beginning: its twin. Choices and what else the host is given come back in one copy.
 *
 * Two queues work beside each other: programs that fill slots run ahead of those that decode (order.c). A run is waited for where the
 * host is given something, and where the memory of its frame is wanted again. */
#ifndef RILL_CUDA_EXECUTOR_H
#define RILL_CUDA_EXECUTOR_H

#include "launch.h"
#include "module.h"

/* How an operation is put into the queue, where that is worked out when the plan is finished; see fuse.c. */
typedef struct cuda_fused {
    gpu_matrix matrix; /* of a product or a scan */
    int whole;         /* product: cuBLASLt adds and cuts off, and the output goes where it belongs: one launch */
    int read_rounded;  /* product: its rows are there in the matrix' type */
    int with_next; /* product: it is one with the next, of the same rows: -1, whose columns come first; 1, behind; 0: it is not */
    int done_before; /* product: by the one before */
    gpu_type rounds; /* what the output is written in; GPU_F32: as it is alone */
    int dropped;     /* nothing reads the output in fp32 */
} cuda_fused;

typedef struct cuda_program {
    cuda_fused *op;      /* [ops] */
    size_t *rounded;     /* [buffers] bytes of a row in the products' type; 0: there is none */
    size_t ops, buffers; /* that there is room for */
    int ahead;           /* its runs fill slots, ahead of those that decode: order.c */
} cuda_program;

/* plan->own: weights on the device. They are put down while the plan is built, in order. */
typedef struct cuda_plan {
    gpu_queue *queue;
    gpu_region memory;
    size_t used;
    char *staging; /* pinned */
    size_t staged;
    gpu_matrix *matrix; /* [matrices] weights; how to multiply with them is the operations' */
    size_t matrix_room;
    cuda_program *program; /* [programs] */
    size_t programs;
    const float **constant; /* [constants] */
    size_t constant_room;
} cuda_plan;

/* A list of a stream: the numbers of all slots' symbols. */
typedef struct cuda_lists {
    gpu_region ids;
    int32_t *first, *count; /* [slots] where a slot's begin, and how many it has room for */
    size_t first_room, count_room;
    dev_ranges ranges;
    size_t free_room;
} cuda_lists;

/* Runs alike, by what their launches follow from: see graph.c. */
typedef struct cuda_graph {
    gpu_graph *graph; /* NULL: not recorded yet */
    int64_t *key;     /* NULL: none */
    size_t length;    /* numbers of the key */
    uint64_t used;    /* when last */
} cuda_graph;
enum { CUDA_GRAPHS = 128, CUDA_REFUSALS = 3 };

/* A queue, and the values and work of its runs, which are done one after the other. */
typedef struct cuda_line {
    gpu_queue *queue;
    gpu_region values;
} cuda_line;

enum { CUDA_TURNS = 8 };

/* What is done ahead of decoding, numbered from 1 on; see order.c. */
typedef struct cuda_ahead {
    gpu_mark *mark[CUDA_TURNS]; /* behind number i, or one that came later: mark i % CUDA_TURNS */
    uint64_t turns;             /* so many have been put into the queue */
    uint64_t followed;          /* decoding comes behind these */
    uint64_t needed;            /* by every run that decodes */
    uint64_t *filled;           /* [slots] by which number */
    size_t filled_room;
    char *staging; /* pinned: what goes down outside runs */
    size_t staging_bytes, staged;
} cuda_ahead;

/* stream->own */
typedef struct cuda_stream {
    gpu_device *gpu;
    cuda_line decode, fill;
    cuda_ahead ahead;
    gpu_region *table;                   /* [tables], and `above` behind them */
    cuda_lists *list;                    /* [lists] */
    struct cuda_frame *frame;            /* [programs, DEV_GROUPS] */
    struct cuda_frame *late[DEV_GROUPS]; /* what is to be collected */
    cuda_graph graph[CUDA_GRAPHS];
    uint64_t runs;
    int64_t *key; /* of the run at work */
    size_t key_room;
    int refusals; /* of records that could not be had */
} cuda_stream;

/* Rows that an attention reads, per row of its space. */
typedef struct cuda_memory {
    rill_space space;
    const int32_t *of_first, *of_length, *of_slot; /* which it is, by what it was made of */
    int32_t *first, *length;                       /* [rows], host */
    size_t longest;
} cuda_memory;

/* A scan's steps, one behind the other: step t has the first live[t] inputs, longest first, and its rows from start[t] on. */
typedef struct cuda_scan {
    int32_t steps;
    int32_t *start, *live; /* [steps] */
    int32_t *read, *write; /* [units] rows of gates; of out */
    int32_t *place;        /* [inputs] where an input stands; -1: it has no units */
} cuda_scan;

/* What an operation that selects is asked, and where its answers come. */
typedef struct cuda_selection {
    int32_t *set;        /* [rows] or NULL */
    int32_t *entry;      /* [rows] entries of the column that a tag goes to, or NULL: the rows themselves */
    int32_t picks;       /* of the operation's rows */
    int32_t *pick_count; /* [1] */
    int32_t *pick_row, *pick_symbol, *pick_number; /* [picks] the last is the host's */
    int32_t *count, *action;                       /* [rows], [rows, M]: these come back */
    float *logp, *pick_logp;                       /* [rows, M], [picks] likewise */
} cuda_selection;

typedef struct cuda_run {
    rill_stream *stream;
    cuda_stream *own;
    struct cuda_frame *frame;
    cuda_line *line;
    gpu_queue *queue; /* the line's */
    const cuda_plan *weights;
    const cuda_program *fused;
    const dev_program *program;
    const rill_run_arguments *asked;
    rill_run_arguments arguments; /* with columns in pinned memory */
    dev_run inner;                /* as space.c has it */
    dev_block block;
    int recorded;                           /* the run is, or will be, recorded: sizes are rounded up */
    size_t slots;                           /* of the stream, rounded up likewise */
    size_t *most;                           /* [spaces + 1] rows that memory and launches are made for */
    size_t head_used;                       /* bytes of the layout that begin as zeros */
    size_t host_end, down_end, columns_end; /* parts of pinned memory, see run.c */
    size_t used;                            /* of what goes down */
    size_t back, back_end;                  /* what comes back */
    int32_t *counts;                        /* [spaces + 1] rows of each */
    uint8_t *seen;                          /* [indices] that name slots, see order.c */
    const int32_t **column;                 /* [columns] pinned */
    const int32_t **index;                  /* [indices] device; NULL: to be made there */
    cuda_memory *memory;                    /* [memories] */
    size_t memories, *memory_of;            /* [ops] which, of attentions */
    cuda_scan *scan;                        /* [ops] */
    cuda_selection *selection;              /* [ops] */
    uint64_t *legal;                        /* the host's sets, pinned, or NULL */
    size_t *path_total;                     /* [paths] entries */
    int32_t **path_entry;                   /* [paths] device */
    int32_t **list_first, **list_length;    /* [lists] by slot, pinned; NULL: not used */
    size_t *list_longest;                   /* [lists] */
    int32_t *slot_first; /* [slots] first rows, pinned, where slots follow from a column that the run writes; or NULL */
    float *watched;      /* [n, ld_watched] comes back, or NULL */
    char **value;        /* [buffers] device */
    char **rounded;      /* [buffers] the same rows in the products' type, or NULL */
    char *panel, *sums, *part, *choices,
        *log_norm; /* device: inputs of products, their outputs, attention's and choices' memory */
    char *scan_h, *scan_c, *scan_gates;
} cuda_run;

/* A run's memory. It is the run's until its mark is reached, and its answers are delivered. */
typedef struct cuda_frame {
    char *pinned; /* the run's arrays, and behind them what comes back */
    size_t pinned_bytes;
    gpu_region twin;
    char *head; /* the run's layout */
    size_t head_room;
    gpu_mark *mark;
    int under_way; /* the mark has been set and not waited for */
    int32_t group; /* 1 or 2; 0: none */
    rill_run_arguments asked;
    rill_selection selection;
    cuda_run run;
} cuda_frame;

/* In what a device multiplies weights of a type. */
static inline gpu_type cuda_type_of(rill_weight_type type)
{
    return type == RILL_WEIGHT_BF16 ? GPU_BF16 : type == RILL_WEIGHT_F16 ? GPU_F16 : GPU_F32;
}

/* --- module.c, memory.c --------------------------------------------------------------------------------------------- */

rill_status cuda_fail(rill_context *ctx, const char *what, const char *why);
rill_status cuda_grow_region(const rill_stream *stream, gpu_region *region, size_t bytes, const char *what);

/* Members of dev_module. */
rill_status cuda_stream_open(rill_stream *stream);
void cuda_stream_close(rill_stream *stream);
rill_status cuda_grow(rill_stream *stream, size_t at, size_t rows);
rill_status cuda_write(rill_stream *stream, size_t at, size_t first, size_t n, const float *rows);
rill_status cuda_read(const rill_stream *stream, size_t at, size_t first, size_t n, float *rows);
rill_status cuda_list(rill_stream *stream, size_t at, int32_t slot);

/* Room for so many bytes of pinned memory; what was there is lost. */
rill_status cuda_pin(const rill_stream *stream, char **pinned, size_t *room, size_t bytes);

/* --- order.c ------------------------------------------------------------------------------------------------------- */

/* Which programs run ahead: cuda_program.ahead. */
void cuda_choose_ahead(const rill_plan *plan);
rill_status cuda_order_open(rill_stream *stream);
void cuda_order_close(rill_stream *stream); /* no queue works any more */
/* Work outside runs, in the queue ahead: pinned memory for so many bytes that go down, and when they are in the queue. Every run comes
 * behind them, or with a slot those that read it. */
rill_status cuda_stage(const rill_stream *stream, int32_t slot, size_t bytes, char **out);
rill_status cuda_staged(rill_stream *stream, int32_t slot);
enum { CUDA_EVERY_SLOT = -1 };
/* Have the run come behind what it needs; its arrays are made. Then that it is in the queue. */
rill_status cuda_begin_turn(cuda_run *r);
void cuda_end_turn(cuda_run *r);
/* Wait for the frame's run, and deliver its answers. */
rill_status cuda_finish(rill_stream *stream, cuda_frame *frame);
rill_status cuda_collect(rill_stream *stream, int32_t group);

/* --- sizes.c ------------------------------------------------------------------------------------------------------ */

/* A member of dev_module. */
void cuda_add_sizes(const rill_plan *plan, rill_plan_bytes *bytes);

/* --- run.c -------------------------------------------------------------------------------------------------------- */

rill_status cuda_run_program(rill_stream *stream, const dev_program *program, const rill_run_arguments *arguments);

/* Where an array of the run's pinned memory lies on the device. */
static inline void *cuda_twin(const cuda_run *r, const void *host)
{
    return host != NULL ? r->frame->twin.at + ((const char *)host - r->frame->pinned) : NULL;
}

/* Arrays of pinned memory, of what goes down and of what comes back; there is room, see run.c. */
static inline void *cuda_take(cuda_run *r, size_t count, size_t size)
{
    void *array = r->frame->pinned + r->used;
    r->used += dev_lines(count * size);
    return array;
}

static inline void *cuda_take_back(cuda_run *r, size_t count, size_t size)
{
    void *array = r->frame->pinned + r->back_end;
    r->back_end += dev_lines(count * size);
    return array;
}

/* --- graph.c ------------------------------------------------------------------------------------------------------ */

/* Whether runs of a program are recorded: those whose work follows from numbers of rows that come again. */
int cuda_can_record(const cuda_run *r);
/* The number itself, or for a run that is recorded the next of a few. */
size_t cuda_round(const cuda_run *r, size_t n);
/* Put the run into the queue by `put`, or replay what it put there before in a run alike. */
rill_status cuda_replay(cuda_run *r, rill_status (*put)(cuda_run *));
void cuda_graphs_free(rill_stream *stream);

/* --- index.c ------------------------------------------------------------------------------------------------------ */

/* Whether an index follows from a column that the run itself writes. */
int cuda_is_written(const dev_program *program, int32_t index);
/* Work out the indices that the host knows, and what the others are made of. */
void cuda_make_indices(cuda_run *r);
/* Put an index into the queue unless it is there; the columns that it follows from are written by now. */
void cuda_queue_index(cuda_run *r, int32_t index);

/* --- fuse.c ------------------------------------------------------------------------------------------------------- */

/* How operations are put into the queue, for all programs of a plan. Failures are the plan's. */
void cuda_fuse(rill_plan *plan);
void cuda_fused_free(rill_plan *plan);

static inline const cuda_fused *cuda_fused_of(const cuda_run *r, const dev_op *op)
{
    return r->fused->op + (op - r->program->op);
}

/* Bytes that a row of an operation moves beyond those of one by one in fp32, mostly fewer. */
double cuda_fused_bytes(const cuda_run *r, const dev_op *op);

/* --- ops.c -------------------------------------------------------------------------------------------------------- */

gpu_rows cuda_rows(const cuda_run *r, rill_space space);
const int32_t *cuda_index(cuda_run *r, int32_t index);
gpu_operand cuda_operand(cuda_run *r, const dev_operand *operand);
const float *cuda_constant(const cuda_run *r, rill_constant constant);
gpu_lists cuda_lists_of(const cuda_run *r, rill_list list);
void cuda_queue_op(cuda_run *r, const dev_op *op, size_t number);

/* A product of rows [x, x2], of which x2 has so many columns. What else it is made of is the caller's. */
void cuda_queue_product(cuda_run *r, gpu_product product, gpu_rows rows, gpu_operand x, gpu_operand x2, int32_t width2);

/* --- scan.c ------------------------------------------------------------------------------------------------------- */

size_t cuda_scan_bytes(size_t units, size_t inputs);
void cuda_make_scan(cuda_run *r, const dev_op *op, cuda_scan *scan);
void cuda_queue_scan(cuda_run *r, const dev_op *op, const cuda_scan *scan);

/* --- answers.c ---------------------------------------------------------------------------------------------------- */

/* Bytes of the legal sets that go down, and of all that comes back but columns; bytes of work on the device. */
size_t cuda_legal_bytes(const cuda_run *r);
size_t cuda_answer_bytes(const cuda_run *r);
size_t cuda_choices_work(const cuda_run *r, const dev_op *op);
void cuda_make_legal(cuda_run *r);
void cuda_make_selection(cuda_run *r, const dev_op *op, cuda_selection *selection);
void cuda_queue_best(cuda_run *r, const dev_op *op, const cuda_selection *selection);
void cuda_queue_mix(cuda_run *r, const dev_op *op, const cuda_selection *selection);
/* What came back, to the host's arrays. */
void cuda_deliver(cuda_run *r);

#endif
