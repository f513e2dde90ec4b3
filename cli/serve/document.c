/* The lists of pieces of documents, whole-word search, and joining the decoded texts; see document.h. */
#include "document.h"

#include <utf8proc.h>

#include "utf8.h"

/* --- pieces of a document ----------------------------------------------------------------------------------------- */

void buffer_add(buffer *b, const char *text, size_t length)
{
    if (!cli_grow(&b->data, &b->capacity, b->used + length + 1, 1)) {
        b->is_out_of_memory = 1;
        return;
    }
    if (length > 0) memcpy(b->data + b->used, text, length);
    b->used += length;
    b->data[b->used] = '\0';
}

void markup_write(buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *entity = text[i] == '&' ? "&amp;" : text[i] == '<' ? "&lt;" : text[i] == '>' ? "&gt;" : NULL;
        buffer_add(out, entity ? entity : text + i, entity ? strlen(entity) : 1);
    }
}

piece *document_add(document *d, piece_kind kind, const char *text, size_t length)
{
    static piece spare; /* returned when out of memory; its contents are never read */
    if (!cli_grow(&d->piece, &d->piece_capacity, (size_t)d->n + 1, sizeof *d->piece) ||
        !cli_grow(&d->part_pieces, &d->part_capacity, (size_t)d->n_parts + 1, sizeof *d->part_pieces)) {
        d->has_failed = 1;
        return &spare;
    }
    const int is_part = kind == PIECE_SENTENCE || kind == PIECE_TAGGED;
    piece *p = &d->piece[d->n];
    *p = (piece){.kind = kind, .begin = d->text.used, .length = length, .part = is_part ? d->n_parts : -1};
    if (is_part) d->part_pieces[d->n_parts++] = d->n;
    d->n++;
    buffer_add(&d->text, text, length);
    d->has_failed |= d->text.is_out_of_memory;
    return p;
}

int32_t document_n_parts(const document *d)
{
    return d->n_parts;
}

const char *document_part(const document *d, int32_t i, size_t *length)
{
    const piece *p = &d->piece[d->part_pieces[i]];
    *length = p->length;
    return d->text.data + p->begin;
}

int document_is_sentence(const document *d, int32_t i)
{
    return d->piece[d->part_pieces[i]].kind == PIECE_SENTENCE;
}

void document_close(document *d)
{
    if (!d) return;
    free(d->text.data);
    free(d->piece);
    free(d->part_pieces);
    free(d);
}

/* --- finding words ----------------------------------------------------------------------------------------------------- */

char *words_fold(const char *text, size_t n)
{
    char *folded = malloc(n + 1);
    if (!folded) return NULL;
    for (size_t i = 0; i < n; i++) folded[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    folded[n] = '\0';
    return folded;
}

static int is_letter_or_digit(int32_t c)
{
    const utf8proc_category_t kind = c < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(c);
    return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) || kind == UTF8PROC_CATEGORY_ND;
}

/* Whether a character is a letter or digit of a script with spaces between words. Kana and ideographs count as word boundaries. */
static int is_word_character(int32_t c)
{
    static const int32_t blocks[] = {0x3006, 0x3006,  0x3040,  0x30FF,  0x3400,  0x9FFF,  0xF900,
                                     0xFAFF, 0x17000, 0x18D7F, 0x1B170, 0x1B2FF, 0x20000, 0x3FFFF};
    return is_letter_or_digit(c) && !RILL_IN_RANGES(c, blocks);
}

