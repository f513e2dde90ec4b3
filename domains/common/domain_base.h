/* Helpers of the built-in domains and the command.
 *
 * A rill_arena holds allocations with the same lifetime, aligned to 64 bytes. Zero-initialise it and set `ctx`. Threads: one at a time. */
#pragma once

#include "rill/device.h"
#include "rill/domain.h"
#include "rill/safetensors.h"

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Return the call's status (or exit code) from the enclosing function, unless it is RILL_OK (0). */
#define TRY(call)                                     \
    do {                                              \
        const int try_status = (call);                \
        if (try_status != RILL_OK) return try_status; \
    } while (0)

/* A variable with this attribute must be initialised. clear(&variable) is called wherever its scope is left. */
#define SCOPED(clear) __attribute__((cleanup(clear)))

/* Allocate a zeroed struct of `size` bytes, freed by rill_free(). what: its name in errors; out: a `T **`, *out NULL on failure.
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
rill_status rill_struct_alloc(rill_context *ctx, void *out, size_t size, const char *what);

/* A file that tools/embed.py has made part of the library. */
typedef struct rill_embedded_file {
    const char *name, *text;
    size_t length;
} rill_embedded_file;

/* --- arenas ------------------------------------------------------------------------------------------------------- */

/* The header of a block. It fills a cache line: the data after it stays aligned to 64 bytes. */
typedef struct rill_arena_block {
    struct rill_arena_block *prev;
    struct rill_arena_block *next;
    size_t bytes; /* size of the block, this header included */
} __attribute__((aligned(64))) rill_arena_block;

typedef struct rill_arena {
    rill_context *ctx;
    rill_arena_block *last;
} rill_arena;

/* Allocate `count` uninitialised elements of `size` bytes. what: the block's name in errors; out: a `T **`, set on success.
 *   RILL_OK · RILL_ERR_MEMORY (recorded; also if count * size overflows) */
rill_status rill_arena_alloc(rill_arena *arena, void *out, size_t count, size_t size, const char *what);

/* Set *out to a copy of the bytes, with a NUL after them. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_arena_copy(rill_arena *arena, const char *bytes, size_t length, const char *what, const char **out);

/* Free all blocks. The arena is then empty and can be used again. */
void rill_arena_clear(rill_arena *arena);

/* Grow an array, a pointer that is NULL at first, to `count` elements. The array may move; its content is kept. what: its name in errors
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_arena_grow(rill_arena *arena, void **array, size_t count, size_t size, const char *what);
#define GROW(arena, array, count, what)                                      \
    ((array) != NULL && (count) <= rill_arena_bytes(array) / sizeof *(array) \
         ? RILL_OK                                                           \
         : rill_arena_grow((arena), (void **)&(array), (count), sizeof *(array), (what)))

/* Append `value` to a growable array and increment `count`. If memory runs out, the enclosing function returns RILL_ERR_MEMORY. */
#define PUSH(arena, array, count, value, what)            \
    do {                                                  \
        TRY(GROW((arena), (array), (count) + 1, (what))); \
        (array)[(count)++] = (value);                     \
    } while (0)

/* Returns the capacity in bytes of an array of an arena. */
static inline size_t rill_arena_bytes(const void *array)
{
    const rill_arena_block *block = (const rill_arena_block *)array;
    return block[-1].bytes - sizeof *block;
}

/* --- options of opening a model ----------------------------------------------------------------------------------- */

/* Entries of rill_domain.options. `words`: the allowed data types, e.g. "f32|bf16|f16|int8". */
/* clang-format off */
#define RILL_WEIGHTS_OPTION(words)                                                                                                        \
    {"weights", words, "f32", "number type of the weights in memory", RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, 0, 0,                       \
     "compute-type quantization"}
#define RILL_DEVICE_OPTIONS                                                                                                               \
    {"device", "NAME", "cpu",                                                                                                             \
     "where the model runs: cpu, cuda (a GPU) or auto; cuda:NUMBER is one GPU of several, cuda:0,cuda:1 are two "                         \
     "that decode in parallel, auto is a GPU if one can be used, else cpu", RILL_OPTION_TEXT, RILL_OPTION_MODEL, 0, 0, 0, NULL},          \
    {"fast", "", "", "on a GPU, use cuBLASLt's fastest matrix products, tf32 for f32: results may then depend on the batch",              \
     RILL_OPTION_SWITCH, RILL_OPTION_MODEL, 0, 0, 0, NULL}
/* An entry of rill_domain.input_options. Inputs without this option use rill_open_options.tokenized. */
#define RILL_TOKENIZED_OPTION                                                                                                             \
    {"tokenized", "", "", "inputs are tokens separated by spaces, in the model's own form", RILL_OPTION_SWITCH, RILL_OPTION_MODEL,        \
     0, 0, 1, NULL}
/* clang-format on */

/* Open the device of the options `device`, `fast` and `weights`, and an empty network on it. A model path is required, domain arguments
 * are refused.
 *   RILL_OK · RILL_ERR_OPTION (the message names `domain`) · RILL_ERR_MEMORY */
rill_status rill_options_network(rill_context *ctx, const char *domain, const rill_open_options *options,
                                 rill_device **device, rill_network **network);

/* Returns the device's description and the sizes of the network's tables. Appends ", on DEVICE" to `description` (`size` bytes), except on
 * the CPU. */
