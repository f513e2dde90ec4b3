/* Numbers added tokens, and splits texts at them.
 *
 * Invariant: until rill_token_set_finish(), added tokens are in order of insertion and numbered by `names`; then they
 * are sorted by compare(), and `names` is NULL. */
#include "segmenters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* --- added tokens ------------------------------------------------------------------------------------------------- */

rill_status rill_token_set_end_base(const rill_token_set *t)
{
    const int32_t n = rill_vocabulary_count(t->vocabulary), empty = rill_vocabulary_id(t->vocabulary, "", 0);
    rill_context *ctx = t->arena.ctx;
    if (n == 0) return rill_fail(ctx, RILL_ERR_FORMAT, "%s: the file has no tokens", t->name);
    if (empty >= 0) return rill_fail(ctx, RILL_ERR_FORMAT, "%s: token number %d is empty", t->name, empty);
    if (n <= t->limit) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected at most %d tokens, as config.json says", t->name, t->limit);
}

/* Order added tokens by first byte, then the longest first; for qsort(). */
static int compare(const void *a, const void *b)
{
    const rill_slice *x = &((const rill_added_token *)a)->text, *y = &((const rill_added_token *)b)->text;
    const int first = (unsigned char)x->data[0] - (unsigned char)y->data[0];
    if (first != 0) return first;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    return memcmp(x->data, y->data, x->length);
}

static rill_added_token *find_added(const rill_token_set *t, const char *text, size_t length)
{
    const rill_added_token key = {.text = {text, length}};
    if (t->n_added == 0 || length == 0) return NULL;
    if (t->names == NULL) return bsearch(&key, t->added, t->n_added, sizeof key, compare);
    const int32_t i = rill_vocabulary_id(t->names, text, length);
    return i >= 0 ? &t->added[i] : NULL;
}

int32_t rill_token_set_added_id(const rill_token_set *t, const char *text, size_t length)
{
    const rill_added_token *added = find_added(t, text, length);
    return added != NULL ? added->id : -1;
}

int32_t rill_token_set_find(const rill_token_set *t, const char *text, size_t length)
{
    const rill_added_token *added = find_added(t, text, length);
    return added != NULL ? added->id : rill_vocabulary_id(t->vocabulary, text, length);
}

static rill_status check_number(const rill_token_set *t, const char *text, int64_t id, int32_t found)
{
    if (id < 0 || id == found) return RILL_OK;
    return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: \"%.60s\" has the id %lld there and %d in the vocabulary",
                     t->name, text, (long long)id, found);
}

/* Fill the unused ids before `id` with tokens that decoding omits. Their names must be free. */
static rill_status fill_gap(rill_token_set *t, int64_t id)
{
    char name[32];
    for (int32_t n; (n = rill_vocabulary_count(t->vocabulary)) < id;) {
        const int length = snprintf(name, sizeof name, "<unused_%d>", n);
        TRY(rill_token_set_add(t, name, (size_t)length, -1, RILL_TOKEN_SPECIAL));
        if (rill_vocabulary_count(t->vocabulary) == n)
            return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: \"%s\" has the id %d: expected no token of this name",
                             t->name, name, rill_token_set_find(t, name, (size_t)length));
    }
    return RILL_OK;
}

rill_status rill_token_set_add(rill_token_set *t, const char *text, size_t length, int64_t id, int flags)
{
    rill_added_token *known = find_added(t, text, length);
    if (known != NULL) {
        known->flags |= flags;
        return check_number(t, known->text.data, id, known->id);
    }
    rill_added_token added = {.flags = flags, .text.length = length};
    int32_t n = rill_vocabulary_count(t->vocabulary);
    added.id = rill_vocabulary_id(t->vocabulary, text, length);
    if (length == 0) /* an empty token would match everywhere */
        return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: token number %d is empty", t->name,
                         added.id >= 0 ? added.id : n);
    if (added.id < 0) {
        if ((id >= 0 ? id : n) >= t->limit) return RILL_OK;
        if (id > n && id - n <= t->max_gap) TRY(fill_gap(t, id));
        n = rill_vocabulary_count(t->vocabulary);
        added.id = t->may_share_ids && id >= 0 && id < n ? (int32_t)id : n;
        if (added.id == n && id >= 0 && id != n)
            return rill_fail(t->arena.ctx, RILL_ERR_FORMAT, "%s: \"%.60s\" has the id %lld: expected %d, the next one",
                             t->name, text, (long long)id, n);
        if (added.id == n) TRY(rill_vocabulary_add(t->vocabulary, t->name, text, length));
    }
    TRY(check_number(t, text, id, added.id));
    if (t->names == NULL) TRY(rill_vocabulary_create(&t->names, t->arena.ctx));
    TRY(rill_vocabulary_add(t->names, t->name, text, length));
    TRY(rill_arena_copy(&t->arena, text, length, t->name, &added.text.data));
    PUSH(&t->arena, t->added, t->n_added, added, t->name);
    return RILL_OK;
}

