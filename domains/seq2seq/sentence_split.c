/* Inputs that are longer than models for translation are made for, and what translators take no notice of.
 *
 * Such models learn from sentences and short paragraphs. Of a longer text many end their output early, and lose the rest.
 * Divisions: sentences · what is not seen. */
#include <string.h>

#include "grow.h"
#include "sentences.h"
#include "seq2seq.h"
#include "utf8.h"

enum {
    PIECES = 128, /* of an input that is no longer than the models are made for, its marks included: Bergamot's bound */
    LONG_BYTES = 8192, /* what has more than so many is longer, and is not cut into pieces to know it */
    NO_SPACES = 0xE00, /* scripts that write words without spaces between begin here */
    OTHERS = 0x10000   /* and signs like emoji here */
};

/* --- sentences ---------------------------------------------------------------------------------------------------- */

static rill_status is_long(const seq_model *m, rill_context *ctx, const char *text, size_t length, int *out)
{
    const size_t most = m->positions < PIECES ? (size_t)m->positions : PIECES;
    int32_t *ids = NULL;
    size_t room = 0;
    rill_ids read = {.ctx = ctx, .ids = &ids, .room = &room};
    rill_opening opening;
    *out = length > LONG_BYTES;
    if (length < most || *out) return RILL_OK;
    const rill_status status = rill_codec_read(m->net[0]->text, text, length, &read, &opening);
    *out = status == RILL_OK && read.used > most;
    DROP(ctx, ids, room);
    if (status != RILL_ERR_INPUT) return status;
    rill_error_clear(ctx); /* whoever decodes it is told */
    return RILL_OK;
}

typedef struct finding {
    size_t offset;
    rill_part *part;
    int32_t room, n;
} finding;

static int take_sentence(void *user, size_t begin, size_t end)
{
    finding *f = user;
    if (f->n < f->room) f->part[f->n] = (rill_part){f->offset + begin, end - begin};
    return ++f->n == INT32_MAX;
}

rill_status seq_split(void *model, rill_context *ctx, int always, const char *text, size_t length, rill_part *part,
                      int32_t room, int32_t *n, size_t *head)
{
    const seq_model *m = model;
    finding f = {.part = part, .room = room};
    int cuts = always;
    *n = 0;
    const int translates = rill_codec_translates(m->net[0]->text, text, length, head);
    if (translates < 0)
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "the model's inputs are no texts to be translated sentence by sentence");
    if (translates == 0) return RILL_OK;
    if (!always) TRY(is_long(m, ctx, text, length, &cuts));
    f.offset = *head;
    /* A column of the head's names the language. */
    const char *language = *head > 0 && text[0] != '\t' && memchr(text, '\t', *head) != NULL ? text : m->language;
    if (cuts) rill_sentences(text + *head, length - *head, language, take_sentence, &f);
    *n = f.n > 1 ? f.n : 1;
    return RILL_OK;
}

/* --- what is not seen --------------------------------------------------------------------------------------------- */

static int has_spaces(int32_t c)
{
    return c < NO_SPACES || c >= OTHERS;
}

/* Soft hyphen, word joiner, byte order mark; a zero-width space where `before` and `behind` write spaces between their words. */
static int is_unseen(int32_t c, int32_t before, int32_t behind)
{
    return c == 0xAD || c == 0x2060 || c == 0xFEFF || (c == 0x200B && has_spaces(before) && has_spaces(behind));
}

/* What ends a line or a page in other programs, which most tables of tokenizers do not know or leave out: it parts words. */
static int ends_line(int32_t c)
{
    return c == 0xB || c == 0xC || c == 0x85 || c == 0x2028 || c == 0x2029;
}

rill_status seq_seen(rill_context *ctx, const char **text, size_t *length, char **copy, size_t *room)
{
    size_t bytes, next_bytes, to = 0;
    int32_t before = 0;
    int any = 0;
    for (size_t at = 0; at + 1 < *length && !any; at++) {
        const unsigned char c = (unsigned char)(*text)[at];
        any = c == 0xC2 || c == 0xE2 || c == 0xEF || ends_line(c);
    }
    if (!any || rill_utf8_check(*text, *length) < *length) return RILL_OK; /* what is no UTF-8 is refused as it is */
    TRY(GROW(ctx, *copy, *room, *length, "an input's text"));
    for (size_t at = 0; at < *length; at += bytes) {
        const int32_t c = rill_utf8_next(*text + at, *length - at, &bytes);
        const size_t next = at + bytes;
        if (is_unseen(c, before, next < *length ? rill_utf8_next(*text + next, *length - next, &next_bytes) : 0))
            continue;
        if (ends_line(c)) {
            (*copy)[to++] = ' ';
        } else {
            memcpy(*copy + to, *text + at, bytes);
            to += bytes;
        }
        before = c;
    }
    *text = *copy;
    *length = to;
    return RILL_OK;
}
