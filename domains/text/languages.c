/* Languages of a multilingual model: tokens, names for users, and the languages of an input. */
#include <stdio.h>
#include <string.h>

#include "family.h"

/* --- names of languages ------------------------------------------------------------------------------------------- */

/* Returns 1 for two or three lower-case letters, _, and a script ("Latn") or, if `script` is 0, a region ("XX"). */
static int is_code(const char *token, size_t length, int script)
{
    size_t pos = 0;
    while (pos < length && rill_is_lower(token[pos])) pos++;
    if (pos < 2 || pos > 3 || length != pos + (script ? 5 : 3) || token[pos] != '_') return 0;
    if (!script) return rill_is_upper(token[pos + 1]) && rill_is_upper(token[pos + 2]);
    return rill_is_upper(token[pos + 1]) && rill_is_lower(token[pos + 2]) && rill_is_lower(token[pos + 3]) &&
           rill_is_lower(token[pos + 4]);
}

/* Set *name to the text between the affixes. Returns 0 if an affix is missing, or if *name has other characters than letters, - and _. */
static int strip_affixes(const char *token, size_t length, const char *prefix, const char *suffix, rill_slice *name)
{
    const size_t prefix_length = strlen(prefix), suffix_length = strlen(suffix);
    if (length <= prefix_length + suffix_length || memcmp(token, prefix, prefix_length) != 0) return 0;
    if (memcmp(token + length - suffix_length, suffix, suffix_length) != 0) return 0;
    *name = (rill_slice){token + prefix_length, length - prefix_length - suffix_length};
    for (size_t i = 0; i < name->length; i++)
        if (!rill_is_lower(name->data[i]) && !rill_is_upper(name->data[i]) && name->data[i] != '_' &&
            name->data[i] != '-')
            return 0;
    return 1;
}

int rill_language_token_name(rill_language_form form, const char *token, size_t length, rill_slice *name)
{
    *name = (rill_slice){token, length};
    switch (form) {
    case RILL_LANGUAGES_FLORES: return is_code(token, length, 1);
    case RILL_LANGUAGES_MBART: return is_code(token, length, 0);
    case RILL_LANGUAGES_M2M: return strip_affixes(token, length, "__", "__", name);
    case RILL_LANGUAGES_TAGS: return strip_affixes(token, length, "<2", ">", name);
    default: return 0;
    }
}

/* --- finding languages -------------------------------------------------------------------------------------------- */

/* Languages are added tokens; tags such as <2de> are base tokens. */
static rill_status find_all_languages(rill_family_tokenizer *t)
{
    const int added = t->family.language_form != RILL_LANGUAGES_TAGS;
    for (int32_t id = 0; id < rill_vocabulary_count(t->tokens.vocabulary); id++) {
        size_t length;
        rill_slice name;
        const char *copy, *token = rill_vocabulary_token(t->tokens.vocabulary, id, &length);
        if (!rill_language_token_name(t->family.language_form, token, length, &name)) continue;
        if (added && rill_token_set_flags(&t->tokens, id) < 0) continue;
        TRY(rill_arena_copy(&t->arena, name.data, name.length, "languages", &copy));
        const rill_language language = {copy, id};
        PUSH(&t->arena, t->language, t->n_languages, language, "languages");
    }
    if (t->n_languages == 0) return RILL_OK;
    TRY(rill_arena_alloc(&t->arena, &t->language_names, t->n_languages + 1, sizeof *t->language_names, "languages"));
    for (size_t i = 0; i < t->n_languages; i++) t->language_names[i] = t->language[i].name;
    t->language_names[t->n_languages] = NULL;
    return RILL_OK;
}

/* Find a language by its name or its token. Returns the id of the token, or -1 if there is none. */
static int32_t find_language(const rill_family_tokenizer *t, rill_slice word)
{
    for (size_t i = 0; i < t->n_languages; i++) {
        const char *token = rill_vocabulary_token(t->tokens.vocabulary, t->language[i].id, NULL);
        if (rill_slice_is(word, t->language[i].name) || rill_slice_is(word, token)) return t->language[i].id;
    }
    return -1;
}