rill_domain_info rill_network_info(const rill_device *device, const rill_network *network, char *description,
                                   size_t size);

/* Members of a rill_domain whose runner (state of a decoding thread) begins with a rill_session pointer (rill/device.h). */
#define RILL_RUNNER_CALLBACKS                                                                             \
    .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_domain), .drop = rill_runner_drop,        \
    .profile = rill_runner_profile, .profile_row = rill_runner_profile_row, .limits = rill_runner_limits, \
    .graph_runs = rill_runner_graph_runs

/* --- weights: tensor_file.c --------------------------------------------------------------------------------------- */

/* The state of loading a model's weights. The caller sets the first five members; the others start as zero. */
typedef struct rill_loader {
    rill_context *ctx;
    const char *directory;
    rill_network *network;
    rill_arena *arena;     /* freed with the model: holds the arrays that the network borrows */
    rill_weight_type type; /* data type to which the network's matrices are packed */
    /* temporary memory for tensors that are copied into a packed matrix; the caller clears it when the matrix is packed */
    rill_arena temp;
    rill_tensor_file *tensors;
    rill_text path; /* path of the file that was opened last, for messages */
    char name[384]; /* buffer of rill_loader_name() */
} rill_loader;

/* Returns the formatted name of a tensor, valid until the next call. */
#define rill_loader_name(l, ...) (rill_print((l)->name, sizeof(l)->name, __VA_ARGS__), (l)->name)

/* Set l->path to a file of the directory, and open it as l->tensors.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_loader_open(rill_loader *l, const char *file);
void rill_loader_close(rill_loader *l); /* frees everything except `arena` */

/* Read a tensor as rill_weights_read() does: rill_load_floats() into l->temp, the others into l->arena.
 * rill_load_constant() also makes it a constant of the network. */
rill_status rill_load_floats(rill_loader *l, const char *name, size_t rows, size_t columns, float **out);
rill_status rill_load_kept(rill_loader *l, const char *name, size_t rows, size_t columns, float **out);
rill_status rill_load_constant(rill_loader *l, const char *name, size_t rows, size_t columns, rill_constant *out);

/* Add the n x k matrix `w`, of row stride `stride` floats, to the network, which packs a copy as l->type. */
rill_matrix rill_load_matrix(const rill_loader *l, size_t n, size_t k, const float *w, size_t stride);

/* Returns the number of n bytes, at most 8, in little-endian order. */
static inline uint64_t rill_little_endian(const void *bytes, size_t n)
{
    uint64_t value = 0;
    while (n-- > 0) value = value << 8 | ((const unsigned char *)bytes)[n];
    return value;
}

/* Returns the number of elements. Opening has checked that the file holds them, so allocating as many is safe. */
static inline size_t rill_weights_n_values(const rill_file_tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= (size_t)tensor->shape[i];
    return count;
}

/* Read a tensor as fp32 into the arena. Shape: [rows, columns], or [rows] if columns is 0. The size is checked before allocating.
 *   RILL_OK · RILL_ERR_FORMAT (as rill_tensor_file_read()) · RILL_ERR_MEMORY */
rill_status rill_weights_read(const rill_tensor_file *tensors, rill_arena *arena, const char *name, size_t rows,
                              size_t columns, float **out);

/* The two steps of rill_weights_read(), with its statuses: check the size, without memory; read the tensor to `out`. */
rill_status rill_weights_check_size(const rill_tensor_file *tensors, const char *name, size_t rows, size_t columns);
rill_status rill_weights_read_into(const rill_tensor_file *tensors, const char *name, size_t rows, size_t columns,
                                   float *out);

/* Fail if the file has a tensor that was not read: config.json then describes another model.
 *   is_optional   returns 1 for a tensor that may stay unread; NULL: none may
 *   RILL_OK · RILL_ERR_FORMAT */
rill_status rill_loader_check_all_read(const rill_loader *l, int (*is_optional)(const char *name));

/* --- rows (one per hypothesis) ------------------------------------------------------------------------------------ */

/* Run a graph on the rows of a step or score call. columns: its input columns; selection: the top-k operation, or NULL. Returns as
 * rill_session_run(). */
rill_status rill_rows_run(rill_session *session, rill_graph graph, const rill_rows *rows, const int32_t *const *columns,
                          const rill_selection *selection);

/* Fill two columns [n] for networks that read the parent's state.
 *   parent_or_self   node of the parent; for an empty hypothesis, its own node
 *   root_slot        slot of an empty hypothesis; else -1 */
void rill_rows_parents(const rill_rows *rows, int32_t *parent_or_self, int32_t *root_slot);

/* Convert a score request to a rill_selection. It borrows the arrays of `req` and `result`, which must outlive it. */
rill_selection rill_selection_for_request(const rill_score_request *req, const rill_score_result *result);

/* Fill the result of `row` with the only legal action, at log-probability 0. The network need not run for it. */
void rill_score_result_force(const rill_score_request *req, rill_score_result *result, int32_t row, int32_t action);

/* --- directories: folder.c ---------------------------------------------------------------------------------------- */

/* Returns 1 if the directory has the file, else 0. */
int rill_directory_has_file(const char *directory, const char *file);

/* Return RILL_ERR_NOT_FOUND, with a hint how to convert, if `directory` has a model in an unsupported format; else RILL_OK. Call after
 * looking for supported formats. */
rill_status rill_unsupported_format_fail(rill_context *ctx, const char *directory);
