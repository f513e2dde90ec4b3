/* Pages with simple markup, for document.c.
 *
 * This is no parser of HTML: it tells tags, comments and entities from text, and blocks from what stands within lines. Whatever it does
 * not know is a block, and blocks are kept to the byte. Source of the names: html.spec.whatwg.org, sections 4.4 to 4.8 and 13.2.5.
 *
 * Divisions: entities · tags · paragraphs · pages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/utf8.h>

#include "document_inside.h"

/* --- entities ----------------------------------------------------------------------------------------------------- */

/* In order of their numbers, from 160. */
static const char *const latin[] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",   "ordf",
    "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",   "acute",  "micro",
    "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave",
    "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",
    "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",
    "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute",
    "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave",
    "iacute", "icirc",  "iuml",   "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide",
    "oslash", "ugrave", "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

static const struct {
    const char *name;
    int32_t number;
} others[] = {{"amp", '&'},       {"lt", '<'},        {"gt", '>'},       {"quot", '"'},     {"apos", '\''},
              {"ndash", 0x2013},  {"mdash", 0x2014},  {"lsquo", 0x2018}, {"rsquo", 0x2019}, {"sbquo", 0x201A},
              {"ldquo", 0x201C},  {"rdquo", 0x201D},  {"bdquo", 0x201E}, {"bull", 0x2022},  {"hellip", 0x2026},
              {"lsaquo", 0x2039}, {"rsaquo", 0x203A}, {"euro", 0x20AC},  {"trade", 0x2122}, {"OElig", 0x152},
              {"oelig", 0x153},   {"Scaron", 0x160},  {"scaron", 0x161}, {"Yuml", 0x178},   {"ZeroWidthSpace", 0x200B},
              {"NoBreak", 0x2060}};

static int32_t number_of(const char *name, size_t length)
{
    char digits[12];
    if (length > 1 && length < sizeof digits && name[0] == '#') {
        const int hex = name[1] == 'x' || name[1] == 'X';
        char *end;
        memcpy(digits, name + 1 + hex, length - 1 - (size_t)hex);
        digits[length - 1 - (size_t)hex] = '\0';
        const unsigned long number = strtoul(digits, &end, hex ? 16 : 10);
        const int fine = digits[0] && !*end && number > 0 && number < 0x110000 && (number < 0xD800 || number > 0xDFFF);
        return fine && digits[0] != '-' && digits[0] != '+' && digits[0] != ' ' ? (int32_t)number : -1;
    }
    for (size_t i = 0; i < sizeof latin / sizeof *latin; i++)
        if (strlen(latin[i]) == length && !memcmp(latin[i], name, length)) return (int32_t)(160 + i);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].name) == length && !memcmp(others[i].name, name, length)) return others[i].number;
    return -1;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind the entity at a '&'; NULL: none is there. */
static const char *entity_end(const char *text, const char *end)
{
    enum { LONGEST = 33 }; /* &CounterClockwiseContourIntegral; */
    const char *last = text + 1;
    if (last < end && *last == '#') last++;
    const char *first = last;
    while (last < end && last - text < LONGEST && (is_letter(*last) || is_digit(*last))) last++;
    return last > first && last < end && *last == ';' ? last + 1 : NULL;
}

/* An entity as UTF-8 in out; 0: it is not known here. */
static size_t read_entity(const char *text, const char *behind, char out[4])
{
    const int32_t number = number_of(text + 1, (size_t)(behind - text) - 2);
    size_t n = 0;
    if (number >= 0) U8_APPEND_UNSAFE((uint8_t *)out, n, number);
    return n;
}

void markup_write(buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *entity = text[i] == '&' ? "&amp;" : text[i] == '<' ? "&lt;" : text[i] == '>' ? "&gt;" : NULL;
        buffer_add(out, entity ? entity : text + i, entity ? strlen(entity) : 1);
    }
}

/* --- tags --------------------------------------------------------------------------------------------------------- */

typedef struct tag {
    const char *name; /* [name_length]; none of a comment */
    size_t name_length;
    const char *end; /* behind it */
    int closes, closes_itself, is_doctype;
    int says_no; /* what is within is not to be translated */
} tag;

/* Of a name or a value: its bytes. */
typedef struct span {
    const char *begin;
    size_t length;
} span;

static size_t blanks(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && strchr(" \t\r\n\f", at[n]) && at[n]) n++;
    return n;
}

