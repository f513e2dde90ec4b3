/* Documents (cli/serve/document.h), for any HTML page. Text outside sentences stays, tags keep their order, and
 * replacing each sentence by itself reproduces the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "document.h"

/* Look up the output of a part in a list of "input=output" pairs. */
static const char *listed(const char *const *pairs, const char *part, size_t length)
{
    for (; *pairs; pairs++)
        if (strlen(*pairs) > length && (*pairs)[length] == '=' && !memcmp(*pairs, part, length))
            return *pairs + length + 1;
    return NULL;
}

/* Join a document with the outputs of such a list. If pairs is NULL, each part is its own output. */
static char *join(const document *d, const char *const *pairs)
{
    const int32_t n = document_n_parts(d);
    const char **outputs = calloc((size_t)n + 1, sizeof *outputs);
    assert_non_null(outputs);
    for (int32_t i = 0; i < n; i++) {
        size_t length;
        const char *part = document_part(d, i, &length);
        outputs[i] = pairs ? listed(pairs, part, length) : strndup(part, length);
    }
    char *joined = document_join(d, outputs);
    for (int32_t i = 0; !pairs && i < n; i++) free((char *)(size_t)outputs[i]);
    free(outputs);
    return joined;
}

static void joins(const char *text, document_split split, const char *const *outputs, const char *expected)
{
    document *d = document_open(text, strlen(text), split, "de", 1000);
    assert_non_null(d);
    char *joined = join(d, outputs);
    assert_string_equal(joined, expected);
    free(joined);
    document_close(d);
}

static int32_t parts_of(const char *text, document_split split, const char **first)
{
    static char kept[256];
    document *d = document_open(text, strlen(text), split, "de", 1000);
    assert_non_null(d);
    const int32_t n = document_n_parts(d);
    if (n > 0) {
        size_t length;
        const char *part = document_part(d, 0, &length);
        snprintf(kept, sizeof kept, "%.*s", (int)length, part);
        *first = kept;
    }
    document_close(d);
    return n;
}

static void sentences(void **state)
{
    static const char *const outputs[] = {"Eins.=One.", "Zwei!=Two!", "Herr Dr. Maier kam.=Dr Maier came.",
                                          "Drei=Three", NULL};
    const char *first = "";
    (void)state;
    joins(" Eins.  Zwei!\n\n\tHerr Dr. Maier kam. \r\n---\nDrei", DOCUMENT_SENTENCES, outputs,
          " One.  Two!\n\n\tDr Maier came. \r\n---\nThree");
    assert_int_equal(parts_of("Eins. Zwei!\nDrei", DOCUMENT_LINES, &first), 2);
    assert_string_equal(first, "Eins. Zwei!");
    assert_int_equal(parts_of(" \n \xc2\xa0 ... \n", DOCUMENT_SENTENCES, &first), 0);
    joins("Vier.", DOCUMENT_SENTENCES, outputs, "Vier."); /* a part without an output stays unchanged */
}

/* A full stop after an ordinal, an abbreviation or an initial ends no sentence; one after a word or a long number
 * does. */
