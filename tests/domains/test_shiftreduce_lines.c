/* domains/shiftreduce: the form that a line is detected as, the messages of refused lines, and the trees of action
 * sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"

/* Included after helpers.h, since it uses names from there. */
#include "parser_fixture.h"

/* --- inputs ------------------------------------------------------------------------------------------------------- */

static const char *words_of(fixture *f, int32_t slot)
{
    static char text[512];
    const rill_sentence *s = &((parser_runner *)f->self)->sentence[slot];
    size_t pos = 0;
    for (int32_t i = 0; i < s->words; i++) {
        const rill_slice word = rill_sentence_word(s, i);
        pos += (size_t)snprintf(text + pos, sizeof text - pos, "%s%.*s", i > 0 ? " " : "", (int)word.length, word.data);
    }
    return text;
}

static void lines_say_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *form, *line, *words;
        int tokenized, given; /* given: the line has tags */
    } cases[] = {
        {NULL, "(TOP (X (T0 w1) (-LRB- -LRB-)))", "w1 -LRB-", 0, 1},
        /* T0 has a digit, unlike typical tags, so the line is text */
        {NULL, "w1_T0 (_-LRB-", "w1_T0 -LRB- _-LRB-", 0, 0},
        {"tagged", "w1_T0 a_b_T1 (_-LRB-", "w1 a_b -LRB-", 0, 1},
        {NULL, "(_-LRB- _w1_-LRB-", "-LRB- _w1", 0, 0},
        {NULL, "w1, (w2).", "w1 , -LRB- w2 -RRB- .", 0, 0},
        {NULL, "(w1 w2).", "-LRB-w1 w2-RRB-.", 1, 0},
        {NULL, "(TOP (T0 w1))", "-LRB-TOP -LRB-T0 w1-RRB--RRB-", 1, 0},
        {"auto", "w1_T0 (_-LRB-", "w1_T0 -LRB-_-LRB-", 1, 0},
        {"text", "(w1 w2).", "-LRB- w1 w2 -RRB- .", 0, 0},
        {"tree", " (T0 w1) ", "w1", 1, 1},
        {"auto", "snake_case", "snake_case", 0, 0},
        /* Brackets that form no tree, and tokens whose tag the model lacks, are text. */
        {NULL, "(T0 w1)", "-LRB- T0 w1 -RRB-", 0, 0},
        {NULL, "(Laughs loudly) w1.", "-LRB- Laughs loudly -RRB- w1 .", 0, 0},
        {NULL, "(see (w1 w2))", "-LRB- see -LRB- w1 w2 -RRB- -RRB-", 0, 0},
        {NULL, "(SEE (T0 w1))", "-LRB- SEE -LRB- T0 w1 -RRB- -RRB-", 0, 0},
        {NULL, "(TOP (x w1) (T0 w2))", "-LRB- TOP -LRB- x w1 -RRB- -LRB- T0 w2 -RRB- -RRB-", 0, 0},
        {NULL, "(TOP (XX w1))", "-LRB- TOP -LRB- XX w1 -RRB- -RRB-", 0, 0},
        {NULL, "(TOP (T0 w1 w2))", "-LRB- TOP -LRB- T0 w1 w2 -RRB- -RRB-", 0, 0},
        {NULL, "(TOP (T0 w1) w2)", "-LRB- TOP -LRB- T0 w1 -RRB- w2 -RRB-", 0, 0},
        {NULL, "(TOP (T0 w1)) w2", "-LRB- TOP -LRB- T0 w1 -RRB- -RRB- w2", 0, 0},
        {NULL, "()", "-LRB- -RRB-", 0, 0},
        {NULL, "(L1)", "-LRB- L1 -RRB-", 0, 0},
        {NULL, "MAX_LENGTH", "MAX_LENGTH", 0, 0},
        /* Trees in the styles of various treebanks are read. */
        {NULL, " ( (L1-SBJ-1 (T0 w1)) )", "w1", 0, 1},
        {NULL, "(ROOT\t(NML (T0 w1) (L2|L1 (T1 w2))))", "w1 w2", 0, 1},
        {NULL, "(TOP (-NONE- *) (T0 w1))", "w1", 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        open_small(&f, cases[i].form, cases[i].tokenized);
        rill_input input = make_input(cases[i].line, 3);
        assert_ok(f.ctx, domain->encode(f.self, 1, &input));
        if (input.status != RILL_OK) fail_msg("%s: %s", cases[i].line, input.message);
        assert_string_equal(words_of(&f, 3), cases[i].words);
        const rill_sentence *s = &((parser_runner *)f.self)->sentence[3];
        for (int32_t w = 0; w < s->words; w++) assert_in_range(s->tag[w], 1, 3);
        if (cases[i].given) assert_int_equal(s->tag[0], 1);
        close_small(&f);
    }
}

