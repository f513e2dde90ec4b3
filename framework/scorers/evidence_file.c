/* Evidence files (n-gram posteriors): writing, reading, and checking against a model.
 *
 * Little-endian:
 *
 *     header   "rill-ngm" · uint32 version, orders, actions, phases · int32 end action (-1: none) · uint32 0 · uint64 names
 *     records  one per input, ids ascending: the words of a table (ngrams.h)
 *     index    per input: int64 id, uint64 offset of its record
 *     footer   uint64 offset of the index, inputs · "rill-end"
 *
 * The index is searched on disk, so memory does not grow with the file. */
#include <stdio.h>

#include "ngrams.h"
#include "rill/file.h"

enum { VERSION = 1, MAGIC_BYTES = 8 };
static const char MAGIC[MAGIC_BYTES + 1] = "rill-ngm", END_MAGIC[MAGIC_BYTES + 1] = "rill-end";

typedef struct header {
    char magic[MAGIC_BYTES];
    uint32_t version, orders, actions, phases;
    int32_t end_action;
    uint32_t zero;
    uint64_t names;
} header;

typedef struct index_entry {
    int64_t id;
    uint64_t offset;
} index_entry;

typedef struct footer {
    uint64_t index, inputs;
    char magic[MAGIC_BYTES];
} footer;

/* --- kinds of evidence ------------------------------------------------------------------------------------------------ */

/* FNV-1a hash of the names of all actions, each with its terminating NUL; 0 if no action has a name. */
static rill_status hash_names(uint64_t *out, rill_context *ctx, const rill_model *model, int32_t actions)
{
    RILL__SCOPED_TEXT(name, ctx);
    uint64_t hash = UINT64_C(14695981039346656037);
    rill_status status = RILL_OK;
    int named = 0;
    for (int32_t a = 0; a < actions && status >= 0; a++) {
        rill_text_reset(&name);
        status = rill_model_action_name(model, a, &name);
        if (status == RILL_ERR_NOT_FOUND) status = rill_text_append(&name, "", 0);
        named |= name.length > 0;
        for (size_t i = 0; status >= 0 && i <= name.length; i++)
            hash = (hash ^ (unsigned char)name.data[i]) * UINT64_C(1099511628211);
    }
    *out = named ? hash | 1 : 0;
    return status;
}

rill_status rill_evidence_kind_for_model(rill_evidence_kind *out, rill_context *ctx, const rill_model *model)
{
    const rill_domain_info *info = rill_model_info(model);
    rill_evidence_kind kind;
    RILL__TRY(rill_copy_struct(ctx, "rill_evidence_kind", &kind, sizeof kind, out, sizeof kind));
    kind.actions = info->actions;
    kind.phases = info->phases > 0 ? info->phases : 1;
    kind.end_action = info->has_end_action ? info->end_action : RILL_NO_ACTION;
    RILL__TRY(hash_names(&kind.names, ctx, model, info->actions));
    *out = kind;
    return RILL_OK;
}

static rill_status fail_other_model(rill_context *ctx, const char *path, const char *what, int32_t theirs, int32_t ours)
{
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s is evidence of another model, which has %d %s; this model has %d", path,
                     theirs, what, ours);
}

/* --- writing a file --------------------------------------------------------------------------------------------------- */

struct rill_evidence_writer {
    rill_context *ctx;
    rill_bytes_fn write;
    void *user;
    uint64_t offset;
    index_entry *index; /* [n] id and record offset of each input written so far */
    size_t n, capacity;
};

static rill_status append_bytes(rill_evidence_writer *w, const void *bytes, size_t n)
{
    w->offset += n;
    return w->write(w->user, bytes, n);
}

rill_status rill_evidence_writer_create(rill_evidence_writer **out, rill_context *ctx, const rill_evidence_kind *kind,
                                        rill_bytes_fn write, void *user)
{
    header h = {.version = VERSION,
                .orders = RILL_NGRAM_MAX,
                .actions = (uint32_t)kind->actions,
                .phases = (uint32_t)kind->phases,
                .end_action = kind->end_action,
                .names = kind->names};
    rill_evidence_writer *w = *out = rill_calloc(ctx, 1, sizeof *w);
    if (w == NULL) return rill_fail_memory(ctx, sizeof *w, "evidence");
    *w = (rill_evidence_writer){.ctx = ctx, .write = write, .user = user};
    memcpy(h.magic, MAGIC, MAGIC_BYTES);
    return RILL_OPENED(append_bytes(w, &h, sizeof h), out, rill_evidence_writer_free);
}

