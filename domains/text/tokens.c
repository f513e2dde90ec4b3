/* Tokens of a vocabulary in the making; tokens.h.
 *
 * Invariant: until rill_tokens_finish() added tokens stand in the order they came in, from then on by their first byte and length.
 * Divisions: numbering · added tokens · cutting texts. */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "grow.h"

/* --- numbering ---------------------------------------------------------------------------------------------------- */

static rill_slice put(char *bytes, const char *text, size_t length)
{
    memcpy(bytes, text, length);
    bytes[length] = '\0';
    return (rill_slice){bytes, length};
}

static rill_status store(rill_tokens *t, const char *text, size_t length, rill_slice *out)
{
    enum { CHUNK = 1 << 16 };
    if (length + 1 > t->left) {
        const size_t size = length + 1 > CHUNK ? length + 1 : CHUNK;
        t->left = 0;
        t->texts.ctx = t->blocks.ctx;
        TRY(rill_blocks_get(&t->texts, &t->free, size, 1, t->name));
        t->left = size;
    }
    *out = put(t->free, text, length);
    t->free += length + 1;
    t->left -= length + 1;
    return RILL_OK;
}

rill_status rill_tokens_base(rill_tokens *t, const char *text, size_t length)
{
    rill_slice token;
    if (length == 0) return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: token number %zu is empty", t->name, t->n);
    if (t->n >= (size_t)t->limit)
        return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: expected at most %d tokens, as config.json says", t->name,
                         t->limit);
    TRY(store(t, text, length, &token));
    PUSH(t->blocks.ctx, t->token, t->room, t->n, token, t->name);
    return RILL_OK;
}

/* The vocabulary of all tokens. */
static rill_status make(const rill_tokens *t, rill_vocabulary **out)
{
    rill_blocks lists = {.ctx = t->blocks.ctx};
    const char **text;
    size_t *length;
    rill_status status = rill_blocks_get(&lists, &text, t->n, sizeof *text, t->name);
    if (status == RILL_OK) status = rill_blocks_get(&lists, &length, t->n, sizeof *length, t->name);
    for (size_t i = 0; status == RILL_OK && i < t->n; i++) {
        text[i] = t->token[i].data;
        length[i] = t->token[i].length;
    }
    if (status == RILL_OK) status = rill_vocabulary_from(out, t->blocks.ctx, t->name, text, length, (int32_t)t->n);
    rill_blocks_clear(&lists);
    return status;
}

rill_status rill_tokens_settle(rill_tokens *t)
{
    if (t->n == 0) return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: there are no tokens", t->name);
    return make(t, &t->base);
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

static rill_added_token *find_added(const rill_tokens *t, const char *text, size_t length)
{
    for (size_t i = 0; i < t->n_added; i++)
        if (rill_slice_same(t->added[i].text, (rill_slice){text, length})) return &t->added[i];
    return NULL;
}

int32_t rill_tokens_find(const rill_tokens *t, const char *text, size_t length)
{
    const rill_added_token *added = find_added(t, text, length);
    return added != NULL ? added->id : rill_vocabulary_id(t->base, text, length);
}

static rill_status check_number(const rill_tokens *t, const char *text, int64_t id, int32_t found)
{
    if (id < 0 || id == found) return RILL_OK;
    return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT,
                     "%s: \"%.60s\" is number %lld there and number %d among the pieces", t->name, text, (long long)id,
                     found);
}

rill_status rill_tokens_add(rill_tokens *t, const char *text, size_t length, int64_t id, int flags)
{
    rill_added_token *before = find_added(t, text, length);
    if (before != NULL) {
        before->flags |= flags;
        return check_number(t, before->text.data, id, before->id);
    }
    char *bytes;
    rill_added_token added = {.flags = flags, .id = rill_vocabulary_id(t->base, text, length)};
    if (added.id < 0 && (id >= 0 ? id : (int64_t)t->n) >= t->limit) return RILL_OK;
    if (added.id < 0) {
        if (id >= 0 && (size_t)id != t->n)
            return rill_fail(t->blocks.ctx, RILL_ERR_FORMAT, "%s: \"%.60s\" is number %lld: expected %zu, the next one",
                             t->name, text, (long long)id, t->n);
        added.id = (int32_t)t->n;
        TRY(rill_tokens_base(t, text, length));
    } else {
        TRY(check_number(t, text, id, added.id));
    }
    TRY(rill_blocks_get(&t->blocks, &bytes, length + 1, 1, t->name));
    added.text = put(bytes, text, length);
    PUSH(t->blocks.ctx, t->added, t->added_room, t->n_added, added, t->name);
    return RILL_OK;
}

