/* tensors.h: what stands behind rill/safetensors.h. Inner header of the readers of tensors.
 *
 * A set of tensors comes from one file or several, its parts. Whatever their form, a reader makes entries of what a part's header says:
 * after opening, an entry's bytes lie inside its part and are exactly as many as its shape and type call for.
 *
 * tensors.c opens, finds and reads; safetensors.c makes the entries of a file; shards.c reads the index of several files; ct2.c makes
 * the entries of CTranslate2's model.bin.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_TENSORS_H
#define RILL_COMMON_TENSORS_H

#include "blocks.h"
#include "rill/file.h"
#include "rill/safetensors.h"

typedef struct tensor_part {
    rill_file file;         /* all zero when ... */
    const char *bytes;      /* ... the bytes are the caller's */
    const char *name;       /* what errors call it; in blocks */
    size_t size;            /* of the file */
    size_t data, data_size; /* the data section: where it begins */
    void *header;           /* a json_t whose names the entries borrow */
} tensor_part;

typedef struct tensor_entry {
    rill_tensor tensor; /* the first: what is handed out */
    size_t part;
    size_t scale,
        scales; /* of integers: bytes of the data where fp32 scales begin, and how many: one, one for each row, or none */
    size_t zeros;   /* rows of zeros behind those of the file, which the shape counts */
    const char *of; /* the entry that this is a view of, else NULL */
} tensor_entry;

struct rill_tensors {
    rill_blocks blocks;
    const char *name; /* what errors call the whole: the part's name, or the index's */
    tensor_part *part;
    size_t parts;
    tensor_entry *entry; /* [count], by name once open */
    size_t count, room;
    const char *spec; /* of CTranslate2's form what the model is, else NULL */
    uint32_t revision;
};

/* --- tensors.c ---------------------------------------------------------------------------------------------------- */

typedef struct tensor_type {
    const char *name;
    size_t bytes;
    int flag; /* RILL_TENSOR_*, 0 for those that are never read */
} tensor_type;

const tensor_type *tensor_type_named(const char *name); /* NULL: none */

/* One sentence about one tensor of a part. */
rill_status tensor_fail(const rill_tensors *t, const tensor_part *part, const char *name, const char *why);

/* The bytes at `at` of a part's file. */
rill_status tensor_get(const tensor_part *part, size_t at, size_t n, void *out);

/* Room for so many entries more, which may move. */
rill_status tensor_more(rill_tensors *t, size_t more);

/* Give rows `from` .. `from + rows - 1` of the tensor `of` a name of their own, with rows of zeros behind them. Reading it reads a part
 * of `of`, which errors name. What was handed out before may have moved.
 *   RILL_OK · RILL_ERR_FORMAT (no such tensor, not so many rows, the name is taken) · RILL_ERR_MEMORY */
rill_status tensor_view(rill_tensors *t, const char *name, const char *of, size_t from, size_t rows, size_t zeros);

/* Bring the entries into the order that they are searched in. */
void tensor_sort(rill_tensors *t);

/* *out = a copy of the text that lives as long as the set. */
rill_status tensor_text(rill_tensors *t, const char *text, const char **out);

/* Room for so many parts, all zero; the first is opened by tensor_part_open(), and so on. */
rill_status tensor_parts(rill_tensors *t, size_t count);

/* Part i is the file at `path`, or the bytes where there are some. */
rill_status tensor_part_open(rill_tensors *t, size_t i, const char *path, const char *bytes, size_t length);

/* --- safetensors.c ------------------------------------------------------------------------------------------------ */

/* Make entries of all that the open parts' headers say, sorted. */
rill_status safetensors_read(rill_tensors *t);
void safetensors_release(tensor_part *part); /* its header */

/* --- ct2.c -------------------------------------------------------------------------------------------------------- */

/* Whether the first bytes of a file are those of CTranslate2's form. */
int ct2_is(const unsigned char *bytes, size_t length);

/* Make entries of all that the only part says. */
rill_status ct2_read(rill_tensors *t);

/* --- shards.c ----------------------------------------------------------------------------------------------------- */

/* Open the files that the index names, which `t` has its name from, and make entries of them, which are those of the index. */
rill_status shards_read(rill_tensors *t);

#endif