rill_status rill_token_set_finish(rill_token_set *t)
{
    const int32_t n = rill_vocabulary_count(t->vocabulary);
    size_t i = 0;
    if (t->n_added > 0) qsort(t->added, t->n_added, sizeof *t->added, compare);
    for (int c = 0; c <= 256; c++) {
        while (i < t->n_added && (unsigned char)t->added[i].text.data[0] < c) i++;
        t->first_by_byte[c] = (int32_t)i;
    }
    TRY(rill_arena_alloc(&t->arena, &t->flags, (size_t)n, 1, t->name));
    memset(t->flags, -1, (size_t)n);
    for (i = t->n_added; i-- > 0;) t->flags[t->added[i].id] = (int8_t)t->added[i].flags;
    t->n_flags = n;
    rill_vocabulary_close(t->names);
    t->names = NULL;
    return RILL_OK;
}

int rill_token_set_flags(const rill_token_set *t, int32_t id)
{
    return id >= 0 && id < t->n_flags ? t->flags[id] : -1;
}

/* --- splitting texts ---------------------------------------------------------------------------------------------- */

/* The character at `pos`, or -1 at the end of the text. */
static int32_t char_at(const char *text, size_t length, size_t pos)
{
    return pos < length ? rill_utf8_read(text, length, &pos) : -1;
}

static int is_word(int32_t c)
{
    if (c < 0) return 0;
    const utf8proc_category_t kind = utf8proc_category(c);
    return c == '_' || kind <= UTF8PROC_CATEGORY_LO || (kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_NO);
}

static int is_single_word(const char *text, size_t length, size_t from, size_t to)
{
    if (from > 0 && is_word(char_at(text, length, rill_utf8_prev(text, from)))) return 0;
    return !is_word(char_at(text, length, to));
}

/* The longest added token at `pos` that has none of the flags `without`; NULL: none. */
static const rill_added_token *longest_token_at(const rill_token_set *t, int without, const char *text, size_t length,
                                                size_t pos)
{
    const unsigned char first = (unsigned char)text[pos];
    for (int32_t i = t->first_by_byte[first]; i < t->first_by_byte[first + 1]; i++) {
        const rill_added_token *token = &t->added[i];
        const size_t n = token->text.length;
        if ((token->flags & without) != 0 || n > length - pos || memcmp(text + pos, token->text.data, n) != 0) continue;
        if ((token->flags & RILL_TOKEN_SINGLE_WORD) != 0 && !is_single_word(text, length, pos, pos + n)) continue;
        return token;
    }
    return NULL;
}

rill_status rill_token_set_split(const rill_token_set *t, int without, const char *text, size_t length,
                                 rill_word_fn part, rill_added_fn token, void *user)
{
    size_t from = 0;
    for (size_t pos = 0; pos < length;) {
        const rill_added_token *found = longest_token_at(t, without, text, length, pos);
        if (found == NULL) {
            pos++;
            continue;
        }
        size_t end = pos;
        while ((found->flags & RILL_TOKEN_LSTRIP) != 0 && end > from &&
               rill_is_white_space(char_at(text, length, rill_utf8_prev(text, end))))
            end = rill_utf8_prev(text, end);
        if (end > from) TRY(part(user, text + from, end - from));
        TRY(token(user, found));
        pos += found->text.length;
        while ((found->flags & RILL_TOKEN_RSTRIP) != 0 && rill_is_white_space(char_at(text, length, pos)))
            rill_utf8_read(text, length, &pos);
        from = pos;
    }
    return length > from ? part(user, text + from, length - from) : RILL_OK;
}
