/* bench_script_arrays.c: the cost of operations on a script's arrays, against a plain C loop and a loop over elements in Lua.
 *
 * usage: bench_script_arrays [--quick] [--json FILE]
 *
 * Method: a call of the engine with three items for every ten candidates, segments of 0 to 6, scores in rank order. Each
 * operation is timed three times over the same data: as a script writes it with whole arrays, as it would write it element by
 * element, and as a C function does it. A sample is a loop of calls of at least 50 us in one Lua function; the engine's call
 * begins and ends around each sample. The three alternate, so that other load affects all of them. On a quiet machine the median
 * is the figure; on a shared one only the fastest sample is reproducible, and the ratios are of these. One thread. "threshold" is
 * the heuristic absolute:10, which makes its three views again, as in each timestep. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays/arrays.h"
#include "config/run_config.h"
#include "machine.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { LARGEST = 10000, SAMPLES = 101 };

/* The data of one size: beams of several items. */
typedef struct bench_beams {
    int32_t n, items;
    int32_t offset[LARGEST + 1];
    double score[LARGEST], best[LARGEST], out[LARGEST];
    int32_t parent[LARGEST], integers[LARGEST];
    uint8_t mask[LARGEST], keep[LARGEST];
} bench_beams;

static void fill(bench_beams *b, int32_t n)
{
    uint32_t state = 12345;
    b->n = n;
    b->items = n * 3 / 10;
    int32_t offset = 0;
    for (int32_t i = 0; i < b->items; i++) {
        b->offset[i] = offset;
        state = state * 1664525u + 1013904223u;
        int32_t n_left = n - offset, size = i + 1 == b->items ? n_left : (int32_t)((state >> 16) % 7);
        if (size > n_left) size = n_left;
        double score = -1;
        for (int32_t j = 0; j < size; j++, offset++) {
            state = state * 1664525u + 1013904223u;
            b->score[offset] = score;
            b->parent[offset] = j / 2;
            b->mask[offset] = state >> 31;
            score -= (double)(state >> 16) * 0x1p-13;
        }
        b->best[i] = -1;
    }
    b->offset[b->items] = offset;
}

/* --- in C --------------------------------------------------------------------------------------------------------- */

static void c_add(bench_beams *b)
{
    for (int32_t i = 0; i < b->n; i++) b->out[i] = b->score[i] + 1;
}

static void c_threshold(bench_beams *b)
{
    for (int32_t i = 0; i < b->items; i++) {
        double min_score = b->best[i] - 10;
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) b->keep[j] = b->score[j] >= min_score;
    }
}

static void c_and(bench_beams *b)
{
    for (int32_t i = 0; i < b->n; i++) b->keep[i] = (b->mask[i] != 0) & (b->mask[i] != 0);
}

static void c_where(bench_beams *b)
{
    for (int32_t i = 0; i < b->n; i++) b->out[i] = b->mask[i] ? b->score[i] : 0;
}

static void c_max(bench_beams *b)
{
    for (int32_t i = 0; i < b->items; i++) {
        double max = -HUGE_VAL;
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) max = b->score[j] > max ? b->score[j] : max;
        b->out[i] = max;
    }
}

static void c_sum(bench_beams *b)
{
    for (int32_t i = 0; i < b->items; i++) {
        double total = 0;
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) total += b->score[j];
        b->out[i] = total;
    }
}

static void c_exp(bench_beams *b)
{
    for (int32_t i = 0; i < b->n; i++) b->out[i] = exp(b->score[i]);
}

static void c_softmax(bench_beams *b)
{
    c_max(b);
    /* out[i] is the maximum of item i, from c_max() */
    for (int32_t i = b->items - 1; i >= 0; i--) {
        double total = 0, max = b->out[i];
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) total += exp(b->score[j] - max);
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) b->best[i] = exp(b->score[j] - max) / total;
    }
    for (int32_t i = 0; i < b->items; i++) b->best[i] = -1;
}

