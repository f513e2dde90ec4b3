/* CTranslate2's model.bin, read strictly: entries of its variables.
 *
 * The form (version 6, as ctranslate2/specs/model_spec.py writes it), all numbers little-endian: the version in 4 bytes, the name of the
 * specification, its revision in 4 bytes, the number of variables in 4, the variables, the number of aliases in 4, the aliases. A name is
 * its length in 2 bytes, with the NUL that it ends with. A variable is its name, the number of its dimensions in 1 byte, these in 4
 * bytes each, its type in 1 byte, the number of its bytes in 4, and these. An alias is its name and that of the variable it stands for.
 * Integers that are weights, NAME, have their scales in NAME_scale, fp32: one for each row or one for all. A number is the integer
 * divided by it.
 *
 * Invariant: as that of tensors.h; nothing of the file is left over, and no name comes twice.
 * Divisions: walking through the file · variables · aliases · scales · the whole · what it is. */
#include "ct2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensors.h"
#include "try.h"

enum {
    VERSION = 6,
    MOST_NAME = 512, /* bytes of one, with its NUL */
    HEAD = 2 + MOST_NAME + 1 + 4 * RILL_TENSOR_MAX_RANK + 1 + 4 +
           16, /* more than a variable has in front of its numbers */
    LEAST_VARIABLE = 2 + 2 + 1 + 1 + 4,
    LEAST_ALIAS = 2 * (2 + 2),
};

/* --- walking through the file ------------------------------------------------------------------------------------- */

/* The head of what comes next, and where it is. */
typedef struct walk {
    rill_tensors *t;
    tensor_part *part;
    size_t at; /* of the file: what comes next */
    unsigned char head[HEAD];
    size_t have, used; /* bytes of the head: read, and taken */
} walk;

static rill_status look(walk *w)
{
    const size_t left = w->part->size - w->at;
    w->have = left < sizeof w->head ? left : sizeof w->head;
    w->used = 0;
    return tensor_get(w->part, w->at, w->have, w->head);
}

/* What was taken of the head is behind. */
static void pass(walk *w)
{
    w->at += w->used;
    w->have -= w->used;
    w->used = 0;
}

static rill_status fail(const walk *w, const char *what, const char *expected)
{
    return rill_fail(w->t->blocks.ctx, RILL_ERR_FORMAT, "%s: byte %zu: %s: %s", w->part->name, w->at + w->used, what,
                     expected);
}

static rill_status take(walk *w, size_t bytes, const char *what, uint32_t *out)
{
    *out = 0;
    if (w->have - w->used < bytes) return fail(w, what, "the file ends within it");
    for (size_t i = bytes; i-- > 0;) *out = *out << 8 | w->head[w->used + i];
    w->used += bytes;
    return RILL_OK;
}

/* A name, copied. What CTranslate2 writes are Python's names and slashes. */
static rill_status take_name(walk *w, const char *what, const char **out)
{
    uint32_t length;
    TRY(take(w, 2, what, &length));
    if (length < 2 || length > MOST_NAME) return fail(w, what, "expected a name of 1 to 511 bytes and a NUL");
    if (w->have - w->used < length) return fail(w, what, "the file ends within it");
    const char *name = (const char *)w->head + w->used;
    for (size_t i = 0; i < length; i++)
        if (i + 1 < length ? name[i] <= ' ' || name[i] > '~' : name[i] != '\0')
            return fail(w, what, "expected a name of printable letters that ends with a NUL");
    w->used += length;
    return tensor_text(w->t, name, out);
}

/* A number of things of which each has so many bytes at least. */
static rill_status take_count(walk *w, const char *what, size_t least, uint32_t *out)
{
    TRY(take(w, 4, what, out));
    if (*out <= (w->part->size - w->at - w->used) / least) return RILL_OK;
    return fail(w, what, "more than the rest of the file can hold");
}

/* --- variables ---------------------------------------------------------------------------------------------------- */

static rill_status take_shape(walk *w, rill_tensor *e)
{
    uint32_t rank, size;
    TRY(take(w, 1, e->name, &rank));
    if (rank > RILL_TENSOR_MAX_RANK) return tensor_fail(w->t, w->part, e->name, "expected at most 8 dimensions");
    e->rank = (int)rank;
    for (uint32_t i = 0; i < rank; i++) {
        TRY(take(w, 4, e->name, &size));
        e->shape[i] = size;
    }
    return RILL_OK;
}