/* The memory that an input is said to need is the memory that it takes. */
static void sizes_are_reported(void **state)
{
    (void)state;
    fixture f;
    open_small(&f, "text", 1);
    rill_input input = make_input("w1 w2 w3 w4 w5", 3);
    assert_ok(f.ctx, domain->encode(f.self, 1, &input));
    const parser_runner *r = f.self;
    /* Size of the positions; each row begins on a cache line. */
    const size_t rows = 6, row = (5 * PARSER_MODEL_NET * sizeof(float) + 63) / 64 * 64;
    assert_int_equal(input.size, 5);
    assert_int_equal(rill_session_units(r->session, 3), rows);
    assert_in_range(f.info.slot_bytes + 5 * f.info.slot_unit_bytes, sizeof(rill_sentence) + rows * row,
                    sizeof(rill_sentence) + rows * (row + 16));
    assert_int_equal(f.info.node_bytes, 16);
    close_small(&f);
}

static void bad_inputs_fail_alone(void **state)
{
    (void)state;
#define AS_TREE "; a line that looks like a tree is read as a tree: set input-format to text to prevent that"
#define WHOLE "; one tree per line is expected"
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"  ", NULL},
        {"w1 \xFFw2", "the line is not UTF-8 at byte 4 (0xff)"},
        {"w1 w2", NULL},
        {"(TOP (T0 w1)", "column 1: the text ends, but 1 bracket is not closed; the last one opens here" WHOLE AS_TREE},
        {"( (TOP", "column 3: the text ends, but 2 brackets are not closed; the last one opens here" WHOLE AS_TREE},
        {"(TOP (-NONE- *))", "column 1: the tree has no words" AS_TREE},
        {"(TOP (T0 w1) (XX w2))", "word 2: unknown tag \"XX\": tags.vocab lists the model's tags" AS_TREE},
        {"(_-LRB- w2_XX",
         "word 2: unknown tag \"XX\": tags.vocab lists the model's tags; "
         "a line of word_TAG tokens is read as tagged words: set input-format to text to prevent that"},
    };
    enum { N = sizeof cases / sizeof *cases };
    fixture f;
    rill_input inputs[N];
    open_small(&f, NULL, 0);
    for (int32_t i = 0; i < N; i++) inputs[i] = make_input(cases[i].line, i);
    assert_ok(f.ctx, domain->encode(f.self, N, inputs));
    for (int32_t i = 0; i < N; i++) {
        assert_int_equal(inputs[i].status, i == 0 ? RILL_EMPTY : cases[i].message ? RILL_ERR_INPUT : RILL_OK);
        assert_string_equal(inputs[i].message, cases[i].message ? cases[i].message : "");
    }
    assert_int_equal(inputs[2].size, 2);
    assert_int_equal(inputs[2].max_length, 3);
    assert_string_equal(rill_error(f.ctx), "");
    close_small(&f);
}