static void full_stops(void **state)
{
    static const struct {
        const char *text;
        int32_t parts;
        const char *first;
    } cases[] = {
        {"Am 23. Mai war es kalt. Ja.", 2, "Am 23. Mai war es kalt."},
        {"Am 3. Mai war es kalt. Ja.", 2, "Am 3. Mai war es kalt."},
        {"23. Mai. Ja.", 2, "23. Mai."},
        {"Er kommt z.\u00a0B. Montag und Dr.\u00a0M\u00fcller auch. Ja.", 2,
         "Er kommt z.\u00a0B. Montag und Dr.\u00a0M\u00fcller auch."},
        {"Er kommt\u00a0z.\u202fB.\u202fMontag und\u2009Dr.\u2009M\u00fcller auch.\u00a0Ja.", 2,
         "Er kommt\u00a0z.\u202fB.\u202fMontag und\u2009Dr.\u2009M\u00fcller auch."},
        {"Am\u300023.\u2003Mai\tDr.\tRot. Ja.", 2, "Am\u300023.\u2003Mai\tDr.\tRot."},
        {"\u201eDr. Rot kam.\u201c Ja.", 2, "\u201eDr. Rot kam.\u201c"},
        {"Das [Prof. Rot] und \u00bbDr. Rot\u00ab. Ja.", 2, "Das [Prof. Rot] und \u00bbDr. Rot\u00ab."},
        {"Il l'a. Oui.", 2, "Il l'a."},
        {"Il l\u2019a. Oui.", 2, "Il l\u2019a."},
        {"Ein \xc2.\xa0 Ja. Ja.", 2, "Ein \xc2.\xa0 Ja."},
        {"Im Jahr 1923. Mai kam.", 2, "Im Jahr 1923."},
        {"Hier z. B. Hunde. Ja.", 2, "Hier z. B. Hunde."},
        {"Die Fr. Maier und der Hr. Klein. Ja.", 2, "Die Fr. Maier und der Hr. Klein."},
        {"Es kostet 3.50 Euro. Ja.", 2, "Es kostet 3.50 Euro."},
        {"Die U.S.A. und er. Ja.", 2, "Die U.S.A. und er."},
        {"\"Ja!\" sagte er. Nein.", 3, "\"Ja!\""},
        {"Er ging (schnell.) Ja.", 2, "Er ging (schnell.)"},
        {"Wie?! Ja.", 2, "Wie?!"},
        {"Und... dann. Ja.", 2, "Und... dann."},
        {"\xe6\x98\xaf\xe3\x80\x82\xe5\xa5\xbd\xe3\x80\x82", 2, "\xe6\x98\xaf\xe3\x80\x82"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *first = "";
        assert_int_equal(parts_of(cases[i].text, DOCUMENT_SENTENCES, &first), cases[i].parts);
        assert_string_equal(first, cases[i].first);
    }
}

static void pages(void **state)
{
    static const char *const outputs[] = {"Ein großer Hund.=A large dog.",
                                          "großer=Large.",
                                          "A & B < C=C > B & A",
                                          "Hier.=Here.",
                                          "Zwei Wege.=Two ways.",
                                          "Wege=xyz",
                                          "Das geht.=That works.",
                                          "Eins und zwei.=One and two.",
                                          "Eins=One",
                                          "zwei=Two",
                                          NULL};
    (void)state;
    joins("<p>\n  Ein <b>gro&szlig;er</b>\n Hund. </p>", DOCUMENT_HTML, outputs, "<p>\n  A <b>large</b> dog. </p>");
    joins("<td>A &amp; B &lt; C</td><td title='a>b'>Hier.</td>", DOCUMENT_HTML, outputs,
          "<td>C &gt; B &amp; A</td><td title='a>b'>Here.</td>");
    /* "ways" has no source word that equals it: the tags go in proportion to the positions */
    joins("Zwei <i>Wege</i>.", DOCUMENT_HTML, outputs, "Two <i>ways</i>.");
    joins("<b>Hier.</b> <i>Das geht.</i>", DOCUMENT_HTML, outputs, "<b>Here.</b> <i>That works.</i>");
    joins("<b>Eins</b> und <i><u>zwei</u></i>.", DOCUMENT_HTML, outputs, "<b>One</b> and <i><u>two</u></i>.");
    joins("<script>if (a < b) Hier.</script><pre>Hier.</pre><div translate=\"no\">Hier.<div>Hier.</div></div>Hier.",
          DOCUMENT_HTML, outputs,
          "<script>if (a < b) Hier.</script><pre>Hier.</pre><div translate=\"no\">Hier.<div>Hier.</div></div>Here.");
    joins("<!DOCTYPE html><!-- Hier. -->Hier.<br>Hier.", DOCUMENT_HTML, outputs,
          "<!DOCTYPE html><!-- Hier. -->Here.<br>Here.");
}

/* <script> and the like have text without tags, and end at their own end tag. Attributes mark text that is not
 * translated. */
static void elements(void **state)
{
    static const char *const outputs[] = {"Hier.=Here.", "a<b Hier.=a<b Here.", NULL};
    static const char *const stay[] = {"<script>if(i<n)f()</script>",
                                       "<script>'</scripts>'</SCRIPT >",
                                       "<style>a{b:'c}</style>",
                                       "<textarea>a<b \" Hier.</textarea>",
                                       "<div class=\"a notranslate\"><script>a<b</script>Hier.</div>",
                                       "<p translate='no'>Hier.</p>",
                                       "<p TRANSLATE = \"NO\">Hier.</p>",
                                       "<p translate=no>Hier.</p>",
                                       "<!-->",
                                       "<!--->",
                                       "<?a '>",
                                       "<!DOCTYPE html PUBLIC \"-//W3C//DTD\">"};
    static const char *const read[] = {
        "<p title=it's>",         "<p a='>'>",       "<p href=\"/notranslate-info\">", "<p data-x='translate=\"no\"'>",
        "<p class=notranslated>", "<p a = b =c / d>"};
    char page[200], expected[200];
    (void)state;
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
        snprintf(page, sizeof page, "%s<p>Hier.</p>", stay[i]);
        snprintf(expected, sizeof expected, "%s<p>Here.</p>", stay[i]);
        joins(page, DOCUMENT_HTML, outputs, expected);
    }
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        snprintf(page, sizeof page, "%sHier.</p>", read[i]);
        snprintf(expected, sizeof expected, "%sHere.</p>", read[i]);
        joins(page, DOCUMENT_HTML, outputs, expected);
    }
    joins("<title>a<b Hier.</title><p>Hier.", DOCUMENT_HTML, outputs, "<title>a&lt;b Here.</title><p>Here.");
    joins("<a href=/x/>Hier.</a>", DOCUMENT_HTML, outputs, "<a href=/x/>Here.</a>");
}