/* In the order of CTranslate2's types.h. */
static rill_status take_type(walk *w, rill_tensor *e, const tensor_type **type)
{
    static const char *const names[] = {"F32", "I8", "I16", "I32", "F16", "BF16"};
    uint32_t number;
    TRY(take(w, 1, e->name, &number));
    if (number >= sizeof names / sizeof *names)
        return tensor_fail(w->t, w->part, e->name, "expected a type from 0 to 5");
    *type = tensor_type_named(names[number]);
    e->dtype = (*type)->name;
    return RILL_OK;
}

static rill_status check_bytes(const walk *w, const rill_tensor *e, const tensor_type *type, size_t bytes)
{
    char why[120];
    size_t expected = type->bytes;
    for (int i = 0; i < e->rank; i++)
        if (__builtin_mul_overflow(expected, (size_t)e->shape[i], &expected))
            return tensor_fail(w->t, w->part, e->name, "its shape is too large");
    snprintf(why, sizeof why, "its shape takes %zu bytes, it has %zu", expected, bytes);
    if (bytes != expected) return tensor_fail(w->t, w->part, e->name, why);
    snprintf(why, sizeof why, "it ends at byte %zu of the file, which has %zu", e->end, w->part->size);
    return e->end <= w->part->size ? RILL_OK : tensor_fail(w->t, w->part, e->name, why);
}

static rill_status take_variable(walk *w)
{
    tensor_entry *entry = &w->t->entry[w->t->count];
    rill_tensor *e = &entry->tensor;
    const tensor_type *type = NULL;
    uint32_t bytes;
    *entry = (tensor_entry){0};
    TRY(look(w));
    TRY(take_name(w, "the name of a variable", &e->name));
    TRY(take_shape(w, e));
    TRY(take_type(w, e, &type));
    TRY(take(w, 4, e->name, &bytes));
    e->begin = w->at + w->used;
    e->end = e->begin + bytes;
    TRY(check_bytes(w, e, type, bytes));
    w->at = e->end;
    w->t->count++;
    return RILL_OK;
}

/* --- aliases ------------------------------------------------------------------------------------------------------ */

