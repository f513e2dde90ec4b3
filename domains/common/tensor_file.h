/* Structs of rill/safetensors.h, for the readers of safetensors and CTranslate2's model.bin. A part is one file of a model.
 * After opening, an entry's bytes lie inside its part and match its shape and type. */
#pragma once

#include "domain_base.h"
#include "rill/file.h"
#include "rill/safetensors.h"

typedef struct tensor_part {
    rill_file file;                /* the open file of this part; all zero if `bytes` is set */
    const char *bytes;             /* content in the caller's memory; NULL: the content is in `file` */
    const char *name;              /* name of the part for messages; in the arena */
    size_t size;                   /* size of the file, in bytes */
    size_t data_offset, data_size; /* start and size of the data section of the file, in bytes */
    void *header_json;             /* safetensors: the parsed header, a json_t; the entries' names point into it */
} tensor_part;

typedef struct tensor_entry {
    rill_file_tensor tensor; /* the public part of the entry; must be the first member */
    size_t part;
    /* quantised integers: byte offset of the fp32 scales; number of scales: 1, one per row, or 0 without scales */
    size_t scales_offset, n_scales;
    float fixed_scale; /* not 0: the scale of all elements, which the file does not contain; n_scales is 1 */
    size_t zero_rows;  /* number of rows of zeros that follow the rows in the file; shape[0] counts them too */
    /* Name of the tensor whose bytes this entry shares (tensor_add_view()); NULL: the entry is no view. */
    const char *base_name;
} tensor_entry;

struct rill_tensor_file {
    rill_arena arena;
    const char *name; /* name for messages: the only file's, or that of the index if the model has several files */
    tensor_part *part;
    size_t n_parts;
    tensor_entry *entries; /* [count], sorted by name once open */
    size_t count;
    const char *ct2_spec;               /* CTranslate2 files: name of the specification; NULL for safetensors */
    uint32_t ct2_version, ct2_revision; /* version of the file format, revision of the specification */
};

/* --- defined in tensor_file.c ----------------------------------------------------------------------------------------- */

typedef struct tensor_type {
    const char *name;
    size_t bytes;
    int accept_flag; /* the flag of this type in RILL_TENSOR_*; 0: tensors of this type cannot be read */
} tensor_type;

const tensor_type *tensor_type_find(const char *name); /* returns NULL if no type has this name */

/* Record an error that names the part, a file of the model, and the tensor. Returns RILL_ERR_FORMAT. */
#define TENSOR_FAIL(t, in_part, tensor_name, format, ...)                                                  \
    rill_fail((t)->arena.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\": " format, (in_part)->name, tensor_name, \
              ##__VA_ARGS__)

/* Read n bytes of a part's file, from position `offset` on. */
rill_status tensor_part_read(const tensor_part *part, size_t offset, size_t n, void *out);

/* Add an entry `name`: rows from..from + rows - 1 of the tensor `base_name`, then `zeros` rows of zeros. Errors name the base tensor.
 * Pointers to entries may become invalid.
 *   RILL_OK · RILL_ERR_FORMAT (no such tensor, too few rows, duplicate name) · RILL_ERR_MEMORY */
rill_status tensor_add_view(rill_tensor_file *t, const char *name, const char *base_name, size_t from, size_t rows,
                            size_t zeros);

/* Find an entry by name among the first `count` entries, which must be sorted by name. Returns NULL if there is none. */
tensor_entry *tensor_find_entry(const rill_tensor_file *t, size_t count, const char *name);

/* Sort the entries by name, for lookup. */
void tensor_sort_entries(rill_tensor_file *t);

/* Set *out to a copy of the text, which lives until the file `t` is closed. */
rill_status tensor_copy_string(rill_tensor_file *t, const char *text, const char **out);

/* Allocate `count` zeroed parts, one for each file; tensor_part_open() then opens each. */
rill_status tensor_alloc_parts(rill_tensor_file *t, size_t count);

/* Open part i: the file at `path`, or `bytes` [length] with the name `path`. */
rill_status tensor_part_open(rill_tensor_file *t, size_t i, const char *path, const char *bytes, size_t length);

/* --- defined in ct2_file.c --------------------------------------------------------------------------------------------- */

/* Returns 1 if the first `length` bytes of a file look like a CTranslate2 model.bin, else 0. */
int is_ct2_file(const unsigned char *bytes, size_t length);

/* Read the variables and aliases of a model.bin, and add an entry for each. A model.bin is a single part. */
rill_status ct2_read(rill_tensor_file *t);

/* Read the scalar variable `name`, in low..high. Absent: `fallback`, or an error if that is NAN.
 *   RILL_OK · RILL_ERR_FORMAT (absent, not a number, out of range) · RILL_ERR_IO */
rill_status rill_ct2_number(rill_tensor_file *tensors, const char *name, double low, double high, double fallback,
                            double *out);