rill_status rill_evidence_put(rill_evidence_writer *w, int64_t id, const rill_ngrams *g)
{
    if (id < 0 || (w->n > 0 && id <= w->index[w->n - 1].id) || g->n_words == 0)
        return rill_fail(w->ctx, RILL_ERR_ARGUMENT,
                         "evidence of input %lld: the previous input is not finished, "
                         "or the number is not larger than the previous one",
                         (long long)id);
    RILL__TRY(RILL__GROW(w->ctx, w->index, w->capacity, w->n + 1, "an index"));
    w->index[w->n++] = (index_entry){id, w->offset};
    return append_bytes(w, g->word, g->n_words * sizeof *g->word);
}

rill_status rill_evidence_writer_finish(rill_evidence_writer *w)
{
    footer f = {.index = w->offset, .inputs = w->n};
    memcpy(f.magic, END_MAGIC, MAGIC_BYTES);
    if (w->n > 0) RILL__TRY(append_bytes(w, w->index, w->n * sizeof *w->index));
    return append_bytes(w, &f, sizeof f);
}

void rill_evidence_writer_free(rill_evidence_writer *w)
{
    if (w == NULL) return;
    rill_free(w->ctx, w->index, w->capacity * sizeof *w->index);
    rill_free(w->ctx, w, sizeof *w);
}

/* --- opening a file --------------------------------------------------------------------------------------------------- */

struct rill_evidence {
    rill_context *ctx;
    rill_file file;
    rill_evidence_kind kind;
    uint64_t index; /* byte offset of the index in the file */
    int64_t inputs;
    size_t path_size;
    char path[];
};

static rill_status fail_damaged(const rill_evidence *e, const char *what)
{
    return rill_fail(e->ctx, RILL_ERR_FORMAT, "%s: %s: the file is damaged, or `rill evidence` did not make it",
                     e->path, what);
}

static rill_status read_header(rill_evidence *e)
{
    header h;
    if (e->file.size < sizeof h + sizeof(footer)) return fail_damaged(e, "the file is too short");
    RILL__TRY(rill_file_get(&e->file, 0, sizeof h, &h));
    if (memcmp(h.magic, MAGIC, MAGIC_BYTES) != 0) return fail_damaged(e, "it has an unknown header");
    if (h.version != VERSION || h.orders != RILL_NGRAM_MAX)
        return rill_fail(
            e->ctx, RILL_ERR_FORMAT,
            "%s: expected an evidence file of version %d with n-grams of up to %d actions, found version %u with up to %u",
            e->path, VERSION, RILL_NGRAM_MAX, h.version, h.orders);
    if (h.actions < 1 || h.actions > INT32_MAX || h.phases < 1 || h.phases > NGRAM_PHASES || h.end_action < -1)
        return fail_damaged(e, "its header has invalid numbers");
    e->kind = (rill_evidence_kind){.struct_size = sizeof e->kind,
                                   .actions = (int32_t)h.actions,
                                   .phases = (int32_t)h.phases,
                                   .end_action = h.end_action,
                                   .names = h.names};
    return RILL_OK;
}

static rill_status read_footer(rill_evidence *e)
{
    footer f;
    const uint64_t end = e->file.size - sizeof f;
    RILL__TRY(rill_file_get(&e->file, end, sizeof f, &f));
    if (memcmp(f.magic, END_MAGIC, MAGIC_BYTES) != 0) return fail_damaged(e, "it is truncated");
    if (f.index < sizeof(header) || f.index > end || f.inputs != (end - f.index) / sizeof(index_entry) ||
        (end - f.index) % sizeof(index_entry) != 0)
        return fail_damaged(e, "its index has an invalid position");
    e->index = f.index;
    e->inputs = (int64_t)f.inputs;
    return RILL_OK;
}

