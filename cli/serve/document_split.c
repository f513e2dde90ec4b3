/* Split texts and simple HTML pages into lists of text, tags, comments and entities; see document.h. Unknown elements are blocks.
 * Element names: html.spec.whatwg.org, 4.4 to 4.8 and 13.2.5. */
#include "document.h"

#include <strings.h>
#include <uchar.h>
#include <utf8proc.h>

#include "sentence_splitter.h"
#include "utf8.h"

/* --- sentences --------------------------------------------------------------------------------------------------------- */

/* Split a paragraph into sentences. Calls `found` for each one in order, as [begin, end) without surrounding spaces, until it returns 1. */
static void find_sentences(const document *d, const char *text, size_t length, const char *language,
                           int (*found)(void *user, size_t begin, size_t end), void *user)
{
    if (d->split == DOCUMENT_LINES)
        rill_sentences_whole_text(text, length, found, user);
    else
        rill_sentences_split(text, length, language, found, user);
}

/* --- HTML entities ------------------------------------------------------------------------------------------------ */

/* Entity names of the characters from U+00A0 (160) on, in order. */
static const char latin_entities[] =
    "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 "
    "sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc "
    "Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve "
    "Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute "
    "acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde "
    "ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/* Other entities and, in the same order, their characters. */
static const char other_entities[] =
    "amp lt gt quot apos ndash mdash lsquo rsquo sbquo ldquo rdquo bdquo bull hellip lsaquo rsaquo euro "
    "trade OElig oelig Scaron scaron Yuml ZeroWidthSpace NoBreak";
static const char32_t other_characters[] = U"&<>\"'–—‘’‚“”„•…‹›€™ŒœŠšŸ\u200B\u2060";

/* Return the character of an entity, whose name consists of letters, digits and perhaps "#", and ends with ";"; -1: unknown. */
static int32_t entity_code_point(const char *name, size_t length)
{
    enum { MAX_NUMBER_LENGTH = 11 };
    if (length > 1 && length <= MAX_NUMBER_LENGTH && name[0] == '#') {
        const int hex = name[1] == 'x' || name[1] == 'X';
        char *end;
        const unsigned long number = strtoul(name + 1 + hex, &end, hex ? 16 : 10);
        const int fine = number > 0 && number < 0x110000 && (number < 0xD800 || number > 0xDFFF);
        return fine && end == name + length ? (int32_t)number : -1;
    }
    const rill_slice entity = {name, length};
    const int latin = rill_word_index(entity, latin_entities), other = rill_word_index(entity, other_entities);
    return latin >= 0 ? 160 + latin : other >= 0 ? (int32_t)other_characters[other] : -1;
}

static int is_letter(char c)
{
    return rill_is_lower(c) || rill_is_upper(c);
}

/* Return the end of the entity that begins with the '&' at `text`; NULL: it is not an entity. */
static const char *entity_end(const char *text, const char *end)
{
    enum { MAX_ENTITY_LENGTH = 33 }; /* bytes of the longest entity, &CounterClockwiseContourIntegral; */
    const char *last = text + 1;
    if (last < end && *last == '#') last++;
    const char *first = last;
    while (last < end && last - text < MAX_ENTITY_LENGTH && (is_letter(*last) || rill_is_digit(*last))) last++;
    return last > first && last < end && *last == ';' ? last + 1 : NULL;
}

/* Decode an entity to UTF-8 in `out`; 0: unknown entity. */
static size_t read_entity(const char *text, const char *entity_end_pos, char out[4])
{
    const int32_t number = entity_code_point(text + 1, (size_t)(entity_end_pos - text) - 2);
    return number < 0 ? 0 : (size_t)utf8proc_encode_char(number, (utf8proc_uint8_t *)out);
}

/* --- reading tags ------------------------------------------------------------------------------------------------- */

typedef struct tag {
    rill_slice name; /* name of the element; empty for a comment */
    const char *end; /* first byte after the tag */
    int is_end_tag, is_self_closing, is_doctype;
    int is_untranslated; /* the tag has translate="no" or class="notranslate" */
} tag;

