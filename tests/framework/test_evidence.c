/* Evidence files of n-gram posteriors for the scorer lmbr: posteriors computed by hand, lattices against the list of
 * their paths, and files that are damaged or belong to another model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rill/evidence.h"
#include "rill/plugin.h"
#include "support/dice.h"
#include "support/harness.h"

enum { END = 9 };
static const rill_evidence_kind KIND = {
    .struct_size = sizeof KIND, .actions = 10, .phases = 1, .end_action = END, .names = 77};

static rill_ngrams *make(rill_context *ctx, const rill_evidence_kind *kind)
{
    rill_ngrams *g;
    assert_int_equal(rill_ngrams_create(&g, ctx, kind), RILL_OK);
    return g;
}

static float posterior_of_ngram(const rill_ngrams *g, int32_t phase, int n, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const int32_t gram[] = {a, b, c, d};
    return rill_ngrams_posterior(g, phase, gram, n);
}

/* --- posteriors ------------------------------------------------------------------------------------------------------- */

/* Add outputs with probability masses of 1/2, 1/4 and 1/4. */
static void fill(rill_ngrams *g)
{
    static const int32_t a[] = {1, 2, 1, 2, END}, b[] = {1, 2, 3, END}, c[] = {3, END};
    rill_ngrams_begin(g);
    assert_int_equal(rill_ngrams_entry(g, a, 5, log(2) - 7), RILL_OK);
    assert_int_equal(rill_ngrams_entry(g, b, 4, -7), RILL_OK);
    assert_int_equal(rill_ngrams_entry(g, c, 2, -7), RILL_OK);
    assert_int_equal(rill_ngrams_finish(g, 1), RILL_OK);
}

static void posteriors_by_hand(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context *ctx = harness_begin(&memory);
    rill_ngrams *g = make(ctx, &KIND);
    fill(g);
    /* An n-gram that occurs twice in an output counts once. */
    assert_float_equal(posterior_of_ngram(g, 0, 1, 1, 0, 0, 0), 0.75F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 2, 1, 2, 0, 0), 0.75F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 1, 3, 0, 0, 0), 0.5F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 1, END, 0, 0, 0), 1.0F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 2, 3, END, 0, 0), 0.5F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 3, 2, 1, 2, 0), 0.5F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 4, 1, 2, 3, END), 0.25F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 4, 2, 1, 2, END), 0.5F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 2, 2, 2, 0, 0), 0.0F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 1, 5, 0, 0, 0), 0.0F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 1, 1, 1, 0, 0, 0), 0.0F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 5, 1, 0, 0, 0), 0.0F, 1e-6F);
    /* With scale 2 the masses are 4/6, 1/6 and 1/6. */
    rill_ngrams_begin(g);
    const int32_t one[] = {1}, two[] = {2};
    assert_int_equal(rill_ngrams_entry(g, one, 1, log(2)), RILL_OK);
    assert_int_equal(rill_ngrams_entry(g, two, 1, 0), RILL_OK);
    assert_int_equal(rill_ngrams_finish(g, 2), RILL_OK);
    assert_float_equal(posterior_of_ngram(g, 0, 1, 1, 0, 0, 0), 0.8F, 1e-6F);
    rill_ngrams_free(g);
    rill_ngrams_free(NULL);
    harness_end(ctx, &memory);
}

/* N-grams of one phase do not count in another. */
static void phases(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context *ctx = harness_begin(&memory);
    rill_evidence_kind kind = KIND;
    kind.phases = 2;
    rill_ngrams *g = make(ctx, &kind);
    const int32_t actions[] = {1, 4, 2, 5, 3, 6};
    assert_int_equal(rill_ngrams_entry(g, actions, 6, 0), RILL_OK);
    assert_int_equal(rill_ngrams_finish(g, 1), RILL_OK);
    assert_float_equal(posterior_of_ngram(g, 0, 3, 1, 2, 3, 0), 1.0F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 1, 3, 4, 5, 6, 0), 1.0F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 1, 1, 1, 0, 0, 0), 0.0F, 1e-6F);
    assert_float_equal(posterior_of_ngram(g, 0, 2, 1, 4, 0, 0), 0.0F, 1e-6F);
    rill_ngrams_free(g);
    harness_end(ctx, &memory);
}

