/* Nonbreaking prefixes: words whose period does not end a sentence.
 *
 * As in sacremoses, NUMERIC_ONLY wins if a word occurs twice.
 * Sections: built-in lists · reading · opening and closing · looking up. */
#include <stdio.h>
#include <string.h>

#include "domain_base.h"
#include "moses.h"
#include "rill/file.h"
#include "utf8.h"
#include "vocabulary.h"

struct rill_prefixes {
    rill_context *ctx;
    rill_vocabulary *always, *numeric_only; /* the words of each kind */
    int ordinals; /* numbers of one or two digits are prefixes too: German ordinals ("am 3. Mai") */
};

/* --- built-in lists ----------------------------------------------------------------------------------------------- */

/* German ordinals are numbers of one or two digits with a period. Abbreviations with a period inside, and those
 * before a lower-case word, need no entry. */
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

static const char *const language_names[] = {[RILL_MOSES_EN] = "en", [RILL_MOSES_DE] = "de", [RILL_MOSES_RU] = "ru"};

int rill_moses_language_find(const char *name, rill_moses_language *out)
{
    const int i = RILL_NAME_INDEX(name, language_names);
    if (i >= 0) *out = (rill_moses_language)i;
    return i >= 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static rill_slice trim_spaces(rill_slice s)
{
    while (s.length > 0 && rill_is_space(*s.data)) s.data++, s.length--;
    while (s.length > 0 && rill_is_space(s.data[s.length - 1])) s.length--;
    return s;
}

/* Add the word of a line, which has spaces around it, and perhaps the mark #NUMERIC_ONLY# after it. */
static rill_status read_line(rill_prefixes *p, rill_slice line)
{
    static const char mark[] = "#NUMERIC_ONLY#";
    const size_t size = sizeof mark - 1;
    const rill_slice word = trim_spaces(line);
    int32_t id;
    if (word.length == 0 || *word.data == '#') return RILL_OK;
    if (word.length <= size + 1 || memcmp(word.data + word.length - size, mark, size) != 0)
        return rill_vocabulary_intern(p->always, word.data, word.length, &id);
    const rill_slice numeric = trim_spaces((rill_slice){word.data, word.length - size});
    return rill_vocabulary_intern(p->numeric_only, numeric.data, numeric.length, &id);
}

static rill_status read_lines(rill_prefixes *p, const char *name, const char *bytes, size_t length)
{
    const size_t good = rill_utf8_check(bytes, length);
    if (good < length) return rill_fail(p->ctx, RILL_ERR_FORMAT, "%s: byte %zu is not UTF-8", name, good + 1);
    TRY(rill_vocabulary_create(&p->always, p->ctx));
    TRY(rill_vocabulary_create(&p->numeric_only, p->ctx));
    for (size_t from = 0, size; from < length; from += size + 1) {
        const char *line = bytes + from, *end = memchr(line, '\n', length - from);
        size = end != NULL ? (size_t)(end - line) : length - from;
        TRY(read_line(p, (rill_slice){line, size}));
    }
    return RILL_OK;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status rill_prefixes_parse(rill_prefixes **out, rill_context *ctx, const char *name, const char *bytes,
                                size_t length)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "nonbreaking prefixes"));
    (*out)->ctx = ctx;
    const rill_status status = read_lines(*out, name, bytes, length);
    if (status == RILL_OK) return RILL_OK;
    rill_prefixes_close(*out);
    *out = NULL;
    return status;
}

rill_status rill_prefixes_open(rill_prefixes **out, rill_context *ctx, const char *directory,
                               rill_moses_language language)
{
    char name[32];
    rill_text path = {.ctx = ctx}, text = {.ctx = ctx};
    *out = NULL;
    if (language == RILL_MOSES_OTHER) language = RILL_MOSES_EN;
    snprintf(name, sizeof name, "nonbreaking_prefix.%s", language_names[language]);
    rill_status status = rill_path_join(&path, directory, name);
    if (status == RILL_OK) status = rill_file_read(&text, path.data, RILL_FILE_TEXT_MAX);
    if (status == RILL_ERR_NOT_FOUND) {
        rill_error_clear(ctx);
        status = rill_prefixes_parse(out, ctx, name, builtin_prefixes[language], strlen(builtin_prefixes[language]));
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
    rill_vocabulary_close(p->always);
    rill_vocabulary_close(p->numeric_only);
    rill_free(p->ctx, p, sizeof *p);
}

/* --- looking up --------------------------------------------------------------------------------------------------- */

rill_prefix_kind rill_prefixes_find(const rill_prefixes *p, const char *word, size_t length)
{
    const int short_number = length == 1   ? rill_is_digit(word[0])
                             : length == 2 ? rill_is_digit(word[0]) && rill_is_digit(word[1])
                                           : 0;
    if (p->ordinals && short_number) return RILL_PREFIX_ALWAYS;
    if (rill_vocabulary_id(p->numeric_only, word, length) >= 0) return RILL_PREFIX_NUMERIC_ONLY;
    return rill_vocabulary_id(p->always, word, length) >= 0 ? RILL_PREFIX_ALWAYS : RILL_PREFIX_NONE;
}
