/* domains/text: trees: accepted lines, refused lines with the place of the error, and that written trees read back
 * unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "support/unescape_brackets.h"
#include "tree.h"

/* Included after helpers.h, since it uses names from there. */
#include "context_fixture.h"

/* Read the line's tree and write it again; the caller frees the result. */
static char *rewritten(const char *line, int flags, int indented)
{
    rill_tree tree = {.ctx = ctx};
    rill_text out = {.ctx = ctx};
    assert_ok(ctx, rill_tree_parse(&tree, line, strlen(line), flags));
    assert_ok(ctx, rill_tree_write(&tree, &out, indented));
    char *copy = strdup(out.data);
    rill_text_clear(&out);
    rill_tree_clear(&tree);
    return copy;
}

static void assert_rewritten(const char *line, int flags, int indented, const char *expected)
{
    char *found = rewritten(line, flags, indented);
    assert_string_equal(found, expected);
    free(found);
}

static void nodes_say_what_they_span(void **state)
{
    (void)state;
    static const char line[] = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat))))";
    static const struct {
        const char *label, *word;
        int32_t end, from, to;
    } expected[] = {{"TOP", NULL, 7, 0, 3}, {"S", NULL, 7, 0, 3},  {"NP", NULL, 5, 0, 2},  {"DT", "The", 4, 0, 1},
                    {"NN", "cat", 5, 1, 2}, {"VP", NULL, 7, 2, 3}, {"VBD", "sat", 7, 2, 3}};
    rill_tree tree = {.ctx = ctx};
    assert_ok(ctx, rill_tree_parse(&tree, line, strlen(line), 0));
    assert_int_equal(tree.count, 7);
    assert_int_equal(tree.words, 3);
    for (int i = 0; i < 7; i++) {
        const rill_tree_node *node = &tree.node[i];
        assert_int_equal(node->label.length, strlen(expected[i].label));
        assert_memory_equal(node->label.data, expected[i].label, node->label.length);
        assert_int_equal(node->word.length, expected[i].word ? strlen(expected[i].word) : 0);
        if (expected[i].word) assert_memory_equal(node->word.data, expected[i].word, node->word.length);
        assert_int_equal(node->end, expected[i].end);
        assert_int_equal(node->from, expected[i].from);
        assert_int_equal(node->to, expected[i].to);
    }
    rill_tree_clear(&tree);
}

static void treebanks_are_brought_to_one_form(void **state)
{
    (void)state;
    assert_rewritten("( (S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBD sat) (ADVP|PRT=2 (RB down)))))", 0, 0,
                     "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (ADVP (RB down)))))");
    assert_rewritten("(TOP (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NP (-NONE- *T*-1)) (S (-NONE- 0))))))", 0, 0,
                     "(TOP (S (VP (VB go))))");
    assert_rewritten("(TOP (PRN (-LRB- -LRB-) (NN x|y-z) (-RRB- -RRB-)))", 0, 0,
                     "(TOP (PRN (-LRB- -LRB-) (NN x|y-z) (-RRB- -RRB-)))");
    assert_rewritten("(TOP (NP-SBJ (-NONE- *)) (NN cat))", RILL_TREE_AS_WRITTEN, 0,
                     "(TOP (NP-SBJ (-NONE- *)) (NN cat))");
    assert_rewritten("(TOP (ADVP|PRT=2 (RB down)) (NP-SBJ (-NONE- *)))", RILL_TREE_KEEP_BARS, 0,
                     "(TOP (ADVP|PRT (RB down)))");
    assert_rewritten("(NN cat)", 0, 0, "(NN cat)");
    assert_rewritten("  (TOP\t(NN  caf\xC3\xA9)\r ) \r\n", 0, 0, "(TOP (NN caf\xC3\xA9))");
}

static void indented_trees_show_their_depth(void **state)
{
    (void)state;
    static const char line[] =
        "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (PRP it))) (RB now)) (. .)))";
    static const char expected[] = "(TOP\n"
                                   "  (S\n"
                                   "    (NP (DT The) (NN cat))\n"
                                   "    (VP (VBD sat)\n"
                                   "      (PP (IN on)\n"
                                   "        (NP (PRP it)))\n"
                                   "      (RB now))\n"
                                   "    (. .)))";
    assert_rewritten(line, 0, 1, expected);
    assert_rewritten(expected, 0, 0, line);
}

