/* Nonbreaking prefixes: words whose period does not end a sentence; see moses.h.
 *
 * Invariant: entries are sorted by their bytes. If a word occurs twice, the NUMERIC_ONLY entry is first, and lookups find
 * it, as in sacremoses.
 *
 * Sections: built-in lists · reading · opening and closing · looking up. */
#include <stdlib.h>
#include <string.h>

#include "domain_base.h"
#include "moses.h"
#include "rill/file.h"
#include "utf8.h"

typedef struct entry {
    const char *word; /* [length]; points into a copy of the file in the arena */
    size_t length;
    int numeric;
} entry;

struct rill_prefixes {
    rill_arena arena;
    entry *entry; /* [count] */
    size_t count;
    int ordinals; /* numbers of one or two digits are prefixes too: German ordinals ("am 3. Mai") */
};

/* --- built-in lists ----------------------------------------------------------------------------------------------- */

/* Titles, companies, months, addresses, units, common abbreviations, and initials. In German a number of one or two
 * digits with a period is an ordinal. Abbreviations with a period inside (z.B., e.g.) and those before a lower-case
 * word need no entry. */
static const char *const builtin_prefixes[] = {
    [RILL_MOSES_EN] =
        "A\nB\nC\nD\nE\nF\nG\nH\nI\nJ\nK\nL\nM\nN\nO\nP\nQ\nR\nS\nT\nU\nV\nW\nX\nY\nZ\n"
        "Mr\nMrs\nMs\nMx\nDr\nProf\nRev\nFr\nHon\nSt\nJr\nSr\nMessrs\nMme\nMlle\n"
        "Gen\nCol\nMaj\nCapt\nCmdr\nLt\nSgt\nCpl\nPvt\nAdm\nGov\nSen\nRep\nPres\nSupt\nInsp\n"
        "Inc\nLtd\nCorp\nCo\nBros\nvs\nv\n"
        "Jan\nFeb\nMar\nApr\nJun\nJul\nAug\nSep\nSept\nOct\nNov\nDec\n"
        "No #NUMERIC_ONLY#\nNos #NUMERIC_ONLY#\nArt #NUMERIC_ONLY#\nFig #NUMERIC_ONLY#\nVol #NUMERIC_ONLY#\n"
        "p #NUMERIC_ONLY#\npp #NUMERIC_ONLY#\n",
    [RILL_MOSES_DE] =
        "A\nB\nC\nD\nE\nF\nG\nH\nI\nJ\nK\nL\nM\nN\nO\nP\nQ\nR\nS\nT\nU\nV\nW\nX\nY\nZ\nÄ\nÖ\nÜ\n"
        "Hr\nHrn\nFr\nFrl\nDr\nProf\nDipl\nIng\nMag\nSt\nJr\nSr\nMr\nMrs\nMs\nKard\nGen\nOberst\n"
        "Nr\nStr\nTel\nAbs\nArt\nBd\nKap\nAbb\nAnm\nZiff\nJh\nMio\nMrd\nStd\nMin\nSek\n"
        "bzw\nca\nevtl\nggf\ninkl\nexkl\ninsb\nsog\nusw\nvgl\nbspw\nlt\ngem\ngeb\ngest\nu\nv\nz\nd\nh\ns\no\na\n"
        "Jan\nFeb\nApr\nJun\nJul\nAug\nSep\nSept\nOkt\nNov\nDez\n"
        "I\nII\nIII\nIV\nVI\nVII\nVIII\nIX\nXI\nXII\n",
    [RILL_MOSES_RU] = "А\nБ\nВ\nГ\nД\nЕ\nЁ\nЖ\nЗ\nИ\nЙ\nК\nЛ\nМ\nН\nО\nП\nР\nС\nТ\nУ\nФ\nХ\nЦ\nЧ\nШ\nЩ\nЭ\nЮ\nЯ\n"
                      "A\nB\nC\nD\nE\nF\nG\nH\nI\nJ\nK\nL\nM\nN\nO\nP\nQ\nR\nS\nT\nU\nV\nW\nX\nY\nZ\n"
                      "г\nгг\nв\nвв\nс\nстр\nул\nпр\nпл\nпер\nд\nкв\nкорп\nобл\nим\nакад\nпроф\nдоц\nген\nкап\nтов\n"
                      "руб\nкоп\nтыс\nмлн\nмлрд\nмм\nсм\nкм\nкг\nсек\nмин\nчас\nтел\nт\nн\nэ\nдр\nнапр\nрис\nтабл\n"
                      "Mr\nMrs\nDr\nSt\n",
};

