/* See driver.h. Failures here are failures of the test. */
#include "driver.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "helpers.h"

answer answer_make(int32_t rows, int32_t actions)
{
    const size_t entries = (size_t)rows * (size_t)actions + 1;
    answer a = {.actions = actions,
                .out = {.stride = actions,
                        .count = calloc((size_t)rows + 1, sizeof(int32_t)),
                        .action = calloc(entries, sizeof(int32_t)),
                        .logp = calloc(entries, sizeof(float)),
                        .score = calloc(entries, sizeof(float)),
                        .terminal = calloc(entries, 1)}};
    assert_true(a.out.count && a.out.action && a.out.logp && a.out.score && a.out.terminal);
    return a;
}

void answer_free(answer *a)
{
    free(a->out.count), free(a->out.action), free(a->out.logp), free(a->out.score), free(a->out.terminal);
}

void answer_rows(rill_context *ctx, const rill_domain *domain, void *self, const rill_rows *rows, answer *a)
{
    assert_ok(ctx, domain->step(self, rows));
    assert_ok(ctx, domain->score(self, rows, &(rill_ask){.max_choices = a->actions, .plain = 1}, &a->out));
}

answer answer_row(rill_context *ctx, const rill_domain *domain, void *self, int32_t actions, one_row row)
{
    answer a = answer_make(1, actions);
    const rill_rows rows = {.n = 1,
                            .phase = row.phase,
                            .node = &row.node,
                            .parent = &row.parent,
                            .state_parent = &row.parent,
                            .action = &row.action,
                            .slot = &row.slot,
                            .depth = &row.depth};
    answer_rows(ctx, domain, self, &rows, &a);
    return a;
}

void answer_logp(const answer *a, int32_t r, float *logp)
{
    for (int32_t i = 0; i < a->actions; i++) logp[i] = -INFINITY;
    const size_t first = (size_t)r * (size_t)a->actions;
    for (size_t i = first; i < first + (size_t)a->out.count[r]; i++) {
        logp[a->out.action[i]] = a->out.logp[i];
        assert_true(a->out.score[i] == a->out.logp[i]);
        assert_true(i == first || a->out.score[i] <= a->out.score[i - 1]);
    }
}