static size_t count_spaces(const char *pos, const char *end)
{
    size_t n = 0;
    while (pos + n < end && strchr(" \t\r\n\f", pos[n]) && pos[n]) n++;
    return n;
}

static int equals_text(rill_slice s, const char *text)
{
    return s.length == strlen(text) && !strncasecmp(s.data, text, s.length);
}

/* Read up to the first byte that is in `ends`, or to `end`. *pos: the position after what was read. */
static rill_slice read_until(const char **pos, const char *end, const char *ends)
{
    rill_slice s = {.data = *pos};
    while (*pos < end && (!strchr(ends, **pos) || !**pos)) ++*pos;
    s.length = (size_t)(*pos - s.data);
    return s;
}

/* Read the attribute value at *pos, with or without quotes. */
static rill_slice read_value(const char **pos, const char *end)
{
    if (*pos == end || (**pos != '"' && **pos != '\'')) return read_until(pos, end, " \t\r\n\f>");
    const char quote[] = {*(*pos)++, '\0'};
    const rill_slice value = read_until(pos, end, quote);
    if (*pos < end) ++*pos;
    return value;
}

static int has_word(rill_slice value, const char *word)
{
    const char *pos = value.data, *end = pos + value.length;
    while (pos < end) {
        pos += count_spaces(pos, end);
        if (equals_text(read_until(&pos, end, " \t\r\n\f"), word)) return 1;
    }
    return 0;
}

/* Read the attributes after a tag's name, up to the '>'. */
static void read_attributes(tag *t, const char *pos, const char *end)
{
    while ((pos += count_spaces(pos, end)) < end && *pos != '>') {
        const int slash = *pos == '/';
        if (slash) pos++;
        t->is_self_closing = slash && pos < end && *pos == '>';
        if (slash) continue;
        const char *begin = pos++; /* the first byte of an attribute's name may be '=' */
        read_until(&pos, end, " \t\r\n\f/>=");
        const rill_slice name = {begin, (size_t)(pos - begin)};
        rill_slice value = {pos, 0};
        const char *equals = pos + count_spaces(pos, end);
        if (equals < end && *equals == '=') {
            pos = equals + 1;
            pos += count_spaces(pos, end);
            value = read_value(&pos, end);
        }
        t->is_untranslated |= (equals_text(name, "translate") && equals_text(value, "no")) ||
                              (equals_text(name, "class") && has_word(value, "notranslate"));
    }
    t->end = pos < end ? pos + 1 : end;
}

/* Find the position after `what`, or `end` if it does not occur. */
static const char *find_after(const char *pos, const char *end, const char *what)
{
    const char *found = memmem(pos, (size_t)(end - pos), what, strlen(what));
    return found ? found + strlen(what) : end;
}

/* Read the tag that begins with the '<' at `pos`. Returns 0 if it is not a tag. */
static int read_tag(const char *pos, const char *end, tag *out)
{
    *out = (tag){.is_end_tag = pos + 1 < end && pos[1] == '/'};
    const char *name = pos + 1 + out->is_end_tag;
    if (name < end && is_letter(*name)) {
        out->name = read_until(&name, end, " \t\r\n\f/>");
        read_attributes(out, name, end);
        return 1;
    }
    if (name >= end || out->is_end_tag || (*name != '!' && *name != '?')) return 0;
    out->is_doctype = name + 1 < end && is_letter(name[1]) && *name == '!';
    out->end = end - pos > 4 && !memcmp(pos, "<!--", 4) ? find_after(pos + 2, end, "-->") : find_after(name, end, ">");
    return 1;
}

static int has_name_in(const tag *t, const char *names)
{
    rill_slice rest = {names, strlen(names)}, name;
    while ((name = rill_next_word(&rest)).length > 0)
        if (name.length == t->name.length && !strncasecmp(name.data, t->name.data, name.length)) return 1;
    return 0;
}

static const char inline_names[] =
    "a abbr acronym b bdi bdo big cite code del dfn em font i img input ins kbd mark q rp rt ruby s samp "
    "small span strike strong sub sup time tt u var";