/* Of `count` entries that are sorted; aliases are found among the variables alone. */
static const tensor_entry *find(const rill_tensors *t, size_t count, const char *name)
{
    for (size_t low = 0; low < count;) {
        const size_t middle = low + (count - low) / 2;
        const int order = strcmp(name, t->entry[middle].tensor.name);
        if (order == 0) return &t->entry[middle];
        if (order < 0)
            count = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static rill_status take_alias(walk *w, size_t variables)
{
    const char *name, *of;
    rill_tensors *t = w->t;
    TRY(look(w));
    TRY(take_name(w, "the name of an alias", &name));
    pass(w);
    TRY(look(w));
    TRY(take_name(w, "what an alias stands for", &of));
    pass(w);
    const tensor_entry *variable = find(t, variables, of);
    if (variable == NULL)
        return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: alias \"%s\": there is no variable \"%s\"", w->part->name,
                         name, of);
    t->entry[t->count] = *variable;
    t->entry[t->count++].tensor.name = name;
    return RILL_OK;
}

static rill_status check_names(const rill_tensors *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (strcmp(t->entry[i - 1].tensor.name, t->entry[i].tensor.name) == 0)
            return tensor_fail(t, t->part, t->entry[i].tensor.name, "it comes twice");
    return RILL_OK;
}

/* --- scales ------------------------------------------------------------------------------------------------------- */

static const char SCALE[] = "_scale";

/* Give integers what their scales say: those whose names end so stay entries of their own. */
static rill_status join_scale(rill_tensors *t, size_t variables, size_t i)
{
    char name[MOST_NAME];
    const rill_tensor *s = &t->entry[i].tensor;
    const size_t length = strlen(s->name), stem = length - (sizeof SCALE - 1);
    if (length < sizeof SCALE || strcmp(s->name + stem, SCALE) != 0) return RILL_OK;
    memcpy(name, s->name, stem);
    name[stem] = '\0';
    const tensor_entry *of = find(t, variables, name);
    if (of == NULL || (strcmp(of->tensor.dtype, "I8") != 0 && strcmp(of->tensor.dtype, "I16") != 0)) return RILL_OK;
    const size_t count = (s->end - s->begin) / sizeof(float),
                 rows = of->tensor.rank > 0 ? (size_t)of->tensor.shape[0] : 0;
    if (strcmp(s->dtype, "F32") != 0 || s->rank > 1 || (count != 1 && count != rows) || of->tensor.rank == 0)
        return tensor_fail(t, t->part, s->name, "expected one scale in F32, or one for each row");
    tensor_entry *entry = &t->entry[of - t->entry];
    entry->scale = s->begin;
    entry->scales = count;
    t->entry[i].tensor.read = 1; /* with what it scales */
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

int ct2_is(const unsigned char *bytes, size_t length)
{
    const size_t name = length >= 6 ? bytes[4] + 256u * bytes[5] : 0;
    if (name < 2 || 6 + name > length || bytes[1] != 0 || bytes[2] != 0 || bytes[3] != 0) return 0;
    for (size_t i = 0; i + 1 < name; i++)
        if (bytes[6 + i] <= ' ' || bytes[6 + i] > '~') return 0;
    return bytes[6 + name - 1] == '\0';
}

static rill_status take_head(walk *w, uint32_t *variables)
{
    uint32_t version;
    TRY(look(w));
    TRY(take(w, 4, "the version", &version));
    if (version != VERSION)
        return rill_fail(w->t->blocks.ctx, RILL_ERR_FORMAT,
                         "%s: expected version %d of CTranslate2's form, found %u: convert the model again with "
                         "CTranslate2 3.0 or later",
                         w->part->name, VERSION, version);
    TRY(take_name(w, "the name of the specification", &w->t->spec));
    TRY(take(w, 4, "the revision", &w->t->revision));
    TRY(take_count(w, "the number of variables", LEAST_VARIABLE, variables));
    pass(w);
    return RILL_OK;
}

rill_status ct2_read(rill_tensors *t)
{
    walk w = {.t = t, .part = t->part};
    uint32_t variables, aliases;
    t->part->data_size = t->part->size;
    TRY(take_head(&w, &variables));
    TRY(tensor_more(t, variables));
    for (uint32_t i = 0; i < variables; i++) TRY(take_variable(&w));
    tensor_sort(t);
    TRY(check_names(t));
    for (size_t i = 0; i < variables; i++) TRY(join_scale(t, variables, i));
    TRY(look(&w));
    TRY(take_count(&w, "the number of aliases", LEAST_ALIAS, &aliases));
    pass(&w);
    TRY(tensor_more(t, aliases));
    for (uint32_t i = 0; i < aliases; i++) TRY(take_alias(&w, variables));
    if (w.at != t->part->size) return fail(&w, "the end", "the file goes on");
    tensor_sort(t);
    return check_names(t);
}

/* --- what it is --------------------------------------------------------------------------------------------------- */

const char *rill_ct2_spec(const rill_tensors *t, uint32_t *revision)
{
    *revision = t->revision;
    return t->spec;
}

static double number_of(const tensor_type *type, const unsigned char *bytes)
{
    const uint32_t bits = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    if (type->flag != 0) return (double)value;
    return type->bytes == 1 ? (double)(int8_t)bits : type->bytes == 2 ? (double)(int16_t)bits : (double)(int32_t)bits;
}

rill_status rill_ct2_number(rill_tensors *t, const char *name, double low, double high, double fallback, double *out)
{
    unsigned char bytes[4] = {0};
    char why[120];
    const rill_tensor *e = rill_tensors_find(t, name);
    *out = fallback;
    if (e == NULL && !isnan(fallback)) return RILL_OK;
    if (e == NULL) return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\" is missing", t->name, name);
    const tensor_type *type = tensor_type_named(e->dtype);
    if (e->rank != 0 || (type->flag != 0 && type->flag != RILL_TENSOR_F32))
        return tensor_fail(t, t->part, name, "expected a number of its own, in F32 or whole");
    TRY(tensor_get(t->part, e->begin, type->bytes, bytes));
    *out = number_of(type, bytes);
    t->entry[(const tensor_entry *)e - t->entry].tensor.read = 1;
    if (*out >= low && *out <= high) return RILL_OK;
    rill_print(why, sizeof why, "expected a number from %g to %g, found %g", low, high, *out);
    return tensor_fail(t, t->part, name, why);
}
