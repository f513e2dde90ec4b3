/* test_attention.c: attention.cu against the plain C kernel, and each row against itself in other batches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "launch.h"
#include "rig.h"
#include "stand_in.h"
#include "support/dice.h"
#include "support/harness.h"

enum { MAX_ROWS = 16, TABLE = 2 * MAX_ROWS, MANY = 128 * 1000 }; /* MANY: more parts than attention is split into */

/* Rows of a table, [rows, ld]. */
typedef struct table {
    int32_t rows, ld;
    float *data;
} table;

typedef struct problem {
    int32_t rows, heads, width, value_width;
    float scale, tolerance;
    table query, keys, values, additive, relative;      /* additive.at and relative.at may be NULL */
    int32_t reach, placed, place[MAX_ROWS];             /* explicit positions of the rows, used if `placed` */
    int32_t query_index[MAX_ROWS], out_index[MAX_ROWS]; /* negative: absent */
    int32_t first[MAX_ROWS], length[MAX_ROWS], longest;
    int32_t *entry; /* index of the rows' entries, or NULL */
    int32_t entries;
    int watched; /* number of heads whose weights are returned */
    dice d;
} problem;

/* The layout of a call, which may vary for the same rows. */
typedef struct batch_layout {
    int32_t rows, order[MAX_ROWS];
    int32_t more; /* rows of the grid beyond the batch */
    int32_t gap, off, longer;
    int shared_out; /* there is memory for split attention */
} batch_layout;

/* Results, in the order of the batch. */
typedef struct answer {
    const float *out[MAX_ROWS], *watched[MAX_ROWS]; /* [row]; out NULL: the row is not written */
    int32_t ld_watched;
} answer;

static void *allocate(size_t n, size_t bytes)
{
    void *memory = malloc((n + 1) * bytes);
    assert_non_null(memory);
    return memory;
}

/* --- random problems ---------------------------------------------------------------------------------------------- */

static table draw_table(dice *d, int32_t rows, int32_t width, float size)
{
    table t = {rows, width, allocate((size_t)rows * (size_t)width, sizeof(float))};
    for (size_t i = 0; i < (size_t)rows * (size_t)width; i++)
        t.data[i] = size * (float)dice_range(d, -1000, 1000) / 1000.0f;
    return t;
}

static int32_t draw_length(dice *d, int32_t width)
{
    if (dice_chance(d, width > 256 ? 40 : 10)) return DICE_PICK(d, 127, 128, 129, 255, 256, 257, 300, 513, 1000);
    return dice_chance(d, 10) ? 0 : dice_range(d, 1, 70);
}

/* Put NaNs or infinities somewhere; in queries and keys they reach a whole head, in values a column. */
static void spoil(problem *p)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    table *const tables[] = {&p->query, &p->keys, &p->values};
    for (int32_t n = dice_range(&p->d, 1, 4); n > 0; n--) {
        table *t = tables[dice_range(&p->d, 0, 2)];
        t->data[dice_range(&p->d, 0, t->rows * t->ld - 1)] = odd[dice_range(&p->d, 0, 2)];
    }
}

static void draw_memory(problem *p)
{
    dice *d = &p->d;
    int32_t n_entries = 0;
    for (int32_t r = 0; r < p->rows; r++) {
        const int again = r > 0 && dice_chance(d, 30); /* several rows may share a memory */
        p->length[r] = again ? p->length[r - 1] : draw_length(d, p->width);
        p->first[r] = again ? p->first[r - 1] : n_entries;
        if (!again) n_entries += p->length[r];
        if (p->length[r] > p->longest) p->longest = p->length[r];
    }
    const int32_t rows = n_entries + dice_range(d, 1, 5);
    if (dice_chance(d, 50)) {
        p->entries = n_entries;
        p->entry = allocate((size_t)n_entries, sizeof *p->entry);
        for (int32_t i = 0; i < n_entries; i++) p->entry[i] = dice_range(d, 0, rows - 1);
    }
    p->keys = draw_table(d, rows, p->heads * p->width, 1.0f);
    p->values = draw_table(d, rows, p->heads * p->value_width, 1.0f);
}

