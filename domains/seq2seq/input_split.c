/* Splits long inputs of translation models into sentences, and removes invisible characters.
 *
 * Translation models are trained on sentences and short paragraphs. On longer texts many stop early and lose the rest.
 * Divisions: sentences · invisible characters. */
#include <string.h>

#include "domain_base.h"
#include "sentence_splitter.h"
#include "seq2seq.h"
#include "utf8.h"

enum {
    MAX_SENTENCE_TOKENS = 128, /* maximum tokens of an unsplit input, special tokens included: Bergamot's bound */
    MAX_SENTENCE_BYTES = 8192, /* inputs with more bytes count as long without being tokenized */
    FIRST_UNSPACED = 0xE00,    /* first script written without spaces */
    FIRST_SYMBOL = 0x10000     /* first of emoji and other symbols */
};

/* --- sentences ---------------------------------------------------------------------------------------------------- */

static rill_status is_long(const seq_model *m, rill_context *ctx, const char *text, size_t length, int *out)
{
    const size_t max_tokens = m->max_input_length < MAX_SENTENCE_TOKENS ? (size_t)m->max_input_length
                                                                        : MAX_SENTENCE_TOKENS;
    int32_t *ids = NULL;
    size_t capacity = 0;
    rill_ids read = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
    rill_output_prefix opening;
    *out = length > MAX_SENTENCE_BYTES;
    if (length < max_tokens || *out) return RILL_OK;
    const rill_status status = rill_tokenizer_encode(m->net[0]->tokenizer, text, length, &read, &opening);
    *out = status == RILL_OK && read.n_ids > max_tokens;
    FREE_ARRAY(ctx, ids, capacity);
    if (status != RILL_ERR_INPUT) return status;
    rill_error_clear(ctx); /* encoding the input will report the error */
    return RILL_OK;
}

typedef struct sentence_collector {
    size_t offset;
    rill_part *part;
    int32_t capacity, n_parts;
} sentence_collector;

static int collect_sentence(void *user, size_t begin, size_t end)
{
    sentence_collector *f = user;
    if (f->n_parts < f->capacity) f->part[f->n_parts] = (rill_part){f->offset + begin, end - begin};
    return ++f->n_parts == INT32_MAX;
}

rill_status seq_split(void *model, rill_context *ctx, int always, const char *text, size_t length, rill_part *part,
                      int32_t capacity, int32_t *n, size_t *head)
{
    const seq_model *m = model;
    sentence_collector f = {.part = part, .capacity = capacity};
    int cuts = always;
    *n = 0;
    const int translates = rill_tokenizer_is_translation(m->net[0]->tokenizer, text, length, head);
    if (translates < 0)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "the model's inputs are not texts that can be translated sentence by sentence");
    if (translates == 0) return RILL_OK;
    if (!always) TRY(is_long(m, ctx, text, length, &cuts));
    f.offset = *head;
    /* With language columns the head begins with the source language. If that column is empty, use the model's. */
    const char *language = *head > 0 && text[0] != '\t' && memchr(text, '\t', *head) != NULL ? text
                                                                                             : m->source_language;
    if (cuts) rill_sentences_split(text + *head, length - *head, language, collect_sentence, &f);
    *n = f.n_parts > 1 ? f.n_parts : 1;
    return RILL_OK;
}

/* --- invisible characters --------------------------------------------------------------------------------------- */

static int has_spaces(int32_t c)
{
    return c < FIRST_UNSPACED || c >= FIRST_SYMBOL;
}

/* Whether to remove the character: a soft hyphen, word joiner or byte order mark, or a zero-width space between
 * characters of scripts written with spaces. */
static int is_ignorable(int32_t c, int32_t prev_char, int32_t next_char)
{
    return c == 0xAD || c == 0x2060 || c == 0xFEFF || (c == 0x200B && has_spaces(prev_char) && has_spaces(next_char));
}

/* Whether the character is a line or page separator that most tokenizers drop or do not know. A space replaces it. */
static int ends_line(int32_t c)
{
    return c == 0xB || c == 0xC || c == 0x85 || c == 0x2028 || c == 0x2029;
}

rill_status seq_clean_text(rill_context *ctx, const char **text, size_t *length, char **copy, size_t *capacity)
{
    size_t bytes, next_bytes, to = 0;
    int32_t prev = 0;
    int any = 0;
    for (size_t pos = 0; pos + 1 < *length && !any; pos++) {
        const unsigned char c = (unsigned char)(*text)[pos];
        any = c == 0xC2 || c == 0xE2 || c == 0xEF || ends_line(c);
    }
    if (!any || rill_utf8_check(*text, *length) < *length) return RILL_OK; /* invalid UTF-8 is refused later */
    TRY(GROW(ctx, *copy, *capacity, *length, "an input's text"));
    for (size_t pos = 0; pos < *length; pos += bytes) {
        const int32_t c = rill_utf8_next(*text + pos, *length - pos, &bytes);
        const size_t next = pos + bytes;
        if (is_ignorable(c, prev, next < *length ? rill_utf8_next(*text + next, *length - next, &next_bytes) : 0))
            continue;
        if (ends_line(c)) {
            (*copy)[to++] = ' ';
        } else {
            memcpy(*copy + to, *text + pos, bytes);
            to += bytes;
        }
        prev = c;
    }
    *text = *copy;
    *length = to;
    return RILL_OK;
}