/* Scores are in rank order, so C does not sort, as in the engine. */
static void c_index(bench_beams *b)
{
    for (int32_t i = 0; i < b->items; i++)
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) b->integers[j] = j - b->offset[i] + 1;
}

static void c_top(bench_beams *b)
{
    for (int32_t i = 0; i < b->items; i++)
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) b->keep[j] = j - b->offset[i] < 2;
}

static void c_count_by(bench_beams *b)
{
    int32_t seen[8192];
    memset(seen, 0, sizeof seen[0] * 8);
    for (int32_t i = 0; i < b->items; i++) {
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) b->integers[j] = seen[b->parent[j]]++;
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++) seen[b->parent[j]] = 0;
    }
}

/* --- in Lua ------------------------------------------------------------------------------------------------------- */

/* Operations in Lua. v: scores, w: best, p: parents, m: a mask; out, whole, keep: arrays to be written; range(i): a
 * segment. */
static const struct {
    const char *name, *arrays, *elements;
    void (*c)(bench_beams *b);
} operations[] = {
    {"v + 1", "local x = v + 1", "for i = 1, #v do out[i] = v[i] + 1 end", c_add},
    {"v:ge(w - 10)", "local x = v:ge(w - 10)",
     "for i = 1, #w do local a, b = range(i) local least = w[i] - 10\n"
     "for j = a, b do keep[j] = v[j] >= least end end",
     c_threshold},
    {"threshold", "store(score():ge(best() - 10))",
     "local v, w, keep = score(), best(), kept()\n"
     "for i = 1, #w do local a, b = range(i) local least = w[i] - 10\n"
     "for j = a, b do keep[j] = v[j] >= least end end",
     c_threshold},
    {"m & m", "local x = m & m", "for i = 1, #m do keep[i] = m[i] & m[i] end", c_and},
    {"where(m, v, 0)", "local x = rill.where(m, v, 0)", "for i = 1, #m do out[i] = m[i] ~= 0 and v[i] or 0 end",
     c_where},
    {"v:max()", "local x = v:max()",
     "for i = 1, #w do local a, b = range(i) local x = -math.huge\n"
     "for j = a, b do local y = v[j] if y > x then x = y end end out[i] = x end",
     c_max},
    {"v:sum()", "local x = v:sum()",
     "for i = 1, #w do local a, b = range(i) local x = 0\nfor j = a, b do x = x + v[j] end out[i] = x end", c_sum},
    {"v:exp()", "local x = v:exp()", "local exp = math.exp for i = 1, #v do out[i] = exp(v[i]) end", c_exp},
    {"v:softmax()", "local x = v:softmax()",
     "local exp = math.exp\nfor i = 1, #w do local a, b = range(i) local x, t = -math.huge, 0\n"
     "for j = a, b do local y = v[j] if y > x then x = y end end\n"
     "for j = a, b do local e = exp(v[j] - x) out[j] = e t = t + e end\n"
     "for j = a, b do out[j] = out[j] / t end end",
     c_softmax},
    {"v:rank()", "local x = v:rank()",
     "for i = 1, #w do local a, b = range(i) local t = {} for j = a, b do t[#t + 1] = j end\n"
     "table.sort(t, function(x, y) return v[x] > v[y] or v[x] == v[y] and x < y end)\n"
     "for r = 1, #t do whole[t[r]] = r end end",
     c_index},
    {"v:top(2)", "local x = v:top(2)",
     "for i = 1, #w do local a, b = range(i) for j = a, b do keep[j] = j - a < 2 end end", c_top},
    {"p:count_by(p)", "local x = p:count_by(p)",
     "for i = 1, #w do local a, b = range(i) local seen = {}\n"
     "for j = a, b do local k = p[j] local c = seen[k] or 0 whole[j] = c seen[k] = c + 1 end end",
     c_count_by},
};

