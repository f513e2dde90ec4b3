/* Shortlists (as in marian-decoder): an input's softmax is restricted to a vocabulary subset.
 *
 * A subset has eos, the first F target ids, the best B translations of each input token, and input tokens in the target vocabulary.
 * Inputs of a batch do not share a subset, so scores do not depend on other inputs.
 *
 * A text file has lines "TARGET SOURCE PROBABILITY". A binary file has F and the lists; as in Marian, its subsets are filled up to a
 * multiple of 8, and have input tokens only if the vocabulary is shared.
 *
 * Invariant: subsets ascend, so their indices are ordered like ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rill/file.h"
#include "seq2seq.h"

/* number of frequent target ids in every subset; number of translations of each input token: marian-decoder's defaults */
enum { DEFAULT_FREQUENT = 100, DEFAULT_BEST = 100 };

enum { SUBSET_MULTIPLE = 8 }; /* with a binary shortlist Marian makes the size of subsets a multiple of this */

/* A line of a shortlist file: source id, target id, probability. */
typedef struct lexicon_pair {
    int32_t source, target;
    float probability;
} lexicon_pair;

struct seq_shortlist {
    rill_context *ctx;
    const uint64_t *legal; /* bit set of the target ids that may be output */
    int32_t n_frequent, n_best, end, source_vocab_size, target_vocab_size;
    int32_t max_translations; /* maximum translations of any source token, at most n_best */
    /* [source_vocab_size + 1] the translations of source id s are target[offset[s] .. offset[s + 1]) */
    int32_t *offset;
    int32_t *target;
    /* [source_vocab_size] for each source id, the target id of the same token; -1: the target vocabulary does not have the token */
    int32_t *copy_id;
    int is_binary; /* 1: the file was binary */
    rill_arena arena;
};

/* --- the option `shortlist` --------------------------------------------------------------------------------------- */

/* If text[0..*length) ends in ",NUMBER", cut that off, set *out to the number and return 1. Otherwise return 0. */
static int take_number(const char *text, size_t *length, int32_t *out)
{
    enum { MAX_DIGITS = 9 };
    size_t pos = *length;
    while (pos > 0 && rill_is_digit(text[pos - 1])) pos--;
    if (pos == *length || *length - pos > MAX_DIGITS || pos == 0 || text[pos - 1] != ',') return 0;
    *length = pos - 1;
    *out = (int32_t)strtol(text + pos, NULL, 10);
    return 1;
}

/* Read the option's value: "FILE", "FILE,FIRST" or "FILE,FIRST,BEST". *length = length of FILE. Return 1 if the value has
 * a number. */
static int read_option(seq_shortlist *s, const char *option, size_t *length)
{
    int32_t last, second_last;
    *length = strlen(option);
    s->n_frequent = DEFAULT_FREQUENT;
    s->n_best = DEFAULT_BEST;
    if (!take_number(option, length, &last)) return 0;
    s->n_frequent = last;
    if (!take_number(option, length, &second_last)) return 1;
    s->n_frequent = second_last;
    s->n_best = last;
    return 1;
}

/* --- text format -------------------------------------------------------------------------------------------------- */

typedef struct lexicon_reader {
    seq_shortlist *shortlist;
    const rill_vocabulary *source, *target;
    const char *path;
    int has_counts; /* 1: the option gives F, the number of frequent target ids */
    lexicon_pair *pairs;
    size_t n;
    int64_t line;
    rill_arena *arena; /* memory of `pairs` */
} lexicon_reader;

static rill_status bad_line(const lexicon_reader *r)
{
    return rill_fail(r->shortlist->ctx, RILL_ERR_FORMAT,
                     "%s:%lld: expected a target token, a source token and a probability from 0 to 1, separated by "
                     "spaces",
                     r->path, (long long)r->line);
}

/* Read one line. Pairs with a token outside the vocabularies, such as the NULL of giza and fast_align, are skipped. */
static rill_status read_line(lexicon_reader *r, rill_slice line)
{
    const rill_slice target = rill_next_word(&line), source = rill_next_word(&line), share = rill_next_word(&line);
    char number[32], *number_end;
    if (target.length == 0) return RILL_OK;
    if (share.length == 0 || share.length >= sizeof number || rill_next_word(&line).length > 0) return bad_line(r);
    memcpy(number, share.data, share.length);
    number[share.length] = '\0';
    const lexicon_pair p = {.target = rill_vocabulary_id(r->target, target.data, target.length),
                            .source = rill_vocabulary_id(r->source, source.data, source.length),
                            .probability = (float)rill_read_number(number, &number_end)};
    if (*number_end != '\0' || !(p.probability >= 0.0f && p.probability <= 1.0f)) return bad_line(r);
    if (p.target >= 0 && p.source >= 0) PUSH(r->arena, r->pairs, r->n, p, "a shortlist");
    return RILL_OK;
}