static int compare(const void *a, const void *b)
{
    const rill_slice *x = &((const rill_added_token *)a)->text, *y = &((const rill_added_token *)b)->text;
    const int first = (unsigned char)x->data[0] - (unsigned char)y->data[0];
    if (first != 0) return first;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    return memcmp(x->data, y->data, x->length);
}

static void index_added(rill_tokens *t)
{
    size_t at = 0;
    if (t->n_added > 0) qsort(t->added, t->n_added, sizeof *t->added, compare);
    for (int c = 0; c <= 256; c++) {
        while (at < t->n_added && (unsigned char)t->added[at].text.data[0] < c) at++;
        t->begins[c] = (int32_t)at;
    }
}

static void drop_texts(rill_tokens *t)
{
    DROP(t->blocks.ctx, t->token, t->room);
    t->token = NULL;
    t->room = t->left = 0;
    if (t->texts.ctx != NULL) rill_blocks_clear(&t->texts);
}

rill_status rill_tokens_finish(rill_tokens *t, rill_vocabulary **out)
{
    index_added(t);
    if ((size_t)rill_vocabulary_count(t->base) == t->n) {
        *out = t->base;
        t->base = NULL;
    } else {
        TRY(make(t, out));
    }
    rill_vocabulary_close(t->base);
    t->base = NULL;
    drop_texts(t);
    return RILL_OK;
}

void rill_tokens_clear(rill_tokens *t)
{
    if (t->blocks.ctx == NULL) return;
    rill_vocabulary_close(t->base);
    drop_texts(t);
    DROP(t->blocks.ctx, t->added, t->added_room);
    rill_blocks_clear(&t->blocks);
    *t = (rill_tokens){0};
}

int rill_tokens_flags(const rill_tokens *t, int32_t id)
{
    for (size_t i = 0; i < t->n_added; i++)
        if (t->added[i].id == id) return t->added[i].flags;
    return -1;
}

/* --- cutting texts ------------------------------------------------------------------------------------------------ */

int rill_is_blank(int32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* The character at `at` of valid UTF-8, -1 at the end; *next behind it. */
static int32_t character(const char *text, size_t length, size_t at, size_t *next)
{
    utf8proc_int32_t c = -1;
    *next = at;
    if (at < length)
        *next += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &c);
    return c;
}

size_t rill_blank_length(const char *text, size_t length)
{
    size_t next;
    return rill_is_blank(character(text, length, 0, &next)) ? next : 0;
}

/* Where the character before `at` begins; at > 0. */
static size_t before(const char *text, size_t at)
{
    do at--;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

static int is_word(int32_t c)
{
    if (c < 0) return 0;
    const utf8proc_category_t kind = utf8proc_category(c);
    return c == '_' || kind <= UTF8PROC_CATEGORY_LO || (kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_NO);
}

static int stands_alone(const char *text, size_t length, size_t from, size_t to)
{
    size_t next;
    if (from > 0 && is_word(character(text, length, before(text, from), &next))) return 0;
    return !is_word(character(text, length, to, &next));
}

/* The longest token at `at`; NULL: none. */
static const rill_added_token *token_at(const rill_tokens *t, int without, const char *text, size_t length, size_t at)
{
    const unsigned char first = (unsigned char)text[at];
    for (int32_t i = t->begins[first]; i < t->begins[first + 1]; i++) {
        const rill_added_token *token = &t->added[i];
        const size_t n = token->text.length;
        if ((token->flags & without) != 0 || n > length - at || memcmp(text + at, token->text.data, n) != 0) continue;
        if ((token->flags & RILL_TOKEN_WORD) != 0 && !stands_alone(text, length, at, at + n)) continue;
        return token;
    }
    return NULL;
}

rill_status rill_tokens_cut(const rill_tokens *t, int without, const char *text, size_t length, rill_word_fn part,
                            rill_added_fn token, void *user)
{
    size_t from = 0;
    for (size_t at = 0; at < length;) {
        const rill_added_token *found = token_at(t, without, text, length, at);
        if (found == NULL) {
            at++;
            continue;
        }
        size_t end = at, next;
        while ((found->flags & RILL_TOKEN_LEFT) != 0 && end > from &&
               rill_is_blank(character(text, length, before(text, end), &next)))
            end = before(text, end);
        if (end > from) TRY(part(user, text + from, end - from));
        TRY(token(user, found));
        at += found->text.length;
        while ((found->flags & RILL_TOKEN_RIGHT) != 0 && rill_is_blank(character(text, length, at, &next))) at = next;
        from = at;
    }
    return length > from ? part(user, text + from, length - from) : RILL_OK;
}
