/* Names in questions: which tokens count as typed like a name, and how much of a line a class in a rule matches as a
 * surface form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "question.h"

/* Read the line, with a lexicon of these lines or none. `out`: its tokens, with names in brackets as in "[London] to",
 * followed by the constants of mentions. */
static void read_line(const char *lexicon_lines, const char *line, int tokenized, char *out, size_t size)
{
    failing_allocator memory;
    rill_context *ctx = failing_allocator_context(&memory);
    rill_lexicon *lexicon = NULL;
    rill_question *question;
    rill_mentions mentions = {.bytes = {.ctx = ctx}};
    const rill_slice *token;
    size_t count, n = 0;
    if (lexicon_lines != NULL)
        assert_ok(ctx, rill_lexicon_read(ctx, "t", lexicon_lines, strlen(lexicon_lines), &lexicon));
    assert_ok(ctx, rill_question_open(ctx, lexicon, &question));
    assert_ok(ctx, rill_question_prepare(question, line, strlen(line), tokenized, &token, &count, &mentions));
    out[0] = '\0';
    for (size_t i = 0; i < count && n < size; i++) {
        const rill_slice name = rill_question_name(question, i), shown = name.length > 0 ? name : token[i];
        n += (size_t)snprintf(out + n, size - n, "%s%s%.*s%s", i > 0 ? " " : "", name.length > 0 ? "[" : "",
                              (int)shown.length, shown.data, name.length > 0 ? "]" : "");
    }
    for (size_t i = 0; i < mentions.count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, " %.*s", (int)mentions.entries[i].constant_length,
                              mentions.bytes.data + mentions.entries[i].constant);
    rill_mentions_clear(&mentions);
    rill_question_close(question);
    rill_lexicon_close(lexicon);
    failing_allocator_finish(&memory, ctx);
}

typedef struct sample {
    const char *line, *out;
} sample;

static void expect(const char *lexicon, const sample *samples, size_t n)
{
    char out[1000];
    for (size_t i = 0; i < n; i++) {
        read_line(lexicon, samples[i].line, 0, out, sizeof out);
        if (strcmp(out, samples[i].out) != 0)
            fail_msg("%s\n   gives %s\nand not %s", samples[i].line, out, samples[i].out);
    }
}

#define EXPECT(lexicon, samples) expect(lexicon, samples, sizeof(samples) / sizeof *(samples))
#define HEAD "@format\t1\n@type\tc\n@type\tq\n"

/* --- names -------------------------------------------------------------------------------------------------------- */

static void capitals_and_quotes_make_names(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"flights from London to Paris", "flights from [London] to [Paris]"},
        {"Show me flights. Which are cheap? All! Really", "show me flights which are cheap all really"},
        {"I think I'm late, as I\xe2\x80\x99"
         "d be",
         "i think i'm late as i'd be"},
        {"Is St. Gallen near Mt. Blanc?", "is [St] [Gallen] near [Mt] [Blanc]"},
        {"the iPhone of McDonald, IBM and a PhD", "the [iPhone] of [McDonald] [IBM] and a [PhD]"},
        {"IBM is big", "[IBM] is big"},
        {"\"Nice\" or ‘nice’ or 'nice one'", "[Nice] or [nice] or [nice] [one]"},
        {"don't say \"so it is", "don't say so it is"},
        {"the states' and 'tis (\"in\") \"a\"b", "the states and tis [in] a b"},
        {"to Zürich, Ürümqi and Łódź's", "to [Zürich] [Ürümqi] and [Łódź]"},
        {"London's and London’s", "london's and [London]"},
        {"from Ulan-Bator/Baku", "from [Ulan] [Bator] [Baku]"},
        {"at 5 P.M. in the U.S.", "at 5 [P.M] in the [U.S]"},
        {"SHOW FLIGHTS FROM \"LONDON\"", "show flights from [LONDON]"},
        {"FROM ZÜRICH", "from zürich"},
        {"", ""},
        {"'", ""},
    };
    EXPECT(NULL, samples);
}

/* A token that the lexicon matches or inserts is no name. In tokenized input no token is a name. */
static void the_lexicon_comes_first(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"from Boston to Bath", "from c0 to [Bath] boston:c"},
        {"to Boston's Big Dig", "to c0 high [Dig] boston:c"},
        {"to New York C0", "to c1 c0 nyc"}, /* the question contains a literal placeholder */
    };
    EXPECT(HEAD "@rewrite\tbig\thigh\nboston\tc\tboston:c\nnew york\tc\tnyc\n", samples);
    char out[100];
    read_line(HEAD, "From London \"x\"", 1, out, sizeof out);
    assert_string_equal(out, "From London \"x\"");
}

/* --- surfaces in rules -------------------------------------------------------------------------------------------- */

/* A class matches the longest surface form of its type, in the body and in contexts; a longer form of another type does
 * not count. */
static void rules_take_the_longest_surface(void **state)
{
    (void)state;
    static const char lexicon[] = HEAD
        "@rule\tq\tnear {entry}\tnear:{}\n"
        "@rule\tq\tbig ({c} river)\tbig:q\n"
        "new\tc\tn:c\nnew york\tc\tny:c\nnew york city\tc\tnyc:c\nnew york city hall\tq\th:q\n";
    static const sample samples[] = {
        {"near new york city", "q0 near:new_york_city"},
        {"near new york city hall", "q0 near:new_york_city_hall"},
        {"near new york", "q0 near:new_york"},
        {"near new york city ha", "q0 ha near:new_york_city"},
        {"big new york city river", "q0 c0 river big:q nyc:c"},
        {"big new york city hall river", "big q0 river h:q"},
        {"big new york river", "q0 c0 river big:q ny:c"},
    };
    EXPECT(lexicon, samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capitals_and_quotes_make_names),
        cmocka_unit_test(the_lexicon_comes_first),
        cmocka_unit_test(rules_take_the_longest_surface),
    };
    return cmocka_run_group_tests_name("domains_text_names", tests, NULL, NULL);
}
