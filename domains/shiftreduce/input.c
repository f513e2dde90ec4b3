/* From a line to a sentence: a tree's words and tags, tokens with their tags, or text.
 *
 * Which of the three a line is, the option says; or the line itself: one that begins with "(" is a tree, one whose tokens all look
 * like word_TAG has tags, and what is left is text.
 * Divisions: forms · trees · tokens · the line. */
#include <string.h>

#include "model.h"
#include "penn.h"
#include "utf8.h"

/* --- forms ------------------------------------------------------------------------------------------------------- */

/* Where the tag of word_TAG begins, behind the last "_"; 0 when there is none, or no word before it. */
static size_t tag_of(rill_slice token)
{
    size_t at = token.length;
    while (at > 0 && token.data[at - 1] != '_') at--;
    return at > 1 && at < token.length ? at : 0;
}

/* Does it end in what may be a tag? No tag of any treebank has small letters or digits, most words of text have nothing else. */
static int looks_tagged(rill_slice token)
{
    const size_t at = tag_of(token);
    for (size_t i = at; i < token.length; i++) {
        const char c = token.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80) return 0;
    }
    return at > 0;
}

static parser_form form_of(const char *text, size_t length)
{
    rill_slice left = {text, length}, token = rill_next_word(&left);
    if (token.length == 0) return FORM_TEXT;
    if (token.data[0] == '(') return FORM_TREE;
    for (; token.length > 0; token = rill_next_word(&left))
        if (!looks_tagged(token)) return FORM_TEXT;
    return FORM_TAGGED;
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

static rill_status find_tag(parser_runner *r, rill_slice tag, int32_t word, int32_t *out)
{
    *out = rill_vocabulary_id(r->model->tag, tag.data, tag.length);
    if (*out > PARSER_NO_TAG) return RILL_OK;
    return rill_fail(r->ctx, RILL_ERR_INPUT, "word %d: the model does not know the tag \"%.*s\": tags.vocab lists all",
                     word + 1, tag.length < 40 ? (int)tag.length : 40, tag.data);
}

static rill_status add_tagged(parser_runner *r, rill_sentence *s, rill_slice word, rill_slice tag)
{
    int32_t id;
    TRY(find_tag(r, tag, s->words, &id));
    return rill_sentence_add_escaped(s, word.data, word.length, id);
}

static rill_status read_tree(parser_runner *r, rill_sentence *s, const char *text, size_t length)
{
    TRY(rill_tree_parse(&r->tree, text, length, 0));
    for (int32_t i = 0; i < r->tree.count; i++)
        if (r->tree.node[i].word.data != NULL) TRY(add_tagged(r, s, r->tree.node[i].word, r->tree.node[i].label));
    return RILL_OK;
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

static rill_status read_tagged(parser_runner *r, rill_sentence *s, const char *text, size_t length)
{
    rill_slice left = {text, length};
    for (rill_slice token; (token = rill_next_word(&left)).length > 0;) {
        const size_t tag = tag_of(token);
        if (tag == 0)
            return rill_fail(r->ctx, RILL_ERR_INPUT, "word %d: expected word_TAG, found \"%.*s\"", s->words + 1,
                             token.length < 40 ? (int)token.length : 40, token.data);
        TRY(add_tagged(r, s, (rill_slice){token.data, tag - 1}, (rill_slice){token.data + tag, token.length - tag}));
    }
    return RILL_OK;
}

static rill_status read_tokens(rill_sentence *s, const char *text, size_t length)
{
    rill_slice left = {text, length};
    for (rill_slice token; (token = rill_next_word(&left)).length > 0;)
        TRY(rill_sentence_add_escaped(s, token.data, token.length, RILL_NO_TAG));
    return RILL_OK;
}

/* --- the line ----------------------------------------------------------------------------------------------------- */

static rill_status read_line(parser_runner *r, rill_sentence *s, parser_form form, const char *text, size_t length)
{
    const parser *p = r->model;
    const size_t good = rill_utf8_check(text, length);
    if (good < length)
        return rill_fail(r->ctx, RILL_ERR_INPUT, "the line is not UTF-8 at byte %zu (0x%02x)", good + 1,
                         (unsigned char)text[good]);
    switch (form) {
    case FORM_TREE: TRY(read_tree(r, s, text, length)); break;
    case FORM_TAGGED: TRY(read_tagged(r, s, text, length)); break;
    default: TRY(p->tokenized ? read_tokens(s, text, length) : rill_penn_split(s, text, length, p->style)); break;
    }
    if (s->words > p->max_input)
        return rill_fail(r->ctx, RILL_ERR_INPUT,
                         "expected at most %d words (max_input_length in config.json), found %d", p->max_input,
                         s->words);
    return RILL_OK;
}

/* A line that was taken for something else than it is wants to be told how that is said. */
static const char *remedy(const parser *p, parser_form form)
{
    if (p->form != FORM_AUTO) return "";
    if (form == FORM_TREE) return "; a line that begins with \"(\" is read as a tree, unless --input-format says text";
    return form == FORM_TAGGED ? "; a line of word_TAG tokens is read as such, unless --input-format says text" : "";
}

rill_status parser_read(parser_runner *r, rill_input *input, int32_t *words)
{
    const parser *p = r->model;
    rill_sentence *s = &r->sentence[input->slot];
    rill_sentence_begin(s);
    *words = 0;
    const parser_form form = p->form == FORM_AUTO ? form_of(input->text, input->length) : p->form;
    rill_status status = read_line(r, s, form, input->text, input->length);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s%s", rill_error(r->ctx), s->words > p->max_input ? "" : remedy(p, form));
        rill_error_clear(r->ctx);
        return RILL_OK;
    }
    TRY(status);
    *words = s->words;
    if (s->words == 0) {
        input->status = RILL_EMPTY;
        return RILL_OK;
    }
    input->size = s->words;
    input->max_length = 2 * s->words - 1;
    return RILL_OK;
}
