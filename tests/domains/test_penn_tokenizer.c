/* domains/text: the Penn Treebank tokenizer, from typed text to words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "penn_tokenizer.h"
#include "support/unescape_brackets.h"

/* Included after helpers.h, since it uses names from there. */
#include "context_fixture.h"

/* Checks the words; `expected` separates them by spaces. */
static void assert_words(const char *text, int style, const char *expected)
{
    rill_sentence s = {.bytes = {.ctx = ctx}};
    rill_text found = {.ctx = ctx};
    assert_ok(ctx, rill_penn_split(&s, text, strlen(text), style));
    for (int32_t i = 0; i < s.words; i++) {
        const rill_slice word = rill_sentence_word(&s, i);
        assert_true(word.length > 0);
        assert_int_equal(s.tag[i], RILL_NO_TAG);
        if (i > 0) assert_ok(ctx, rill_text_append(&found, " ", 1));
        assert_ok(ctx, rill_text_append(&found, word.data, word.length));
    }
    if (strcmp(found.data != NULL ? found.data : "", expected) != 0)
        fail_msg("%s\n  expected: %s\n  found:    %s", text, expected, found.data);
    rill_text_clear(&found);
    rill_sentence_clear(&s);
}

static void assert_all(const char *const (*pairs)[2], size_t n, int style)
{
    for (size_t i = 0; i < n; i++) assert_words(pairs[i][0], style, pairs[i][1]);
}

#define ASSERT_ALL(pairs, style) assert_all(pairs, sizeof pairs / sizeof *pairs, style)

static void punctuation_stands_alone(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""},
        {" \t ", ""},
        {"\u200edog\u202a cat\u202c\u2066mat\u2069\u061c\u200f", "dog cat mat"},
        {"\ufeffa\u200bb\u00a0c\u3000d\u180ee\u2061f", "a b c d e f"},
        {"a\u200cb \u200d", "a\u200cb \u200d"},
        {"The cat sat on the mat.", "The cat sat on the mat ."},
        {"Yes, no; maybe: so!", "Yes , no ; maybe : so !"},
        {"What?!", "What ? !"},
        {"It rose 3.5%, to 1,000.", "It rose 3.5 % , to 1,000 ."},
        {"one,two", "one , two"},
        {"1,2a 1,a2 a1,2 1a,2", "1,2a 1 , a2 a1,2 1a , 2"}, /* the bytes before and after a sign decide */
        {"at 3:30 and 1/2", "at 3:30 and 1/2"},
        {"He--the boss--left...", "He -- the boss -- left ..."},
        {"wait... what\xE2\x80\xA6 no\xE2\x80\x94yes", "wait ... what ... no \xE2\x80\x94 yes"},
        {"cost $5 and \xC2\xA3"
         "3, US$4",
         "cost $ 5 and \xC2\xA3 3 , US$4"},
        {".", "."},
        {"\xC2\xA0The\xC2\xA0"
         "dog\xE3\x80\x80"
         "barks.\xE2\x80\xA8(\xC2\x85\xE2\x80\x8BWell\xEF\xBB\xBF)\v\x7F.",
         "The dog barks . -LRB- Well -RRB- ."},
        {"caf\xC3\xA9 \xE2\x80\x8C \xE2\x82\xAC.", "caf\xC3\xA9 \xE2\x80\x8C \xE2\x82\xAC ."},
        {"?", "?"},
        {"...", "..."},
        {"AT&T and R&D", "AT&T and R&D"},
        {"see http://a.org/b,c. or mail me@x.org.", "see http://a.org/b,c . or mail me@x.org ."},
        {"a-b c", "a-b c"},
    };
    ASSERT_ALL(pairs, 0);
}

static void brackets_get_their_names(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"(see below)", "-LRB- see below -RRB-"},
        {"word(s) and f(x)", "word-LRB-s-RRB- and f-LRB-x-RRB-"},
        {"[1] {x}.", "[ 1 ] -LCB- x -RCB- ."},
        {"((a))", "-LRB- -LRB- a -RRB- -RRB-"},
        {"end (he said).", "end -LRB- he said -RRB- ."},
        {"(", "-LRB-"},
        {":-)", ": - -RRB-"},
    };
    ASSERT_ALL(pairs, 0);
}

static void quotes_open_and_close(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"\"Go,\" he said.", "`` Go , '' he said ."},
        {"He said \"go.\"", "He said `` go . ''"},
        {"\" a \" b", "`` a '' b"},
        {"``x'' y", "`` x '' y"},
        {"\xE2\x80\x9Cx\xE2\x80\x9D \xE2\x80\x98y\xE2\x80\x99", "`` x '' ` y '"},
        {"'quoted' words", "` quoted ' words"},
        {"the '90s and rock 'n' roll", "the '90s and rock 'n' roll"},
        {"Tell 'em", "Tell 'em"},
    };
    static const char *const kept[][2] = {
        {"\"Go,\" he said.", "\" Go , \" he said ."},
        {"\xE2\x80\x9Cx\xE2\x80\x9D don\xE2\x80\x99t 'y'", "\xE2\x80\x9C x \xE2\x80\x9D do n\xE2\x80\x99t ' y '"},
        {"wait\xE2\x80\xA6", "wait \xE2\x80\xA6"},
    };
    ASSERT_ALL(pairs, 0);
    ASSERT_ALL(kept, RILL_PENN_QUOTES);
}

