/* Shortlists: the target symbols that an output of one input may be made of.
 *
 * Source: marian-decoder's lexical shortlist. Of an input these are the first F symbols of the vocabulary, which are its
 * frequent ones, the best B translations of each of its pieces by a file of "TARGET SOURCE PROBABILITY" lines, its pieces
 * themselves where the target has them, and the end symbol; less what is never chosen. The softmax of a state is over its
 * input's list and nothing else.
 *
 * Each slot gets its list, and the device the rows of the output layer that it names. So a batch of inputs has no union whose size
 * or softmax an input could feel: its scores are its own, whatever is decoded beside it.
 *
 * Invariant: a list is ascending, so places in it are ordered as symbols are. Divisions: the option · the file · lists. */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "rill/file.h"
#include "seq2seq.h"

enum { FIRST = 100, BEST = 100 }; /* as in marian-decoder */

/* One line of the file. */
typedef struct pair {
    int32_t source, target;
    float probability;
} pair;

struct seq_shortlist {
    rill_context *ctx;
    const uint64_t *legal; /* of the model */
    int32_t first, best, end, words, actions;
    int32_t widest;  /* most translations of any source symbol, `best` at most */
    int32_t *offset; /* [words + 1] translations of source symbol s are target[offset[s]] .. target[offset[s + 1]] */
    int32_t *target;
    int32_t *same; /* [words] the target symbol with the same piece, or -1 */
    rill_blocks blocks;
};

/* --- the option --------------------------------------------------------------------------------------------------- */