int rill_moses_language_find(const char *name, rill_moses_language *out)
{
    static const char *const names[] = {[RILL_MOSES_EN] = "en", [RILL_MOSES_DE] = "de", [RILL_MOSES_RU] = "ru"};
    const int i = RILL_SLICE_INDEX(((rill_slice){name, strlen(name)}), names);
    if (i >= 0) *out = (rill_moses_language)i;
    return i >= 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Make an entry of a line: trim it, and cut off the mark #NUMERIC_ONLY#. */
static entry read_line(const char *line, size_t length)
{
    static const char mark[] = "#NUMERIC_ONLY#";
    const size_t size = sizeof mark - 1;
    entry e = {.word = line, .length = length};
    while (e.length > 0 && is_space(*e.word)) e.word++, e.length--;
    while (e.length > 0 && is_space(e.word[e.length - 1])) e.length--;
    e.numeric = e.length > size + 1 && memcmp(e.word + e.length - size, mark, size) == 0;
    if (e.numeric) e.length -= size;
    while (e.numeric && e.length > 0 && is_space(e.word[e.length - 1])) e.length--;
    return e;
}

static int compare(const void *a_entry, const void *b_entry)
{
    const entry *a = a_entry, *b = b_entry;
    int order = memcmp(a->word, b->word, a->length < b->length ? a->length : b->length);
    if (order != 0) return order;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return b->numeric - a->numeric;
}

static rill_status read_entries(rill_prefixes *p, const char *bytes, size_t length)
{
    size_t lines = 1;
    char *text;
    for (size_t i = 0; i < length; i++) lines += bytes[i] == '\n';
    TRY(rill_arena_alloc(&p->arena, &text, length + 1, 1, "nonbreaking prefixes"));
    TRY(rill_arena_alloc(&p->arena, &p->entry, lines, sizeof *p->entry, "nonbreaking prefixes"));
    if (length > 0) memcpy(text, bytes, length);
    for (size_t from = 0; from < length;) {
        const char *end = memchr(text + from, '\n', length - from);
        size_t size = end != NULL ? (size_t)(end - text) - from : length - from;
        entry e = read_line(text + from, size);
        if (e.length > 0 && *e.word != '#') p->entry[p->count++] = e;
        from += size + 1;
    }
    qsort(p->entry, p->count, sizeof *p->entry, compare);
    return RILL_OK;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status rill_prefixes_parse(rill_prefixes **out, rill_context *ctx, const char *name, const char *bytes,
                                size_t length)
{
    *out = NULL;
    size_t good = rill_utf8_check(bytes, length);
    if (good < length) return rill_fail(ctx, RILL_ERR_FORMAT, "%s: byte %zu is not UTF-8", name, good + 1);
    rill_prefixes *p = rill_calloc(ctx, 1, sizeof *p);
    if (p == NULL) return rill_fail_memory(ctx, sizeof *p, "nonbreaking prefixes");
    p->arena.ctx = ctx;
    rill_status status = read_entries(p, bytes, length);
    if (status == RILL_OK)
        *out = p;
    else
        rill_prefixes_close(p);
    return status;
}

rill_status rill_prefixes_open(rill_prefixes **out, rill_context *ctx, const char *directory,
                               rill_moses_language language)
{
    static const char *const names[] = {[RILL_MOSES_EN] = "nonbreaking_prefix.en",
                                        [RILL_MOSES_DE] = "nonbreaking_prefix.de",
                                        [RILL_MOSES_RU] = "nonbreaking_prefix.ru"};
    rill_text path = {.ctx = ctx}, text = {.ctx = ctx};
    *out = NULL;
    rill_status status = rill_path_join(&path, directory, names[language]);
    if (status == RILL_OK) status = rill_file_read(&text, path.data, RILL_FILE_TEXT_MAX);
    if (status == RILL_ERR_NOT_FOUND) {
        rill_error_clear(ctx);
        status = rill_prefixes_parse(out, ctx, names[language], builtin_prefixes[language],
                                     strlen(builtin_prefixes[language]));
        if (status == RILL_OK) (*out)->ordinals = language == RILL_MOSES_DE;
    } else if (status == RILL_OK) {
        status = rill_prefixes_parse(out, ctx, path.data, text.data, text.length);
    }
    rill_text_clear(&text);
    rill_text_clear(&path);
    return status;
}

void rill_prefixes_close(rill_prefixes *p)
{
    if (p == NULL) return;
    rill_context *ctx = p->arena.ctx;
    rill_arena_clear(&p->arena);
    rill_free(ctx, p, sizeof *p);
}

/* --- looking up --------------------------------------------------------------------------------------------------- */

rill_prefix_kind rill_prefixes_find(const rill_prefixes *p, const char *word, size_t length)
{
    const int short_number = length == 1   ? rill_is_digit(word[0])
                             : length == 2 ? rill_is_digit(word[0]) && rill_is_digit(word[1])
                                           : 0;
    if (p->ordinals && short_number) return RILL_PREFIX_ALWAYS;
    for (int numeric = 1; numeric >= 0; numeric--) {
        const entry key = {.word = word, .length = length, .numeric = numeric};
        if (p->count > 0 && bsearch(&key, p->entry, p->count, sizeof key, compare) != NULL)
            return numeric ? RILL_PREFIX_NUMERIC_ONLY : RILL_PREFIX_ALWAYS;
    }
    return RILL_PREFIX_NONE;
}
