/* Finds the embedding rows of a word, which the encoder sums: the word's, its shape's, and those of the suffixes of its
 * normal form. docs/parsing.md states the rules; the trainer follows the same rules byte by byte. */
#include "shiftreduce_model.h"

/* --- normal form -------------------------------------------------------------------------------------------------- */

static char normalized_char(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c >= '0' && c <= '9' ? '0' : c;
}

/* r->normalized_word = "^" and the word, with ASCII letters in lower case and digits as 0. */
static rill_status normalise_word(parser_runner *r, rill_slice word)
{
    rill_text_reset(&r->normalized_word);
    TRY(rill_text_append(&r->normalized_word, "^", 1));
    TRY(rill_text_append(&r->normalized_word, word.data, word.length));
    for (size_t i = 1; i < r->normalized_word.length; i++)
        r->normalized_word.data[i] = normalized_char(r->normalized_word.data[i]);
    return RILL_OK;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Id of the word, else of its normal form, else PARSER_UNK. Needs r->normalized_word. */
static int32_t word_row(const parser_runner *r, rill_slice word)
{
    const parser *p = r->model;
    int32_t id = rill_vocabulary_id(p->word_vocab, word.data, word.length);
    if (id < 0) id = rill_vocabulary_id(p->word_vocab, r->normalized_word.data + 1, r->normalized_word.length - 1);
    return id >= 0 ? id : PARSER_UNK;
}

static char char_shape(char c)
{
    if ((unsigned char)c >= 0x80) return 'u';
    if (c >= 'A' && c <= 'Z') return 'X';
    if (c >= 'a' && c <= 'z') return 'x';
    return c >= '0' && c <= '9' ? 'd' : c;
}

/* Id of the word's shape; 0: unknown. Overwrites r->normalized_word. */
static int32_t shape_row(parser_runner *r, rill_slice word)
{
    char *shape = r->normalized_word.data; /* large enough: a shape is never longer than its word */
    size_t length = 0;
    for (size_t i = 0; i < word.length; i++) {
        char c = char_shape(word.data[i]);
        if (length == 0 || shape[length - 1] != c) shape[length++] = c;
    }
    int32_t id = rill_vocabulary_id(r->model->shape_vocab, shape, length);
    return id >= 0 ? id : 0;
}

/* Ids of the suffixes of 1, 2, ... characters of the normal form; -1: unknown. Needs r->normalized_word. */
static void suffix_rows(const parser_runner *r, int32_t *row)
{
    const parser *p = r->model;
    const char *bytes = r->normalized_word.data;
    size_t from = r->normalized_word.length;
    for (int32_t l = 0; l < p->suffix_length; l++) {
        row[l] = -1;
        if (from == 0) continue;
        from--;
        while (from > 0 && ((unsigned char)bytes[from] & 0xC0) == 0x80) from--;
        row[l] = rill_vocabulary_id(p->suffix_vocab, bytes + from, r->normalized_word.length - from);
    }
}

rill_status parser_word_features(parser_runner *r, rill_slice word, int32_t *feature)
{
    TRY(normalise_word(r, word));
    feature[0] = word_row(r, word);
    suffix_rows(r, feature + 2);
    feature[1] = shape_row(r, word);
    return RILL_OK;
}

void parser_boundary_features(const parser *p, int32_t word, int32_t *feature)
{
    feature[0] = word;
    for (size_t i = 1; i < parser_features(p); i++) feature[i] = -1;
}
