/* From a word to the rows it is made of: itself, its shape, the ends of its normal form. docs/parsing.md states the rules, which the
 * trainer follows to the byte. */
#include "model.h"

/* --- normal form -------------------------------------------------------------------------------------------------- */

static char normal_of(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c >= '0' && c <= '9' ? '0' : c;
}

/* r->normal = "^" and the word in lower case with digits as 0, ASCII alone. */
static rill_status normalise(parser_runner *r, rill_slice word)
{
    rill_text_reset(&r->normal);
    TRY(rill_text_append(&r->normal, "^", 1));
    TRY(rill_text_append(&r->normal, word.data, word.length));
    for (size_t i = 1; i < r->normal.length; i++) r->normal.data[i] = normal_of(r->normal.data[i]);
    return RILL_OK;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Needs r->normal. */
static int32_t word_row(const parser_runner *r, rill_slice word)
{
    const parser *p = r->model;
    int32_t id = rill_vocabulary_id(p->word, word.data, word.length);
    if (id < 0) id = rill_vocabulary_id(p->word, r->normal.data + 1, r->normal.length - 1);
    return id >= 0 ? id : PARSER_UNKNOWN;
}

static char shape_of(char c)
{
    if ((unsigned char)c >= 0x80) return 'u';
    if (c >= 'A' && c <= 'Z') return 'X';
    if (c >= 'a' && c <= 'z') return 'x';
    return c >= '0' && c <= '9' ? 'd' : c;
}

/* Overwrites r->normal. */
static int32_t shape_row(parser_runner *r, rill_slice word)
{
    char *shape = r->normal.data; /* no longer than the word */
    size_t length = 0;
    for (size_t i = 0; i < word.length; i++) {
        char c = shape_of(word.data[i]);
        if (length == 0 || shape[length - 1] != c) shape[length++] = c;
    }
    int32_t id = rill_vocabulary_id(r->model->shape, shape, length);
    return id >= 0 ? id : 0;
}

/* The last 1, 2, ... characters of the normal form. Needs r->normal. */
static void suffix_rows(const parser_runner *r, int32_t *row)
{
    const parser *p = r->model;
    const char *bytes = r->normal.data;
    size_t from = r->normal.length;
    for (int32_t l = 0; l < p->suffix_length; l++) {
        row[l] = -1;
        if (from == 0) continue;
        from--;
        while (from > 0 && ((unsigned char)bytes[from] & 0xC0) == 0x80) from--;
        row[l] = rill_vocabulary_id(p->suffix, bytes + from, r->normal.length - from);
    }
}

rill_status parser_word_features(parser_runner *r, rill_slice word, int32_t *feature)
{
    TRY(normalise(r, word));
    feature[0] = word_row(r, word);
    suffix_rows(r, feature + 2);
    feature[1] = shape_row(r, word);
    return RILL_OK;
}

void parser_edge_features(const parser *p, int32_t word, int32_t *feature)
{
    feature[0] = word;
    for (size_t i = 1; i < parser_features(p); i++) feature[i] = -1;
}
