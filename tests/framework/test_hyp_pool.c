/* The hypothesis pool and its arenas (framework/engine/hyp_pool.h): random trees of several items, grown and released
 * at random leaves, against a list of references. A held node belongs to one item only, the reserved capacity suffices,
 * and released nodes are reused before the pool grows. */
#include <stdlib.h>
#include <string.h>

#include "hyp_pool.h"
#include "support/dice.h"
#include "support/harness.h"

enum { ARENAS = 4, CAPACITY = 2000, MAX_GROWN = 12 };

/* A node with a reference to it, held by the test, as an entry of a beam would, or by children. */
typedef struct held_node {
    int32_t id, parent; /* parent: index in the list, or -1 */
    int32_t action, children;
    int is_held;
} held_node;

typedef struct world {
    hyp_pool f;
    hyp_arena arena[ARENAS];
    held_node list[ARENAS][CAPACITY];
    int32_t n[ARENAS], actions;
} world;

static int32_t count(const world *w)
{
    int32_t all = 0;
    for (int a = 0; a < ARENAS; a++)
        for (int32_t i = 0; i < w->n[a]; i++) all += w->list[a][i].is_held || w->list[a][i].children > 0;
    return all;
}

static int is_in_use(const held_node *h)
{
    return h->is_held || h->children > 0;
}

/* All held nodes must have their original contents, and all ids must differ. */
static void check(const world *w)
{
    static uint8_t seen[ARENAS * CAPACITY * 2];
    memset(seen, 0, sizeof seen);
    for (int a = 0; a < ARENAS; a++) {
        int32_t in_use = 0;
        for (int32_t i = 0; i < w->n[a]; i++) {
            const held_node *h = &w->list[a][i];
            if (!is_in_use(h)) continue;
            assert_in_range(h->id, 0, (int64_t)w->f.hyp_chunks * HYP_CHUNK - 1);
            assert_int_equal(seen[h->id]++, 0);
            assert_int_equal(w->f.hyp[h->id].action, h->action);
            assert_int_equal(w->f.hyp[h->id].parent, h->parent < 0 ? -1 : w->list[a][h->parent].id);
            assert_int_equal(w->f.hyp[h->id].internal[HYP_REFS], h->is_held + h->children);
            in_use++;
        }
        assert_int_equal(w->arena[a].n_in_use, in_use);
    }
    assert_int_equal(w->f.n_hyps, count(w));
}

static void add(world *w, int a, int32_t parent)
{
    const int32_t from = parent < 0 ? -1 : w->list[a][parent].id;
    held_node *h = &w->list[a][w->n[a]];
    *h = (held_node){.parent = parent, .action = w->actions++, .is_held = 1};
    h->id = hyp_pool_add(&w->f, &w->arena[a], from, from, h->action, -1, -1, 0);
    if (parent >= 0) w->list[a][parent].children++;
    w->n[a]++;
}

/* Release entry i, and its ancestors that nothing else holds. */
static void release_entry(world *w, int a, int32_t i)
{
    held_node *h = &w->list[a][i];
    h->is_held = 0;
    while (!is_in_use(h) && h->parent >= 0) {
        h = &w->list[a][h->parent];
        h->children--;
    }
}

/* Add children to some entries of any arena. */
static void grow(world *w, dice *d)
{
    const int32_t n = dice_range(d, 1, MAX_GROWN);
    assert_int_equal(hyp_pool_reserve(&w->f, n, n < ARENAS ? n : ARENAS), RILL_OK);
    const size_t capacity = (size_t)w->f.hyp_chunks;
    for (int32_t i = 0; i < n; i++) {
        const int a = dice_range(d, 0, ARENAS - 1);
        int32_t parent = w->n[a] > 0 ? dice_range(d, w->n[a] > 40 ? w->n[a] - 40 : 0, w->n[a] - 1) : -1;
        if (w->n[a] >= CAPACITY) continue;
        if (parent >= 0 && !is_in_use(&w->list[a][parent])) parent = -1;
        add(w, a, parent);
        assert_in_range(w->f.chunk_top, 0, capacity);
    }
}

/* Release some entries of all arenas, together or one at a time. */
static void release(world *w, dice *d)
{
    hyp_release leaving[ARENAS * CAPACITY];
    int32_t n = 0;
    const int percent = dice_range(d, 0, 60), together = dice_chance(d, 50);
    for (int a = 0; a < ARENAS; a++)
        for (int32_t i = 0; i < w->n[a]; i++) {
            if (!w->list[a][i].is_held || !dice_chance(d, percent)) continue;
            if (together)
                leaving[n++] = (hyp_release){&w->arena[a], w->list[a][i].id};
            else
                hyp_pool_release(&w->f, &w->arena[a], w->list[a][i].id);
            release_entry(w, a, i);
        }
    hyp_pool_release_all(&w->f, leaving, n);
}

static void drop(world *w, dice *d)
{
    const int a = dice_range(d, 0, ARENAS - 1);
    hyp_arena_free(&w->f, &w->arena[a], 0);
    w->n[a] = 0;
}

static void check_world(rill_context *ctx, uint64_t seed)
{
    dice d = dice_seeded(seed);
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    hyp_pool_init(&w->f, ctx, RILL_STATE_PATH);
    for (int a = 0; a < ARENAS; a++) hyp_arena_init(&w->arena[a]);
    for (int turn = 0; turn < 150; turn++) {
        grow(w, &d);
        if (dice_chance(&d, 40)) release(w, &d);
        if (dice_chance(&d, 4)) drop(w, &d);
        check(w);
    }
    for (int a = 0; a < ARENAS; a++) hyp_arena_free(&w->f, &w->arena[a], 0);
    assert_int_equal(w->f.n_hyps, 0);
    assert_int_equal(w->f.chunks_in_use, 0);
    hyp_pool_finish(&w->f);
    free(w);
}

static void random_trees(void **state)
{
    (void)state;
    harness_problems(200, check_world);
}

/* An arena with a bounded number of live nodes needs a bounded number of chunks, however long it runs. */
static void nodes_are_reused(void **state)
{
    (void)state;
    enum { HELD = 3 * HYP_CHUNK };
    rill_context *ctx;
    hyp_pool f;
    hyp_arena a;
    int32_t id[HELD];
    dice d = dice_seeded(harness_seed(1));
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    hyp_pool_init(&f, ctx, RILL_STATE_PATH);
    hyp_arena_init(&a);
    assert_int_equal(hyp_pool_reserve(&f, HELD, 1), RILL_OK);
    for (int32_t i = 0; i < HELD; i++) id[i] = hyp_pool_add(&f, &a, -1, -1, i, -1, -1, 0);
    for (int32_t turn = 0; turn < 10000; turn++) {
        const int32_t i = dice_range(&d, 0, HELD - 1);
        hyp_pool_release(&f, &a, id[i]);
        id[i] = hyp_pool_add(&f, &a, -1, -1, i, -1, -1, 0);
        if (turn % 50 > 0) continue;
        for (int32_t j = 0; j < HELD; j += 2) hyp_pool_release(&f, &a, id[j]);
        for (int32_t j = 0; j < HELD; j += 2) id[j] = hyp_pool_add(&f, &a, -1, -1, j, -1, -1, 0);
    }
    assert_int_equal(f.chunks_in_use, HELD / HYP_CHUNK);
    assert_int_equal(f.hyps_peak, HELD);
    hyp_arena_free(&f, &a, 0);
    hyp_pool_finish(&f);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_trees),
    cmocka_unit_test(nodes_are_reused),
};

HARNESS_MAIN(tests)