static const char empty_names[] = "img input";
/* Elements that allow a line break within a word. They are dropped within a sentence, because the output has other words. */
static const char break_names[] = "wbr";
/* Elements whose content is kept as it is, not translated. */
static const char raw_names[] =
    "code kbd math pre samp script style svg template textarea var xmp iframe noembed noframes";

/* Elements whose content contains no tags and ends at their own end tag only. */
static const char plain_names[] = "iframe noembed noframes script style textarea title xmp";

static const char title_names[] = "title";

/* Find the end tag of an element in plain_names or title_names. */
static const char *plain_end(const tag *t, const char *end)
{
    const char *pos = t->end;
    while ((pos = memchr(pos, '<', (size_t)(end - pos)))) {
        const char *name_end = pos + 2 + t->name.length;
        if (name_end < end && pos[1] == '/' && !strncasecmp(pos + 2, t->name.data, t->name.length) &&
            strchr(" \t\r\n\f/>", *name_end) && *name_end)
            return pos;
        pos++;
    }
    return end;
}

/* Find the position after an element's end tag. Nested elements of the same name are counted. */
static const char *element_end(const tag *t, const char *end)
{
    int depth = 1;
    tag other;
    const int is_plain = has_name_in(t, plain_names);
    for (const char *pos = is_plain ? plain_end(t, end) : t->end; pos < end;) {
        if (*pos != '<' || !read_tag(pos, end, &other)) {
            pos++;
            continue;
        }
        const int same = other.name.length == t->name.length && !other.is_self_closing &&
                         !strncasecmp(other.name.data, t->name.data, t->name.length);
        if (same) depth += other.is_end_tag ? -1 : 1;
        pos = !other.is_end_tag && has_name_in(&other, plain_names) ? plain_end(&other, end) : other.end;
        if (depth == 0) return pos;
    }
    return end;
}

/* --- building paragraphs ------------------------------------------------------------------------------------------ */

typedef struct mark {
    const char *raw;       /* the tag as written in the page */
    size_t length, offset; /* length: bytes of `raw`; offset: byte position of the tag in the paragraph's plain text */
    int depth;             /* number of elements within the paragraph that are open after the tag */
    int is_opening, is_standalone;
} mark;

/* A paragraph being read: plain text with decoded entities and collapsed white space, and marks (inline tags, comments, unknown
 * entities). */
typedef struct paragraph {
    document *d;
    const char *language, *end; /* end: end of the whole page */
    buffer plain;
    mark *mark;                            /* [n] inline tags and unknown entities, in the order of the paragraph */
    size_t n, mark_capacity, n_used_marks; /* numbers of marks, and of marks appended to the document */
    size_t plain_done;                     /* bytes of `plain` that were appended to the document */
    int depth;
} paragraph;

static void add_mark(paragraph *p, const char *raw, size_t length, int step)
{
    if (!cli_grow(&p->mark, &p->mark_capacity, p->n + 1, sizeof *p->mark)) {
        p->d->has_failed = 1;
        return;
    }
    p->depth += step;
    if (p->depth < 0) p->depth = 0;
    p->mark[p->n++] = (mark){.raw = raw,
                             .length = length,
                             .offset = p->plain.used,
                             .depth = p->depth,
                             .is_opening = step > 0,
                             .is_standalone = step == 0};
}

/* Append text. An unknown entity is stored like a tag, so that it is kept as written. */
static void add_text(paragraph *p, const char *pos, const char *end)
{
    char bytes[4];
    while (pos < end) {
        const char *after_entity = *pos == '&' ? entity_end(pos, end) : NULL;
        const size_t n = after_entity ? read_entity(pos, after_entity, bytes) : count_spaces(pos, end);
        if (after_entity && n == 0)
            add_mark(p, pos, (size_t)(after_entity - pos), 0);
        else if (after_entity)
            buffer_add(&p->plain, bytes, n);
        else if (n == 0)
            buffer_add(&p->plain, pos, 1);
        else if (p->plain.used == 0 || p->plain.data[p->plain.used - 1] != ' ')
            buffer_add(&p->plain, " ", 1);
        pos = after_entity ? after_entity : pos + (n > 0 ? n : 1);
    }
}

