/* The Pareto front of measured points: hand-made cases with every kind of tie, and random ones against the
 * definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "testset.h"

enum { CAPACITY = 64 };

static cli_point made[CAPACITY];
static cli_points points;

/* values: exact, oracle, expansions; expansions < 0: the run was refused */
static void make(const int (*values)[3], size_t n)
{
    static char why[] = "no";
    memset(made, 0, sizeof made);
    points = (cli_points){.kind = &cli_metric_exact, .point = made, .n = n};
    for (size_t i = 0; i < n; i++) {
        made[i].trial.counts = (cli_counts){
            .inputs = 100, .first = {{values[i][0], 100}}, .best = {{values[i][1], 100}}};
        made[i].trial.stats.expansions = values[i][2];
        if (values[i][2] < 0) made[i].refusal = why;
    }
}

static void points_front(void **state)
{
    static const int values[][3] = {
        {50, 90, 100},  /* 0: the quality of 1, more expensive */
        {50, 10, 90},   /* 1: on the front */
        {60, 10, 100},  /* 2: on the front; the cost of 0, better */
        {60, 10, 100},  /* 3: on the front, equal to 2 */
        {10, 95, 80},   /* 4: on the front, the cheapest of all */
        {100, 100, -1}, /* 5: refused */
        {9, 9, 80},     /* 6: the cost of 4, worse */
        {60, 10, 101},  /* 7: the quality of 2, more expensive */
        {70, 10, 500},  /* 8: on the front */
    };
    size_t front[9], n_equal[9];
    (void)state;
    make(values, 9);
    assert_int_equal(cli_points_mark_front(&points, 0), 5);
    for (size_t i = 0; i < 9; i++) assert_int_equal(made[i].on_front, strchr("12348", '0' + (int)i) != NULL);
    assert_int_equal(cli_points_front(&points, front, n_equal), 4);
    static const size_t expected[] = {4, 1, 2, 8};
    assert_memory_equal(front, expected, sizeof expected);
    assert_int_equal(n_equal[0] + n_equal[1] + n_equal[3], 0);
    assert_int_equal(n_equal[2], 1);
    assert_int_equal(cli_points_mark_front(&points, 1), 1); /* by oracle quality, 4 is best and cheapest */
    assert_int_equal(made[4].on_front, 1);
}

static void points_none(void **state)
{
    static const int values[][3] = {{1, 1, -1}, {2, 2, -1}};
    size_t front[2], n_equal[2];
    (void)state;
    make(values, 2);
    assert_int_equal(cli_points_mark_front(&points, 0), 0);
    assert_int_equal(cli_points_front(&points, front, n_equal), 0);
    assert_int_equal(cli_points_have_failures(&points), 1);
    make(values, 0);
    assert_int_equal(cli_points_mark_front(&points, 0), 0);
    assert_int_equal(cli_points_have_failures(&points), 0);
}

/* A point is on the Pareto front if it is the best of those that cost no more, and the cheapest of those with its
 * quality. */
static int belongs(const int (*values)[3], size_t n, size_t i)
{
    for (size_t j = 0; j < n; j++) {
        if (values[j][2] < 0) continue;
        if (values[j][2] <= values[i][2] && values[j][0] > values[i][0]) return 0;
        if (values[j][2] < values[i][2] && values[j][0] == values[i][0]) return 0;
    }
    return values[i][2] >= 0;
}

static void points_random(void **state)
{
    static int values[CAPACITY][3];
    size_t front[CAPACITY], n_equal[CAPACITY];
    uint32_t dice = 1;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        size_t n = (size_t)round % CAPACITY, marked = 0, listed = 0;
        for (size_t i = 0; i < n; i++)
            for (int v = 0; v < 3; v++) {
                dice = dice * 1664525u + 1013904223u;
                values[i][v] = (int)(dice >> 28) - (v == 2);
            }
        make((const int(*)[3])values, n);
        size_t n_marked = cli_points_mark_front(&points, 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(made[i].on_front, belongs((const int(*)[3])values, n, i));
            marked += (size_t)made[i].on_front;
        }
        assert_int_equal(n_marked, marked);
        size_t different = cli_points_front(&points, front, n_equal);
        for (size_t i = 0; i < different; i++) {
            listed += 1 + n_equal[i];
            assert_int_equal(made[front[i]].on_front, 1);
            if (i > 0)
                assert_true(values[front[i]][2] > values[front[i - 1]][2] &&
                            values[front[i]][0] > values[front[i - 1]][0]);
        }
        assert_int_equal(listed, marked);
    }
}

static void points_label(void **state)
{
    char out[32];
    const cli_point point = {.parameters = json_pack("{s:s, s:s}", "delta", "0.5", "M", "3")};
    (void)state;
    cli_point_label(&point, out, sizeof out);
    assert_string_equal(out, "delta=0.5 M=3");
    cli_point_label(&point, out, 8); /* cut to the buffer's size, with a NUL */
    assert_string_equal(out, "delta=0");
    assert_string_equal(cli_point_value(&point, "M"), "3");
    assert_null(cli_point_value(&point, "k"));
    json_decref(point.parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_front),
        cmocka_unit_test(points_none),
        cmocka_unit_test(points_random),
        cmocka_unit_test(points_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