static rill_status read_lines(lexicon_reader *r, const char *bytes, size_t size)
{
    if (size >= 2 && memcmp(bytes, "\x1F\x8B", 2) == 0)
        return rill_fail(r->shortlist->ctx, RILL_ERR_FORMAT, "%s: the file is compressed: unpack it with gunzip",
                         r->path);
    for (rill_slice rest = {bytes, size}, line; rest.length > 0;) {
        rill_slice_cut(&rest, '\n', &line);
        r->line++;
        TRY(read_line(r, line));
    }
    if (r->n > 0) return RILL_OK;
    return rill_fail(r->shortlist->ctx, RILL_ERR_FORMAT,
                     "%s: no line has a token of the target vocabulary followed by one of the source vocabulary",
                     r->path);
}

/* Order lexicon entries by source token, then by descending probability, then by target id. */
static int compare(const void *a, const void *b)
{
    const lexicon_pair *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* Sort the pairs and store the best translations of each source token. */
static rill_status index_pairs(lexicon_reader *r)
{
    seq_shortlist *s = r->shortlist;
    int32_t kept = 0;
    TRY(rill_arena_alloc(&s->arena, &s->offset, (size_t)s->source_vocab_size + 1, sizeof *s->offset, "a shortlist"));
    TRY(rill_arena_alloc(&s->arena, &s->target, r->n, sizeof *s->target, "a shortlist"));
    qsort(r->pairs, r->n, sizeof *r->pairs, compare);
    size_t i = 0;
    for (int32_t source = 0; source < s->source_vocab_size; source++) {
        s->offset[source] = kept;
        for (; i < r->n && r->pairs[i].source == source; i++)
            if (kept - s->offset[source] < s->n_best) s->target[kept++] = r->pairs[i].target;
    }
    s->offset[s->source_vocab_size] = kept;
    return RILL_OK;
}

/* --- binary format ------------------------------------------------------------------------------------------------ */

/* Binary shortlist. Source: browsermt/marian-dev, src/data/shortlist.h, BinaryShortlistGenerator. Little-endian:
 *   u64 magic, checksum, first (F), best (B), n_offsets, n_ids; u64 offsets[n_offsets]; u32 ids[n_ids]
 * Source id i has ids[offsets[i]] .. ids[offsets[i + 1] - 1]; none from n_offsets on. The checksum covers the rest of the file in
 * words of 8 bytes, without a last half word.
 * Checked: offsets ascend from 0 to n_ids, ids are target ids, and no source token has more ids than the target vocabulary. */

static const uint64_t MAGIC = UINT64_C(0xF11A48D5013417F5);

enum { WORD = 8, ID_BYTES = 4, HEADER_WORDS = 6, HEADER_BYTES = HEADER_WORDS * WORD, FIRST_WORD_SUMMED = 2 };

/* The numbers of the header. */
typedef struct header {
    uint64_t first, n_offsets, n_ids;
} header;

static uint64_t word_at(const char *bytes, uint64_t i)
{
    return rill_little_endian(bytes + i * WORD, WORD);
}

static uint64_t checksum(const char *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = FIRST_WORD_SUMMED; i < size / WORD; i++)
        sum ^= word_at(bytes, i) + 0x9E3779B9 + (sum << 6) + (sum >> 2);
    return sum;
}

static rill_status check_header(const lexicon_reader *r, const char *bytes, size_t size, header *h)
{
    rill_context *ctx = r->shortlist->ctx;
    if (size < HEADER_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected a header of %d bytes, the file has %zu", r->path,
                         (int)HEADER_BYTES, size);
    *h = (header){word_at(bytes, 2), word_at(bytes, 4), word_at(bytes, 5)};
    const uint64_t rest = size - HEADER_BYTES, limit = (uint64_t)r->shortlist->source_vocab_size + 1;
    if (h->n_offsets < 1 || h->n_offsets > limit)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: expected 1 to %" PRIu64 " offsets, one more than source tokens, found %" PRIu64
                         ": is it another model's?",
                         r->path, limit, h->n_offsets);
    if (h->n_ids > INT32_MAX || rest != h->n_offsets * WORD + h->n_ids * ID_BYTES)
        return rill_fail(ctx, RILL_ERR_FORMAT,
                         "%s: %" PRIu64 " offsets and %" PRIu64 " ids do not match the file's %zu bytes", r->path,
                         h->n_offsets, h->n_ids, size);
    if (checksum(bytes, size) == word_at(bytes, 1)) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s: the checksum does not match: the file is damaged", r->path);
}

