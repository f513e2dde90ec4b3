/* Counts the states that a search keeps, from the naive search's lists: each distinct prefix counts once. */
#include <stdlib.h>
#include <string.h>

#include "support/naive_search.h"

typedef struct prefix {
    const naive_hypothesis *hypothesis;
    int32_t n;
} prefix;

static int by_actions(const void *a, const void *b)
{
    const prefix *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return memcmp(x->hypothesis->action, y->hypothesis->action, (size_t)x->n * sizeof *x->hypothesis->action);
}

/* A beam keeps the states of its candidates' proper prefixes. A candidate's own state is made when it is expanded. */
int64_t naive_count_states(const naive_problem *p, const naive_hypothesis *beam, int32_t n_beam,
                           const naive_output *output, int32_t n_outputs, const naive_output *seen)
{
    int64_t n = 0, distinct = 0;
    size_t max = ((size_t)n_beam + (size_t)n_outputs + 1) * NAIVE_MAX_LENGTH;
    prefix *all = malloc((max + 1) * sizeof *all);
    if (all == NULL) abort();
    for (int32_t i = 0; i < n_beam + n_outputs + (seen != NULL); i++) {
        int in_beam = i < n_beam;
        const naive_hypothesis *h = in_beam                  ? &beam[i]
                                    : i < n_beam + n_outputs ? &output[i - n_beam].hypothesis
                                                             : &seen->hypothesis;
        if (!p->path_states && (!in_beam || h->ended)) continue;
        for (int32_t length = p->path_states ? 0 : h->n - 1; length < h->n; length++)
            if (length >= 0) all[n++] = (prefix){h, length};
    }
    qsort(all, (size_t)n, sizeof *all, by_actions);
    for (int64_t i = 0; i < n; i++) distinct += i == 0 || by_actions(&all[i - 1], &all[i]) != 0;
    free(all);
    return distinct;
}
