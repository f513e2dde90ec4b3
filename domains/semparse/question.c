/* Questions: from a line to tokens and mentions, and back.
 *
 * One pass replaces the longest match at each input token: a name by its placeholder, a rewrite by its words. Other tokens are stemmed. */
#include <inttypes.h>
#include <libstemmer.h>
#include <stdio.h>
#include <string.h>

#include "question.h"

/* maximum bytes of a token that is stemmed; longer tokens are no English words */
enum { STEM_LIMIT = 64 };

/* --- output tokens ------------------------------------------------------------------------------------------------ */

static rill_status append_token(rill_question *question, const char *data, size_t length, int32_t type, int32_t word)
{
    const rill__output_token item = {.type = type, .word = word, .offset = question->out.length, .length = length};
    TRY(rill_text_append(&question->out, data, length));
    PUSH(&question->arena, question->items, question->item_count, item, "tokens of a question");
    return RILL_OK;
}

/* Append a plain token. Its apostrophes are dropped and it is stemmed, as the lexicon's directives say. */
static rill_status append_plain_token(rill_question *question, const char *data, size_t length, int32_t word)
{
    char bare[STEM_LIMIT];
    if (question->lexicon && !question->lexicon->keep_apostrophe && length <= sizeof bare) {
        data = memcpy(bare, data, length);
        length = rill__drop_character(bare, length, '\'');
    }
    if (!question->stemmer || length > STEM_LIMIT) return append_token(question, data, length, RILL__NONE, word);
    const sb_symbol *stem = sb_stemmer_stem(question->stemmer, (const sb_symbol *)data, (int)length);
    if (!stem) return rill_fail_memory(question->ctx, length, "stem of a word");
    size_t stem_length = (size_t)sb_stemmer_length(question->stemmer);
    return append_token(question, (const char *)stem, stem_length, RILL__NONE, word);
}

/* Make the array of token slices that rill_question_prepare() returns. */
static rill_status make_token_slices(rill_question *question, const rill_slice **tokens, size_t *count)
{
    TRY(GROW(&question->arena, question->tokens, question->item_count + 1, "tokens of a question"));
    for (size_t i = 0; i < question->item_count; i++)
        question->tokens[i] = (rill_slice){question->out.data + question->items[i].offset, question->items[i].length};
    *tokens = question->tokens;
    *count = question->item_count;
    return RILL_OK;
}

/* --- constants mentioned in a question ---------------------------------------------------------------------------- */

rill_slice rill_mentions_constant(const rill_mentions *mentions, const char *token, size_t length)
{
    for (size_t i = 0; i < mentions->count; i++) {
        const struct rill_mention *mention = &mentions->entries[i];
        if (mention->placeholder_length == length &&
            memcmp(mentions->bytes.data + mention->placeholder, token, length) == 0)
            return (rill_slice){mentions->bytes.data + mention->constant, mention->constant_length};
    }
    return (rill_slice){token, length};
}

void rill_mentions_clear(rill_mentions *mentions)
{
    rill_context *ctx = mentions->bytes.ctx;
    rill_arena_clear(&mentions->arena);
    rill_text_clear(&mentions->bytes);
    *mentions = (rill_mentions){.bytes = {.ctx = ctx}};
}

static rill_status add_mention(rill_mentions *mentions, const char *placeholder, size_t placeholder_length,
                               rill_slice constant)
{
    const size_t offset = mentions->bytes.length;
    const struct rill_mention mention = {offset, placeholder_length, offset + placeholder_length, constant.length};
    mentions->arena.ctx = mentions->bytes.ctx;
    TRY(rill_text_append(&mentions->bytes, placeholder, placeholder_length));
    TRY(rill_text_append(&mentions->bytes, constant.data, constant.length));
    PUSH(&mentions->arena, mentions->entries, mentions->count, mention, "mentions of a question");
    return RILL_OK;
}

/* --- placeholders ------------------------------------------------------------------------------------------------- */

/* Return the type of a placeholder that the user typed, and its *number; else RILL__NONE. A word of the lexicon is no placeholder:
 * "do8" is an aircraft. */
static int32_t literal_placeholder(const rill_question *question, const rill__raw_token *raw, int64_t *number)
{
    if (raw->word != RILL__NONE) return RILL__NONE;
    return rill__lexicon_placeholder(question->lexicon, question->raw_bytes + raw->offset, raw->length, number);
}