/* <wbr> within a word, a possible line break, does not split the word or change its output. */
static void breaks(void **state)
{
    static const char *const outputs[] = {"Donaudampf.=Danube steam.", "Donaudampf=Danube", NULL};
    static const char *const pages[] = {"<p>Donau<wbr>dampf.</p>", "<p>Donau<WBR/>dampf.</p>",
                                        "<p>Donau<wbr id=x>da<wbr>mpf.<wbr></p>", "<p><wbr>Donaudampf.</p>"};
    const char *first = "";
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        joins(pages[i], DOCUMENT_HTML, outputs, "<p>Danube steam.</p>");
    joins("<b>Donau<wbr>dampf</b>.", DOCUMENT_HTML, outputs, "<b>Danube</b> steam.");
    assert_int_equal(parts_of("Stra&shy;&#173;&#xAD;ße&ZeroWidthSpace;r.", DOCUMENT_HTML, &first), 1);
    assert_string_equal(first, "Stra\xc2\xad\xc2\xad\xc2\xad\xc3\x9f"
                               "e\xe2\x80\x8br.");
}

/* Unknown entities, and sentences without an output, stay as they were written. */
static void kept_as_written(void **state)
{
    static const char *const outputs[] = {"Eins zwei.=One two.", NULL};
    static const char *const stay[] = {"Der <b>rote</b> Hund. ", "Er <img src=x> läuft <i>a &amp; b</i> <u>weit.</u>",
                                       "&check; &zwnj; &#x110000; A &amp; B &lt;", "&rarr;"};
    (void)state;
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) joins(stay[i], DOCUMENT_HTML, outputs, stay[i]);
    joins("Eins &rarr; zwei.", DOCUMENT_HTML, outputs, "One &rarr; two.");
    joins("Eins zwei.&check;", DOCUMENT_HTML, outputs, "One two.&check;");
    joins("Eins zwei. &rarr; &check;&check;<p>", DOCUMENT_HTML, outputs, "One two. &rarr; &check;&check;<p>");
    joins("AT&T &unknown Eins", DOCUMENT_HTML, outputs, "AT&amp;T &amp;unknown Eins");
    document *d = document_open("a\0<b>b</b> c", 12, DOCUMENT_HTML, "de", 10);
    assert_non_null(d);
    const char *none[] = {NULL};
    char *joined = join(d, none);
    assert_memory_equal(joined, "a\0<b>b</b> c", 13);
    free(joined);
    document_close(d);
}

