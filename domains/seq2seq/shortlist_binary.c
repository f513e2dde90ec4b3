/* Reads binary shortlists, as Marian writes them for Firefox's translation models.
 *
 * Source: browsermt/marian-dev, src/data/shortlist.h, BinaryShortlistGenerator. Little-endian:
 *   u64 magic, checksum, first (F), best (B), n_offsets, n_ids; u64 offsets[n_offsets]; u32 ids[n_ids]
 * The list of source id i is ids[offsets[i]] .. ids[offsets[i + 1] - 1]. Source ids from n_offsets on have none: some
 * published files are shorter than the vocabulary. The checksum covers what follows it, in words of 8 bytes; a last half
 * word is left out.
 *
 * Invariant of what is read: offsets ascend from 0 to the number of ids, and ids are target ids of the model.
 * Sections: numbers · checks · the file. */
#include <inttypes.h>
#include <string.h>

#include "domain_base.h"
#include "seq2seq.h"

static const uint64_t MAGIC = UINT64_C(0xF11A48D5013417F5);

enum { WORD = 8, ID_BYTES = 4, HEADER_WORDS = 6, HEADER_BYTES = HEADER_WORDS * WORD, FIRST_WORD_SUMMED = 2 };

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static uint64_t read_little(const char *bytes, int n)
{
    uint64_t value = 0;
    for (int i = n; i-- > 0;) value = value << 8 | (unsigned char)bytes[i];
    return value;
}

static uint64_t word_at(const char *bytes, uint64_t i)
{
    return read_little(bytes + i * WORD, WORD);
}

static uint64_t checksum(const char *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = FIRST_WORD_SUMMED; i < size / WORD; i++)
        sum ^= word_at(bytes, i) + 0x9E3779B9 + (sum << 6) + (sum >> 2);
    return sum;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* The numbers of the header. */
typedef struct header {
    uint64_t first, n_offsets, n_ids;
} header;

static rill_status check_header(const seq_binary_file *f, header *h)
{
    rill_context *ctx = f->ctx;
    if (f->size < HEADER_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected a header of %d bytes, the file has %zu", f->path,
                         (int)HEADER_BYTES, f->size);
    *h = (header){word_at(f->bytes, 2), word_at(f->bytes, 4), word_at(f->bytes, 5)};
    const uint64_t rest = f->size - HEADER_BYTES, limit = (uint64_t)f->source_vocab_size + 1;
    if (h->n_offsets < 1 || h->n_offsets > limit)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: expected 1 to %" PRIu64 " offsets, one more than source tokens, found %" PRIu64
                         ": is it another model's?",
                         f->path, limit, h->n_offsets);
    if (h->n_ids > INT32_MAX || rest != h->n_offsets * WORD + h->n_ids * ID_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: %" PRIu64 " offsets and %" PRIu64 " ids do not match the file's %zu bytes", f->path,
                         h->n_offsets, h->n_ids, f->size);
    if (checksum(f->bytes, f->size) == word_at(f->bytes, 1)) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s: the checksum does not match: the file is damaged", f->path);
}

static rill_status check_offset(const seq_binary_file *f, const header *h, uint64_t i, uint64_t previous,
                                uint64_t offset)
{
    if ((i > 0 || offset == 0) && offset >= previous && offset <= h->n_ids) return RILL_OK;
    return rill_fail(f->ctx, RILL_ERR_FORMAT,
                     "%s: offset %" PRIu64 ": expected %" PRIu64 " to %" PRIu64 ", found %" PRIu64, f->path, i,
                     previous, i > 0 ? h->n_ids : 0, offset);
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

int seq_is_binary_shortlist(const char *bytes, size_t size)
{
    return size >= WORD && read_little(bytes, WORD) == MAGIC;
}

rill_status seq_binary_shortlist_read(const seq_binary_file *f, rill_arena *arena, int32_t *n_frequent,
                                      int32_t **offset, int32_t **target)
{
    header h = {0};
    uint64_t previous = 0;
    TRY(check_header(f, &h));
    TRY(rill_arena_alloc(arena, offset, (size_t)f->source_vocab_size + 1, sizeof **offset, "a shortlist"));
    TRY(rill_arena_alloc(arena, target, (size_t)h.n_ids + 1, sizeof **target, "a shortlist"));
    const char *offsets = f->bytes + HEADER_BYTES, *ids = offsets + h.n_offsets * WORD;
    for (uint64_t i = 0; i <= (uint64_t)f->source_vocab_size; i++) {
        const uint64_t value = i < h.n_offsets ? word_at(offsets, i) : h.n_ids;
        TRY(check_offset(f, &h, i, previous, value));
        (*offset)[i] = (int32_t)value;
        previous = value;
    }
    for (uint64_t i = 0; i < h.n_ids; i++) {
        const uint64_t id = read_little(ids + i * ID_BYTES, ID_BYTES);
        if (id >= (uint64_t)f->target_vocab_size)
            return rill_fail(f->ctx, RILL_ERR_FORMAT, "%s: id %" PRIu64 ": expected 0 to %d, found %" PRIu64, f->path,
                             i, f->target_vocab_size - 1, id);
        (*target)[i] = (int32_t)id;
    }
    *n_frequent = h.first < (uint64_t)f->target_vocab_size ? (int32_t)h.first : f->target_vocab_size;
    return RILL_OK;
}
