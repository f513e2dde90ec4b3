/* Sampling: a timestep extends each beam entry by one randomly drawn choice.
 *
 * The distribution is the softmax of the scores, bonuses included, divided by the temperature. It is restricted to the top_k best choices
 * (Fan, Lewis and Dauphin 2018), then to the smallest set with total probability top_p (Holtzman et al. 2020). Samples are independent and
 * may be equal.
 *
 * Random numbers are hashes of seed, input, timestep, phase, rank and index, so results do not depend on batching or threads. The hash is
 * splitmix64's finaliser (Steele, Lea and Flood 2014), applied per 64-bit word. */
#include <math.h>
#include <stdlib.h>

#include "engine_internal.h"

static uint64_t hash_mix(uint64_t x, uint64_t with)
{
    x = (x ^ with) + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t pack_pair(int32_t high, int32_t low)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

/* Returns a uniform random number in [0, 1). `draw`: index among the hypothesis's draws. */
static double uniform_random(const timestep *t, const item *it, int32_t rank, int32_t draw)
{
    uint64_t x = hash_mix(0, (uint64_t)(uint32_t)it->settings->seed);
    const int64_t line = it->request != NULL ? it->request->number : 0;
    x = hash_mix(x, (uint64_t)(line > 0 ? line - 1 : it->id + t->first_input));
    x = hash_mix(x, pack_pair(it->timestep, t->phase));
    x = hash_mix(x, pack_pair(rank, draw));
    return (double)(x >> 11) * 0x1p-53;
}

/* Write the softmax weights of the row's choices to weight[top_k], and their sum to *mass. Returns the number left by top_k and top_p. */
static int32_t truncate_choices(timestep *t, const rill_settings *s, int32_t row, double *weight, double *mass)
{
    double all = 0, best = 0;
    int32_t n = 0, m = 0;
    topk_choice choice;
    for (; n < s->top_k && timestep_next_choice(t, row, n, &choice); n++) {
        if (n == 0) best = (double)choice.score; /* weights are relative to the best choice, whose weight is 1 */
        all += weight[n] = exp(((double)choice.score - best) / s->temperature);
    }
    for (*mass = 0; m < n && (m == 0 || *mass < s->top_p * all); m++) *mass += weight[m];
    return m;
}

/* Return the choice at which the cumulated weights first exceed `target`. */
static int32_t draw_choice(const double *weight, int32_t n, double target)
{
    for (int32_t i = 0; i < n - 1; i++)
        if ((target -= weight[i]) < 0) return i;
    return n - 1;
}

static int32_t choose_children(timestep *t, const item *it, int32_t row)
{
    double *weight = t->scratch;
    const rill_settings *s = it->settings;
    const int32_t draws = it->timestep == 0 && t->phase == 0 ? s->k : 1;
    int32_t found = 0;
    for (int32_t rank = 0; rank < it->width; rank++) { /* with sampling all entries of the beam are live */
        const int32_t r = row + rank;
        double mass;
        const int32_t n = truncate_choices(t, s, r, weight, &mass);
        for (int32_t draw = 0; draw < draws && n > 0; draw++) {
            const int32_t next = draw_choice(weight, n, uniform_random(t, it, rank, draw) * mass);
            const topk_choice child = timestep_choice(t, r, next);
            t->heads[found++] = (merge_head){it->beam[rank].path_score + (double)child.score, child, rank, r, next, 0};
        }
    }
    qsort(t->heads, (size_t)found, sizeof *t->heads, merge_head_compare);
    return found;
}

static int32_t n_choices(const rill_engine *e, const item *it)
{
    (void)e;
    return it->settings->top_k;
}

/* In the first timestep k samples are drawn from one row, so a row may have k children. */
static void reserve(const item *it, int32_t stride, int64_t *n_children, children_size *need)
{
    const int32_t k = it->settings->k;
    if (*n_children < k) *n_children = k;
    raise_size(&need->max_width, (size_t)k);
    raise_size(&need->scratch, (size_t)stride * sizeof(double));
}

const search_variant sampling = {.name = "sampling",
                                 .selected_by = {offsetof(rill_settings, sample), 1},
                                 .n_choices = n_choices,
                                 .reserve = reserve,
                                 .choose_children = choose_children};