static int is_text(span s, const char *text)
{
    return s.length == strlen(text) && !strncasecmp(s.begin, text, s.length);
}

/* Up to a byte of `ends`. */
static span read_until(const char **at, const char *end, const char *ends)
{
    span s = {.begin = *at};
    while (*at < end && (!strchr(ends, **at) || !**at)) ++*at;
    s.length = (size_t)(*at - s.begin);
    return s;
}

/* The value at *at: a word, or what is in quotes. */
static span read_value(const char **at, const char *end)
{
    if (*at == end || (**at != '"' && **at != '\'')) return read_until(at, end, " \t\r\n\f>");
    const char quote[] = {*(*at)++, '\0'};
    const span value = read_until(at, end, quote);
    if (*at < end) ++*at;
    return value;
}

static int has_word(span value, const char *word)
{
    const char *at = value.begin, *end = at + value.length;
    while (at < end) {
        at += blanks(at, end);
        if (is_text(read_until(&at, end, " \t\r\n\f"), word)) return 1;
    }
    return 0;
}

/* The attributes behind a tag's name, up to its '>'. */
static void read_attributes(tag *t, const char *at, const char *end)
{
    while ((at += blanks(at, end)) < end && *at != '>') {
        const int slash = *at == '/';
        if (slash) at++;
        t->closes_itself = slash && at < end && *at == '>';
        if (slash) continue;
        const char *begin = at++; /* even a '=' */
        read_until(&at, end, " \t\r\n\f/>=");
        const span name = {begin, (size_t)(at - begin)};
        span value = {at, 0};
        const char *equals = at + blanks(at, end);
        if (equals < end && *equals == '=') {
            at = equals + 1;
            at += blanks(at, end);
            value = read_value(&at, end);
        }
        t->says_no |= (is_text(name, "translate") && is_text(value, "no")) ||
                      (is_text(name, "class") && has_word(value, "notranslate"));
    }
    t->end = at < end ? at + 1 : end;
}

/* Behind `what`; the end where it is not. */
static const char *find(const char *at, const char *end, const char *what)
{
    const char *found = memmem(at, (size_t)(end - at), what, strlen(what));
    return found ? found + strlen(what) : end;
}

/* 0: a '<' that begins none. */
static int read_tag(const char *at, const char *end, tag *out)
{
    *out = (tag){.closes = at + 1 < end && at[1] == '/'};
    const char *name = at + 1 + out->closes;
    if (name < end && is_letter(*name)) {
        out->name = name;
        out->name_length = read_until(&name, end, " \t\r\n\f/>").length;
        read_attributes(out, name, end);
        return 1;
    }
    if (name >= end || out->closes || (*name != '!' && *name != '?')) return 0;
    out->is_doctype = name + 1 < end && is_letter(name[1]) && *name == '!';
    out->end = end - at > 4 && !memcmp(at, "<!--", 4) ? find(at + 2, end, "-->") : find(name, end, ">");
    return 1;
}

static int is_one_of(const tag *t, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == t->name_length && !strncasecmp(*names, t->name, t->name_length)) return 1;
    return 0;
}

static const char *const inline_names[] = {
    "a",    "abbr",  "acronym", "b",      "bdi",    "bdo", "big",  "cite", "code", "del", "dfn",  "em",
    "font", "i",     "img",     "input",  "ins",    "kbd", "mark", "q",    "rp",   "rt",  "ruby", "s",
    "samp", "small", "span",    "strike", "strong", "sub", "sup",  "time", "tt",   "u",   "var",  NULL};
static const char *const empty_names[] = {"img", "input", NULL};
/* Where a line may end within a word: of the output's words it says nothing, and within a sentence it goes. */
static const char *const break_names[] = {"wbr", NULL};
/* What is in them is not read. */
static const char *const raw_names[] = {"code",     "kbd",      "math", "pre", "samp",   "script",  "style",    "svg",
                                        "template", "textarea", "var",  "xmp", "iframe", "noembed", "noframes", NULL};

/* Whose text has no tags in it, so that only their own end tag ends them. */
static const char *const plain_names[] = {"iframe",   "noembed", "noframes", "script", "style",
                                          "textarea", "title",   "xmp",      NULL};

static const char *const title_names[] = {"title", NULL};

