/* Reads CTranslate2's model.bin, strictly.
 *
 * Format (versions 1 to 6; sources: ctranslate2/specs/model_spec.py and model.cc), little-endian, sizes in bytes in parentheses:
 *   file      version (4), specification's name and revision (4), number of variables (4), variables, number of aliases (4), aliases
 *   name      length (2) with the NUL, the bytes, a NUL
 *   variable  name, number of dimensions (1), dimensions (4 each), type (1), number of data bytes (4), data
 *   alias     its name, the name of its variable
 *
 * Before version 4 a variable has an element size (1) and a number of elements (4) in place of type and number of data bytes. Before
 * version 3 there are no aliases. Version 1 has no specification. Models of revision 1 have OpenNMT-tf's tensor names.
 *
 * An integer weight NAME has fp32 scales NAME_scale, one per row or one for all: weight = integer / scale. A 16-bit matrix without scales
 * has the scale 1000.
 *
 * Invariant: an entry's bytes lie inside the file and match its shape and type; names are unique. */
#include "tensor_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    OLDEST_VERSION = 1,
    NEWEST_VERSION = 6,
    FIRST_WITH_SPEC = 2,
    FIRST_WITH_ALIASES = 3,
    FIRST_WITH_TYPES = 4,
    MAX_NAME_BYTES = 512, /* maximum bytes of a name with its NUL */
    /* maximum bytes of a variable before its data: name, shape, type, data size */
    MAX_VARIABLE_HEADER = 2 + MAX_NAME_BYTES + 1 + 4 * RILL_TENSOR_MAX_RANK + 1 + 4 + 16,
    MIN_VARIABLE = 2 + 2 + 1 + 1 + 4,
    MIN_ALIAS = 2 * (2 + 2),
};

/* --- reading the file --------------------------------------------------------------------------------------------- */

/* The reader's position in the file, and a buffer that holds the bytes from there on. */
typedef struct ct2_reader {
    rill_tensor_file *file;
    tensor_part *part;
    size_t offset; /* position in the file of buffer[0], in bytes */
    unsigned char buffer[MAX_VARIABLE_HEADER];
    size_t n_read, n_used; /* number of bytes in `buffer`; number of these that the reader has consumed */
} ct2_reader;

/* Advance the file offset by the bytes consumed from the buffer, and read the next bytes. */
static rill_status peek_bytes(ct2_reader *w)
{
    w->offset += w->n_used;
    w->n_used = 0;
    const size_t remaining = w->part->size - w->offset;
    w->n_read = remaining < sizeof w->buffer ? remaining : sizeof w->buffer;
    return tensor_part_read(w->part, w->offset, w->n_read, w->buffer);
}

static rill_status ct2_fail(const ct2_reader *w, const char *what, const char *expected)
{
    return rill_fail(w->file->arena.ctx, RILL_ERR_FORMAT, "%s: byte %zu: %s: %s", w->part->name, w->offset + w->n_used,
                     what, expected);
}

static rill_status take_integer(ct2_reader *w, size_t bytes, const char *what, uint32_t *out)
{
    *out = 0;
    if (w->n_read - w->n_used < bytes) return ct2_fail(w, what, "the file ends inside it");
    *out = (uint32_t)rill_little_endian(w->buffer + w->n_used, bytes);
    w->n_used += bytes;
    return RILL_OK;
}

/* Read a name and copy it. CTranslate2's names consist of Python identifiers and slashes. */
static rill_status take_name(ct2_reader *w, const char *what, const char **out)
{
    uint32_t length;
    TRY(take_integer(w, 2, what, &length));
    if (length < 2 || length > MAX_NAME_BYTES) return ct2_fail(w, what, "expected a name of 1 to 511 bytes and a NUL");
    if (w->n_read - w->n_used < length) return ct2_fail(w, what, "the file ends inside it");
    const char *name = (const char *)w->buffer + w->n_used;
    for (size_t i = 0; i < length; i++)
        if (i + 1 < length ? name[i] <= ' ' || name[i] > '~' : name[i] != '\0')
            return ct2_fail(w, what, "expected a name of printable letters that ends with a NUL");
    w->n_used += length;
    return tensor_copy_string(w->file, name, out);
}