static problem draw(uint64_t seed)
{
    problem p = {.d = dice_seeded(seed)};
    dice *d = &p.d;
    p.width = dice_chance(d, 60)   ? DICE_PICK(d, 1, 4, 20, 32, 33, 64, 80, 100, 128, 129, 200, 256)
              : dice_chance(d, 70) ? dice_range(d, 1, 140)
                                   : DICE_PICK(d, 257, 260, 512, 1000, 1027);
    p.value_width = dice_chance(d, 75) ? p.width : DICE_PICK(d, 1, 20, 100, 256, 400, 513);
    p.heads = p.width > 256 ? dice_range(d, 1, 2) : dice_range(d, 1, 5);
    p.rows = dice_range(d, 0, p.width > 128 ? 5 : 10);
    /* large values put nearly all attention weight on one position */
    const float size = dice_chance(d, 20) ? 40.0f : 1.0f;
    p.scale = dice_chance(d, 30) ? 1.0f : 1.0f / sqrtf((float)p.width);
    p.query = draw_table(d, TABLE, p.heads * p.width, size);
    draw_memory(&p);
    if (dice_chance(d, 30)) p.additive = draw_table(d, 1, p.heads * p.width, 1.0f);
    p.reach = dice_chance(d, 50) ? dice_range(d, 0, 5) : dice_range(d, 0, 200);
    if (dice_chance(d, 40)) p.relative = draw_table(d, p.heads, 2 * p.reach + 1, 2.0f);
    p.placed = dice_chance(d, 60);
    for (int32_t r = 0; r < p.rows; r++) p.place[r] = p.length[r] > 0 ? dice_range(d, 0, p.length[r] - 1) : 0;
    p.tolerance = 2e-6f * (1.0f + size * p.scale * (float)p.width);
    if (size == 1.0f && p.longest > 0 && dice_chance(d, 30)) spoil(&p);
    const int negative = dice_chance(d, 30) ? 20 : 0;
    for (int32_t r = 0; r < p.rows; r++) {
        p.query_index[r] = dice_chance(d, negative) ? -1 : dice_range(d, 0, TABLE - 1);
        p.out_index[r] = dice_chance(d, negative) ? -2 : (r * 7 + 3) % (TABLE - 1);
    }
    p.watched = dice_chance(d, 40) ? dice_range(d, 1, p.heads) : 0;
    return p;
}

static void drop(problem *p)
{
    free(p->query.data);
    free(p->additive.data);
    free(p->relative.data);
    free(p->keys.data);
    free(p->values.data);
    free(p->entry);
}

static batch_layout alone_in_order(const problem *p)
{
    batch_layout c = {.rows = p->rows, .more = 5, .shared_out = 1};
    for (int32_t r = 0; r < p->rows; r++) c.order[r] = r;
    return c;
}

static batch_layout other(problem *p)
{
    dice *d = &p->d;
    batch_layout c = {.rows = dice_range(d, 1, p->rows), .more = dice_chance(d, 50) ? 0 : dice_range(d, 1, 20)};
    for (int32_t r = 0; r < p->rows; r++) c.order[r] = r;
    for (int32_t r = p->rows; r-- > 1;) {
        const int32_t other_row = dice_range(d, 0, r), was = c.order[r];
        c.order[r] = c.order[other_row];
        c.order[other_row] = was;
    }
    c.gap = dice_chance(d, 50) ? 0 : dice_range(d, 1, 9);
    c.off = dice_chance(d, 50) ? 0 : dice_range(d, 1, 3);
    c.longer = dice_chance(d, 50) ? 0 : dice_range(d, 1, 300);
    c.shared_out = dice_chance(d, 50);
    if (p->width > GPU_ATTEND_NARROW && dice_chance(d, 15)) c.longer = MANY;
    return c;
}

/* --- one call ----------------------------------------------------------------------------------------------------- */