static bench_beams *bench_data(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static int range(lua_State *L)
{
    const bench_beams *b = bench_data(L);
    lua_Integer i = lua_tointeger(L, 1);
    lua_pushinteger(L, b->offset[i - 1] + 1);
    lua_pushinteger(L, b->offset[i]);
    return 2;
}

static int push_score(lua_State *L)
{
    script_array_push(L, ARRAY_F64, bench_data(L)->score, bench_data(L)->n, ARRAY_CELLS, 0);
    return 1;
}

static int push_best(lua_State *L)
{
    script_array_push(L, ARRAY_F64, bench_data(L)->best, bench_data(L)->items, ARRAY_ITEMS, 0);
    return 1;
}

static int push_keep(lua_State *L)
{
    script_array_push(L, ARRAY_U8, bench_data(L)->keep, bench_data(L)->n, ARRAY_CELLS, 1);
    return 1;
}

static int push_parent(lua_State *L)
{
    script_array_push(L, ARRAY_I32, bench_data(L)->parent, bench_data(L)->n, ARRAY_CELLS, 0);
    return 1;
}

static int push_mask(lua_State *L)
{
    script_array_push(L, ARRAY_U8, bench_data(L)->mask, bench_data(L)->n, ARRAY_CELLS, 0);
    return 1;
}

static int push_out(lua_State *L)
{
    script_array_push(L, ARRAY_F64, bench_data(L)->out, bench_data(L)->n, ARRAY_CELLS, 1);
    return 1;
}

static int push_integers(lua_State *L)
{
    script_array_push(L, ARRAY_I32, bench_data(L)->integers, bench_data(L)->n, ARRAY_CELLS, 1);
    return 1;
}

static int store(lua_State *L)
{
    script_array_store(L, 1, ARRAY_U8, bench_data(L)->keep, bench_data(L)->n, ARRAY_CELLS, NULL);
    return 0;
}

/* Compile a function that runs `body` a given number of times; it stays on the stack. */
static int compile(lua_State *L)
{
    static const luaL_Reg functions[] = {{"range", range},     {"score", push_score}, {"best", push_best},
                                         {"kept", push_keep},  {"store", store},      {"parent", push_parent},
                                         {"given", push_mask}, {"output", push_out},  {"wholes", push_integers},
                                         {NULL, NULL}};
    const char *body = lua_touserdata(L, 1);
    bench_beams *b = lua_touserdata(L, 2);
    lua_getglobal(L, "_G");
    lua_pushlightuserdata(L, b);
    luaL_setfuncs(L, functions, 1);
    lua_pushfstring(
        L,
        "local rill, range, store, score, best, kept = rill, range, store, score, best, kept\n"
        "return function(times)\n"
        "local v, w, p, m, out, whole, keep = score(), best(), parent(), given(), output(), wholes(), kept()\n"
        "for _ = 1, times do %s end end",
        body);
    if (luaL_loadstring(L, lua_tostring(L, -1)) != LUA_OK) return lua_error(L);
    lua_call(L, 0, 1);
    lua_setglobal(L, lua_tostring(L, 3));
    return 0;
}

/* --- timing ------------------------------------------------------------------------------------------------------- */

typedef struct bench {
    rill_context *ctx;
    rill_script *s;
    bench_beams *b;
    FILE *json;
    int quick, records;
} bench;

/* An implementation: a Lua function by its name, or a C function. */
typedef struct variant {
    const char *global;
    void (*c)(bench_beams *b);
    int64_t times;
    double sample[SAMPLES], median, fastest; /* seconds per call */
} variant;

static void fail(const bench *t)
{
    fprintf(stderr, "bench_script_arrays: %s\n", rill_error(t->ctx));
    exit(1);
}

static double run_once(bench *t, const variant *s, int64_t times)
{
    double begin = now();
    if (s->c != NULL) {
        for (int64_t i = 0; i < times; i++) {
            s->c(t->b);
            __asm__ volatile("" ::: "memory"); /* keeps the compiler from merging calls */
        }
        return now() - begin;
    }
    script_frame frame = script_begin(t->s, t->b->offset, t->b->items);
    lua_getglobal(t->s->L, s->global);
    lua_pushinteger(t->s->L, times);
    if (script_call(t->s, 1, 0) < 0) fail(t);
    script_end(t->s, frame);
    return now() - begin;
}

static void measure(bench *t, variant *s, int n)
{
    const int samples = t->quick ? 7 : SAMPLES;
    for (int i = 0; i < n; i++)
        for (s[i].times = 1; run_once(t, &s[i], s[i].times) < 5e-5; s[i].times *= 2) continue;
    for (int k = 0; k < samples; k++)
        for (int i = 0; i < n; i++) s[i].sample[k] = run_once(t, &s[i], s[i].times) / (double)s[i].times;
    for (int i = 0; i < n; i++) {
        qsort(s[i].sample, (size_t)samples, sizeof *s[i].sample, ascending);
        s[i].fastest = s[i].sample[0];
        s[i].median = s[i].sample[samples / 2];
    }
}

/* Define the Lua function `global`, which runs `body`. */
static void define(bench *t, const char *global, const char *body)
{
    lua_State *L = t->s->L;
    lua_pushcfunction(L, compile);
    lua_pushlightuserdata(L, (void *)(uintptr_t)body);
    lua_pushlightuserdata(L, t->b);
    lua_pushstring(L, global);
    if (script_call(t->s, 3, 0) < 0) fail(t);
}

static void run_size(bench *t, int32_t n)
{
    static const char *const who[] = {"arrays", "c", "lua"};
    fill(t->b, n);
    printf("%d candidates of %d items: ns per call, median and fastest\n  %-16s %19s %19s %19s %10s %10s %14s\n",
           (int)n, (int)t->b->items, "", "arrays", "loop in C", "loop in Lua", "arrays/C", "Lua/arrays",
           "per candidate");
    for (size_t i = 0; i < COUNT(operations); i++) {
        variant s[] = {{.global = "arrays"}, {.c = operations[i].c}, {.global = "elements"}};
        define(t, "arrays", operations[i].arrays);
        define(t, "elements", operations[i].elements);
        measure(t, s, COUNT(s));
        printf("  %-16s", operations[i].name);
        for (size_t k = 0; k < COUNT(s); k++) {
            printf(" %9.0f %9.0f", 1e9 * s[k].median, 1e9 * s[k].fastest);
            if (t->json != NULL)
                fprintf(t->json,
                        "%s\n    {\"op\": \"%s\", \"who\": \"%s\", \"candidates\": %d, \"items\": %d, \"unit\": \"s\", "
                        "\"median\": %.6g, \"fastest\": %.6g}",
                        t->records++ ? "," : "", operations[i].name, who[k], (int)n, (int)t->b->items, s[k].median,
                        s[k].fastest);
        }
        printf(" %10.1f %10.1f %14.2f\n", s[0].fastest / s[1].fastest, s[2].fastest / s[0].fastest,
               1e9 * s[0].fastest / n);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    static const int32_t sizes[] = {10, 100, 1000, LARGEST};
    static bench_beams data;
    bench t = {.b = &data};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            t.quick = 1;
        else if (!strcmp(argv[i], "--json") && i + 1 < argc && (t.json = fopen(argv[++i], "w")))
            continue;
        else {
            fputs("usage: bench_script_arrays [--quick] [--json FILE]\n", stderr);
            return 2;
        }
    }
    const machine m = describe_machine();
    print_command("bench_script_arrays", argc, argv);
    printf("machine: %s, %ld processors, load %.2f\n\n", m.model, m.processors, m.load);
    if (t.json != NULL) fprintf(t.json, "{\n  \"machine\": \"%s\", \"load\": %.2f,\n  \"results\": [", m.model, m.load);
    if (rill_context_create(&t.ctx, NULL) < 0 || script_make(&t.s, t.ctx, "bench.lua", NULL) < 0) return 1;
    for (size_t i = 0; i < COUNT(sizes); i++) run_size(&t, sizes[i]);
    script_destroy(t.s);
    rill_context_destroy(t.ctx);
    if (t.json != NULL) {
        fputs("\n  ]\n}\n", t.json);
        if (fclose(t.json) != 0) return 1;
    }
    return 0;
}