static void refused(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context *ctx = harness_begin(&memory);
    rill_evidence_kind none = KIND, many = KIND;
    rill_ngrams *g;
    none.actions = 0;
    many.phases = 9;
    assert_int_equal(rill_ngrams_create(&g, ctx, &none), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_ngrams_create(&g, ctx, &many), RILL_ERR_ARGUMENT);
    g = make(ctx, &KIND);
    const int32_t good[] = {1, 2}, bad[] = {1, 10}, negative[] = {-1, 2};
    assert_int_equal(rill_ngrams_finish(g, 1), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_entry(g, bad, 2, 0), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_entry(g, negative, 2, 0), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_entry(g, good, 2, NAN), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_entry(g, good, 2, -INFINITY), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_entry(g, good, 2, 0), RILL_OK);
    assert_int_equal(rill_ngrams_edge(g, 0, 1, 1, 0), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_finish(g, 0), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_ngrams_finish(g, 1), RILL_OK);
    rill_ngrams_begin(g);
    assert_int_equal(rill_ngrams_edge(g, 1, 1, 1, 0), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_edge(g, -1, 1, 1, 0), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_edge(g, 0, INT32_MAX, 1, 0), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_edge(g, 1, 2, 1, 0), RILL_OK);
    assert_int_equal(rill_ngrams_entry(g, good, 2, 0), RILL_ERR_INPUT);
    assert_int_equal(rill_ngrams_finish(g, 1), RILL_ERR_INPUT); /* refused: node 0 has no outgoing edge */
    rill_ngrams_free(g);
    harness_end(ctx, &memory);
}

/* --- lattices ---------------------------------------------------------------------------------------------------------- */

typedef struct edge {
    int32_t from, to, action;
    double score;
} edge;

typedef struct lattice {
    edge edge[40];
    int32_t n, nodes;
} lattice;

static void draw_lattice(lattice *l, int32_t phases, dice *d)
{
    l->n = 0;
    l->nodes = dice_range(d, 2, 7);
    while (l->n < 14) {
        edge e = {.from = dice_range(d, 0, l->nodes - 2)};
        e.to = dice_range(d, e.from + 1, l->nodes - 1);
        if ((e.to - e.from) % phases != 1 % phases) e.to = e.from + 1; /* makes every node belong to one phase */
        e.action = dice_range(d, 0, 2);
        e.score = 0.25 * (double)dice_range(d, -8, 8);
        l->edge[l->n++] = e;
    }
    l->edge[l->n++] = (edge){0, 1, 0, 0}; /* ensures a path */
    for (int32_t node = 1; node < l->nodes - 1; node++) l->edge[l->n++] = (edge){node, node + 1, 1, -1};
}

/* Each path becomes an output. */
static void list_paths(const lattice *l, rill_ngrams *g, int32_t node, int32_t *action, int32_t n, double score)
{
    if (node == l->nodes - 1) assert_int_equal(rill_ngrams_entry(g, action, n, score), RILL_OK);
    for (int32_t i = 0; i < l->n; i++) {
        if (l->edge[i].from != node) continue;
        action[n] = l->edge[i].action;
        list_paths(l, g, l->edge[i].to, action, n + 1, score + l->edge[i].score);
    }
}

