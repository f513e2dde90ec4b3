/* Normalizers: what is done to a text before it is cut; pipeline.h.
 *
 * Divisions: the table · the others · all of them. */
#include <string.h>

#include "pipeline.h"
#include "try.h"

/* --- the table ---------------------------------------------------------------------------------------------------- */

static uint32_t little(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The size of the trie, the trie, the texts. */
int rill_normal_table(rill_normal *out, const char *bytes, size_t size)
{
    const size_t trie = size >= 4 ? little(bytes) : 0;
    if (trie < 4 || trie % 4 != 0 || trie > size - 4 || size - 4 - trie == 0) return 0;
    uint32_t *unit = (uint32_t *)(uintptr_t)bytes; /* in the bytes' own place: the size makes room for moving by four */
    for (size_t i = 0; i < trie / 4; i++) {
        const uint32_t value = little(bytes + 4 + 4 * i);
        memcpy(unit + i, &value, sizeof value);
    }
    *out = (rill_normal){.kind = RILL_NORMAL_TABLE,
                         .unit = unit,
                         .units = trie / 4,
                         .texts = bytes + 4 + trie,
                         .text_bytes = size - 4 - trie};
    return out->texts[out->text_bytes - 1] == '\0';
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
}

/* The longest match at the beginning of a text, 0 if there is none; *value is where its text begins. */
static size_t match(const rill_normal *t, const char *text, size_t length, uint32_t *value)
{
    size_t at = offset_of(t->unit[0]), best = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (at >= t->units || (t->unit[at] & 0x800000FF) != byte) break;
        const uint32_t unit = t->unit[at];
        at ^= offset_of(unit);
        if (at >= t->units) break;
        if ((unit & 0x100) == 0) continue;
        best = i + 1;
        *value = t->unit[at] & 0x7FFFFFFF;
    }
    return best > 0 && *value < t->text_bytes ? best : 0;
}

static size_t character_length(const char *text, size_t length)
{
    size_t n = 1;
    while (n < length && ((unsigned char)text[n] & 0xC0) == 0x80) n++;
    return n;
}

static rill_status apply_table(const rill_normal *t, const char *text, size_t length, rill_text *out)
{
    uint32_t value = 0;
    for (size_t at = 0; at < length;) {
        size_t n = match(t, text + at, length - at, &value);
        if (n > 0) {
            TRY(rill_text_append(out, t->texts + value, strlen(t->texts + value)));
        } else {
            n = character_length(text + at, length - at);
            TRY(rill_text_append(out, text + at, n));
        }
        at += n;
    }
    return RILL_OK;
}

/* --- the others --------------------------------------------------------------------------------------------------- */

/* Blanks of one or more bytes: the longest is of three. */
static size_t blank_before(const char *text, size_t length)
{
    for (size_t n = 1; n <= 3 && n <= length; n++)
        if (((unsigned char)text[length - n] & 0xC0) != 0x80)
            return rill_blank_length(text + length - n, n) == n ? n : 0;
    return 0;
}

static rill_status apply_strip(const rill_normal *t, const char *text, size_t length, rill_text *out)
{
    size_t from = 0, n;
    while (t->left && (n = rill_blank_length(text + from, length - from)) > 0) from += n;
    while (t->right && length > from && (n = blank_before(text + from, length - from)) > 0) length -= n;
    return rill_text_append(out, text + from, length - from);
}

/* How much of the beginning is replaced. */
static size_t replaced(const rill_normal *t, const char *text, size_t length)
{
    size_t n = 0;
    if (!t->runs)
        return t->from.length <= length && memcmp(text, t->from.data, t->from.length) == 0 ? t->from.length : 0;
    while (n < length && text[n] == ' ') n++;
    return n >= 2 ? n : 0;
}

static rill_status apply_replace(const rill_normal *t, const char *text, size_t length, rill_text *out)
{
    for (size_t at = 0; at < length;) {
        const size_t n = replaced(t, text + at, length - at);
        if (n > 0)
            TRY(rill_text_append(out, t->to.data, t->to.length));
        else
            TRY(rill_text_append(out, text + at, 1));
        at += n > 0 ? n : 1;
    }
    return RILL_OK;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static rill_status apply(const rill_normal *t, const char *text, size_t length, rill_text *out)
{
    switch (t->kind) {
    case RILL_NORMAL_TABLE: return apply_table(t, text, length, out);
    case RILL_NORMAL_STRIP: return apply_strip(t, text, length, out);
    case RILL_NORMAL_REPLACE: return apply_replace(t, text, length, out);
    default:
        if (length > 0) TRY(rill_text_append(out, t->to.data, t->to.length));
        return rill_text_append(out, text, length);
    }
}

rill_status rill_normalize(const rill_pipeline *p, const char *text, size_t length, rill_text *out, rill_text *spare)
{
    rill_text_reset(out);
    TRY(rill_text_append(out, text, length));
    for (size_t i = 0; i < p->normals; i++) {
        const rill_text before = *out;
        rill_text_reset(spare);
        TRY(apply(&p->normal[i], before.data, before.length, spare));
        *out = *spare;
        *spare = before;
    }
    return RILL_OK;
}