/* Read a number of items. Fails if the rest of the file is too short for so many items of min_bytes. */
static rill_status take_count(ct2_reader *w, const char *what, size_t min_bytes, uint32_t *out)
{
    TRY(take_integer(w, 4, what, out));
    if (*out <= (w->part->size - w->offset - w->n_used) / min_bytes) return RILL_OK;
    return ct2_fail(w, what, "more than the rest of the file");
}

/* --- tensor names of revision 1 ------------------------------------------------------------------------------------ */

/* Replace the first `from` in `name`, which has `size` bytes of memory. Returns 1 if there was one. */
static int replace_first(char *name, size_t size, const char *from, const char *to)
{
    char *place = strstr(name, from);
    const size_t length = strlen(name), old = strlen(from), new = strlen(to);
    if (place == NULL || length - old + new >= size) return 0;
    memmove(place + new, place + old, strlen(place + old) + 1);
    memcpy(place, to, new);
    return 1;
}

/* Rename a variable of revision 1, which has OpenNMT-tf's names, as CTranslate2 does (models/transformer.cc). */
static rill_status rename_first_revision(ct2_reader *w, const char **name)
{
    static const char *const pairs[][2] = {
        {"transformer/", ""},
        {":0", ""},
        {"w_embs", "embeddings/weight"},
        {"kernel", "weight"},
        {"LayerNorm", "layer_norm"},
        {"dense", "projection"},
        {"conv1d_", "linear_"},
        {"conv1d", "linear_0"},
    };
    char text[MAX_NAME_BYTES + 64]; /* no replacement adds more than 11 bytes */
    snprintf(text, sizeof text, "%s", *name);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        replace_first(text, sizeof text, pairs[i][0], pairs[i][1]);
    if (strstr(text, "encoder") != NULL) {
        replace_first(text, sizeof text, "multi_head", "self_attention");
    } else if (!replace_first(text, sizeof text, "masked_multi_head", "self_attention")) {
        replace_first(text, sizeof text, "multi_head", "attention");
    }
    if (strlen(text) >= MAX_NAME_BYTES) return ct2_fail(w, "the name of a variable", "expected a shorter name");
    return tensor_copy_string(w->file, text, name);
}

/* --- variables ---------------------------------------------------------------------------------------------------- */

static rill_status take_shape(ct2_reader *w, rill_file_tensor *e)
{
    uint32_t rank, size;
    TRY(take_integer(w, 1, e->name, &rank));
    if (rank > RILL_TENSOR_MAX_RANK) return TENSOR_FAIL(w->file, w->part, e->name, "expected at most 8 dimensions");
    e->rank = (int)rank;
    for (uint32_t i = 0; i < rank; i++) {
        TRY(take_integer(w, 4, e->name, &size));
        e->shape[i] = size;
    }
    return RILL_OK;
}

/* Read the type of a variable: its number in CTranslate2's types.h or, before version 4, the number of bytes of an element. */
static rill_status take_type(ct2_reader *w, rill_file_tensor *e, const tensor_type **type)
{
    static const char *const by_number[6] = {"F32", "I8", "I16", "I32", "F16", "BF16"};
    static const char *const by_size[6] = {[1] = "I8", [2] = "I16", [4] = "F32"};
    const int typed = w->file->ct2_version >= FIRST_WITH_TYPES;
    uint32_t number;
    TRY(take_integer(w, 1, e->name, &number));
    const char *name = number >= sizeof by_size / sizeof *by_size ? NULL : (typed ? by_number : by_size)[number];
    if (name == NULL)
        return TENSOR_FAIL(w->file, w->part, e->name, "expected %s, found %u",
                           typed ? "a type from 0 to 5" : "elements of 1, 2 or 4 bytes", number);
    *type = tensor_type_find(name);
    e->dtype = (*type)->name;
    return RILL_OK;
}

static rill_status check_bytes(const ct2_reader *w, const rill_file_tensor *e, const tensor_type *type, size_t bytes)
{
    size_t expected = type->bytes;
    for (int i = 0; i < e->rank; i++)
        if (__builtin_mul_overflow(expected, (size_t)e->shape[i], &expected))
            return TENSOR_FAIL(w->file, w->part, e->name, "its shape is too large");
    if (bytes != expected)
        return TENSOR_FAIL(w->file, w->part, e->name, "its shape takes %zu bytes, it has %zu", expected, bytes);
    if (e->end <= w->part->size) return RILL_OK;
    return TENSOR_FAIL(w->file, w->part, e->name, "it ends at byte %zu of the file, which has %zu", e->end,
                       w->part->size);
}

