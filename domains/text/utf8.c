/* UTF-8 validation and decoding; see utf8.h. Most text is ASCII, so rill_utf8_check() tests eight bytes at once for it. */
#include <string.h>

#include "utf8.h"

/* The range of the second byte depends on the first byte, which excludes overlong forms (E0, F0), surrogates (ED) and
 * characters above U+10FFFF (F4); see table 3-7 of the Unicode standard. */
size_t rill_utf8_length(const char *bytes, size_t length_left)
{
    const unsigned char *p = (const unsigned char *)bytes;
    unsigned char low = 0x80, high = 0xBF;
    size_t length;
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xC2) return 0;
    if (p[0] < 0xE0) {
        length = 2;
    } else if (p[0] < 0xF0) {
        length = 3;
        if (p[0] == 0xE0) low = 0xA0;
        if (p[0] == 0xED) high = 0x9F;
    } else if (p[0] < 0xF5) {
        length = 4;
        if (p[0] == 0xF0) low = 0x90;
        if (p[0] == 0xF4) high = 0x8F;
    } else {
        return 0;
    }
    if (length_left < length || p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    return length;
}

int32_t rill_utf8_next(const char *bytes, size_t length_left, size_t *step)
{
    const size_t length = rill_utf8_length(bytes, length_left);
    *step = length > 0 ? length : 1;
    if (length < 2) return length > 0 ? (unsigned char)bytes[0] : -1;
    int32_t c = (unsigned char)bytes[0] & (0x7F >> length);
    for (size_t i = 1; i < length; i++) c = c << 6 | ((unsigned char)bytes[i] & 0x3F);
    return c;
}

size_t rill_utf8_check(const char *bytes, size_t length)
{
    size_t pos = 0;
    while (pos < length) {
        uint64_t eight;
        if (length - pos >= sizeof eight) {
            memcpy(&eight, bytes + pos, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                pos += sizeof eight;
                continue;
            }
        }
        size_t step = rill_utf8_length(bytes + pos, length - pos);
        if (step == 0) return pos;
        pos += step;
    }
    return length;
}