static gpu_operand put_table(rig *g, const table *t, const batch_layout *c)
{
    const int32_t ld = t->ld + c->gap;
    float *host = (float *)rig_put(g, ((size_t)t->rows * (size_t)ld + (size_t)c->off) * sizeof(float)) + c->off;
    for (int32_t r = 0; r < t->rows; r++)
        memcpy(host + (size_t)r * (size_t)ld, t->data + (size_t)r * (size_t)t->ld, (size_t)t->ld * sizeof(float));
    return (gpu_operand){.data = rig_device_ptr(g, host), .ld = ld};
}

/* Copy a column. Rows of the grid beyond the batch get the value `beyond`, which would show if they were processed. */
static const int32_t *put_column(rig *g, const batch_layout *c, const int32_t *column, int32_t beyond)
{
    int32_t *host = rig_put(g, MAX_ROWS * sizeof *host);
    for (int32_t r = 0; r < MAX_ROWS; r++) host[r] = r < c->rows ? column[c->order[r]] : beyond;
    return rig_device_ptr(g, host);
}

static answer call(rig *g, const problem *p, const batch_layout *c)
{
    rig_begin(g);
    int32_t *count = rig_put(g, sizeof *count);
    *count = c->rows;
    gpu_attend a = {.rows = {rig_device_ptr(g, count), c->rows + c->more},
                    .heads = p->heads,
                    .width = p->width,
                    .value_width = p->value_width,
                    .scale = p->scale,
                    .query = put_table(g, &p->query, c),
                    .keys = put_table(g, &p->keys, c),
                    .values = put_table(g, &p->values, c),
                    .first = put_column(g, c, p->first, 0),
                    .length = put_column(g, c, p->length, 0),
                    .max_length = p->longest + c->longer,
                    .watched_heads = p->watched,
                    .ld_watched = p->longest + c->gap + 1};
    a.query.index = put_column(g, c, p->query_index, 0);
    if (p->additive.data != NULL) a.additive = put_table(g, &p->additive, c).data;
    if (p->relative.data != NULL) {
        const size_t bytes = (size_t)p->heads * (size_t)p->relative.ld * sizeof(float);
        a.relative = rig_device_ptr(g, memcpy(rig_put(g, bytes), p->relative.data, bytes));
        a.reach = p->reach;
        if (p->placed) a.position = put_column(g, c, p->place, 0);
    }
    if (p->entry != NULL) {
        const size_t bytes = (size_t)p->entries * sizeof *p->entry;
        a.entry = rig_device_ptr(g, memcpy(rig_put(g, bytes), p->entry, bytes));
    }
    const size_t ld = (size_t)(p->heads * p->value_width + c->gap), ld_watched = (size_t)a.ld_watched;
    float *out = (float *)rig_out(g, (TABLE * ld + (size_t)c->off) * sizeof(float)) + c->off;
    a.out = (gpu_operand){
        .data = rig_device_ptr(g, out), .ld = (int32_t)ld, .index = put_column(g, c, p->out_index, TABLE - 1)};
    float *watched = p->watched ? rig_out(g, ((size_t)MAX_ROWS * ld_watched) * sizeof(float)) : NULL;
    a.watched = rig_device_ptr(g, watched);
    const size_t part = gpu_attend_part_floats(a.rows.max, p->heads, p->value_width, a.max_length);
    if (c->shared_out && part > 0) a.part = rig_device_ptr(g, rig_out(g, part * sizeof(float)));
    if (c->longer >= MANY) (void)rig_put(g, (size_t)8 << 20); /* memory that no kernel writes */
    const int32_t ld_panel = (p->heads * p->width + 15) / 16 * 16;
    const int rounds = gpu_attend_is_narrow((size_t)p->width, (size_t)p->value_width, a.additive != NULL);
    const size_t panel_bytes = rounds ? MAX_ROWS * (size_t)ld_panel * sizeof(uint16_t) : 0;
    uint16_t *both = rig_out(g, panel_bytes), *alone = rig_out(g, panel_bytes);
    rig_upload(g);
    if (panel_bytes > 0) a.panel = (gpu_panel){rig_device_ptr(g, both), ld_panel, GPU_BF16};
    gpu_run_attend(g->queue, &a);
    if (panel_bytes > 0) {
        a.panel.data = rig_device_ptr(g, alone);
        a.out.data = NULL;
        gpu_run_attend(g->queue, &a);
    }
    rig_download(g);
    for (int32_t r = 0; r < c->rows && panel_bytes > 0; r++)
        for (int32_t j = 0; j < p->heads * p->width; j++) {
            const int32_t to = p->out_index[c->order[r]], offset = r * ld_panel + j;
            assert_int_equal(both[offset], alone[offset]);
            if (to >= 0) assert_int_equal(both[offset], rill_bf16(out[(size_t)to * ld + (size_t)j]));
        }
    answer got = {.ld_watched = a.ld_watched};
    for (int32_t r = 0; r < c->rows; r++) {
        const int32_t to = p->out_index[c->order[r]];
        got.out[r] = to >= 0 ? out + (size_t)to * ld : NULL;
        got.watched[r] = watched != NULL ? watched + (size_t)r * ld_watched : NULL;
    }
    return got;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static int near(float x, float want, float tolerance)
{
    if (isnan(want)) return isnan(x);
    return x == want || fabsf(x - want) <= tolerance * (1.0f + fabsf(want));
}

static void expect_row(const problem *p, const rill_kernels *k, int32_t r, const answer *got)
{
    const size_t all = (size_t)(p->heads * p->width), wide = (size_t)(p->heads * p->value_width);
    const size_t n = (size_t)p->length[r];
    const int32_t first = p->first[r], from = p->query_index[r], zero = 0;
    float *weights = calloc((size_t)p->heads * n + 1, sizeof *weights), *want = calloc(wide, sizeof *want);
    float *query = calloc(all, sizeof *query);
    if (from >= 0) memcpy(query, p->query.data + (size_t)from * all, all * sizeof *query);
    k->attention(&(rill_attention){.rows = 1,
                                   .heads = (size_t)p->heads,
                                   .width = (size_t)p->width,
                                   .value_width = (size_t)p->value_width,
                                   .scale = p->scale,
                                   .additive = p->additive.data,
                                   .relative = p->relative.data,
                                   .reach = (size_t)p->reach,
                                   .position = p->placed ? &p->place[r] : NULL,
                                   .query = {query, all, NULL},
                                   .keys = {p->keys.data, all, NULL},
                                   .values = {p->values.data, wide, NULL},
                                   .first = &first,
                                   .path = p->entry,
                                   .length = &p->length[r],
                                   .slot = &zero,
                                   .weights = weights,
                                   .ld_weights = n,
                                   .out = {want, wide, NULL}},
                 NULL);
    for (size_t j = 0; got->out[r] != NULL && j < wide; j++)
        if (!near(got->out[r][j], want[j], p->tolerance))
            fail_msg("row %d of length %d, column %d, %d heads of %d: %.9g, not %.9g", (int)r, (int)n, (int)j,
                     (int)p->heads, (int)p->width, (double)got->out[r][j], (double)want[j]);
    for (size_t t = 0; got->watched[r] != NULL && t < (size_t)got->ld_watched; t++) {
        float sum = 0.0f;
        for (size_t h = 0; h < (size_t)p->watched && t < n; h++) sum += weights[h * n + t];
        if (!near(got->watched[r][t], t < n ? sum / (float)p->watched : NAN, p->tolerance))
            fail_msg("row %d of length %d, %d heads of %d: weight %d is %.9g, not %.9g", (int)r, (int)n, (int)p->heads,
                     (int)p->width, (int)t, (double)got->watched[r][t], (double)sum / (double)p->watched);
    }
    free(weights);
    free(want);
    free(query);
}

/* Rows of `out` that belong to no row of the batch must be unchanged. */
static void expect_rest(const problem *p, const answer *got)
{
    const float *out_table = NULL;
    int mine[TABLE] = {0};
    for (int32_t r = 0; r < p->rows; r++) {
        if (p->out_index[r] < 0) continue;
        mine[p->out_index[r]] = 1;
        out_table = got->out[r] - (size_t)p->out_index[r] * (size_t)(p->heads * p->value_width);
    }
    for (size_t r = 0; r < TABLE && out_table != NULL; r++)
        for (size_t j = 0; !mine[r] && j < (size_t)(p->heads * p->value_width); j++)
            assert_true(isnan(out_table[r * (size_t)(p->heads * p->value_width) + j]));
}

/* Equal except for the bits of NaNs. */
static int same(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) return 0;
    return 1;
}