static rill_status take_variable(ct2_reader *w)
{
    tensor_entry *entry = &w->file->entries[w->file->count];
    rill_file_tensor *e = &entry->tensor;
    const tensor_type *type = NULL;
    uint32_t count;
    const int typed = w->file->ct2_version >= FIRST_WITH_TYPES;
    *entry = (tensor_entry){0};
    TRY(peek_bytes(w));
    TRY(take_name(w, "the name of a variable", &e->name));
    if (w->file->ct2_revision == 1) TRY(rename_first_revision(w, &e->name));
    TRY(take_shape(w, e));
    TRY(take_type(w, e, &type));
    TRY(take_integer(w, 4, e->name, &count));
    const size_t bytes = typed ? count : (size_t)count * type->bytes;
    e->begin = w->offset + w->n_used;
    e->end = e->begin + bytes;
    TRY(check_bytes(w, e, type, bytes));
    w->offset = e->end;
    w->n_used = 0;
    w->file->count++;
    return RILL_OK;
}

/* --- aliases of variables ----------------------------------------------------------------------------------------- */

static rill_status take_alias(ct2_reader *w, size_t variables)
{
    const char *name, *target;
    rill_tensor_file *t = w->file;
    TRY(peek_bytes(w));
    TRY(take_name(w, "the name of an alias", &name));
    TRY(peek_bytes(w));
    TRY(take_name(w, "the target of an alias", &target));
    const tensor_entry *variable = tensor_find_entry(t, variables, target);
    if (variable == NULL)
        return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: alias \"%s\": there is no variable \"%s\"", w->part->name,
                         name, target);
    t->entries[t->count] = *variable;
    t->entries[t->count++].tensor.name = name;
    return RILL_OK;
}

static rill_status check_unique_names(const rill_tensor_file *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (strcmp(t->entries[i - 1].tensor.name, t->entries[i].tensor.name) == 0)
            return TENSOR_FAIL(t, t->part, t->entries[i].tensor.name, "it occurs twice");
    return RILL_OK;
}

/* --- scales of quantised weights ---------------------------------------------------------------------------------- */

static const char SCALE_SUFFIX[] = "_scale";

/* If entry i is the scale of an integer weight, record its place in the weight's entry; entry i then counts as read. */
static rill_status attach_scale(rill_tensor_file *t, size_t variables, size_t i)
{
    char name[MAX_NAME_BYTES];
    const rill_file_tensor *s = &t->entries[i].tensor;
    const size_t length = strlen(s->name), stem = length - (sizeof SCALE_SUFFIX - 1);
    if (length < sizeof SCALE_SUFFIX || strcmp(s->name + stem, SCALE_SUFFIX) != 0) return RILL_OK;
    memcpy(name, s->name, stem);
    name[stem] = '\0';
    tensor_entry *scaled = tensor_find_entry(t, variables, name);
    if (scaled == NULL || (strcmp(scaled->tensor.dtype, "I8") != 0 && strcmp(scaled->tensor.dtype, "I16") != 0))
        return RILL_OK;
    const size_t count = (s->end - s->begin) / sizeof(float),
                 rows = scaled->tensor.rank > 0 ? (size_t)scaled->tensor.shape[0] : 0;
    if (strcmp(s->dtype, "F32") != 0 || s->rank > 1 || (count != 1 && count != rows) || scaled->tensor.rank == 0)
        return TENSOR_FAIL(t, t->part, s->name, "expected one scale in F32, or one for each row");
    scaled->scales_offset = s->begin;
    scaled->n_scales = count;
    t->entries[i].tensor.read = 1; /* read together with the weight that it scales */
    return RILL_OK;
}

/* Set CTranslate2's fixed scale for a 16-bit matrix without one. */
static void set_missing_scales(rill_tensor_file *t, size_t variables)
{
    static const float SCALE_OF_16_BITS = 1000;
    for (size_t i = 0; i < variables; i++) {
        tensor_entry *e = &t->entries[i];
        if (e->n_scales > 0 || e->tensor.rank != 2 || strcmp(e->tensor.dtype, "I16") != 0) continue;
        e->n_scales = 1;
        e->fixed_scale = SCALE_OF_16_BITS;
    }
}

/* --- reading a whole file ----------------------------------------------------------------------------------------- */

