/* Forbidden sequences; forbidden.h. */
#include "forbidden.h"

#include <stdlib.h>

enum { ALONE = -1 };

static int32_t key_of(const rill_sequence *s)
{
    return s->n > 1 ? s->action[s->n - 2] : ALONE;
}

static int compare(const void *left, const void *right)
{
    const rill_sequence *a = *(const rill_sequence *const *)left, *b = *(const rill_sequence *const *)right;
    if (key_of(a) != key_of(b)) return key_of(a) < key_of(b) ? -1 : 1;
    return (a > b) - (a < b); /* they lie in one array */
}

rill_status forbidden_create(forbidden *f, rill_context *ctx, const rill_domain_info *info)
{
    const size_t n = (size_t)info->n_forbidden;
    f->start = info->start_action;
    if (n == 0) return RILL_OK;
    f->at = rill_alloc(ctx, n * sizeof *f->at);
    if (f->at == NULL) return rill_fail_memory(ctx, n * sizeof *f->at, "forbidden sequences");
    f->n = info->n_forbidden;
    for (size_t i = 0; i < n; i++) f->at[i] = &info->forbidden[i];
    qsort(f->at, n, sizeof *f->at, compare);
    return RILL_OK;
}

void forbidden_finish(forbidden *f, rill_context *ctx)
{
    rill_free(ctx, f->at, (size_t)f->n * sizeof *f->at);
}

/* The first sequence with that key or a greater one. */
static int32_t find(const forbidden *f, int32_t key)
{
    int32_t low = 0, high = f->n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (key_of(f->at[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int32_t last_of(const forbidden *f, const rill_history *histories, int32_t h)
{
    return histories[h].parent >= 0 ? histories[h].action : f->start;
}

/* All but the sequence's last action has just been written. */
static int is_begun(const forbidden *f, const rill_sequence *s, const rill_history *histories, int32_t h)
{
    int32_t left = s->n - 1;
    for (; left > 0 && histories[h].parent >= 0; left--, h = histories[h].parent)
        if (histories[h].action != s->action[left - 1]) return 0;
    return left == 0 || (left == 1 && s->action[0] == f->start);
}

/* The next sequence from *i on that ends with the action to come, of those with the key; NULL: there is none. */
static const rill_sequence *next_of(const forbidden *f, int32_t key, const rill_history *histories, int32_t h,
                                    int32_t *i)
{
    while (*i < f->n && key_of(f->at[*i]) == key) {
        const rill_sequence *s = f->at[(*i)++];
        if (is_begun(f, s, histories, h)) return s;
    }
    return NULL;
}

rill_status forbidden_ask(const forbidden *f, rill_ask_builder *ask, int32_t row, const rill_history *histories,
                          int32_t h)
{
    const int32_t keys[] = {ALONE, last_of(f, histories, h)};
    const rill_sequence *s;
    for (int at = 0; at < 2 && (at == 0 || keys[1] != ALONE); at++) {
        int32_t i = find(f, keys[at]);
        while ((s = next_of(f, keys[at], histories, h, &i)) != NULL)
            RILL__TRY(rill_ask_ban(ask, row, s->action[s->n - 1]));
    }
    return RILL_OK;
}

/* Whether one of those from `from` up to `to` ends with the same action. */
static int is_counted(const forbidden *f, int32_t from, int32_t to, int32_t action, const rill_history *histories,
                      int32_t h)
{
    for (; from < to; from++)
        if (f->at[from]->action[f->at[from]->n - 1] == action && is_begun(f, f->at[from], histories, h)) return 1;
    return 0;
}

/* A sum, since the order of sequences says nothing of what they forbid. */
int64_t forbidden_class(const forbidden *f, const rill_history *histories, int32_t h)
{
    const int32_t key = last_of(f, histories, h), first = find(f, key);
    const rill_sequence *s;
    uint64_t sum = 0;
    if (key == ALONE) return 0;
    for (int32_t i = first; (s = next_of(f, key, histories, h, &i)) != NULL;) {
        const int32_t action = s->action[s->n - 1];
        uint64_t x = ((uint64_t)action + 1) * UINT64_C(0x9E3779B97F4A7C15);
        if (!is_counted(f, 0, find(f, 0), action, histories, h) && !is_counted(f, first, i - 1, action, histories, h))
            sum += (x ^ x >> 29) * UINT64_C(0xC2B2AE3D27D4EB4F);
    }
    return (int64_t)sum;
}