static void contractions_are_cut(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"don't can't won't", "do n't ca n't wo n't"},
        {"he's we'll I'm you've they're I'd", "he 's we 'll I 'm you 've they 're I 'd"},
        {"DON'T IT'S", "DO N'T IT 'S"},
        {"the dogs' and James's", "the dogs ' and James 's"},
        {"don\xE2\x80\x99t he\xE2\x80\x99s", "do n't he 's"},
        {"cannot gonna 'Tis", "can not gon na 'T is"},
        {"shouldn't've", "shouldn't 've"},
        {"O'Brien o'clock doin'", "O'Brien o'clock doin'"},
        {"n't 's", "n't 's"},
        {"(don't)", "-LRB- do n't -RRB-"},
        {"\"it's\".", "`` it 's '' ."},
    };
    ASSERT_ALL(pairs, 0);
}

static void full_stops_know_abbreviations(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"Mr. Smith left.", "Mr. Smith left ."},
        {"It is Smith Inc.", "It is Smith Inc. ."},
        {"from the U.S. to J. Doe", "from the U.S. to J. Doe"},
        {"e.g. this", "e.g. this"},
        {"from A. Doe to Z. Roe", "from A. Doe to Z. Roe"},
        {"It ended. Then we left.", "It ended . Then we left ."},
        {"approved by abbr. people", "approved by abbr. people"},
        {"at 5 p.m.", "at 5 p.m. ."},
        {"at 5 p.m.?", "at 5 p.m. ?"},
        {"(the U.S.)", "-LRB- the U.S. . -RRB-"},
        {"So did I.", "So did I ."},
        {"1. Mix it.", "1. Mix it ."},
        {"in 1990. Then", "in 1990 . Then"},
        {"Sino-U.S. talks", "Sino-U.S. talks"},
        {"at 5 p.m.:", "at 5 p.m. :"},
        {"J. Doe takes vitamin C.", "J. Doe takes vitamin C ."},
        {"No. 5", "No. 5"},
        {"No.", "No ."},
        {"I said no. Then we left.", "I said no . Then we left ."},
        {"see Fig. 3", "see Fig. 3"},
        {"in Boston, Mass.", "in Boston , Mass. ."},
        {"It has a mass.", "It has a mass ."},
    };
    ASSERT_ALL(pairs, 0);
}

static void hyphens_are_the_treebanks_choice(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a well-known man", "a well - known man"},
        {"1990-2000 and x-ray.", "1990-2000 and x - ray ."},
        {"non-", "non-"},
    };
    ASSERT_ALL(pairs, RILL_PENN_HYPHENS);
}

static void endless_chunks_are_one_word(void **state)
{
    (void)state;
    enum { LENGTH = 3000000 };
    char *text = malloc(LENGTH);
    assert_non_null(text);
    memset(text, ')', LENGTH);
    rill_sentence s = {.bytes = {.ctx = ctx}};
    assert_ok(ctx, rill_penn_split(&s, text, LENGTH, 0));
    assert_int_equal(s.words, 1);
    rill_text_reset(&s.bytes);
    s.words = 0;
    assert_ok(ctx, rill_penn_split(&s, text, 1000, 0));
    assert_int_equal(s.words, 1000);
    rill_sentence_clear(&s);
    free(text);
}

/* For any bytes, no byte that is not a space is lost, except in respelled words. */
static void nothing_is_lost(void **state)
{
    (void)state;
    static const char bytes[] = "aZ09.,'\"`-()[]{}$%:;!?/&@ \t";
    uint64_t seed = 5;
    for (size_t round = 0; round < 3000; round++) {
        char text[40];
        size_t length = 0, solid = 0, kept = 0;
        for (; length < 1 + round % 38; length++) {
            text[length] = bytes[random_below(&seed, sizeof bytes - 1)];
            solid += text[length] != ' ' && text[length] != '\t';
        }
        rill_sentence s = {.bytes = {.ctx = ctx}};
        rill_text plain = {.ctx = ctx};
        assert_ok(ctx, rill_penn_split(&s, text, length, RILL_PENN_QUOTES | RILL_PENN_HYPHENS));
        assert_ok(ctx, unescape_brackets(&plain, s.bytes.data, s.bytes.length));
        kept = plain.length;
        /* One full stop may be added, after an abbreviation at the end. */
        if (kept != solid && kept != solid + 1) fail_msg("%.*s: %s", (int)length, text, s.bytes.data);
        for (int32_t i = 0; i < s.words; i++) assert_true(rill_sentence_word(&s, i).length > 0);
        rill_text_clear(&plain);
        rill_sentence_clear(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(punctuation_stands_alone),      CASE(brackets_get_their_names),
        CASE(quotes_open_and_close),         CASE(contractions_are_cut),
        CASE(full_stops_know_abbreviations), CASE(hyphens_are_the_treebanks_choice),
        CASE(endless_chunks_are_one_word),   CASE(nothing_is_lost),
    };
    return cmocka_run_group_tests_name("domains_penn_tokenizer", tests, NULL, NULL);
}