int is_ct2_file(const unsigned char *bytes, size_t length)
{
    if (length < 4 || bytes[1] != 0 || bytes[2] != 0 || bytes[3] != 0) return 0;
    /* Byte 4 begins the specification's name; in version 1 the number of variables, which the first variable's name follows. */
    const size_t at = bytes[0] == 1 ? 8 : 4, name = length >= at + 2 ? bytes[at] + 256u * bytes[at + 1] : 0;
    if (at == 8 && length >= at && memcmp(bytes + 4, "\0\0\0", 4) == 0) return 0;
    if (name < 2 || at + 2 + name > length) return 0;
    for (size_t i = 0; i + 1 < name; i++)
        if (bytes[at + 2 + i] <= ' ' || bytes[at + 2 + i] > '~') return 0;
    return bytes[at + 2 + name - 1] == '\0';
}

static rill_status take_file_header(ct2_reader *w, uint32_t *variables)
{
    const uint32_t *version = &w->file->ct2_version;
    TRY(peek_bytes(w));
    TRY(take_integer(w, 4, "the version", &w->file->ct2_version));
    if (*version < OLDEST_VERSION || *version > NEWEST_VERSION)
        return rill_fail(w->file->arena.ctx, RILL_ERR_FORMAT,
                         "%s: expected version %d to %d of CTranslate2's format, found %u", w->part->name,
                         OLDEST_VERSION, NEWEST_VERSION, *version);
    w->file->ct2_spec = "TransformerBase"; /* version 1 does not store it: there was no other */
    w->file->ct2_revision = 1;
    if (*version >= FIRST_WITH_SPEC) {
        TRY(take_name(w, "the name of the specification", &w->file->ct2_spec));
        TRY(take_integer(w, 4, "the revision", &w->file->ct2_revision));
    }
    return take_count(w, "the number of variables", MIN_VARIABLE, variables);
}

rill_status ct2_read(rill_tensor_file *t)
{
    ct2_reader w = {.file = t, .part = t->part};
    uint32_t variables = 0, aliases = 0;
    t->part->data_size = t->part->size;
    TRY(take_file_header(&w, &variables));
    TRY(GROW(&t->arena, t->entries, variables, t->name));
    for (uint32_t i = 0; i < variables; i++) TRY(take_variable(&w));
    tensor_sort_entries(t);
    TRY(check_unique_names(t));
    for (size_t i = 0; i < variables; i++) TRY(attach_scale(t, variables, i));
    set_missing_scales(t, variables);
    TRY(peek_bytes(&w));
    if (t->ct2_version >= FIRST_WITH_ALIASES) TRY(take_count(&w, "the number of aliases", MIN_ALIAS, &aliases));
    TRY(GROW(&t->arena, t->entries, t->count + aliases, t->name));
    for (uint32_t i = 0; i < aliases; i++) TRY(take_alias(&w, variables));
    if (w.offset + w.n_used != t->part->size) return ct2_fail(&w, "the end", "data follow the end");
    tensor_sort_entries(t);
    return check_unique_names(t);
}

/* --- specification ------------------------------------------------------------------------------------------------ */

static double scalar_value(const tensor_type *type, const unsigned char *bytes)
{
    const uint32_t bits = (uint32_t)rill_little_endian(bytes, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    if (type->accept_flag != 0) return (double)value;
    return type->bytes == 1 ? (double)(int8_t)bits : type->bytes == 2 ? (double)(int16_t)bits : (double)(int32_t)bits;
}

rill_status rill_ct2_number(rill_tensor_file *t, const char *name, double low, double high, double fallback,
                            double *out)
{
    unsigned char bytes[4] = {0};
    const rill_file_tensor *e = rill_tensor_file_find(t, name);
    *out = fallback;
    if (e == NULL && !isnan(fallback)) return RILL_OK;
    if (e == NULL) return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is missing", t->name, name);
    const tensor_type *type = tensor_type_find(e->dtype);
    if (e->rank != 0 || (type->accept_flag != 0 && type->accept_flag != RILL_TENSOR_F32))
        return TENSOR_FAIL(t, t->part, name, "expected one number, in F32 or an integer type");
    TRY(tensor_part_read(t->part, e->begin, type->bytes, bytes));
    *out = scalar_value(type, bytes);
    t->entries[(const tensor_entry *)e - t->entries].tensor.read = 1;
    if (*out >= low && *out <= high) return RILL_OK;
    return TENSOR_FAIL(t, t->part, name, "expected a number from %g to %g, found %g", low, high, *out);
}
