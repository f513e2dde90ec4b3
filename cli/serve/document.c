/* Documents; see document.h.
 *
 * Divisions: pieces · sentences · cutting · putting together. */
#include "document.h"

#include <stdlib.h>
#include <string.h>

#include "document_inside.h"
#include "sentences.h"
#include "words.h"

/* --- pieces ------------------------------------------------------------------------------------------------------- */

void buffer_add(buffer *b, const char *text, size_t length)
{
    if (b->used + length + 1 > b->room) {
        const size_t room = 2 * (b->used + length) + 64;
        char *more = realloc(b->data, room);
        b->failed |= !more;
        if (!more) return;
        b->data = more;
        b->room = room;
    }
    if (length > 0) memcpy(b->data + b->used, text, length);
    b->used += length;
    b->data[b->used] = '\0';
}

piece *document_add(document *d, piece_kind kind, const char *text, size_t length)
{
    static piece spare; /* never read: the document has failed */
    if (d->n == d->room) {
        const int32_t room = 2 * d->room + 16;
        piece *more = realloc(d->piece, (size_t)room * sizeof *more);
        int32_t *parts = realloc(d->of_part, (size_t)room * sizeof *parts);
        if (more) d->piece = more;
        if (parts) d->of_part = parts;
        d->failed |= !more || !parts;
        if (d->failed) return &spare;
        d->room = room;
    }
    const int is_part = kind == PIECE_SENTENCE || kind == PIECE_TAGGED;
    piece *p = &d->piece[d->n];
    *p = (piece){.kind = kind, .begin = d->text.used, .length = length, .part = is_part ? d->n_parts : -1};
    if (is_part) d->of_part[d->n_parts++] = d->n;
    d->n++;
    buffer_add(&d->text, text, length);
    d->failed |= d->text.failed;
    return p;
}

const char *document_split_name(document_split split)
{
    static const char *const names[] = {NULL, "lines", "sentences", "html"};
    return names[split];
}

int32_t document_parts(const document *d)
{
    return d->n_parts;
}

const char *document_part(const document *d, int32_t i, size_t *length)
{
    const piece *p = &d->piece[d->of_part[i]];
    *length = p->length;
    return d->text.data + p->begin;
}

int document_is_sentence(const document *d, int32_t i)
{
    return d->piece[d->of_part[i]].kind == PIECE_SENTENCE;
}