static rill_status check_offset(const lexicon_reader *r, const header *h, uint64_t i, uint64_t previous,
                                uint64_t offset)
{
    const uint64_t all = (uint64_t)r->shortlist->target_vocab_size;
    const uint64_t last = i == 0 ? 0 : h->n_ids - previous > all ? previous + all : h->n_ids;
    if (offset >= previous && offset <= last) return RILL_OK;
    return rill_fail(r->shortlist->ctx, RILL_ERR_FORMAT,
                     "%s: offset %" PRIu64 ": expected %" PRIu64 " to %" PRIu64 ", found %" PRIu64, r->path, i,
                     previous, last, offset);
}

static int is_binary(const char *bytes, size_t size)
{
    return size >= WORD && word_at(bytes, 0) == MAGIC;
}

static rill_status read_binary(lexicon_reader *r, const char *bytes, size_t size)
{
    seq_shortlist *s = r->shortlist;
    header h = {0};
    uint64_t previous = 0;
    if (r->has_counts)
        return rill_fail(s->ctx, RILL_ERR_OPTION,
                         "shortlist: %s is binary and has its own F and B: name the file alone", r->path);
    TRY(check_header(r, bytes, size, &h));
    TRY(rill_arena_alloc(&s->arena, &s->offset, (size_t)s->source_vocab_size + 1, sizeof *s->offset, "a shortlist"));
    TRY(rill_arena_alloc(&s->arena, &s->target, (size_t)h.n_ids + 1, sizeof *s->target, "a shortlist"));
    const char *offsets = bytes + HEADER_BYTES, *ids = offsets + h.n_offsets * WORD;
    for (uint64_t i = 0; i <= (uint64_t)s->source_vocab_size; i++) {
        const uint64_t value = i < h.n_offsets ? word_at(offsets, i) : h.n_ids;
        TRY(check_offset(r, &h, i, previous, value));
        s->offset[i] = (int32_t)value;
        previous = value;
    }
    for (uint64_t i = 0; i < h.n_ids; i++) {
        const uint64_t id = rill_little_endian(ids + i * ID_BYTES, ID_BYTES);
        if (id >= (uint64_t)s->target_vocab_size)
            return rill_fail(s->ctx, RILL_ERR_FORMAT, "%s: id %" PRIu64 ": expected 0 to %d, found %" PRIu64, r->path,
                             i, s->target_vocab_size - 1, id);
        s->target[i] = (int32_t)id;
    }
    s->n_frequent = h.first < (uint64_t)s->target_vocab_size ? (int32_t)h.first : s->target_vocab_size;
    s->is_binary = 1;
    return RILL_OK;
}

/* --- opening a shortlist ------------------------------------------------------------------------------------------ */

static rill_status read_file(lexicon_reader *r)
{
    seq_shortlist *s = r->shortlist;
    SCOPED(rill_text_clear) rill_text text = {.ctx = s->ctx};
    TRY(rill_file_read(&text, r->path, SIZE_MAX));
    if (is_binary(text.data, text.length)) {
        TRY(read_binary(r, text.data, text.length));
    } else {
        TRY(read_lines(r, text.data, text.length));
        TRY(index_pairs(r));
    }
    for (int32_t i = 0; i < s->source_vocab_size; i++)
        if (s->offset[i + 1] - s->offset[i] > s->max_translations)
            s->max_translations = s->offset[i + 1] - s->offset[i];
    return RILL_OK;
}

/* For each source token, find the id of the same token in the target vocabulary. */
static rill_status find_copies(lexicon_reader *r)
{
    seq_shortlist *s = r->shortlist;
    TRY(rill_arena_alloc(&s->arena, &s->copy_id, (size_t)s->source_vocab_size, sizeof *s->copy_id, "a shortlist"));
    for (int32_t i = 0; i < s->source_vocab_size; i++) {
        size_t length;
        s->copy_id[i] = i;
        if (r->source == r->target) continue;
        s->copy_id[i] = -1;
        if (s->is_binary || i >= rill_vocabulary_count(r->source)) continue;
        const char *piece = rill_vocabulary_token(r->source, i, &length);
        s->copy_id[i] = rill_vocabulary_id(r->target, piece, length);
    }
    return RILL_OK;
}