static void expect_same(rig *g, problem *p, float *const *out, float *const *watched)
{
    const batch_layout c = other(p);
    const answer got = call(g, p, &c);
    for (int32_t i = 0; i < c.rows; i++) {
        const int32_t r = c.order[i];
        if (out[r] != NULL && !same(got.out[i], out[r], (size_t)(p->heads * p->value_width)))
            fail_msg("row %d of length %d, %d heads of %d, differs in other company", (int)r, (int)p->length[r],
                     (int)p->heads, (int)p->width);
        if (watched[r] != NULL && !same(got.watched[i], watched[r], (size_t)p->length[r]))
            fail_msg("weights of row %d of length %d, %d heads of %d, differ in other company", (int)r,
                     (int)p->length[r], (int)p->heads, (int)p->width);
    }
}

static float *kept(const float *from, size_t n)
{
    return from != NULL ? memcpy(allocate(n, sizeof *from), from, n * sizeof *from) : NULL;
}

static void test_attend(void **state)
{
    (void)state;
    rig g;
    rill_kernels k;
    rill_kernels_init(&k, RILL_ISA_REF);
    rig_open(&g, (size_t)96 << 20);
    const uint64_t seed = harness_seed(1);
    int64_t shared_out = 0, spoilt = 0, empty = 0;
    for (int64_t i = 0; i < harness_iterations(150); i++) {
        problem p = draw(seed + (uint64_t)i);
        cuda_host_seed(seed + (uint64_t)i);
        const batch_layout c = alone_in_order(&p);
        const answer got = call(&g, &p, &c);
        float *out[MAX_ROWS] = {0}, *watched[MAX_ROWS] = {0};
        for (int32_t r = 0; r < p.rows; r++) {
            expect_row(&p, &k, r, &got);
            out[r] = kept(got.out[r], (size_t)(p.heads * p.value_width));
            watched[r] = kept(got.watched[r], (size_t)p.length[r]);
            shared_out += p.length[r] > 128;
            empty += p.length[r] == 0;
            spoilt += out[r] != NULL && isnan(out[r][0]);
        }
        expect_rest(&p, &got);
        for (int again = 0; again < 2 && p.rows > 0; again++) expect_same(&g, &p, out, watched);
        for (int32_t r = 0; r < MAX_ROWS; r++) {
            free(out[r]);
            free(watched[r]);
        }
        drop(&p);
    }
    HARNESS_ASSERT_COVERED(shared_out > 20 && spoilt > 5 && empty > 20);
    cuda_host_seed(0);
    rig_close(&g);
}

