/* Tensors of a model file by name: safetensors (one file or sharded), and CTranslate2's model.bin.
 *
 * Format of safetensors (github.com/huggingface/safetensors, README): uint64 length of the header, little-endian; the header, JSON of
 * name -> {"dtype", "shape", "data_offsets": [begin, end]}, optional "__metadata__"; the data. A sharded model has an index
 * (transformers' save_pretrained()): {"weight_map": {tensor: file}}.
 * Opening checks all claims of the files against their sizes: no gaps, overlaps or duplicate names. model.bin: docs/mt.md.
 *
 * Order of use: rill_tensor_file_open(), rill_tensor_file_read() per tensor, rill_tensor_file_close().
 * F32, F16, BF16 and CTranslate2's scaled integers are converted to fp32; other types cannot be read.
 * Errors name file and tensor, what was expected and what was found.
 * Memory: tensors are read into the caller's memory. Threads: one at a time.
 * Stability: stable within a major version. */
#ifndef RILL_SAFETENSORS_H
#define RILL_SAFETENSORS_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_tensor_file rill_tensor_file;

enum { RILL_TENSOR_MAX_RANK = 8 };

typedef struct rill_file_tensor {
    const char *name;                    /* name of the tensor, valid until close */
    const char *dtype;                   /* element type as in the file, "F32"; a constant string */
    int rank;                            /* number of dimensions, 0..RILL_TENSOR_MAX_RANK */
    int64_t shape[RILL_TENSOR_MAX_RANK]; /* [rank] size of each dimension */
    size_t begin, end;                   /* the tensor's byte range in the file's data section */
    int read;                            /* 1: rill_tensor_file_read() was called for this tensor */
} rill_file_tensor;

/* Element types accepted by a caller of rill_tensor_file_read(). */
enum {
    RILL_TENSOR_F32 = 1,
    RILL_TENSOR_F16 = 2,
    RILL_TENSOR_BF16 = 4,
    RILL_TENSOR_SCALED = 8, /* CTranslate2's integers with scales */
    RILL_TENSOR_FLOATS = 15,
};

/* Open a model file. A path NAME.index.json, or a NAME with only that file, opens all files of the index; a folder opens its
 * model.safetensors.
 *   *out: closed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
RILL_API rill_status rill_tensor_file_open(rill_tensor_file **out, rill_context *ctx, const char *path);

/* Open a safetensors file in memory. bytes: borrowed until close; name: for errors, copied. */
RILL_API rill_status rill_tensor_file_parse(rill_tensor_file **out, rill_context *ctx, const char *name,
                                            const char *bytes, size_t length);

RILL_API void rill_tensor_file_close(rill_tensor_file *tensors); /* closing NULL does nothing */

/* Return the tensor with this name, or NULL without recording an error. Valid until close. */
RILL_API const rill_file_tensor *rill_tensor_file_find(const rill_tensor_file *tensors, const char *name);

/* Return the number of tensors, or tensor i in byte order of names. */
RILL_API size_t rill_tensor_file_count(const rill_tensor_file *tensors);
RILL_API const rill_file_tensor *rill_tensor_file_tensor(const rill_tensor_file *tensors, size_t i);

/* Set *same to 1 if two tensors have equal type, shape and bytes, else to 0.
 *   RILL_OK · RILL_ERR_IO */
RILL_API rill_status rill_tensor_file_same_values(const rill_tensor_file *tensors, const rill_file_tensor *a,
                                                  const rill_file_tensor *b, int *same);

/* Read a tensor as fp32, row-major.
 *   accept      accepted element types, RILL_TENSOR_*
 *   shape       [rank] expected shape, rank 1..RILL_TENSOR_MAX_RANK
 *   out         [product of shape] the caller's; undefined on failure
 *   RILL_OK · RILL_ERR_FORMAT (absent, other type or shape, or a value not finite) · RILL_ERR_IO */
RILL_API rill_status rill_tensor_file_read(const rill_tensor_file *tensors, const char *name, int accept, int rank,
                                           const int64_t *shape, float *out);

RILL_C_END

#endif