static int is_before_space(const paragraph *p, const mark *m)
{
    return count_spaces(m->raw + m->length, p->end) > 0;
}

/* Append the text and marks between two sentences, up to byte `to`, as they are. Keeps a space between two tags. */
static void keep_until(paragraph *p, size_t to)
{
    buffer out = {0};
    for (; p->n_used_marks < p->n && p->mark[p->n_used_marks].offset <= to; p->n_used_marks++) {
        const mark *m = &p->mark[p->n_used_marks];
        const int is_last = p->n_used_marks + 1 == p->n && m->offset == p->plain.used;
        markup_write(&out, p->plain.data + p->plain_done, m->offset - p->plain_done);
        buffer_add(&out, m->raw, m->length);
        if (m->is_standalone && is_before_space(p, m) && !is_last && p->plain.data[m->offset] != ' ')
            buffer_add(&out, " ", 1);
        p->plain_done = m->offset;
    }
    if (to > p->plain_done) markup_write(&out, p->plain.data + p->plain_done, to - p->plain_done);
    if (out.used > 0) document_add(p->d, PIECE_VERBATIM, out.data, out.used);
    p->d->has_failed |= out.is_out_of_memory;
    p->plain_done = to;
    free(out.data);
}

/* Append a tag's text as a part, from byte `begin` to the next tag or the sentence's end. */
static void add_tagged(paragraph *p, size_t begin, size_t sentence, size_t end)
{
    if (p->n_used_marks < p->n && p->mark[p->n_used_marks].offset < end) end = p->mark[p->n_used_marks].offset;
    while (begin < end && p->plain.data[begin] == ' ') begin++;
    while (begin < end && p->plain.data[end - 1] == ' ') end--;
    if (begin < end) document_add(p->d, PIECE_TAGGED, p->plain.data + begin, end - begin)->offset = begin - sentence;
}

static int add_sentence(void *user, size_t begin, size_t end)
{
    paragraph *p = user;
    keep_until(p, begin);
    document_add(p->d, PIECE_SENTENCE, p->plain.data + begin, end - begin);
    const int marked = p->n_used_marks < p->n && p->mark[p->n_used_marks].offset < end;
    if (marked && p->n_used_marks > 0 && p->mark[p->n_used_marks - 1].depth > 0) add_tagged(p, begin, begin, end);
    for (; p->n_used_marks < p->n && p->mark[p->n_used_marks].offset < end;) {
        const mark *m = &p->mark[p->n_used_marks++];
        piece *within = document_add(p->d, PIECE_TAG, m->raw, m->length);
        within->offset = m->offset - begin;
        within->is_opening = m->is_opening;
        within->is_standalone = m->is_standalone;
        within->has_space_before = m->offset > 0 && count_spaces(m->raw - 1, m->raw) > 0;
        within->has_space_after = is_before_space(p, m);
        if (m->depth > 0 && p->d->n_parts <= p->d->max_parts) add_tagged(p, m->offset, begin, end);
    }
    p->plain_done = end;
    return p->d->n_parts > p->d->max_parts;
}

static void end_paragraph(paragraph *p)
{
    buffer_add(&p->plain, "", 0);
    p->d->has_failed |= p->plain.is_out_of_memory;
    if (!p->d->has_failed) {
        find_sentences(p->d, p->plain.data, p->plain.used, p->language, add_sentence, p);
        keep_until(p, p->plain.used);
    }
    p->plain.used = p->n = p->n_used_marks = p->plain_done = 0;
    p->depth = 0;
}

/* --- HTML pages --------------------------------------------------------------------------------------------------- */

/* Whether the tag belongs to a paragraph's text: an inline element or a comment, but not "<!DOCTYPE". */
static int is_inline(const tag *t)
{
    return t->name.length ? has_name_in(t, inline_names) || has_name_in(t, break_names) : !t->is_doctype;
}