/* Memory reserved for the maximum number of rows is enough for fewer rows with any number of heads. */
static void test_part(void **state)
{
    (void)state;
    assert_int_equal(gpu_attend_part_floats(1000, 8, 64, 128), 0);
    const int32_t widths[] = {64, 65, 256, 257, 1024};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        size_t prev = 0;
        for (int32_t rows = 1; rows < 5000; rows++) {
            const size_t part = gpu_attend_part_floats(rows, 3, widths[w], 1000);
            assert_true(part >= prev);
            prev = part;
        }
        assert_true(prev > 0 && prev < (size_t)40 << 20);
        const size_t max_bytes = gpu_attend_part_floats(INT32_MAX, 3, widths[w], INT32_MAX);
        assert_true(max_bytes > 0 && max_bytes < (size_t)40 << 20);
        for (int32_t longest = 129; longest < 1 << 20; longest += longest / 3)
            for (int32_t rows = 1; rows < 1 << 20; rows *= 2)
                assert_true(gpu_attend_part_floats(rows, 3, widths[w], longest) <= max_bytes);
    }
}

/* --- ancestors ---------------------------------------------------------------------------------------------------- */

enum { NODES = 600 };

typedef struct hyp_pool {
    int32_t above[NODES], depth[NODES], n_nodes;
} hyp_pool;

