/* Named tensors of a model file: safetensors, one file or several, and CTranslate2's model.bin.
 *
 * The safetensors format (github.com/huggingface/safetensors, README): 8 bytes, the header's length, little-endian; the header, a JSON
 * object of name -> {"dtype", "shape", "data_offsets": [begin, end]} and optionally "__metadata__"; then the data, to which the offsets are
 * relative. A sharded model has an index (transformers' save_pretrained()): {"weight_map": {name of a tensor: name of a file beside it}}.
 * Opening checks everything the files claim against their sizes: tensors cover the data without gap or overlap, names are unique, the index
 * matches its files. Reading needs no further checks. model.bin is checked in the same way (docs/mt.md). An alias is a tensor that shares
 * the bytes of another. Quantised integers are multiplied by their scales.
 *
 * Order of use: rill_tensor_file_open(), then for each tensor rill_tensor_file_read(), then rill_tensor_file_close().
 * Element types: the file may have any type of the format; F32, F16 and BF16 can be read and are converted to fp32.
 * Every error names the file and the tensor, what was expected and what was found.
 * Memory: each tensor is read into the caller's memory; header entries come from the context, the header's document from malloc(). One
 * thread at a time.
 * Stability: stable within a major version. */
#ifndef RILL_SAFETENSORS_H
#define RILL_SAFETENSORS_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_tensor_file rill_tensor_file;

enum { RILL_TENSOR_MAX_RANK = 8 };

typedef struct rill_file_tensor {
    const char *name;                    /* name of the tensor; valid until close */
    const char *dtype;                   /* element type as the file spells it, "F32"; a constant string */
    int rank;                            /* number of dimensions, 0..RILL_TENSOR_MAX_RANK */
    int64_t shape[RILL_TENSOR_MAX_RANK]; /* [rank] number of elements in each dimension */
    size_t begin, end;                   /* the tensor's bytes are [begin, end) of the file's data section */
    int read;                            /* 1: rill_tensor_file_read() has been called for this tensor */
} rill_file_tensor;

/* Element types that the caller of rill_tensor_file_read() accepts. */
enum {
    RILL_TENSOR_F32 = 1,
    RILL_TENSOR_F16 = 2,
    RILL_TENSOR_BF16 = 4,
    RILL_TENSOR_SCALED = 8, /* integers with scales, in CTranslate2's format */
    RILL_TENSOR_FLOATS = 15,
};

/* Open the file at `path`. If `path` ends with .index.json, or only `path`.index.json exists, open all files of the index. In a folder,
 * open model.safetensors if it exists. Errors name the file or the index.
 *   out: on success a reader the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
RILL_API rill_status rill_tensor_file_open(rill_tensor_file **out, rill_context *ctx, const char *path);

/* Open a safetensors file in memory; the bytes are borrowed until close. `name` replaces the path in errors and is copied. */
RILL_API rill_status rill_tensor_file_parse(rill_tensor_file **out, rill_context *ctx, const char *name,
                                            const char *bytes, size_t length);

RILL_API void rill_tensor_file_close(rill_tensor_file *tensors); /* NULL is allowed */

/* Return the tensor of that name; NULL if there is none, and then no error is recorded. Borrowed until close. */
RILL_API const rill_file_tensor *rill_tensor_file_find(const rill_tensor_file *tensors, const char *name);

/* Return the number of tensors (rill_tensor_file_count), or tensor number i in byte order of the names (rill_tensor_file_tensor). */
RILL_API size_t rill_tensor_file_count(const rill_tensor_file *tensors);
RILL_API const rill_file_tensor *rill_tensor_file_tensor(const rill_tensor_file *tensors, size_t i);

/* Set *same to 1 if two tensors of the files have equal type, shape and bytes, else to 0.
 *   RILL_OK · RILL_ERR_IO */
RILL_API rill_status rill_tensor_file_same_values(const rill_tensor_file *tensors, const rill_file_tensor *a,
                                                  const rill_file_tensor *b, int *same);

/* Convert the tensor `name` to fp32 in row-major order.
 *   accept      a set of RILL_TENSOR_*: element types that the caller accepts
 *   shape       [rank] the shape it must have, rank 1..RILL_TENSOR_MAX_RANK
 *   out         [product of shape] the caller's; content undefined on failure
 *   RILL_OK · RILL_ERR_FORMAT (the tensor is absent, has another type or shape, or a value that is not finite) · RILL_ERR_IO (the file
 *   cannot be read, or has become shorter) */
RILL_API rill_status rill_tensor_file_read(const rill_tensor_file *tensors, const char *name, int accept, int rank,
                                           const int64_t *shape, float *out);

RILL_C_END

#endif