void document_close(document *d)
{
    if (!d) return;
    free(d->text.data);
    free(d->piece);
    free(d->of_part);
    free(d);
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

/* Found sentences on their way: as many as are wanted. */
typedef struct finding {
    const document *d;
    void (*found)(void *user, size_t begin, size_t end);
    void *user;
} finding;

static int give_sentence(void *user, size_t begin, size_t end)
{
    const finding *f = user;
    f->found(f->user, begin, end);
    return f->d->n_parts > f->d->most;
}

void document_sentences(document *d, const char *text, size_t length, const char *language,
                        void (*found)(void *user, size_t begin, size_t end), void *user)
{
    finding f = {d, found, user};
    if (d->split == DOCUMENT_LINES)
        rill_sentence_whole(text, length, give_sentence, &f);
    else
        rill_sentences(text, length, language, give_sentence, &f);
}

/* --- cutting ------------------------------------------------------------------------------------------------------ */

typedef struct cutting {
    document *d;
    const char *text;
    size_t done;
} cutting;

static void add_sentence(void *user, size_t begin, size_t end)
{
    cutting *c = user;
    if (begin > c->done) document_add(c->d, PIECE_KEPT, c->text + c->done, begin - c->done);
    document_add(c->d, PIECE_SENTENCE, c->text + begin, end - begin);
    c->done = end;
}

static void cut_lines(document *d, const char *text, size_t length, const char *language)
{
    for (size_t begin = 0; begin < length && d->n_parts <= d->most;) {
        const char *end = memchr(text + begin, '\n', length - begin);
        const size_t line = (end ? (size_t)(end - text) + 1 : length) - begin;
        cutting c = {.d = d, .text = text + begin};
        document_sentences(d, c.text, line, language, add_sentence, &c);
        if (c.done < line) document_add(d, PIECE_KEPT, c.text + c.done, line - c.done);
        begin += line;
    }
}

document *document_open(const char *text, size_t length, document_split split, const char *language, int32_t most)
{
    document *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->split = split;
    d->most = most;
    if (length > INT32_MAX)
        d->failed = 1;
    else if (split == DOCUMENT_HTML)
        markup_read(d, text, length, language);
    else
        cut_lines(d, text, length, language);
    if (!d->failed) return d;
    document_close(d);
    return NULL;
}

/* --- putting together --------------------------------------------------------------------------------------------- */

/* Where `what`, without the punctuation that a sentence of its own would end with, stands in a folded text. */
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

static size_t in_proportion(const char *text, size_t n, const piece *tag, size_t of)
{
    return words_edge(text, n, (size_t)((double)tag->at / (double)of * (double)n + 0.5), !tag->opens && !tag->alone);
}

/* A place that is known, and not in proportion. */
#define FIXED (~(SIZE_MAX >> 1))

/* What a sentence has become: its output, or itself. */
typedef struct joined {
    char *text;        /* [n] */
    size_t n, *at;     /* of the piece `first` + i: where a tag goes; SIZE_MAX: not known */
    int32_t first, to; /* the pieces within it */
} joined;

/* Tags whose text is found in the sentence's output get their places around it. */
static void place_found(const document *d, joined *s, const char *(*output)(void *user, int32_t i), void *user)
{
    size_t least = 0, begin = 0, end = 0;
    char *folded = words_fold(s->text, s->n);
    for (int32_t i = s->first; i < s->to; i++) s->at[i - s->first] = SIZE_MAX;
    for (int32_t i = s->first; i < s->to && folded; i++) {
        const char *own = d->piece[i].kind == PIECE_TAGGED ? output(user, d->piece[i].part) : NULL;
        if (!own || !find_output(folded, s->n, least, own, &begin, &end)) continue;
        for (int32_t t = i - 1; t >= s->first && d->piece[t].opens; t--) s->at[t - s->first] = begin;
        for (int32_t t = i + 1; t < s->to && d->piece[t].kind == PIECE_TAG && !d->piece[t].opens; t++)
            s->at[t - s->first] = end;
        least = end;
    }
    free(folded);
}

/* All others are placed in proportion, between those that have their places: their order stays. */
static void place_others(const document *d, joined *s)
{
    const size_t of = d->piece[s->first - 1].length;
    size_t least = 0, most = s->n;
    for (int32_t i = s->first; i < s->to; i++)
        if (d->piece[i].kind == PIECE_TAG && s->at[i - s->first] == SIZE_MAX)
            s->at[i - s->first] = in_proportion(s->text, s->n, &d->piece[i], of);
        else if (d->piece[i].kind == PIECE_TAG)
            s->at[i - s->first] |= FIXED;
    /* From behind: not beyond a place that is known; then from the front: not before one. */
    for (int32_t i = s->to - 1; i >= s->first; i--) {
        size_t *at = &s->at[i - s->first];
        if (d->piece[i].kind != PIECE_TAG) continue;
        if (*at & FIXED) most = *at &= ~FIXED;
        if (*at > most) *at = most;
    }
    for (int32_t i = s->first; i < s->to; i++) {
        size_t *at = &s->at[i - s->first];
        if (d->piece[i].kind != PIECE_TAG) continue;
        if (*at < least) *at = least;
        least = *at;
    }
}

/* A sentence without an output stays as it was. */
static void place_back(const document *d, joined *s)
{
    for (int32_t i = s->first; i < s->to; i++) s->at[i - s->first] = d->piece[i].at;
}

static void write_text(const document *d, buffer *out, const char *text, size_t length)
{
    if (d->split == DOCUMENT_HTML)
        markup_write(out, text, length);
    else
        buffer_add(out, text, length);
}

/* One that stands alone, like a picture, has blanks around it where it had some. */
static void write_tag(const document *d, const piece *tag, const char *whole, size_t at, buffer *out)
{
    if (tag->alone && tag->blank_before && at > 0 && out->data[out->used - 1] != ' ') buffer_add(out, " ", 1);
    buffer_add(out, d->text.data + tag->begin, tag->length);
    if (tag->alone && tag->blank_behind && whole[at] && !strchr(" .,;:!?", whole[at])) buffer_add(out, " ", 1);
}

static void write_sentence(const document *d, const joined *s, buffer *out)
{
    size_t done = 0;
    for (int32_t i = s->first; i < s->to; i++) {
        if (d->piece[i].kind != PIECE_TAG) continue;
        const size_t place = s->at[i - s->first];
        write_text(d, out, s->text + done, place - done);
        done = place;
        write_tag(d, &d->piece[i], s->text, place, out);
    }
    write_text(d, out, s->text + done, s->n - done);
}

/* A sentence with what stands in it; returns the piece behind. */
static int32_t join_sentence(const document *d, int32_t sentence, const char *(*output)(void *user, int32_t i),
                             void *user, buffer *out)
{
    const piece *p = &d->piece[sentence];
    const char *given = output(user, p->part);
    buffer text = {0};
    joined s = {.first = sentence + 1, .to = sentence + 1};
    while (s.to < d->n && (d->piece[s.to].kind == PIECE_TAG || d->piece[s.to].kind == PIECE_TAGGED)) s.to++;
    buffer_add(&text, given ? given : d->text.data + p->begin, given ? strlen(given) : p->length);
    s.text = text.data;
    s.n = text.used;
    s.at = malloc((size_t)(s.to - sentence) * sizeof *s.at);
    out->failed |= text.failed || !s.at;
    if (!out->failed) {
        if (given) place_found(d, &s, output, user);
        if (given) place_others(d, &s);
        if (!given) place_back(d, &s);
        write_sentence(d, &s, out);
    }
    free(text.data);
    free(s.at);
    return s.to;
}

char *document_join(const document *d, const char *(*output)(void *user, int32_t i), void *user)
{
    buffer out = {0};
    buffer_add(&out, "", 0);
    for (int32_t i = 0; i < d->n && !out.failed;) {
        const piece *p = &d->piece[i];
        if (p->kind == PIECE_SENTENCE) {
            i = join_sentence(d, i, output, user, &out);
        } else {
            buffer_add(&out, d->text.data + p->begin, p->length);
            i++;
        }
    }
    if (!out.failed) return out.data;
    free(out.data);
    return NULL;
}