/* Take ",NUMBER" from the end of text[0..*length); 0 if it does not end so. */
static int take_number(const char *text, size_t *length, int32_t *out)
{
    size_t at = *length;
    int64_t value = 0, unit = 1;
    for (; at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9' && unit <= 100000000; at--, unit *= 10)
        value += unit * (text[at - 1] - '0');
    if (at == *length || at == 0 || text[at - 1] != ',') return 0;
    *length = at - 1;
    *out = (int32_t)value;
    return 1;
}

/* "FILE", "FILE,FIRST" or "FILE,FIRST,BEST"; *length of FILE. */
static void read_option(seq_shortlist *s, const char *option, size_t *length)
{
    int32_t last, before;
    *length = strlen(option);
    s->first = FIRST;
    s->best = BEST;
    if (!take_number(option, length, &last)) return;
    s->first = last;
    if (!take_number(option, length, &before)) return;
    s->first = before;
    s->best = last;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* What reading passes around. */
typedef struct reader {
    seq_shortlist *list;
    const rill_vocabulary *source, *target;
    const char *path;
    pair *pairs;
    size_t n, room;
    int64_t line;
} reader;

static rill_status bad_line(const reader *r)
{
    return rill_fail(r->list->ctx, RILL_ERR_FORMAT,
                     "%s:%lld: expected a target piece, a source piece and a probability from 0 to 1 between blanks",
                     r->path, (long long)r->line);
}

/* Pairs with a piece that has no number are of no use; giza's and fast_align's NULL is among them. */
static rill_status read_line(reader *r, rill_slice line)
{
    const rill_slice target = rill_next_word(&line), source = rill_next_word(&line), share = rill_next_word(&line);
    char number[32], *behind;
    if (target.length == 0) return RILL_OK;
    if (share.length == 0 || share.length >= sizeof number || rill_next_word(&line).length > 0) return bad_line(r);
    memcpy(number, share.data, share.length);
    number[share.length] = '\0';
    const pair p = {.target = rill_vocabulary_id(r->target, target.data, target.length),
                    .source = rill_vocabulary_id(r->source, source.data, source.length),
                    .probability = (float)rill_read_number(number, &behind)};
    if (*behind != '\0' || !(p.probability >= 0.0f && p.probability <= 1.0f)) return bad_line(r);
    if (p.target >= 0 && p.source >= 0) PUSH(r->list->ctx, r->pairs, r->room, r->n, p, "a shortlist");
    return RILL_OK;
}

static rill_status read_lines(reader *r, const char *bytes, size_t size)
{
    const char *end = bytes + size;
    if (size >= 2 && memcmp(bytes, "\x1F\x8B", 2) == 0)
        return rill_fail(r->list->ctx, RILL_ERR_FORMAT, "%s: is compressed; unpack it with gunzip", r->path);
    for (const char *at = bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline != NULL ? newline : end;
        r->line++;
        TRY(read_line(r, (rill_slice){at, (size_t)(stop - at)}));
        at = stop + (newline != NULL);
    }
    if (r->n > 0) return RILL_OK;
    return rill_fail(r->list->ctx, RILL_ERR_FORMAT,
                     "%s: no line has a piece of the target vocabulary, then one of the source vocabulary", r->path);
}

static rill_status read_file(reader *r)
{
    rill_text text = {.ctx = r->list->ctx};
    rill_status status = rill_file_read(&text, r->path, SIZE_MAX);
    if (status == RILL_OK) status = read_lines(r, text.data, text.length);
    rill_text_clear(&text);
    return status;
}

/* By source symbol; of one of them the most probable first, then the smaller target symbol. */
static int compare(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* Keep the best of each source symbol. */
static rill_status index_pairs(reader *r)
{
    seq_shortlist *s = r->list;
    int32_t kept = 0;
    TRY(rill_blocks_get(&s->blocks, &s->offset, (size_t)s->words + 1, sizeof *s->offset, "a shortlist"));
    TRY(rill_blocks_get(&s->blocks, &s->target, r->n, sizeof *s->target, "a shortlist"));
    qsort(r->pairs, r->n, sizeof *r->pairs, compare);
    size_t at = 0;
    for (int32_t source = 0; source < s->words; source++) {
        s->offset[source] = kept;
        for (; at < r->n && r->pairs[at].source == source; at++)
            if (kept - s->offset[source] < s->best) s->target[kept++] = r->pairs[at].target;
        if (kept - s->offset[source] > s->widest) s->widest = kept - s->offset[source];
    }
    s->offset[s->words] = kept;
    return RILL_OK;
}

/* The pieces that copy. */
static rill_status find_same(reader *r)
{
    seq_shortlist *s = r->list;
    TRY(rill_blocks_get(&s->blocks, &s->same, (size_t)s->words, sizeof *s->same, "a shortlist"));
    for (int32_t i = 0; i < s->words; i++) {
        size_t length;
        s->same[i] = i;
        if (r->source == r->target) continue;
        s->same[i] = -1;
        if (i >= rill_vocabulary_count(r->source)) continue;
        const char *piece = rill_vocabulary_token(r->source, i, &length);
        s->same[i] = rill_vocabulary_id(r->target, piece, length);
    }
    return RILL_OK;
}

static rill_status open_file(seq_shortlist *s, const seq_net *net, const char *option)
{
    rill_text path = {.ctx = s->ctx};
    size_t length;
    read_option(s, option, &length);
    if (length == 0)
        return rill_fail(s->ctx, RILL_ERR_OPTION, "shortlist: expected FILE, FILE,F or FILE,F,B, found \"%.60s\"",
                         option);
    const rill_codec *text = net->text;
    reader r = {.list = s, .source = rill_codec_source(text), .target = rill_codec_target(text)};
    rill_status status = rill_text_append(&path, option, length);
    r.path = path.data;
    if (status == RILL_OK) status = read_file(&r);
    if (status == RILL_OK) status = index_pairs(&r);
    if (status == RILL_OK) status = find_same(&r);
    DROP(s->ctx, r.pairs, r.room);
    rill_text_clear(&path);
    return status;
}

rill_status seq_shortlist_open(seq_shortlist **out, const seq_net *net, const char *option)
{
    seq_shortlist *s = *out = rill_calloc(net->ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(net->ctx, sizeof *s, "a shortlist");
    s->ctx = s->blocks.ctx = net->ctx;
    s->legal = net->legal;
    s->end = net->end;
    s->words = net->words;
    s->actions = net->actions;
    return open_file(s, net, option);
}

void seq_shortlist_close(seq_shortlist *s)
{
    if (s == NULL) return;
    rill_blocks_clear(&s->blocks);
    rill_free(s->ctx, s, sizeof *s);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static void mark_one(const seq_shortlist *s, uint64_t *mark, int32_t action)
{
    if (action >= 0 && action < s->actions) mark[action / 64] |= UINT64_C(1) << (action % 64);
}

/* Mark the symbols of an input's list in [words] words. */
static void mark_list(const seq_shortlist *s, const int32_t *ids, int32_t length, uint64_t *mark, size_t words)
{
    memset(mark, 0, words * sizeof *mark);
    for (int32_t i = 0; i < s->first && i < s->actions; i++) mark_one(s, mark, i);
    for (int32_t i = 0; i < length; i++) {
        mark_one(s, mark, s->same[ids[i]]);
        for (int32_t at = s->offset[ids[i]]; at < s->offset[ids[i] + 1]; at++) mark_one(s, mark, s->target[at]);
    }
    mark_one(s, mark, s->end);
    for (size_t w = 0; w < words; w++) mark[w] &= s->legal[w];
}

rill_status seq_list_make(const seq_shortlist *s, rill_context *ctx, const int32_t *ids, int32_t length, seq_list *list)
{
    const size_t words = ((size_t)s->actions + 63) / 64, most = seq_list_most(s, (size_t)length);
    TRY(GROW(ctx, list->mark, list->mark_room, words, "a shortlist"));
    TRY(GROW(ctx, list->symbol, list->symbol_room, most, "a shortlist"));
    mark_list(s, ids, length, list->mark, words);
    list->n = 0;
    for (size_t w = 0; w < words; w++)
        for (uint64_t bits = list->mark[w]; bits != 0; bits &= bits - 1)
            list->symbol[list->n++] = (int32_t)w * 64 + __builtin_ctzll(bits);
    return RILL_OK;
}

void seq_list_clear(seq_list *list, rill_context *ctx)
{
    DROP(ctx, list->mark, list->mark_room);
    DROP(ctx, list->symbol, list->symbol_room);
}

size_t seq_list_most(const seq_shortlist *s, size_t pieces)
{
    const size_t first = (size_t)(s->first < s->actions ? s->first : s->actions);
    return first + 1 + pieces * ((size_t)s->widest + 1);
}