static void what_is_no_tree_is_refused_with_its_place(void **state)
{
    (void)state;
#define WHOLE "; one tree per line is expected"
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        {"", "expected a tree, found an empty line"},
        {"  \t", "expected a tree, found an empty line"},
        {"cat", "column 1: expected '(' at the beginning of a tree, found a word" WHOLE},
        {" )", "column 2: expected '(' at the beginning of a tree, found ')'" WHOLE},
        {"()", "column 2: the bracket is empty: expected a word or a bracket"},
        {"(())", "column 3: expected a label after '('; only the outermost bracket may have none"},
        {"(TOP)", "column 5: the bracket is empty: expected a word or a bracket"},
        {"(TOP (NP ) (NN cat))", "column 10: the bracket is empty: expected a word or a bracket"},
        {"(TOP (NN cat)", "column 1: the text ends, but 1 bracket is not closed; the last one opens here" WHOLE},
        {"(TOP (S (NN cat)", "column 6: the text ends, but 2 brackets are not closed; the last one opens here" WHOLE},
        {"(TOP (S (NN ", "column 9: the text ends, but 3 brackets are not closed; the last one opens here" WHOLE},
        {"(TOP (NN cat)))", "column 15: ')' closes a bracket that was never opened" WHOLE},
        {"(TOP (NN cat)) (TOP (NN cat))", "column 16: expected nothing after the tree" WHOLE},
        {"(TOP (NN a b))", "column 12: expected ')' after a word, found a second word"},
        {"(TOP (NN a (NN b)))", "column 12: expected ')' after a word, found '('"},
        {"(TOP (NN a) b)", "column 13: expected '(' or ')' after a bracket, found a word"},
        {"(TOP (-NONE- a) b)", "column 17: expected '(' or ')' after a bracket, found a word"},
        {"( cat)", "column 3: expected a tag before the word"},
        {"(TOP (NP (-NONE- *)))", "column 1: the tree has no words"},
        {"(-NONE- *)", "column 1: the tree has no words"},
        {"(TOP (NN caf\xC3\xA9) x)", "column 16: expected '(' or ')' after a bracket, found a word"},
    };
    rill_tree tree = {.ctx = ctx};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rill_tree_parse(&tree, cases[i].line, strlen(cases[i].line), 0), RILL_ERR_INPUT);
        assert_string_equal(rill_error(ctx), cases[i].sentence);
        assert_int_equal(tree.count, 0);
    }
    rill_tree_clear(&tree);
}

/* A million brackets, which would overflow the stack of a recursive reader, are read. */
static void depth_is_bounded_by_memory_alone(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    char *line = malloc(4 * DEPTH + 10), *p = line;
    assert_non_null(line);
    for (int i = 0; i < DEPTH; i++, p += 3) memcpy(p, "(X ", 3);
    memcpy(p, "cat", 3), p += 3;
    memset(p, ')', DEPTH), p += DEPTH;
    *p = '\0';
    rill_tree tree = {.ctx = ctx};
    rill_text out = {.ctx = ctx};
    assert_ok(ctx, rill_tree_parse(&tree, line, (size_t)(p - line), 0));
    assert_int_equal(tree.count, DEPTH);
    assert_ok(ctx, rill_tree_write(&tree, &out, 0));
    assert_string_equal(out.data, line);
    rill_text_reset(&out);
    assert_ok(ctx, rill_tree_write(&tree, &out, 1));
    assert_int_equal(rill_tree_parse(&tree, line, (size_t)(p - line) - 1, 0), RILL_ERR_INPUT);
    rill_text_clear(&out);
    rill_tree_clear(&tree);
    free(line);
}

static void brackets_in_words_go_and_come_back(void **state)
{
    (void)state;
    static const struct {
        const char *word, *escaped;
    } cases[] = {{"(", "-LRB-"}, {"f(x){}", "f-LRB-x-RRB--LCB--RCB-"}, {"plain-L", "plain-L"}, {"[", "["}};
    rill_text out = {.ctx = ctx};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_text_reset(&out);
        assert_ok(ctx, rill_tree_escape(&out, cases[i].word, strlen(cases[i].word)));
        assert_string_equal(out.data, cases[i].escaped);
        rill_text_reset(&out);
        assert_ok(ctx, unescape_brackets(&out, cases[i].escaped, strlen(cases[i].escaped)));
        assert_string_equal(out.data, cases[i].word);
    }
    rill_text_clear(&out);
}

static void refusals_of_memory_are_survived(void **state)
{
    (void)state;
    static const char line[] = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat))))";
    rill_status status = RILL_ERR_MEMORY;
    for (long n = 0; status != RILL_OK; n++) {
        rill_tree tree = {.ctx = ctx};
        rill_text out = {.ctx = ctx};
        memory.calls = 0;
        memory.allowed = n;
        status = rill_tree_parse(&tree, line, strlen(line), 0);
        if (status == RILL_OK) status = rill_tree_write(&tree, &out, 1);
        if (status != RILL_OK) assert_int_equal(status, RILL_ERR_MEMORY);
        rill_text_clear(&out);
        rill_tree_clear(&tree);
        assert_true(n < 20);
    }
    memory.allowed = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nodes_say_what_they_span),         CASE(treebanks_are_brought_to_one_form),
        CASE(indented_trees_show_their_depth),  CASE(what_is_no_tree_is_refused_with_its_place),
        CASE(depth_is_bounded_by_memory_alone), CASE(brackets_in_words_go_and_come_back),
        CASE(refusals_of_memory_are_survived),
    };
    return cmocka_run_group_tests_name("domains_tree", tests, NULL, NULL);
}