/* document_open() takes time in proportion to the text, not to its square, and stops soon after the limit of 1000
 * parts. */
static void large_pages(void **state)
{
    static const char *const bits[] = {"1<p>",
                                       "<p> ",
                                       "<b>",
                                       "<b>a</b>",
                                       "&",
                                       "<",
                                       "a.",
                                       "a. ",
                                       "<!--",
                                       "\n",
                                       "<div translate=no>",
                                       "<code>",
                                       "<title>",
                                       "<script>",
                                       "<b a=\"",
                                       "<b a='>'",
                                       "&rarr;",
                                       "</title"};
    (void)state;
    for (size_t b = 0; b < sizeof bits / sizeof *bits; b++)
        for (int split = DOCUMENT_LINES; split <= DOCUMENT_HTML; split++) {
            const size_t n = strlen(bits[b]), times = 1000000 / n;
            char *text = malloc(times * n + 1);
            for (size_t i = 0; i < times; i++) memcpy(text + i * n, bits[b], n + 1);
            document *d = document_open(text, times * n, (document_split)split, "de", 1000);
            assert_non_null(d);
            assert_in_range(document_n_parts(d), 0, 1002);
            if (document_n_parts(d) <= 1000) free(join(d, NULL));
            document_close(d);
            free(text);
        }
}

static uint32_t number;

static uint32_t draw(uint32_t below)
{
    number = number * 1664525u + 1013904223u;
    return (number >> 8) % below;
}

/* Return the tags of a page in order, without its text. */
static char *page_tags(const char *page)
{
    char *out = calloc(1, strlen(page) + 1), *to = out;
    for (int within = 0; *page; page++) {
        within |= *page == '<';
        if (within) *to++ = *page;
        if (*page == '>') within = 0;
    }
    return out;
}

static void random_documents(void **state)
{
    static const char *const bits[] = {"Ein ",
                                       "Hund",
                                       ". ",
                                       "Zwei",
                                       "! ",
                                       "\n",
                                       " ",
                                       "&amp;",
                                       "&auml;",
                                       "\xc3\xa4",
                                       "<b>",
                                       "</b>",
                                       "<i>",
                                       "</i>",
                                       "<p>",
                                       "</p>",
                                       "<br>",
                                       "<img src=\"a>b\">",
                                       "<a href='x'>",
                                       "</a>",
                                       "\xe4\xb8\xad",
                                       "z.B. ",
                                       "3",
                                       "<code>x</code>",
                                       "<!-- c -->",
                                       "\t",
                                       "\xc2\xa0"};
    static const char *const wild[] = {
        "<",  ">",    "&",    "<!",   "</",      "\"",       "'",        "&#x;",   "&#1234567890123;",
        "<?", "\xff", "<pre", "<!--", "<title>", "<script>", "</script", "&rarr;", "translate=no "};
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[600] = "";
        const int is_wild = round % 4 == 3;
        for (uint32_t n = draw(20); n > 0; n--)
            strcat(text, is_wild && draw(3) == 0 ? wild[draw(sizeof wild / sizeof *wild)]
                                                 : bits[draw(sizeof bits / sizeof *bits)]);
        for (int split = DOCUMENT_LINES; split <= DOCUMENT_HTML; split++) {
            document *d = document_open(text, strlen(text), (document_split)split, draw(2) ? "de" : NULL, 1000);
            assert_non_null(d);
            char *joined = join(d, NULL);
            assert_non_null(joined);
            if (split < DOCUMENT_HTML)
                assert_string_equal(joined, text);
            else if (!is_wild) {
                char *tags_before = page_tags(text), *tags_after = page_tags(joined);
                assert_string_equal(tags_before, tags_after);
                free(tags_before);
                free(tags_after);
            }
            free(joined);
            document_close(d);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sentences),   cmocka_unit_test(full_stops),
                                       cmocka_unit_test(breaks),      cmocka_unit_test(pages),
                                       cmocka_unit_test(elements),    cmocka_unit_test(kept_as_written),
                                       cmocka_unit_test(large_pages), cmocka_unit_test(random_documents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