/* --- default languages -------------------------------------------------------------------------------------------- */

static int reads_source(const rill_family_tokenizer *t)
{
    return t->family.prefix == RILL_EXTRA_SOURCE_LANGUAGE || t->family.suffix == RILL_EXTRA_SOURCE_LANGUAGE;
}

/* Returns 1 if outputs of this model cannot start without a target language. */
static int needs_target(const rill_family_tokenizer *t)
{
    return t->n_languages > 0 && t->family.language_form != RILL_LANGUAGES_TAGS;
}

/* Look up a language by name. Errors suggest the most similar one. what: the option or column with the name. */
static rill_status read_language(const rill_family_tokenizer *t, rill_context *ctx, rill_status status,
                                 const char *what, rill_slice word, int32_t *id)
{
    enum { N_SHOWN = 6 };
    char some[160] = "", asked[64];
    const int32_t found = find_language(t, word);
    if (found >= 0) *id = found;
    if (found >= 0) return RILL_OK;
    snprintf(asked, sizeof asked, "%.*s", (int)(word.length < 60 ? word.length : 60), word.data);
    const char *near = rill_nearest(asked, t->language_names, t->n_languages);
    for (size_t i = 0, used = 0; i < t->n_languages && i < N_SHOWN && used < sizeof some; i++)
        used += (size_t)snprintf(some + used, sizeof some - used, "%s%s", i > 0 ? ", " : "", t->language_names[i]);
    return rill_fail(ctx, status, "%s: unknown language \"%s\"; the model's %zu languages are %s%s%s%s%s", what, asked,
                     t->n_languages, some, t->n_languages > N_SHOWN ? ", ..." : "",
                     near != NULL ? "; did you mean \"" : "", near != NULL ? near : "", near != NULL ? "\"?" : "");
}

static rill_status read_option(const rill_family_tokenizer *t, rill_context *ctx, const char *option, const char *value,
                               int32_t *id)
{
    if (value == NULL) return RILL_OK;
    if (t->n_languages == 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: the model is not multilingual: it has no language tokens", option);
    return read_language(t, ctx, RILL_ERR_OPTION, option, (rill_slice){value, strlen(value)}, id);
}

/* Returns -1 if the model lacks the language, e.g. the "en" that transformers writes by default. */
static int32_t config_language(const rill_family_tokenizer *t, const rill_tokenizer_config *config, const char *key)
{
    const char *text = rill_tokenizer_config_string(config, key);
    return text != NULL ? find_language(t, (rill_slice){text, strlen(text)}) : -1;
}

/* Returns config.json's decoder_start_token_id if it is the id of a language token; else -1. */
static int32_t start_language(const rill_family_tokenizer *t, const rill_tokenizer_files *files)
{
    for (size_t i = 0; i < t->n_languages; i++)
        if (t->family.target == RILL_TARGET_DECODER_START && t->language[i].id == files->decoder_start)
            return files->decoder_start;
    return -1;
}

/* A missing target language is an error, because the model could output any language. */
rill_status rill_languages_check(const rill_family_tokenizer *t, rill_context *ctx)
{
    const int source = reads_source(t) && t->default_languages.source < 0;
    const int target = t->default_languages.target < 0 &&
                       (t->forced_bos < 0 || t->family.target != RILL_TARGET_FORCED_BOS);
    if (!needs_target(t) || t->language_columns || (!source && !target)) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_OPTION,
                     "%s: the model has %zu languages, such as %s and %s: set %s%s%s, or write inputs as "
                     "SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT and set language-columns",
                     t->directory, t->n_languages, t->language_names[0], t->language_names[t->n_languages - 1],
                     source ? "source-lang to the language of the inputs" : "", source && target ? " and " : "",
                     target ? "target-lang to the language of the outputs" : "");
}