/* Of such an element: where its end tag begins. */
static const char *plain_end(const tag *t, const char *end)
{
    const char *at = t->end;
    while ((at = memchr(at, '<', (size_t)(end - at)))) {
        const char *behind = at + 2 + t->name_length;
        if (behind < end && at[1] == '/' && !strncasecmp(at + 2, t->name, t->name_length) &&
            strchr(" \t\r\n\f/>", *behind) && *behind)
            return at;
        at++;
    }
    return end;
}

/* Behind the end tag of an element, those of its name within it counted. */
static const char *element_end(const tag *t, const char *end)
{
    int depth = 1;
    tag other;
    const int is_plain = is_one_of(t, plain_names);
    for (const char *at = is_plain ? plain_end(t, end) : t->end; at < end;) {
        if (*at != '<' || !read_tag(at, end, &other)) {
            at++;
            continue;
        }
        const int same = other.name_length == t->name_length && other.name &&
                         !strncasecmp(other.name, t->name, t->name_length) && !other.closes_itself;
        if (same) depth += other.closes ? -1 : 1;
        at = !other.closes && is_one_of(&other, plain_names) ? plain_end(&other, end) : other.end;
        if (depth == 0) return at;
    }
    return end;
}

/* --- paragraphs --------------------------------------------------------------------------------------------------- */

typedef struct mark {
    const char *raw;   /* [length] */
    size_t length, at; /* in the paragraph's plain text */
    int depth;         /* of elements, behind it */
    int opens, alone;
} mark;

/* A paragraph as it is read: its text with entities decoded and blanks drawn together, and the tags in it. */
typedef struct paragraph {
    document *d;
    const char *language, *end; /* of the page */
    buffer plain;
    mark *mark;           /* [n] */
    size_t n, room, used; /* of marks; those that have become pieces */
    size_t done;          /* of plain */
    int depth;
} paragraph;

static void add_mark(paragraph *p, const char *raw, size_t length, int step)
{
    if (p->n == p->room) {
        const size_t room = 2 * p->room + 16;
        mark *more = realloc(p->mark, room * sizeof *more);
        p->d->failed |= !more;
        if (!more) return;
        p->mark = more;
        p->room = room;
    }
    p->depth += step;
    if (p->depth < 0) p->depth = 0;
    p->mark[p->n++] = (mark){
        .raw = raw, .length = length, .at = p->plain.used, .depth = p->depth, .opens = step > 0, .alone = step == 0};
}

/* An entity that is not known here is a tag of its own accord: it stays as it is written. */
static void add_text(paragraph *p, const char *at, const char *end)
{
    char bytes[4];
    while (at < end) {
        const char *behind = *at == '&' ? entity_end(at, end) : NULL;
        const size_t n = behind ? read_entity(at, behind, bytes) : blanks(at, end);
        if (behind && n == 0)
            add_mark(p, at, (size_t)(behind - at), 0);
        else if (behind)
            buffer_add(&p->plain, bytes, n);
        else if (n == 0)
            buffer_add(&p->plain, at, 1);
        else if (p->plain.used == 0 || p->plain.data[p->plain.used - 1] != ' ')
            buffer_add(&p->plain, " ", 1);
        at = behind ? behind : at + (n > 0 ? n : 1);
    }
}

static int is_before_blank(const paragraph *p, const mark *m)
{
    return blanks(m->raw + m->length, p->end) > 0;
}

/* Between sentences: text up to `to`, and marks that stand there, with a blank between two that had one. */
static void keep(paragraph *p, size_t to)
{
    buffer out = {0};
    for (; p->used < p->n && p->mark[p->used].at <= to; p->used++) {
        const mark *m = &p->mark[p->used];
        const int is_last = p->used + 1 == p->n && m->at == p->plain.used;
        markup_write(&out, p->plain.data + p->done, m->at - p->done);
        buffer_add(&out, m->raw, m->length);
        if (m->alone && is_before_blank(p, m) && !is_last && p->plain.data[m->at] != ' ') buffer_add(&out, " ", 1);
        p->done = m->at;
    }
    if (to > p->done) markup_write(&out, p->plain.data + p->done, to - p->done);
    if (out.used > 0) document_add(p->d, PIECE_KEPT, out.data, out.used);
    p->d->failed |= out.failed;
    p->done = to;
    free(out.data);
}

