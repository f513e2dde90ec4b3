/* Normalizers, which change a text before it is tokenized; see pipeline.h.
 *
 * Divisions: SentencePiece's character map · other kinds · all normalizers. */
#include <string.h>

#include "domain_base.h"
#include "pipeline.h"

/* --- SentencePiece's character map -------------------------------------------------------------------------------- */

static uint32_t read_le32(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The character map consists of the size of the trie in bytes, the trie, and the replacement texts. */
int rill_normalizer_read_charsmap(rill_normalizer *out, const char *bytes, size_t size)
{
    const size_t trie = size >= 4 ? read_le32(bytes) : 0;
    if (trie < 4 || trie % 4 != 0 || trie > size - 4 || size - 4 - trie == 0) return 0;
    uint32_t *unit =
        (uint32_t *)(uintptr_t)bytes; /* overwrites the bytes in place: the blob has four more than the trie */
    for (size_t i = 0; i < trie / 4; i++) {
        const uint32_t value = read_le32(bytes + 4 + 4 * i);
        memcpy(unit + i, &value, sizeof value);
    }
    *out = (rill_normalizer){.kind = RILL_NORMALIZER_CHARSMAP,
                             .unit = unit,
                             .units = trie / 4,
                             .texts = bytes + 4 + trie,
                             .text_bytes = size - 4 - trie};
    return out->texts[out->text_bytes - 1] == '\0';
}

static size_t trie_offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
}

/* The length in bytes of the longest match of the trie at the start of the text, or 0; *value = the offset of its
 * replacement in t->texts. */
static size_t longest_match(const rill_normalizer *t, const char *text, size_t length, uint32_t *value)
{
    size_t node = trie_offset(t->unit[0]), best = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        node ^= byte;
        if (node >= t->units || (t->unit[node] & 0x800000FF) != byte) break;
        const uint32_t unit = t->unit[node];
        node ^= trie_offset(unit);
        if (node >= t->units) break;
        if ((unit & 0x100) == 0) continue;
        best = i + 1;
        *value = t->unit[node] & 0x7FFFFFFF;
    }
    return best > 0 && *value < t->text_bytes ? best : 0;
}

static size_t character_length(const char *text, size_t length)
{
    size_t n = 1;
    while (n < length && ((unsigned char)text[n] & 0xC0) == 0x80) n++;
    return n;
}

static rill_status apply_table(const rill_normalizer *t, const char *text, size_t length, rill_text *out)
{
    uint32_t value = 0;
    for (size_t pos = 0; pos < length;) {
        size_t n = longest_match(t, text + pos, length - pos, &value);
        if (n > 0) {
            TRY(rill_text_append(out, t->texts + value, strlen(t->texts + value)));
        } else {
            n = character_length(text + pos, length - pos);
            TRY(rill_text_append(out, text + pos, n));
        }
        pos += n;
    }
    return RILL_OK;
}

/* --- other kinds -------------------------------------------------------------------------------------------------- */

/* The length in bytes of the white-space character at the end of the text, or 0 if the text ends with another character. No
 * white-space character has more than 3 bytes. */
static size_t space_before_length(const char *text, size_t length)
{
    for (size_t n = 1; n <= 3 && n <= length; n++)
        if (((unsigned char)text[length - n] & 0xC0) != 0x80)
            return rill_white_space_length(text + length - n, n) == n ? n : 0;
    return 0;
}

static rill_status apply_strip(const rill_normalizer *t, const char *text, size_t length, rill_text *out)
{
    size_t from = 0, n;
    while (t->strip_left && (n = rill_white_space_length(text + from, length - from)) > 0) from += n;
    while (t->strip_right && length > from && (n = space_before_length(text + from, length - from)) > 0) length -= n;
    return rill_text_append(out, text + from, length - from);
}

/* The number of bytes at the start of the text that this REPLACE normalizer replaces; 0: none. */
static size_t match_replaced(const rill_normalizer *t, const char *text, size_t length)
{
    size_t n = 0;
    if (!t->space_runs)
        return t->from.length <= length && memcmp(text, t->from.data, t->from.length) == 0 ? t->from.length : 0;
    while (n < length && text[n] == ' ') n++;
    return n >= 2 ? n : 0;
}

static rill_status apply_replace(const rill_normalizer *t, const char *text, size_t length, rill_text *out)
{
    for (size_t pos = 0; pos < length;) {
        const size_t n = match_replaced(t, text + pos, length - pos);
        if (n > 0)
            TRY(rill_text_append(out, t->to.data, t->to.length));
        else
            TRY(rill_text_append(out, text + pos, 1));
        pos += n > 0 ? n : 1;
    }
    return RILL_OK;
}

/* --- all normalizers ---------------------------------------------------------------------------------------------- */

static rill_status apply_normalizer(const rill_normalizer *t, const char *text, size_t length, rill_text *out)
{
    switch (t->kind) {
    case RILL_NORMALIZER_CHARSMAP: return apply_table(t, text, length, out);
    case RILL_NORMALIZER_STRIP: return apply_strip(t, text, length, out);
    case RILL_NORMALIZER_REPLACE: return apply_replace(t, text, length, out);
    default:
        if (length > 0) TRY(rill_text_append(out, t->to.data, t->to.length));
        return rill_text_append(out, text, length);
    }
}

rill_status rill_normalize(const rill_pipeline *p, const char *text, size_t length, rill_text *out, rill_text *spare)
{
    rill_text_reset(out);
    TRY(rill_text_append(out, text, length));
    for (size_t i = 0; i < p->n_normalizers; i++) {
        const rill_text input = *out;
        rill_text_reset(spare);
        TRY(apply_normalizer(&p->normalizers[i], input.data, input.length, spare));
        *out = *spare;
        *spare = input;
    }
    return RILL_OK;
}