rill_status rill_languages_open(rill_family_tokenizer *t, rill_context *ctx, const rill_tokenizer_config *config,
                                const rill_tokenizer_files *files)
{
    TRY(find_all_languages(t));
    t->default_languages = (rill_language_pair){config_language(t, config, "src_lang"),
                                                config_language(t, config, "tgt_lang")};
    if (t->family.language_form == RILL_LANGUAGES_TAGS) t->default_languages = (rill_language_pair){-1, -1};
    if (t->default_languages.target < 0) t->default_languages.target = start_language(t, files);
    if (t->family.target == RILL_TARGET_FORCED_BOS && files->forced_bos >= 0) t->default_languages.target = -1;
    TRY(read_option(t, ctx, "source-lang", files->source_language, &t->default_languages.source));
    if (files->source_language != NULL && !reads_source(t))
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "source-lang: this model has no language token for inputs: leave it out");
    TRY(read_option(t, ctx, "target-lang", files->target_language, &t->default_languages.target));
    if (t->language_columns && t->n_languages == 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "language-columns: the model is not multilingual");
    return RILL_OK;
}

/* --- language columns of an input --------------------------------------------------------------------------------- */

/* Set *out to the trimmed text before the first tab, and move past the tab. Returns 0 without a tab. */
static int take_column(const char **bytes, size_t *length, rill_slice *out)
{
    const char *tab = memchr(*bytes, '\t', *length);
    if (tab == NULL) return 0;
    const rill_slice column = {*bytes, (size_t)(tab - *bytes)};
    rill_slice remaining = column;
    *out = rill_next_word(&remaining);
    /* several words are no language: keep the whole column for the error message */
    if (out->length > 0 && rill_next_word(&remaining).length > 0) *out = column;
    *length -= column.length + 1;
    *bytes = tab + 1;
    return 1;
}

rill_status rill_languages_for_input(const rill_family_tokenizer *t, rill_context *ctx, const char **bytes,
                                     size_t *length, rill_language_pair *turn)
{
    rill_slice source, target;
    *turn = t->default_languages;
    if (!t->language_columns || *bytes == NULL) return RILL_OK;
    if (!take_column(bytes, length, &source) || !take_column(bytes, length, &target))
        return rill_fail(ctx, RILL_ERR_INPUT,
                         "expected SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT, because language-columns is set");
    if (source.length > 0) TRY(read_language(t, ctx, RILL_ERR_INPUT, "the first column", source, &turn->source));
    if (target.length > 0) TRY(read_language(t, ctx, RILL_ERR_INPUT, "the second column", target, &turn->target));
    if (needs_target(t) && reads_source(t) && turn->source < 0)
        return rill_fail(ctx, RILL_ERR_INPUT, "the first column is empty, and source-lang is not set");
    if (needs_target(t) && turn->target < 0 && (t->forced_bos < 0 || t->family.target != RILL_TARGET_FORCED_BOS))
        return rill_fail(ctx, RILL_ERR_INPUT, "the second column is empty, and target-lang is not set");
    return RILL_OK;
}

/* Length in bytes of T5's task prefix: "translate German to English: " or "<2en> "; 0: none. */
static size_t task_length(const char *bytes, size_t length)
{
    enum { MAX_TASK_BYTES = 80 };
    const size_t max_bytes = length < MAX_TASK_BYTES ? length : MAX_TASK_BYTES;
    const int named = max_bytes > 10 && memcmp(bytes, "translate ", 10) == 0;
    if (!named && (max_bytes < 5 || memcmp(bytes, "<2", 2) != 0)) return 0;
    const char *end = memchr(bytes, named ? ':' : '>', max_bytes);
    size_t n = end != NULL ? (size_t)(end - bytes) + 1 : 0;
    while (n > 0 && n < length && bytes[n] == ' ') n++;
    return n;
}

int rill_family_is_translation(const rill_family_tokenizer *t, const char *bytes, size_t length, size_t *head)
{
    rill_slice column;
    const char *rest_bytes = bytes;
    size_t rest = length;
    if (t->family.language_form == RILL_LANGUAGES_NONE) return -1;
    if (t->language_columns) {
        if (length == 0 || !take_column(&rest_bytes, &rest, &column) || !take_column(&rest_bytes, &rest, &column))
            return 0;
        *head = length - rest;
    } else if (t->family.language_form == RILL_LANGUAGES_TAGS && t->default_languages.target < 0) {
        *head = task_length(bytes, length);
        return *head > 0;
    }
    return 1;
}