/* The text of elements, from there to the next mark or the sentence's end. */
static void add_tagged(paragraph *p, size_t begin, size_t sentence, size_t end)
{
    if (p->used < p->n && p->mark[p->used].at < end) end = p->mark[p->used].at;
    while (begin < end && p->plain.data[begin] == ' ') begin++;
    while (begin < end && p->plain.data[end - 1] == ' ') end--;
    if (begin < end) document_add(p->d, PIECE_TAGGED, p->plain.data + begin, end - begin)->at = begin - sentence;
}

static void add_sentence(void *user, size_t begin, size_t end)
{
    paragraph *p = user;
    keep(p, begin);
    document_add(p->d, PIECE_SENTENCE, p->plain.data + begin, end - begin);
    const int marked = p->used < p->n && p->mark[p->used].at < end;
    if (marked && p->used > 0 && p->mark[p->used - 1].depth > 0) add_tagged(p, begin, begin, end);
    for (; p->used < p->n && p->mark[p->used].at < end;) {
        const mark *m = &p->mark[p->used++];
        piece *within = document_add(p->d, PIECE_TAG, m->raw, m->length);
        within->at = m->at - begin;
        within->opens = m->opens;
        within->alone = m->alone;
        within->blank_before = m->at > 0 && blanks(m->raw - 1, m->raw) > 0;
        within->blank_behind = is_before_blank(p, m);
        if (m->depth > 0 && p->d->n_parts <= p->d->most) add_tagged(p, m->at, begin, end);
    }
    p->done = end;
}

static void end_paragraph(paragraph *p)
{
    buffer_add(&p->plain, "", 0);
    p->d->failed |= p->plain.failed;
    if (!p->d->failed) {
        document_sentences(p->d, p->plain.data, p->plain.used, p->language, add_sentence, p);
        keep(p, p->plain.used);
    }
    p->plain.used = p->n = p->used = p->done = 0;
    p->depth = 0;
}

/* --- pages -------------------------------------------------------------------------------------------------------- */

/* Comments are; "<!DOCTYPE" is not. */
static int is_within_lines(const tag *t)
{
    return t->name ? is_one_of(t, inline_names) || is_one_of(t, break_names) : !t->is_doctype;
}

/* Blanks before a paragraph and behind it stay as they are. */
static void read_text(paragraph *p, const char *at, const char *end, int block_follows)
{
    const char *last = end;
    if (p->plain.used == 0 && p->n == 0 && blanks(at, end) > 0) {
        document_add(p->d, PIECE_KEPT, at, blanks(at, end));
        at += blanks(at, end);
    }
    while (block_follows && last > at && blanks(last - 1, last)) last--;
    add_text(p, at, last);
    if (last == end) return;
    end_paragraph(p);
    document_add(p->d, PIECE_KEPT, last, (size_t)(end - last));
}

/* A title's text has no tags in it. */
static const char *read_title(paragraph *p, const tag *t)
{
    const char *end = plain_end(t, p->end);
    read_text(p, t->end, end, 1);
    return end;
}

/* An element that is not read is one tag, of which nothing is within. Returns what is behind. */
static const char *read_markup(paragraph *p, const char *at, tag *t)
{
    const int is_empty = !t->name || is_one_of(t, empty_names) || t->closes_itself;
    const int is_raw = !is_empty && !t->closes && (is_one_of(t, raw_names) || t->says_no);
    if (is_raw) t->end = element_end(t, p->end);
    if (is_one_of(t, break_names)) return t->end;
    if (is_within_lines(t)) {
        add_mark(p, at, (size_t)(t->end - at), is_empty || is_raw ? 0 : t->closes ? -1 : 1);
        return t->end;
    }
    end_paragraph(p);
    document_add(p->d, PIECE_KEPT, at, (size_t)(t->end - at));
    return !is_raw && !is_empty && !t->closes && is_one_of(t, title_names) ? read_title(p, t) : t->end;
}

void markup_read(document *d, const char *text, size_t length, const char *language)
{
    const char *end = text + length;
    paragraph p = {.d = d, .language = language, .end = end};
    for (const char *at = text; at < end && !d->failed && d->n_parts <= d->most;) {
        tag t;
        const char *next = memchr(at, '<', (size_t)(end - at));
        while (next && !read_tag(next, end, &t)) next = memchr(next + 1, '<', (size_t)(end - next - 1));
        if (!next) next = end;
        read_text(&p, at, next, next == end || !is_within_lines(&t));
        at = next < end ? read_markup(&p, next, &t) : end;
    }
    end_paragraph(&p);
    free(p.plain.data);
    free(p.mark);
}