static void compare(const rill_ngrams *a, const rill_ngrams *b, int32_t phases)
{
    int32_t gram[RILL_NGRAM_MAX];
    for (int32_t phase = 0; phase < phases; phase++)
        for (int32_t m = 1, all = 3; m <= RILL_NGRAM_MAX; m++, all *= 3)
            for (int32_t code = 0; code < all; code++) {
                for (int32_t i = 0, rest = code; i < m; i++, rest /= 3) gram[i] = rest % 3;
                assert_float_equal(rill_ngrams_posterior(a, phase, gram, m), rill_ngrams_posterior(b, phase, gram, m),
                                   1e-5F);
            }
}

static void lattice_is_its_paths(rill_context *ctx, uint64_t seed)
{
    dice d = dice_seeded(seed);
    rill_evidence_kind kind = KIND;
    kind.phases = dice_range(&d, 1, 3);
    rill_ngrams *listed = make(ctx, &kind), *g = make(ctx, &kind);
    int32_t action[16];
    lattice l;
    draw_lattice(&l, kind.phases, &d);
    list_paths(&l, listed, 0, action, 0, 0);
    for (int32_t i = 0; i < l.n; i++)
        assert_int_equal(rill_ngrams_edge(g, l.edge[i].from, l.edge[i].to, l.edge[i].action, l.edge[i].score), RILL_OK);
    assert_int_equal(rill_ngrams_finish(listed, 0.7), RILL_OK);
    assert_int_equal(rill_ngrams_finish(g, 0.7), RILL_OK);
    compare(listed, g, kind.phases);
    rill_ngrams_free(listed);
    rill_ngrams_free(g);
}

static void lattices(void **state)
{
    (void)state;
    harness_problems(300, lattice_is_its_paths);
}

static void phases_of_nodes(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context *ctx = harness_begin(&memory);
    rill_evidence_kind kind = KIND;
    kind.phases = 2;
    rill_ngrams *g = make(ctx, &kind);
    assert_int_equal(rill_ngrams_edge(g, 0, 1, 1, 0), RILL_OK);
    assert_int_equal(rill_ngrams_edge(g, 1, 2, 1, 0), RILL_OK);
    assert_int_equal(rill_ngrams_edge(g, 0, 2, 1, 0), RILL_OK);
    assert_int_equal(rill_ngrams_finish(g, 1), RILL_ERR_INPUT);
    assert_non_null(strstr(rill_error(ctx), "node 2"));
    rill_ngrams_free(g);
    harness_end(ctx, &memory);
}

/* --- files ------------------------------------------------------------------------------------------------------------- */

static char path[] = "/tmp/rill-evidence-XXXXXX";

static rill_status write_file(void *user, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, user) == n ? RILL_OK : RILL_ERR_IO;
}

/* Write evidence for inputs 0, 1, 5 and 6. */
static size_t write_evidence(rill_context *ctx)
{
    static const int64_t ids[] = {0, 1, 5, 6};
    rill_evidence_writer *w;
    rill_ngrams *g = make(ctx, &KIND);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(rill_evidence_writer_create(&w, ctx, &KIND, write_file, file), RILL_OK);
    assert_int_equal(rill_evidence_put(w, 0, g), RILL_ERR_ARGUMENT); /* refused: the n-grams of g are not finished */
    for (size_t i = 0; i < 4; i++) {
        fill(g);
        assert_int_equal(rill_evidence_put(w, ids[i], g), RILL_OK);
        assert_int_equal(rill_evidence_put(w, ids[i], g), RILL_ERR_ARGUMENT);
    }
    assert_int_equal(rill_evidence_writer_finish(w), RILL_OK);
    rill_evidence_writer_free(w);
    rill_evidence_writer_free(NULL);
    rill_ngrams_free(g);
    const size_t size = (size_t)ftell(file);
    assert_int_equal(fclose(file), 0);
    return size;
}