static int is_trail_byte(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Find the characters before and after a byte position; -1: none. */
static void neighbours(const char *text, size_t n, size_t pos, int32_t *prev_char, int32_t *next_char)
{
    size_t prev_pos = pos, next_pos = pos;
    *prev_char = *next_char = -1;
    while (prev_pos > 0 && pos - prev_pos < 4 && is_trail_byte(text[--prev_pos])) {
    }
    if (prev_pos < pos) *prev_char = rill_utf8_read(text, pos, &prev_pos);
    if (prev_pos < pos) *prev_char = -1; /* malformed UTF-8: the character ends before pos */
    if (pos < n) *next_char = rill_utf8_read(text, n, &next_pos);
}

/* Whether a byte position lies within a word, not at its edge. */
static int is_inside_word(const char *text, size_t n, size_t pos)
{
    int32_t prev_char, next_char;
    neighbours(text, n, pos, &prev_char, &next_char);
    return is_word_character(prev_char) && is_word_character(next_char);
}

/* After a match inside a word, skip the rest of the word, so that a long word that repeats `what` takes linear time. */
int words_find(const char *in, size_t n, size_t from, const char *what, size_t m, size_t *begin)
{
    if (n > INT32_MAX || m == 0) return 0;
    for (size_t pos = from; pos + m <= n; pos++) {
        const char *found = memmem(in + pos, n - pos, what, m);
        if (!found) return 0;
        *begin = pos = (size_t)(found - in);
        if (!is_inside_word(in, n, pos) && !is_inside_word(in, n, pos + m)) return 1;
        while (pos + 1 < n && (is_trail_byte(in[pos + 1]) || is_inside_word(in, n, pos + 1))) pos++;
    }
    return 0;
}

static int is_word_edge(const char *text, size_t n, size_t pos, int ends)
{
    int32_t prev_char, next_char;
    if (is_trail_byte(text[pos])) return 0;
    neighbours(text, n, pos, &prev_char, &next_char);
    const int32_t word_char = ends ? prev_char : next_char;
    return is_letter_or_digit(word_char) && !(is_word_character(prev_char) && is_word_character(next_char));
}

/* Find a word's beginning (ends = 0) or end (1) nearest to byte `pos`. Returns n if none is nearby. */
static size_t words_edge(const char *text, size_t n, size_t pos, int ends)
{
    enum { NEARBY = 200 };
    for (size_t steps = 0; steps <= n && steps <= NEARBY; steps++) {
        if (steps <= pos && pos - steps <= n && is_word_edge(text, n, pos - steps, ends)) return pos - steps;
        if (pos + steps <= n && is_word_edge(text, n, pos + steps, ends)) return pos + steps;
    }
    return n;
}

/* --- joining outputs to a document -------------------------------------------------------------------------------- */

/* Find the output `what`, without its trailing punctuation, in a text. Both are in lower case. */
static int find_output(const char *in, size_t n, size_t from, const char *what, size_t *begin, size_t *end)
{
    size_t length = strlen(what);
    while (length > 0 && strchr(".,;:!? ", what[length - 1])) length--;
    char *folded = words_fold(what, length);
    const int found = folded && words_find(in, n, from, folded, length, begin);
    *end = *begin + length;
    free(folded);
    return found;
}

/* Flag in tag_offsets: the tag was placed by its text, not in proportion. */
#define FIXED_OFFSET (~(SIZE_MAX >> 1))

/* A sentence of the joined document: its output, or its source text if it has no output. */
typedef struct joined_sentence {
    char *text; /* [n] bytes of the text */
    /* tag_offsets: [end_piece - first_piece] byte offset in `text` at which each tag is written; SIZE_MAX: not known yet */
    size_t n, *tag_offsets;
    int32_t first_piece, end_piece; /* the sentence's tags and texts of tags: range of document.piece */
} joined_sentence;

/* Place tags around their text where it occurs in the sentence's output. */
static void place_by_text(const document *d, joined_sentence *s, const char *const *outputs)
{
    size_t min_offset = 0, begin = 0, end = 0;
    char *folded = words_fold(s->text, s->n);
    for (int32_t i = s->first_piece; i < s->end_piece; i++) s->tag_offsets[i - s->first_piece] = SIZE_MAX;
    for (int32_t i = s->first_piece; i < s->end_piece && folded; i++) {
        const char *own = d->piece[i].kind == PIECE_TAGGED ? outputs[d->piece[i].part] : NULL;
        if (!own || !find_output(folded, s->n, min_offset, own, &begin, &end)) continue;
        for (int32_t t = i - 1; t >= s->first_piece && d->piece[t].is_opening; t--)
            s->tag_offsets[t - s->first_piece] = begin;
        for (int32_t t = i + 1; t < s->end_piece && d->piece[t].kind == PIECE_TAG && !d->piece[t].is_opening; t++)
            s->tag_offsets[t - s->first_piece] = end;
        min_offset = end;
    }
    free(folded);
}

/* Place the tags that place_by_text() did not place, in proportion to their place in the source. Tags keep their order. */
static void place_by_proportion(const document *d, joined_sentence *s)
{
    const double source_length = (double)d->piece[s->first_piece - 1].length;
    size_t min_offset = 0, max_offset = s->n;
    for (int32_t i = s->first_piece; i < s->end_piece; i++) {
        const piece *tag = &d->piece[i];
        size_t *offset = &s->tag_offsets[i - s->first_piece];
        if (tag->kind == PIECE_TAG && *offset != SIZE_MAX) *offset |= FIXED_OFFSET;
        if (tag->kind != PIECE_TAG || *offset != SIZE_MAX) continue;
        *offset = words_edge(s->text, s->n, (size_t)((double)tag->offset / source_length * (double)s->n + 0.5),
                             !tag->is_opening && !tag->is_standalone);
    }
    /* Keep the tags in order. Backwards: lower each offset to the offset of the next tag that was placed by its text. Forwards: raise each
     * offset to the offset of the tag before. */
    for (int32_t i = s->end_piece - 1; i >= s->first_piece; i--) {
        size_t *offset = &s->tag_offsets[i - s->first_piece];
        if (d->piece[i].kind != PIECE_TAG) continue;
        if (*offset & FIXED_OFFSET) max_offset = *offset &= ~FIXED_OFFSET;
        if (*offset > max_offset) *offset = max_offset;
    }
    for (int32_t i = s->first_piece; i < s->end_piece; i++) {
        size_t *offset = &s->tag_offsets[i - s->first_piece];
        if (d->piece[i].kind != PIECE_TAG) continue;
        if (*offset < min_offset) *offset = min_offset;
        min_offset = *offset;
    }
}

static void write_text(const document *d, buffer *out, const char *text, size_t length)
{
    if (d->split == DOCUMENT_HTML)
        markup_write(out, text, length);
    else
        buffer_add(out, text, length);
}

/* Write a tag. A standalone tag, such as an image, keeps the spaces around it. */
static void write_tag(const document *d, const piece *tag, const char *sentence, size_t offset, buffer *out)
{
    if (tag->is_standalone && tag->has_space_before && offset > 0 && out->data[out->used - 1] != ' ')
        buffer_add(out, " ", 1);
    buffer_add(out, d->text.data + tag->begin, tag->length);
    if (tag->is_standalone && tag->has_space_after && sentence[offset] && !strchr(" .,;:!?", sentence[offset]))
        buffer_add(out, " ", 1);
}

static void write_sentence(const document *d, const joined_sentence *s, buffer *out)
{
    size_t done = 0;
    for (int32_t i = s->first_piece; i < s->end_piece; i++) {
        if (d->piece[i].kind != PIECE_TAG) continue;
        const size_t place = s->tag_offsets[i - s->first_piece];
        write_text(d, out, s->text + done, place - done);
        done = place;
        write_tag(d, &d->piece[i], s->text, place, out);
    }
    write_text(d, out, s->text + done, s->n - done);
}

/* Write a sentence with its tags. Returns the index of the piece of the document that follows it. */
static int32_t join_sentence(const document *d, int32_t sentence, const char *const *outputs, buffer *out)
{
    const piece *p = &d->piece[sentence];
    const char *translation = outputs[p->part];
    buffer text = {0};
    joined_sentence s = {.first_piece = sentence + 1, .end_piece = sentence + 1};
    while (s.end_piece < d->n &&
           (d->piece[s.end_piece].kind == PIECE_TAG || d->piece[s.end_piece].kind == PIECE_TAGGED))
        s.end_piece++;
    buffer_add(&text, translation ? translation : d->text.data + p->begin,
               translation ? strlen(translation) : p->length);
    s.text = text.data;
    s.n = text.used;
    s.tag_offsets = malloc((size_t)(s.end_piece - sentence) * sizeof *s.tag_offsets);
    out->is_out_of_memory |= text.is_out_of_memory || !s.tag_offsets;
    if (!out->is_out_of_memory) {
        for (int32_t i = s.first_piece; i < s.end_piece; i++) s.tag_offsets[i - s.first_piece] = d->piece[i].offset;
        if (translation) place_by_text(d, &s, outputs);
        if (translation) place_by_proportion(d, &s);
        write_sentence(d, &s, out);
    }
    free(text.data);
    free(s.tag_offsets);
    return s.end_piece;
}

char *document_join(const document *d, const char *const *outputs)
{
    buffer out = {0};
    buffer_add(&out, "", 0);
    for (int32_t i = 0; i < d->n && !out.is_out_of_memory;) {
        const piece *p = &d->piece[i];
        if (p->kind == PIECE_SENTENCE) {
            i = join_sentence(d, i, outputs, &out);
        } else {
            buffer_add(&out, d->text.data + p->begin, p->length);
            i++;
        }
    }
    if (!out.is_out_of_memory) return out.data;
    free(out.data);
    return NULL;
}