/* Append text to the paragraph. White space around the paragraph is kept byte by byte. */
static void read_text(paragraph *p, const char *pos, const char *end, int block_follows)
{
    const char *last = end;
    if (p->plain.used == 0 && p->n == 0 && count_spaces(pos, end) > 0) {
        document_add(p->d, PIECE_VERBATIM, pos, count_spaces(pos, end));
        pos += count_spaces(pos, end);
    }
    while (block_follows && last > pos && count_spaces(last - 1, last)) last--;
    add_text(p, pos, last);
    if (last == end) return;
    end_paragraph(p);
    document_add(p->d, PIECE_VERBATIM, last, (size_t)(end - last));
}

/* Read the content of a title element, which has text only, no tags. Returns the position after it. */
static const char *read_title(paragraph *p, const tag *t)
{
    const char *end = plain_end(t, p->end);
    read_text(p, t->end, end, 1);
    return end;
}

/* Read a tag, or a whole element whose content is not translated. Returns the position after it. */
static const char *read_markup(paragraph *p, const char *pos, tag *t)
{
    const int is_empty = !t->name.length || has_name_in(t, empty_names) || t->is_self_closing;
    const int is_raw = !is_empty && !t->is_end_tag && (has_name_in(t, raw_names) || t->is_untranslated);
    if (is_raw) t->end = element_end(t, p->end);
    if (has_name_in(t, break_names)) return t->end;
    if (is_inline(t)) {
        add_mark(p, pos, (size_t)(t->end - pos), is_empty || is_raw ? 0 : t->is_end_tag ? -1 : 1);
        return t->end;
    }
    end_paragraph(p);
    document_add(p->d, PIECE_VERBATIM, pos, (size_t)(t->end - pos));
    return !is_raw && !is_empty && !t->is_end_tag && has_name_in(t, title_names) ? read_title(p, t) : t->end;
}

static void read_page(document *d, const char *text, size_t length, const char *language)
{
    const char *end = text + length;
    paragraph p = {.d = d, .language = language, .end = end};
    for (const char *pos = text; pos < end && !d->has_failed && d->n_parts <= d->max_parts;) {
        tag t;
        const char *next = memchr(pos, '<', (size_t)(end - pos));
        while (next && !read_tag(next, end, &t)) next = memchr(next + 1, '<', (size_t)(end - next - 1));
        if (!next) next = end;
        read_text(&p, pos, next, next == end || !is_inline(&t));
        pos = next < end ? read_markup(&p, next, &t) : end;
    }
    end_paragraph(&p);
    free(p.plain.data);
    free(p.mark);
}

/* --- splitting a document into inputs ----------------------------------------------------------------------------- */

typedef struct line_cutter {
    document *d;
    const char *text;
    size_t done;
} line_cutter;

static int add_line_part(void *user, size_t begin, size_t end)
{
    line_cutter *c = user;
    if (begin > c->done) document_add(c->d, PIECE_VERBATIM, c->text + c->done, begin - c->done);
    document_add(c->d, PIECE_SENTENCE, c->text + begin, end - begin);
    c->done = end;
    return c->d->n_parts > c->d->max_parts;
}

static void cut_lines(document *d, const char *text, size_t length, const char *language)
{
    for (size_t begin = 0; begin < length && d->n_parts <= d->max_parts;) {
        const char *end = memchr(text + begin, '\n', length - begin);
        const size_t line = (end ? (size_t)(end - text) + 1 : length) - begin;
        line_cutter c = {.d = d, .text = text + begin};
        find_sentences(d, c.text, line, language, add_line_part, &c);
        if (c.done < line) document_add(d, PIECE_VERBATIM, c.text + c.done, line - c.done);
        begin += line;
    }
}

document *document_open(const char *text, size_t length, document_split split, const char *language, int32_t max_parts)
{
    document *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->split = split;
    d->max_parts = max_parts;
    if (length > INT32_MAX)
        d->has_failed = 1;
    else if (split == DOCUMENT_HTML)
        read_page(d, text, length, language);
    else
        cut_lines(d, text, length, language);
    if (!d->has_failed) return d;
    document_close(d);
    return NULL;
}