rill_status rill_evidence_open(rill_evidence **out, rill_context *ctx, const char *path)
{
    const size_t size = sizeof(rill_evidence) + strlen(path) + 1;
    rill_evidence *e = *out = rill_calloc(ctx, 1, size);
    if (e == NULL) return rill_fail_memory(ctx, size, "evidence");
    e->ctx = ctx;
    e->path_size = strlen(path) + 1;
    memcpy(e->path, path, e->path_size);
    rill_status status = rill_file_open(&e->file, ctx, e->path, RILL_FILE_REGULAR);
    if (status >= 0) status = read_header(e);
    if (status >= 0) status = read_footer(e);
    return RILL_OPENED(status, out, rill_evidence_close);
}

void rill_evidence_close(rill_evidence *e)
{
    if (e == NULL) return;
    rill_file_close(&e->file);
    rill_free(e->ctx, e, sizeof *e + e->path_size);
}

const rill_evidence_kind *rill_evidence_kind_in_file(const rill_evidence *e)
{
    return &e->kind;
}

rill_status rill_evidence_fits(const rill_evidence *e, const rill_evidence_kind *kind)
{
    const rill_evidence_kind *own = &e->kind;
    if (own->actions != kind->actions) return fail_other_model(e->ctx, e->path, "actions", own->actions, kind->actions);
    if (own->phases != kind->phases) return fail_other_model(e->ctx, e->path, "phases", own->phases, kind->phases);
    if (own->end_action != kind->end_action)
        return rill_fail(e->ctx, RILL_ERR_FORMAT,
                         "%s is evidence of another model: its end action is %d, and this model's is %d (-1: none)",
                         e->path, own->end_action, kind->end_action);
    if (own->names != 0 && kind->names != 0 && own->names != kind->names)
        return rill_fail(e->ctx, RILL_ERR_FORMAT,
                         "%s is evidence of another model: the number of actions is equal, their names differ",
                         e->path);
    return RILL_OK;
}

/* --- reading a record ------------------------------------------------------------------------------------------------- */

static rill_status read_index_entry(const rill_evidence *e, int64_t index, index_entry *out)
{
    return rill_file_get(&e->file, e->index + (uint64_t)index * sizeof *out, sizeof *out, out);
}

/* Find input `id`. *index: its position, or e->inputs if it has no evidence. */
static rill_status find_input(const rill_evidence *e, int64_t id, int64_t *index, index_entry *out)
{
    int64_t begin = 0, end = e->inputs;
    /* first guess of the binary search: if every input has evidence, an input's position is its id */
    for (int64_t guess = id; begin < end; guess = begin + (end - begin) / 2) {
        *index = guess >= begin && guess < end ? guess : begin + (end - begin) / 2;
        RILL__TRY(read_index_entry(e, *index, out));
        if (out->id == id) return RILL_OK;
        if (out->id < id)
            begin = *index + 1;
        else
            end = *index;
    }
    *index = e->inputs;
    return RILL_OK;
}

/* Read the words of the record at position `index` of the index. */
static rill_status read_record(rill_evidence *e, int64_t index, const index_entry *from, rill_ngrams *g)
{
    index_entry next = {.offset = e->index};
    if (index + 1 < e->inputs) RILL__TRY(read_index_entry(e, index + 1, &next));
    if (from->offset < sizeof(header) || next.offset > e->index || from->offset >= next.offset ||
        (next.offset - from->offset) % sizeof *g->word != 0)
        return fail_damaged(e, "its index points outside the file");
    RILL__TRY(ngrams_reserve(g, (size_t)((next.offset - from->offset) / sizeof *g->word)));
    RILL__TRY(rill_file_get(&e->file, from->offset, g->n_words * sizeof *g->word, g->word));
    return ngrams_set_levels(g) ? RILL_OK : fail_damaged(e, "a record is not a table of n-grams");
}

rill_status rill_evidence_get(rill_evidence *e, int64_t id, rill_ngrams *g)
{
    int64_t index;
    index_entry from;
    rill_ngrams_begin(g);
    RILL__TRY(find_input(e, id, &index, &from));
    if (index == e->inputs)
        return rill_fail(e->ctx, RILL_ERR_NOT_FOUND, "%s has no evidence for input %lld", e->path, (long long)id);
    const rill_status status = read_record(e, index, &from, g);
    if (status < 0) rill_ngrams_begin(g);
    return status;
}
