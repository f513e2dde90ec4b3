/* Nonbreaking prefixes: words whose period does not end a sentence.
 *
 * As in sacremoses, NUMERIC_ONLY wins if a word occurs twice. */
#include <string.h>

#include "moses.h"
#include "rill/file.h"
#include "vocabulary.h"

struct rill_prefixes {
    rill_context *ctx;
    rill_vocabulary *always, *numeric_only; /* words of each kind of prefix */
    int ordinals; /* numbers of one or two digits are prefixes too: German ordinals ("am 3. Mai") */
};

/* --- built-in lists ----------------------------------------------------------------------------------------------- */

/* Not listed: German ordinals (one or two digits), abbreviations with a period inside, and those before a lower-case word. */
static const rill_embedded_file builtin_prefixes[] = {
#include "nonbreaking_prefixes.h"
};

static const char *const language_names[] = {[RILL_MOSES_EN] = "en", [RILL_MOSES_DE] = "de", [RILL_MOSES_RU] = "ru"};

int rill_moses_language_find(const char *name, rill_moses_language *out)
{
    const int i = RILL_NAME_INDEX(name, language_names);
    if (i >= 0) *out = (rill_moses_language)i;
    return i >= 0;
}

/* --- reading the list --------------------------------------------------------------------------------------------- */

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
    for (rill_slice rest = {bytes, length}, line; rest.length > 0;) {
        rill_slice_cut(&rest, '\n', &line);
        TRY(read_line(p, line));
    }
    return RILL_OK;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status rill_prefixes_parse(rill_prefixes **out, rill_context *ctx, const char *name, const char *bytes,
                                size_t length)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "nonbreaking prefixes"));
    (*out)->ctx = ctx;
    return RILL_OPENED(read_lines(*out, name, bytes, length), out, rill_prefixes_close);
}

rill_status rill_prefixes_open(rill_prefixes **out, rill_context *ctx, const char *directory,
                               rill_moses_language language)
{
    const rill_embedded_file *builtin = &builtin_prefixes[language != RILL_MOSES_OTHER ? language : RILL_MOSES_EN];
    SCOPED(rill_text_clear) rill_text path = {.ctx = ctx}, text = {.ctx = ctx};
    *out = NULL;
    TRY(rill_path_join(&path, directory, builtin->name));
    const rill_status status = rill_file_read(&text, path.data, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) return rill_prefixes_parse(out, ctx, path.data, text.data, text.length);
    if (status != RILL_ERR_NOT_FOUND) return status;
    rill_error_clear(ctx);
    TRY(rill_prefixes_parse(out, ctx, builtin->name, builtin->text, builtin->length));
    (*out)->ordinals = language == RILL_MOSES_DE;
    return RILL_OK;
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