/* For a new line, restart the numbering of each type's placeholders after the numbers that the user typed literally in the line. */
static rill_status reset_numbering(rill_question *question)
{
    size_t types = question->lexicon->type_count;
    TRY(GROW(&question->arena, question->next_numbers, types + 1, "numbers of placeholders"));
    TRY(rill_vocabulary_reset(question->constants));
    for (size_t i = 0; i < types; i++) question->next_numbers[i] = 0;
    for (size_t i = 0; i < question->raw_count; i++) {
        int64_t number;
        int32_t type = literal_placeholder(question, &question->raw[i], &number);
        if (type != RILL__NONE && number >= question->next_numbers[type]) question->next_numbers[type] = number + 1;
    }
    return RILL_OK;
}

/* Append the placeholder of the type and constant in question->scratch: a new one for a new constant. */
static rill_status append_placeholder(rill_question *question, int32_t type, rill_mentions *mentions)
{
    const rill_text *key = &question->scratch;
    const rill_slice constant = {key->data + sizeof type, key->length - sizeof type};
    int32_t mention;
    TRY(rill_vocabulary_intern(question->constants, key->data, key->length, &mention));
    if ((size_t)mention < mentions->count) {
        const struct rill_mention *old = &mentions->entries[mention];
        return append_token(question, mentions->bytes.data + old->placeholder, old->placeholder_length, type,
                            RILL__NONE);
    }
    char name[128];
    const rill__type *kind = &question->lexicon->types[type];
    int written = kind->unnumbered ? snprintf(name, sizeof name, "%.*s", (int)kind->name.length, kind->name.data)
                                   : snprintf(name, sizeof name, "%.*s%" PRId64, (int)kind->name.length,
                                              kind->name.data, question->next_numbers[type]++);
    TRY(add_mention(mentions, name, (size_t)written, constant));
    return append_token(question, name, (size_t)written, type, RILL__NONE);
}

/* Append a rule's value to question->scratch: a number, or input tokens joined by '_'. `end`: first input token after the match. */
static rill_status append_value(rill_question *question, const rill__rule *rule, const rill__match *found, size_t end)
{
    rill_text *out = &question->scratch;
    if (!found->value_length) {
        const int64_t value = rule->slot == RILL__SLOT_AM   ? found->value_am
                              : rule->slot == RILL__SLOT_PM ? found->value_pm
                                                            : found->value;
        return rill_text_printf(out, "%" PRId64, value);
    }
    for (size_t i = found->value_raw; i < found->value_raw + found->value_length; i++) {
        const rill__raw_token *raw = &question->raw[i];
        if (i > found->value_raw) TRY(rill_text_append(out, "_", 1));
        TRY(rill_text_append(out, question->raw_bytes + raw->offset,
                             found->has_possessive && i + 1 == end ? raw->length - 2 : raw->length));
    }
    return RILL_OK;
}

/* Write the type, as the bytes of its number, and the constant of the match at input token `first` to question->scratch. */
static rill_status make_constant(rill_question *question, size_t first, const rill__match *found, int32_t type)
{
    const rill_lexicon *lexicon = question->lexicon;
    rill_text *out = &question->scratch;
    rill_text_reset(out);
    TRY(rill_text_append(out, (const char *)&type, sizeof type));
    if (found->candidate != RILL__NONE) {
        rill_slice text = lexicon->candidates[found->candidate].text;
        return rill_text_append(out, text.data, text.length);
    }
    const rill__rule *rule = &lexicon->rules[found->rule];
    TRY(rill_text_append(out, rule->prefix.data, rule->prefix.length));
    if (rule->slot != RILL__SLOT_NONE) TRY(append_value(question, rule, found, first + found->length));
    return rill_text_append(out, rule->suffix.data, rule->suffix.length);
}

/* --- replacing matches -------------------------------------------------------------------------------------------- */

static rill_status append_rewrite(rill_question *question, rill_slice text)
{
    for (rill_slice word; (word = rill_next_word(&text)).length > 0;)
        TRY(append_plain_token(question, word.data, word.length,
                               rill_vocabulary_id(question->lexicon->words, word.data, word.length)));
    return RILL_OK;
}

/* Append an input token that no name, rewrite or rule matches. */
static rill_status append_raw_token(rill_question *question, size_t index)
{
    const rill__raw_token *raw = &question->raw[index];
    TRY(append_plain_token(question, question->raw_bytes + raw->offset, raw->length, raw->word));
    question->items[question->item_count - 1].raw_plus_1 = index + 1;
    return RILL_OK;
}