static void evidence_file_is_read(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context *ctx = harness_begin(&memory);
    rill_evidence *e;
    rill_ngrams *g = make(ctx, &KIND);
    write_evidence(ctx);
    assert_int_equal(rill_evidence_open(&e, ctx, path), RILL_OK);
    assert_int_equal(rill_evidence_kind_in_file(e)->end_action, END);
    for (int64_t id = -1; id < 9; id++) {
        const int exists = id == 0 || id == 1 || id == 5 || id == 6;
        assert_int_equal(rill_evidence_get(e, id, g), exists ? RILL_OK : RILL_ERR_NOT_FOUND);
        assert_float_equal(posterior_of_ngram(g, 0, 2, 1, 2, 0, 0), exists ? 0.75F : 0, 1e-6F);
    }
    rill_evidence_kind other = KIND;
    assert_int_equal(rill_evidence_fits(e, &other), RILL_OK);
    other.names = 0; /* a model without names */
    assert_int_equal(rill_evidence_fits(e, &other), RILL_OK);
    other.names = 78;
    assert_int_equal(rill_evidence_fits(e, &other), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "their names differ"));
    other = KIND;
    other.actions = 11;
    assert_int_equal(rill_evidence_fits(e, &other), RILL_ERR_FORMAT);
    other = KIND;
    other.phases = 2;
    assert_int_equal(rill_evidence_fits(e, &other), RILL_ERR_FORMAT);
    other = KIND;
    other.end_action = -1;
    assert_int_equal(rill_evidence_fits(e, &other), RILL_ERR_FORMAT);
    rill_evidence_close(e);
    rill_evidence_close(NULL);
    rill_ngrams_free(g);
    harness_end(ctx, &memory);
}

static char *read_evidence_file(size_t size)
{
    char *bytes = malloc(size);
    FILE *file = fopen(path, "rb");
    assert_true(bytes != NULL && file != NULL);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    return bytes;
}

static void write_evidence_file(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Read as much of the file as possible; return whether there was an error. */
static int is_damaged(rill_context *ctx)
{
    rill_evidence *e;
    int bad = 0;
    if (rill_evidence_open(&e, ctx, path) < 0) {
        assert_int_equal(rill_error_status(ctx), RILL_ERR_FORMAT);
        assert_non_null(strstr(rill_error(ctx), path));
        return 1;
    }
    rill_ngrams *g = make(ctx, rill_evidence_kind_in_file(e));
    for (int64_t id = 0; id < 8; id++) bad |= rill_evidence_get(e, id, g) == RILL_ERR_FORMAT;
    rill_ngrams_free(g);
    rill_evidence_close(e);
    return bad;
}

/* A truncated file is refused, wherever it is cut. A file with one byte changed is refused, or read with other numbers. */
static void damaged_files_are_refused(void **state)
{
    (void)state;
    harness_memory memory = {0};
    rill_context *ctx = harness_begin(&memory);
    rill_evidence *e;
    const size_t size = write_evidence(ctx);
    char *bytes = read_evidence_file(size);
    int refusals = 0;
    assert_false(is_damaged(ctx));
    for (size_t n = 0; n < size; n += 3) {
        write_evidence_file(bytes, n);
        assert_true(is_damaged(ctx));
    }
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            bytes[i] ^= (char)(1 << bit);
            write_evidence_file(bytes, size);
            refusals += is_damaged(ctx);
            bytes[i] ^= (char)(1 << bit);
        }
    assert_true(refusals > (int)size / 4);
    free(bytes);
    unlink(path);
    assert_int_equal(rill_evidence_open(&e, ctx, path), RILL_ERR_NOT_FOUND);
    harness_end(ctx, &memory);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(posteriors_by_hand),
        cmocka_unit_test(phases),
        cmocka_unit_test(refused),
        cmocka_unit_test(lattices),
        cmocka_unit_test(phases_of_nodes),
        cmocka_unit_test(evidence_file_is_read),
        cmocka_unit_test(damaged_files_are_refused),
    };
    if (harness_options(argc, argv) != 0) return 2;
    const int made = mkstemp(path);
    if (made < 0) return 2;
    close(made);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
