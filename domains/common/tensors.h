/* tensors.h: what stands behind rill/safetensors.h. Inner header of the readers of tensors.
 *
 * A set of tensors comes from one file or several, its parts. Whatever their form, a reader makes entries of what a part's header says:
 * after opening, an entry's bytes lie inside its part and are exactly as many as its shape and type call for.
 *
 * tensors.c opens, finds and reads; safetensors.c makes the entries of a file; shards.c reads the index of several files.
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
} tensor_entry;

struct rill_tensors {
    rill_blocks blocks;
    const char *name; /* what errors call the whole: the part's name, or the index's */
    tensor_part *part;
    size_t parts;
    tensor_entry *entry; /* [count], by name once open */
    size_t count;
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

/* --- shards.c ----------------------------------------------------------------------------------------------------- */

/* Open the files that the index names, which `t` has its name from, and make entries of them, which are those of the index. */
rill_status shards_read(rill_tensors *t);

#endif