static rill_status append_match(rill_question *question, size_t index, const rill__match *found,
                                rill_mentions *mentions)
{
    const rill_lexicon *lexicon = question->lexicon;
    int32_t type = found->candidate != RILL__NONE ? lexicon->candidates[found->candidate].type
                                                  : lexicon->rules[found->rule].type;
    if (type == RILL__NONE) return append_rewrite(question, lexicon->candidates[found->candidate].text);
    TRY(make_constant(question, index, found, type));
    TRY(append_placeholder(question, type, mentions));
    if (!found->has_possessive || !lexicon->keep_possessive) return RILL_OK;
    return append_token(question, "'s", 2, RILL__NONE, rill_vocabulary_id(lexicon->words, "'s", 2));
}

static rill_status replace_matches(rill_question *question, rill_mentions *mentions)
{
    TRY(reset_numbering(question));
    for (size_t i = 0; i < question->raw_count;) {
        const rill__raw_token *raw = &question->raw[i];
        const char *data = question->raw_bytes + raw->offset;
        int64_t number;
        int32_t literal = literal_placeholder(question, raw, &number);
        rill__match found = {.length = 0};
        if (literal == RILL__NONE) found = rill__question_match(question, i);
        if (literal != RILL__NONE)
            TRY(append_token(question, data, raw->length, literal, RILL__NONE));
        else if (found.length)
            TRY(append_match(question, i, &found, mentions));
        else
            TRY(append_raw_token(question, i));
        i += found.length ? found.length : 1;
    }
    return RILL_OK;
}

static rill_status split_at_spaces(rill_question *question, const char *line, size_t length)
{
    size_t start = 0;
    for (size_t pos = 0; pos <= length; pos++) {
        int is_separator = pos == length || (unsigned char)line[pos] <= ' ' || line[pos] == 0x7f;
        if (!is_separator) continue;
        if (pos > start) TRY(append_token(question, line + start, pos - start, RILL__NONE, RILL__NONE));
        start = pos + 1;
    }
    return RILL_OK;
}

static rill_status make_items(rill_question *question, int tokenized, rill_mentions *mentions)
{
    if (tokenized) return split_at_spaces(question, question->line, question->line_length);
    TRY(rill__question_split(question));
    if (question->lexicon) return replace_matches(question, mentions);
    for (size_t i = 0; i < question->raw_count; i++) TRY(append_raw_token(question, i));
    return RILL_OK;
}

rill_status rill_question_prepare(rill_question *question, const char *line, size_t length, int tokenized,
                                  const rill_slice **tokens, size_t *count, rill_mentions *mentions)
{
    *tokens = NULL;
    *count = mentions->count = question->item_count = question->raw_count = 0;
    rill_text_reset(&mentions->bytes);
    rill_text_reset(&question->out);
    question->line = line;
    question->line_length = length;
    size_t bad = rill_utf8_check(line, length);
    if (bad < length)
        return rill_fail(question->ctx, RILL_ERR_INPUT, "the line is not UTF-8 at byte %zu (0x%02x)", bad + 1,
                         (unsigned char)line[bad]);
    rill_status status = make_items(question, tokenized, mentions);
    if (status == RILL_OK) status = make_token_slices(question, tokens, count);
    if (status != RILL_OK) mentions->count = 0;
    return status;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status rill_question_open(rill_context *ctx, const rill_lexicon *lexicon, rill_question **out)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "question"));
    rill_question *question = *out;
    question->ctx = question->arena.ctx = question->out.ctx = question->scratch.ctx = ctx;
    question->lexicon = lexicon;
    if (lexicon && lexicon->stem) question->stemmer = sb_stemmer_new("english", "UTF_8");
    const int lacks_stemmer = lexicon && lexicon->stem && !question->stemmer;
    return RILL_OPENED(lacks_stemmer ? rill_fail_memory(ctx, sizeof(void *), "stemmer")
                                     : rill_vocabulary_create(&question->constants, ctx),
                       out, rill_question_close);
}

void rill_question_close(rill_question *question)
{
    if (!question) return;
    rill_context *ctx = question->ctx;
    if (question->stemmer) sb_stemmer_delete(question->stemmer);
    rill_vocabulary_close(question->constants);
    rill_arena_clear(&question->arena);
    rill_text_clear(&question->out);
    rill_text_clear(&question->scratch);
    rill_free(ctx, question, sizeof *question);
}