static rill_status open_file(seq_shortlist *s, const seq_net *net, const char *option)
{
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = s->ctx};
    const char *path;
    size_t length;
    const int has_counts = read_option(s, option, &length);
    if (length == 0)
        return rill_fail(s->ctx, RILL_ERR_OPTION, "shortlist: expected FILE, FILE,F or FILE,F,B, found \"%.60s\"",
                         option);
    TRY(rill_arena_copy(&arena, option, length, "a shortlist", &path));
    lexicon_reader r = {.shortlist = s,
                        .source = net->tokenizer->source,
                        .target = net->tokenizer->target,
                        .path = path,
                        .has_counts = has_counts,
                        .arena = &arena};
    TRY(read_file(&r));
    return find_copies(&r);
}

rill_status seq_shortlist_open(seq_shortlist **out, const seq_net *net, const char *option)
{
    TRY(rill_struct_alloc(net->ctx, out, sizeof **out, "a shortlist"));
    **out = (seq_shortlist){.ctx = net->ctx,
                            .arena.ctx = net->ctx,
                            .legal = net->legal,
                            .end = net->eos,
                            .source_vocab_size = net->source_vocab_size,
                            .target_vocab_size = net->target_vocab_size};
    return open_file(*out, net, option);
}

void seq_shortlist_close(seq_shortlist *s)
{
    if (s == NULL) return;
    rill_arena_clear(&s->arena);
    rill_free(s->ctx, s, sizeof *s);
}

/* --- vocabulary subsets ------------------------------------------------------------------------------------------- */

static void mark_id(const seq_shortlist *s, uint64_t *mark, int32_t action)
{
    if (action >= 0 && action < s->target_vocab_size) mark[action / 64] |= UINT64_C(1) << (action % 64);
}

/* Add ids from n_frequent upward until the number of ids is a multiple of SUBSET_MULTIPLE, as Marian does for its matrix products. */
static void fill_subset(const seq_shortlist *s, uint64_t *mark, size_t words)
{
    int32_t n = 0;
    for (size_t w = 0; w < words; w++) n += __builtin_popcountll(mark[w]);
    for (int32_t i = s->n_frequent; i < s->target_vocab_size && n % SUBSET_MULTIPLE != 0; i++) {
        n += (mark[i / 64] >> (i % 64) & 1) == 0;
        mark_id(s, mark, i);
    }
}

/* Set the bits of the target ids that an input's subset contains; `mark` has `words` words of 64 bits. */
static void set_subset_bits(const seq_shortlist *s, const int32_t *ids, int32_t length, uint64_t *mark, size_t words)
{
    memset(mark, 0, words * sizeof *mark);
    for (int32_t i = 0; i < s->n_frequent && i < s->target_vocab_size; i++) mark_id(s, mark, i);
    for (int32_t i = 0; i < length; i++) {
        mark_id(s, mark, s->copy_id[ids[i]]);
        for (int32_t index = s->offset[ids[i]]; index < s->offset[ids[i] + 1]; index++)
            mark_id(s, mark, s->target[index]);
    }
    mark_id(s, mark, s->end);
    if (s->is_binary) fill_subset(s, mark, words);
    for (size_t w = 0; w < words; w++) mark[w] &= s->legal[w];
}

rill_status seq_vocab_subset_make(const seq_shortlist *s, rill_arena *arena, const int32_t *ids, int32_t length,
                                  seq_vocab_subset *list)
{
    const size_t words = ((size_t)s->target_vocab_size + 63) / 64, max_ids = seq_vocab_subset_max(s, (size_t)length);
    TRY(GROW(arena, list->bits, words, "a shortlist"));
    TRY(GROW(arena, list->ids, max_ids, "a shortlist"));
    set_subset_bits(s, ids, length, list->bits, words);
    list->n = 0;
    for (size_t w = 0; w < words; w++)
        for (uint64_t bits = list->bits[w]; bits != 0; bits &= bits - 1)
            list->ids[list->n++] = (int32_t)w * 64 + __builtin_ctzll(bits);
    return RILL_OK;
}

size_t seq_vocab_subset_max(const seq_shortlist *s, size_t pieces)
{
    const size_t all = (size_t)s->target_vocab_size, first = (size_t)s->n_frequent;
    const size_t n = first + 1 + pieces * ((size_t)s->max_translations + 1) + (s->is_binary ? SUBSET_MULTIPLE - 1 : 0);
    return n < all ? n : all;
}