/* Draw one long chain of nodes, or many short branches. */
static hyp_pool draw_forest(dice *d)
{
    hyp_pool f = {.n_nodes = dice_range(d, 1, NODES - 2 * MAX_ROWS)};
    const int chain = dice_chance(d, 30);
    for (int32_t i = 0; i < f.n_nodes; i++) {
        f.above[i] = i == 0 ? -1 : chain && dice_chance(d, 97) ? i - 1 : dice_range(d, 0, i - 1);
        f.depth[i] = i == 0 ? 0 : f.depth[f.above[i]] + 1;
    }
    for (int32_t i = f.n_nodes; i < NODES; i++) f.above[i] = -7;
    return f;
}

static void check_paths(rig *g, dice *d)
{
    const hyp_pool f = draw_forest(d);
    const int32_t rows = dice_range(d, 0, MAX_ROWS), fresh = (int32_t)dice_chance(d, 50);
    int32_t node[MAX_ROWS], parent[MAX_ROWS], first[MAX_ROWS], length[MAX_ROWS], used = 3;
    for (int32_t r = 0; r < rows; r++) {
        parent[r] = dice_range(d, 0, f.n_nodes - 1);
        node[r] = dice_chance(d, 10) ? -1 : fresh ? f.n_nodes + 2 * r : parent[r];
        if (fresh && f.n_nodes == 1 && dice_chance(d, 30)) parent[r] = -1;
        length[r] = fresh + (parent[r] >= 0 ? f.depth[parent[r]] + 1 : 0);
        first[r] = used;
        used += length[r] + dice_range(d, 0, 2);
    }
    batch_layout c = {.rows = rows};
    for (int32_t r = 0; r < rows; r++) c.order[r] = r;
    rig_begin(g);
    int32_t *count = rig_put(g, sizeof *count), *above, *entry;
    *count = rows;
    gpu_path a = {.rows = {rig_device_ptr(g, count), rows + dice_range(d, 0, 70)},
                  .node = put_column(g, &c, node, NODES - 1),
                  .parent = fresh ? put_column(g, &c, parent, 0) : NULL,
                  .first = put_column(g, &c, first, 0),
                  .length = put_column(g, &c, length, 1)};
    above = rig_out(g, sizeof f.above);
    memcpy(above, f.above, sizeof f.above);
    entry = rig_out(g, ((size_t)used + 1) * sizeof *entry);
    a.node_parent = rig_device_ptr(g, above);
    a.entry = rig_device_ptr(g, entry);
    rig_upload(g);
    gpu_run_path(g->queue, &a);
    rig_download(g);
    int32_t *want_above = memcpy(allocate(NODES, sizeof *above), f.above, sizeof f.above);
    int32_t *want = memset(allocate((size_t)used + 1, sizeof *want), 0xFF, ((size_t)used + 1) * sizeof *want);
    for (int32_t r = 0; r < rows; r++) {
        if (node[r] >= 0 && fresh) want_above[node[r]] = parent[r];
        for (int32_t t = length[r] - 1, pos_node = node[r]; node[r] >= 0 && t >= 0;
             t--, pos_node = want_above[pos_node])
            want[first[r] + t] = pos_node;
    }
    assert_memory_equal(above, want_above, sizeof f.above);
    assert_memory_equal(entry, want, ((size_t)used + 1) * sizeof *want);
    free(want_above);
    free(want);
}

static void test_path(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, (size_t)1 << 20);
    const uint64_t seed = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        dice d = dice_seeded(seed + (uint64_t)i);
        cuda_host_seed(seed + (uint64_t)i);
        check_paths(&g, &d);
    }
    cuda_host_seed(0);
    rig_close(&g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_attend),
    cmocka_unit_test(test_part),
    cmocka_unit_test(test_path),
};
HARNESS_MAIN(tests)
