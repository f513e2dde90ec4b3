/* Placeholders in domains/semparse. The choices for a typed question never include a placeholder that the question does
 * not mention; the remaining actions share its probability. Tokenized questions are unaffected. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "domain_driver.h"
#include "helpers.h"
#include "random_parser.h"
#include "semparse.h"

enum { ACTIONS = 9, C0 = 3, C1 = 4, ANY = 5, SLOTS = 4 };

static const rill_domain *const domain = &rill_semparse_domain;

/* --- a model with a lexicon --------------------------------------------------------------------------------------- */

/* Types of the lexicon: "c" is numbered, "any" is not. "c2x" and "d0" only look like placeholders; c1 is one. */
static char *make_model(void)
{
    char *folder = folder_make();
    model_write(folder, &SMALL_MODEL);
    write_string(folder, "target.vocab", "<s>\n</s>\n<unk>\nc0\nc1\nany\nc\nc2x\nd0\n");
    write_string(folder, "source.vocab", "<s>\n</s>\n<unk>\nw0\nw1\nw2\nw3\nc0\nc1\nany\nw4\nw5\n");
    write_string(folder, "lexicon.tsv",
                 "@format\t1\n@type\tc\n@type\tany\tplain\nboston\tc\tboston:c\ndenver\tc\tdenver:c\n"
                 "whatever\tany\tit:any\n");
    return folder;
}

typedef struct fixture {
    failing_allocator memory;
    rill_context *ctx;
    started model;
    void *self;
    rill_domain_info info;
} fixture;

static void open_model(fixture *f, const char *folder, int tokenized, int threads)
{
    rill_open_options options = {
        .struct_size = sizeof options, .path = folder, .threads = threads, .tokenized = tokenized};
    f->ctx = failing_allocator_context(&f->memory);
    assert_ok(f->ctx, start_model(f->ctx, domain, &options, &f->model, &f->info));
    f->self = f->model.self;
    assert_int_equal(f->info.actions, ACTIONS);
    assert_ok(f->ctx, domain->reserve(f->self, 16, SLOTS));
}

static void close_model(fixture *f)
{
    stop_model(domain, &f->model);
    failing_allocator_finish(&f->memory, f->ctx);
}

static void encode(fixture *f, int32_t slot, const char *text)
{
    rill_input input = {.text = text, .length = strlen(text), .slot = slot};
    assert_ok(f->ctx, domain->encode(f->self, 1, &input));
    assert_int_equal(input.status, RILL_OK);
}

/* Compute the log-probabilities of all actions of n root nodes, one per slot. */
static void first_rows(fixture *f, int32_t n, const int32_t *slot, float (*logp)[ACTIONS])
{
    int32_t parent[SLOTS], start[SLOTS], depth[SLOTS] = {0};
    for (int32_t r = 0; r < n; r++) parent[r] = RILL_NO_NODE, start[r] = RILL_ACTION_START;
    rill_rows rows = {
        .n = n, .node = slot, .parent = parent, .state_parent = parent, .action = start, .slot = slot, .depth = depth};
    answer a = answer_make(n, ACTIONS);
    answer_rows(f->ctx, domain, f->self, &rows, &a);
    for (int32_t r = 0; r < n; r++) answer_logp(&a, r, logp[r]);
    answer_free(&a);
    check_random_requests(f->ctx, domain, f->self, &f->info, &rows, 40);
}

static void first_row(fixture *f, const char *text, float *logp)
{
    const int32_t slot = 1;
    float row[1][ACTIONS];
    encode(f, slot, text);
    first_rows(f, 1, &slot, row);
    memcpy(logp, row[0], sizeof row[0]);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* Compare with the model's log-probabilities for `tokens` without bans: set the probabilities of `banned` to zero and
 * renormalise the rest. */
static void expect(fixture *tokenized, const char *tokens, const char *banned, const float *found)
{
    float all[ACTIONS];
    double rest = 0;
    first_row(tokenized, tokens, all);
    for (int32_t a = 0; a < ACTIONS; a++) rest += banned[a] == 'x' ? 0 : exp((double)all[a]);
    for (int32_t a = 0; a < ACTIONS; a++) {
        int legal = banned[a] != 'x' && !isinf(all[a]);
        if (!legal) assert_true(isinf(found[a]) && found[a] < 0);
        if (legal) assert_true(fabs((double)found[a] - ((double)all[a] - log(rest))) < 1e-5);
    }
}

static void unmentioned_placeholders_are_impossible(void **state)
{
    (void)state;
    static const struct {
        /* banned: x for each banned action: c0, c1, any, after the three special tokens */
        const char *typed, *tokens, *banned;
    } cases[] = {
        {"W0 w1?", "w0 w1", "...xxx..."},
        {"w0 Boston", "w0 c0", "....xx..."},
        {"Denver or Boston", "c0 or c1", ".....x..."},
        {"whatever w1", "any w1", "...xx...."},
        {"w0 c1", "w0 c1", "...x.x..."}, /* a placeholder typed literally counts as mentioned */
        {"boston whatever denver", "c0 any c1", "........."},
    };
    fixture typed, tokenized;
    char *folder = make_model();
    open_model(&typed, folder, 0, 1);
    open_model(&tokenized, folder, 1, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float found[ACTIONS];
        first_row(&typed, cases[i].typed, found); /* the slot is reused: earlier bans are gone */
        expect(&tokenized, cases[i].tokens, cases[i].banned, found);
    }
    close_model(&typed);
    close_model(&tokenized);
    folder_remove(folder);
}

/* For tokenized questions nothing is banned, and log-probabilities are bit-identical to those without a lexicon. */
static void token_form_is_left_alone(void **state)
{
    (void)state;
    fixture with, without;
    char *folder = make_model(), *bare = make_model();
    float found[ACTIONS], expected[ACTIONS];
    write_string(bare, "lexicon.tsv", "@format\t1\n");
    open_model(&with, folder, 1, 1);
    open_model(&without, bare, 0, 1);
    first_row(&with, "w0 w1 c0", found);
    first_row(&without, "w0 w1 c0", expected);
    assert_memory_equal(found, expected, sizeof found);
    for (int32_t a = C0; a < ACTIONS; a++) assert_true(isfinite(found[a]));
    close_model(&with);
    close_model(&without);
    folder_remove(folder);
    folder_remove(bare);
}

static void rows_keep_their_own_bans(void **state)
{
    (void)state;
    static const char *const text[SLOTS] = {"boston w1", "w2 w3", "whatever denver boston", "w0 w1 w4 w5"};
    static const int32_t order[SLOTS] = {2, 0, 3, 1};
    fixture f;
    char *folder = make_model();
    for (int threads = 1; threads <= 2; threads++) {
        float together[SLOTS][ACTIONS], alone[1][ACTIONS];
        open_model(&f, folder, 0, threads);
        for (int32_t slot = 0; slot < SLOTS; slot++) encode(&f, slot, text[slot]);
        first_rows(&f, SLOTS, order, together);
        for (int32_t i = 0; i < SLOTS; i++) {
            first_rows(&f, 1, &order[i], alone);
            assert_memory_equal(together[i], alone[0], sizeof alone[0]);
        }
        assert_true(isfinite(together[0][C1]) && isfinite(together[0][ANY]));
        assert_true(isinf(together[3][C0]) && isinf(together[1][C1]));
        close_model(&f);
    }
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unmentioned_placeholders_are_impossible),
        cmocka_unit_test(token_form_is_left_alone),
        cmocka_unit_test(rows_keep_their_own_bans),
    };
    return cmocka_run_group_tests_name("domains_semparse_placeholders", tests, NULL, NULL);
}
