/* Documents; see document.h.
 *
 * Divisions: pieces · sentences · cutting · putting together. */
#include "document.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "document_inside.h"
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

/* Of what has no letter and no number a model would only make something up. */
static int says_something(const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        UChar32 c;
        U8_NEXT((const uint8_t *)text, at, length, c);
        if (c < 0 || u_isalnum(c)) return 1; /* what is no UTF-8 the model refuses */
    }
    return 0;
}

/* Without blanks around it; nothing where it says nothing. */
static void trim(const char *text, size_t begin, size_t end, void (*found)(void *user, size_t begin, size_t end),
                 void *user)
{
    size_t first = end, last = begin;
    for (size_t at = begin; at < end;) {
        const size_t here = at;
        UChar32 c;
        U8_NEXT((const uint8_t *)text, at, end, c);
        if (c >= 0 && u_isUWhiteSpace(c)) continue;
        if (first == end) first = here;
        last = at;
    }
    if (says_something(text + begin, end - begin)) found(user, first, last);
}

/* Words whose full stop ends no sentence as a rule. (ICU's own list of them, "ss=standard", takes every German word with "r" at its end for
 * one.) Those that often stand at an end, like "etc", are left out: two sentences in one part do less harm than half a sentence. */
static const char *const abbreviations[] = {
    "Abb", "Abs",  "al",  "Art", "Aufl", "bzw",  "ca",  "Capt", "cf",  "Col", "Dipl", "Dr",   "Drs", "e.g", "evtl",
    "Fig", "fig",  "Fr",  "geb", "Gen",  "ggf",  "Gov", "Hr",   "Hrn", "i.e", "inkl", "Kap",  "Lt",  "max", "min",
    "Mio", "Mlle", "Mme", "Mr",  "Mrd",  "Mrs",  "Ms",  "No",   "Nr",  "pp",  "Prof", "Rep",  "Rev", "Sen", "Sgt",
    "sog", "Sr",   "St",  "Str", "Tel",  "Univ", "vgl", "Vgl",  "vol", "Vol", "vs",   "zzgl", NULL};

/* Whether the full stop before byte `end` belongs to a word: an abbreviation, a letter ("z. B."), a number of a day ("3. Mai"). */
static int is_abbreviated(const char *text, size_t begin, size_t end)
{
    while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\n')) end--;
    if (end == begin || text[end - 1] != '.') return 0;
    size_t word = --end;
    while (word > begin && end - word < 16 && !strchr(" \t\n(\"", text[word - 1])) word--;
    const size_t length = end - word;
    int digits = 0, letters = 0;
    for (size_t i = word; i < end; i++) digits += text[i] >= '0' && text[i] <= '9';
    for (size_t i = word; i < end; i++) letters += !U8_IS_TRAIL(text[i]);
    if (letters == 1 || (length == 2 && digits == 2)) return 1;
    for (const char *const *known = abbreviations; *known; known++)
        if (strlen(*known) == length && !memcmp(*known, text + word, length)) return 1;
    return 0;
}

/* NULL: sentences cannot be told apart, and the paragraph is one. */
static UBreakIterator *open_sentences(const char *language, UText *text)
{
    UErrorCode error = U_ZERO_ERROR;
    UBreakIterator *sentences = ubrk_open(UBRK_SENTENCE, language ? language : "", NULL, 0, &error);
    if (U_SUCCESS(error)) ubrk_setUText(sentences, text, &error);
    if (U_SUCCESS(error)) return sentences;
    if (sentences) ubrk_close(sentences);
    return NULL;
}

void document_sentences(document *d, const char *text, size_t length, const char *language,
                        void (*found)(void *user, size_t begin, size_t end), void *user)
{
    UErrorCode error = U_ZERO_ERROR;
    if (!says_something(text, length)) return; /* to open an iterator takes longer */
    UText *utf8 = d->split == DOCUMENT_LINES ? NULL : utext_openUTF8(NULL, text, (int64_t)length, &error);
    UBreakIterator *sentences = utf8 ? open_sentences(language, utf8) : NULL;
    size_t begin = 0;
    if (sentences)
        for (int32_t end = ubrk_next(sentences); end != UBRK_DONE && d->n_parts <= d->most;
             end = ubrk_next(sentences)) {
            if ((size_t)end < length && is_abbreviated(text, begin, (size_t)end)) continue;
            trim(text, begin, (size_t)end, found, user);
            begin = (size_t)end;
        }
    else
        trim(text, 0, length, found, user);
    if (sentences) ubrk_close(sentences);
    if (utf8) utext_close(utf8);
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