static void long_lines_fail_alone(void **state)
{
    (void)state;
    enum { WORDS = 10000 };
    fixture f;
    char *text = malloc(WORDS * 3 + 1);
    assert_non_null(text);
    for (int i = 0; i < WORDS; i++) memcpy(text + 3 * i, "w1 ", 4);
    open_small(&f, NULL, 0);
    rill_input inputs[2] = {make_input(text, 0), make_input("w1", 1)};
    assert_ok(f.ctx, domain->encode(f.self, 2, inputs));
    assert_int_equal(inputs[0].status, RILL_ERR_INPUT);
    assert_string_equal(inputs[0].message, "expected at most 300 words (max_input_length in config.json), found 10000");
    assert_int_equal(inputs[1].status, RILL_OK);
    close_small(&f);
    free(text);
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static void assert_tree(fixture *f, const int32_t *action, int32_t length, const char *expected)
{
    rill_text text = {.ctx = f->ctx};
    assert_ok(f->ctx,
              domain->finalize(f->self, &(rill_hypothesis){.slot = 1, .length = length, .action = action}, &text));
    assert_string_equal(text.data, expected);
    rill_text_clear(&text);
}

/* Labels of the small model: 1 L1, 2 L2, 3 L3+M3, 4 L4, 5 TOP, 6 TOP+L1, 7 TOP+L2, 8 TOP+L3+M3. */
static void actions_make_trees(void **state)
{
    (void)state;
    enum { S = PARSER_SHIFT, C = PARSER_COMBINE, NONE = PARSER_FIRST_LABEL };
    fixture f;
    open_small(&f, "tree", 0);
    rill_input input = make_input("(TOP (T0 a) (T1 b) (T0 -LRB-))", 1);
    assert_ok(f.ctx, domain->encode(f.self, 1, &input));
    static const int32_t flat[] = {S, NONE, S, NONE, C, NONE, S, NONE, C, NONE + 5};
    static const int32_t deep[] = {S, NONE + 3, S, NONE, S, NONE + 1, C, NONE + 2, C, NONE + 8};
    assert_tree(&f, flat, 10, "(TOP (T0 a) (T1 b) (T0 -LRB-))");
    assert_tree(&f, deep, 10, "(TOP (L3 (M3 (L3 (M3 (T0 a))) (L2 (T1 b) (L1 (T0 -LRB-))))))");
    /* An incomplete hypothesis gives a tree too: its spans become children of the root. */
    assert_tree(&f, deep, 4, "(TOP (L3 (M3 (T0 a))) (T1 b) (T0 -LRB-))");
    assert_tree(&f, deep, 8, "(TOP (L3 (M3 (T0 a))) (L2 (T1 b) (L1 (T0 -LRB-))))");
    assert_tree(&f, deep, 0, "(TOP (T0 a) (T1 b) (T0 -LRB-))");
    rill_input one = make_input("(T1 w)", 1);
    assert_ok(f.ctx, domain->encode(f.self, 1, &one));
    static const int32_t single[] = {S, NONE + 7};
    assert_tree(&f, single, 2, "(TOP (L2 (T1 w)))");
    close_small(&f);
}

static void actions_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"shift", "combine", "<none>", "L1", "L2", "L3+M3", "L4", "TOP", "TOP+L1"};
    fixture f;
    open_small(&f, NULL, 0);
    for (int32_t i = 0; i < (int32_t)(sizeof names / sizeof *names); i++) {
        rill_text text = {.ctx = f.ctx};
        assert_ok(f.ctx, domain->action_name(f.model.model, i, &text));
        assert_string_equal(text.data, names[i]);
        assert_int_equal(domain->find_action(f.model.model, names[i], strlen(names[i])), i);
        rill_text_clear(&text);
    }
    assert_int_equal(domain->find_action(f.model.model, "L9", 2), RILL_NO_ACTION);
    close_small(&f);
}

static void lengths_are_those_of_the_form(void **state)
{
    (void)state;
    static const struct {
        const char *form, *line;
        int tokenized, words;
    } cases[] = {
        {NULL, " two  words\t", 0, 2},
        {NULL, "", 0, 0},
        {NULL, "(TOP (X (T0 a) (T1 b)))", 0, 2},
        {"tree", "( (X (T0 a ) (T1 b) ) )", 0, 2},
        {"text", "(two words)", 0, 2},
        {NULL, "( two words )", 1, 4},
        {"tagged", "(_-LRB- a_T0 )_-RRB-", 0, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        open_small(&f, cases[i].form, cases[i].tokenized);
        assert_int_equal(domain->measure(f.self, cases[i].line, strlen(cases[i].line)), cases[i].words);
        close_small(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_say_what_they_are),
        cmocka_unit_test(sizes_are_reported),
        cmocka_unit_test(bad_inputs_fail_alone),
        cmocka_unit_test(long_lines_fail_alone),
        cmocka_unit_test(actions_make_trees),
        cmocka_unit_test(actions_have_names),
        cmocka_unit_test(lengths_are_those_of_the_form),
    };
    return cmocka_run_group_tests_name("domains_shiftreduce_lines", tests, NULL, NULL);
}
