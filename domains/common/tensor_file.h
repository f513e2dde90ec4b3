/* tensor_file.h: what stands behind rill/safetensors.h. Inner header of the readers of tensors.
 *
 * A set of tensors comes from one file or several, its parts. Whatever their form, a reader makes entries of what a part's header says:
 * after opening, an entry's bytes lie inside its part and are exactly as many as its shape and type call for.
 *
 * tensor_file.c opens, finds and reads; safetensors.c makes the entries of a file; shards.c reads the index of several files; ct2_file.c
 * makes the entries of CTranslate2's model.bin.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_TENSOR_FILE_H
#define RILL_COMMON_TENSOR_FILE_H

#include "arena.h"
#include "rill/file.h"
#include "rill/safetensors.h"

typedef struct tensor_part {
    rill_file file;                /* all zero when ... */
    const char *bytes;             /* ... the bytes are the caller's */
    const char *name;              /* what errors call it; in blocks */
    size_t size;                   /* of the file */
    size_t data_offset, data_size; /* the data section: where it begins */
    void *header_json;             /* a json_t whose names the entries borrow */
} tensor_part;

typedef struct tensor_entry {
    rill_file_tensor tensor; /* the first: what is handed out */
    size_t part;
    size_t scales_offset,
        n_scales; /* of integers: bytes of the data where fp32 scales begin, and how many: one, one for each row, or none */
    size_t zero_rows;      /* rows of zeros behind those of the file, which the shape counts */
    const char *base_name; /* the entry that this is a view of, else NULL */
} tensor_entry;

struct rill_tensor_file {
    rill_arena arena;
    const char *name; /* what errors call the whole: the part's name, or the index's */
    tensor_part *part;
    size_t n_parts;
    tensor_entry *entries; /* [count], by name once open */
    size_t count, capacity;
    const char *ct2_spec; /* of CTranslate2's form what the model is, else NULL */
    uint32_t ct2_revision;
};

/* --- tensor_file.c ---------------------------------------------------------------------------------------------------- */

typedef struct tensor_type {
    const char *name;
    size_t bytes;
    int accept_flag; /* RILL_TENSOR_*, 0 for those that are never read */
} tensor_type;

const tensor_type *tensor_type_find(const char *name); /* NULL: none */

/* One sentence about one tensor of a part. */
rill_status tensor_fail(const rill_tensor_file *t, const tensor_part *part, const char *name, const char *why);

/* The bytes at `at` of a part's file. */
rill_status tensor_part_read(const tensor_part *part, size_t offset, size_t n, void *out);

/* Room for so many entries more, which may move. */
rill_status tensor_reserve_entries(rill_tensor_file *t, size_t more);

/* Give rows `from` .. `from + rows - 1` of the tensor `of` a name of their own, with rows of zeros behind them. Reading it reads a part
 * of `of`, which errors name. What was handed out before may have moved.
 *   RILL_OK · RILL_ERR_FORMAT (no such tensor, not so many rows, the name is taken) · RILL_ERR_MEMORY */
rill_status tensor_add_view(rill_tensor_file *t, const char *name, const char *base_name, size_t from, size_t rows,
                            size_t zeros);

/* Bring the entries into the order that they are searched in. */
void tensor_sort_entries(rill_tensor_file *t);

/* *out = a copy of the text that lives as long as the set. */
rill_status tensor_copy_string(rill_tensor_file *t, const char *text, const char **out);

/* Room for so many parts, all zero; the first is opened by tensor_part_open(), and so on. */
rill_status tensor_alloc_parts(rill_tensor_file *t, size_t count);

/* Part i is the file at `path`, or the bytes where there are some. */
rill_status tensor_part_open(rill_tensor_file *t, size_t i, const char *path, const char *bytes, size_t length);

/* --- safetensors.c ------------------------------------------------------------------------------------------------ */

/* Make entries of all that the open parts' headers say, sorted. */
rill_status safetensors_read(rill_tensor_file *t);
void safetensors_free_header(tensor_part *part); /* its header */

/* --- ct2_file.c -------------------------------------------------------------------------------------------------------- */

/* Whether the first bytes of a file are those of CTranslate2's form. */
int is_ct2_file(const unsigned char *bytes, size_t length);

/* Make entries of all that the only part says. */
rill_status ct2_read(rill_tensor_file *t);

/* --- shards.c ----------------------------------------------------------------------------------------------------- */

/* Open the files that the index names, which `t` has its name from, and make entries of them, which are those of the index. */
rill_status shards_read(rill_tensor_file *t);

#endif
