/* Reads a line as a tree (its words and tags), as tagged tokens, or as text.
 *
 * The option input-format sets the format; "auto" detects it from the line. A line with brackets is a tree only if the
 * model's tags and labels occur in it, and likewise for tagged tokens: see looks_like_tree() and is_tagged().
 * Divisions: forms · trees · tokens · the line. */
#include <string.h>

#include "penn_tokenizer.h"
#include "shiftreduce_model.h"
#include "utf8.h"

/* --- forms ------------------------------------------------------------------------------------------------------- */

/* Start of the tag in word_TAG, after the last "_"; 0 if it has no tag or no word. */
static size_t tag_offset(rill_slice token)
{
    size_t pos = token.length;
    while (pos > 0 && token.data[pos - 1] != '_') pos--;
    return pos > 1 && pos < token.length ? pos : 0;
}

/* Whether a name has a lower-case letter or a digit. Most words have one, and no treebank's tags do. */
static int has_lower_or_digit(rill_slice name)
{
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80) return 1;
    }
    return 0;
}

/* Whether the token is word_TAG and its tag is spelled like one: without lower-case letters and digits. */
static int looks_tagged(rill_slice token)
{
    const size_t tag = tag_offset(token);
    return tag > 0 && !has_lower_or_digit((rill_slice){token.data + tag, token.length - tag});
}

/* Whether all tokens look like word_TAG and at least one tag is the model's. */
static int is_tagged(const parser *p, rill_slice remaining)
{
    int known = 0;
    for (rill_slice token; (token = rill_next_word(&remaining)).length > 0;) {
        const size_t tag = tag_offset(token);
        if (!looks_tagged(token)) return 0;
        known |= rill_vocabulary_id(p->tag_vocab, token.data + tag, token.length - tag) > PARSER_NO_TAG;
    }
    return known;
}

/* State of looks_like_tree(): what the line has contained so far. */
typedef struct tree_scan {
    rill_slice rest;
    int32_t depth, max_depth;
    int has_leaf, has_known_tag;            /* a bracket with a word; one whose tag is the model's */
    int has_known_label, has_unknown_label; /* a label of the model; any other label */
} tree_scan;

static int skip_bracket(tree_scan *scan, char bracket)
{
    if (scan->rest.length == 0 || scan->rest.data[0] != bracket) return 0;
    scan->rest = (rill_slice){scan->rest.data + 1, scan->rest.length - 1};
    return 1;
}

/* Read a label, a tag or a word: up to a space or a bracket. */
static rill_slice read_tree_word(tree_scan *scan)
{
    size_t n = 0;
    while (n < scan->rest.length && (unsigned char)scan->rest.data[n] > ' ' && strchr("()", scan->rest.data[n]) == NULL)
        n++;
    const rill_slice piece = {scan->rest.data, n};
    scan->rest = (rill_slice){scan->rest.data + n, scan->rest.length - n};
    return piece;
}

static void skip_spaces(tree_scan *scan)
{
    while (scan->rest.length > 0 && (unsigned char)scan->rest.data[0] <= ' ')
        scan->rest = (rill_slice){scan->rest.data + 1, scan->rest.length - 1};
}

/* Whether the model has the label without what follows its first "-", "=" or "|": NP of NP-SBJ-1, ADVP of ADVP|PRT. */
static int is_known_label(const parser *p, rill_slice label)
{
    size_t n = label.length > 0;
    while (n < label.length && strchr("-=|", label.data[n]) == NULL) n++;
    label.length = n;
    for (int32_t i = 0; i < p->nonterminal_offsets[p->n_labels]; i++)
        if (rill_slice_equal(p->nonterminals[i], label)) return 1;
    return rill_slice_equal(p->root, label) || rill_slice_is(label, "TOP") || rill_slice_is(label, "ROOT");
}

/* Scan the text after "(": a label before a bracket, or a tag, a word and ")". A truncated line may end after the
 * label. Returns 0 if the line is no tree. */
static int scan_bracket(const parser *p, tree_scan *scan)
{
    const rill_slice label = read_tree_word(scan);
    skip_spaces(scan);
    const rill_slice word = read_tree_word(scan);
    if (++scan->depth > scan->max_depth) scan->max_depth = scan->depth;
    if (word.length == 0) {
        const int known = is_known_label(p, label), outermost = scan->depth == 1;
        scan->has_known_label |= known;
        scan->has_unknown_label |= !known && label.length > 0;
        if (scan->rest.length > 0 && scan->rest.data[0] == ')') return 0;
        return known || (label.length == 0 ? outermost : !outermost && !has_lower_or_digit(label));
    }
    skip_spaces(scan);
    if (label.length == 0 || !skip_bracket(scan, ')')) return 0;
    const int known = rill_slice_is(label, "-NONE-") ||
                      rill_vocabulary_id(p->tag_vocab, label.data, label.length) > PARSER_NO_TAG;
    scan->depth--;
    scan->has_leaf = 1;
    scan->has_known_tag |= known;
    return known || !has_lower_or_digit(label);
}

/* Whether the line looks like a tree. It must consist of brackets: word brackets hold a tag and a word, others a label
 * and brackets. The outermost label is empty or one of the model's. Other labels are the model's or have neither
 * lower-case letters nor digits. At least one tag is the model's. A single word bracket is no tree. An incomplete tree
 * passes, as it may continue on other lines. The tree reader then reports the error, which reading it as text would
 * hide. */
static int looks_like_tree(const parser *p, rill_slice line)
{
    tree_scan scan = {.rest = line};
    for (skip_spaces(&scan); scan.rest.length > 0; skip_spaces(&scan)) {
        if (skip_bracket(&scan, ')'))
            scan.depth -= scan.depth > 0;
        else if (!skip_bracket(&scan, '(') || !scan_bracket(p, &scan))
            return 0;
    }
    return scan.has_leaf ? scan.has_known_tag && scan.max_depth > 1 : scan.has_known_label && !scan.has_unknown_label;
}

parser_form parser_default_form(parser_form form, int tokenized)
{
    return form == PARSER_FORM_AUTO && tokenized ? PARSER_FORM_TEXT : form;
}

parser_form parser_detect_form(const parser *p, parser_form asked, const char *text, size_t length)
{
    rill_slice remaining = {text, length};
    if (asked != PARSER_FORM_AUTO) return asked;
    const rill_slice first = rill_next_word(&remaining);
    if (first.length == 0) return PARSER_FORM_TEXT;
    if (first.data[0] == '(' && looks_like_tree(p, (rill_slice){text, length})) return PARSER_FORM_TREE;
    return is_tagged(p, (rill_slice){text, length}) ? PARSER_FORM_TAGGED : PARSER_FORM_TEXT;
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

static rill_status find_tag(parser_runner *r, rill_slice tag, int32_t word, int32_t *out)
{
    *out = rill_vocabulary_id(r->model->tag_vocab, tag.data, tag.length);
    if (*out > PARSER_NO_TAG) return RILL_OK;
    return rill_fail(r->ctx, RILL_ERR_INPUT, "word %d: unknown tag \"%.*s\": tags.vocab lists the model's tags",
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
    rill_slice remaining = {text, length};
    for (rill_slice token; (token = rill_next_word(&remaining)).length > 0;) {
        const size_t tag = tag_offset(token);
        if (tag == 0)
            return rill_fail(r->ctx, RILL_ERR_INPUT, "word %d: expected word_TAG, found \"%.*s\"", s->words + 1,
                             token.length < 40 ? (int)token.length : 40, token.data);
        TRY(add_tagged(r, s, (rill_slice){token.data, tag - 1}, (rill_slice){token.data + tag, token.length - tag}));
    }
    return RILL_OK;
}

static rill_status read_tokens(rill_sentence *s, const char *text, size_t length)
{
    rill_slice remaining = {text, length};
    for (rill_slice token; (token = rill_next_word(&remaining)).length > 0;)
        TRY(rill_sentence_add_escaped(s, token.data, token.length, RILL_NO_TAG));
    return RILL_OK;
}

/* --- the line ----------------------------------------------------------------------------------------------------- */

static rill_status read_line(parser_runner *r, rill_sentence *s, parser_form form, int tokenized, const char *text,
                             size_t length)
{
    const parser *p = r->model;
    const size_t good = rill_utf8_check(text, length);
    if (good < length)
        return rill_fail(r->ctx, RILL_ERR_INPUT, "the line is not UTF-8 at byte %zu (0x%02x)", good + 1,
                         (unsigned char)text[good]);
    switch (form) {
    case PARSER_FORM_TREE: TRY(read_tree(r, s, text, length)); break;
    case PARSER_FORM_TAGGED: TRY(read_tagged(r, s, text, length)); break;
    default: TRY(tokenized ? read_tokens(s, text, length) : rill_penn_split(s, text, length, p->penn_style)); break;
    }
    if (s->words > p->max_input)
        return rill_fail(r->ctx, RILL_ERR_INPUT,
                         "expected at most %d words (max_input_length in config.json), found %d", p->max_input,
                         s->words);
    return RILL_OK;
}

/* A hint for the error message of a line whose format was detected: how to set the format. */
static const char *form_hint(parser_form asked, parser_form form)
{
    if (asked != PARSER_FORM_AUTO) return "";
    if (form == PARSER_FORM_TREE)
        return "; a line that looks like a tree is read as a tree: set input-format to text to prevent that";
    return form == PARSER_FORM_TAGGED ? "; a line of word_TAG tokens is read as tagged words: set input-format to "
                                        "text to prevent that"
                                      : "";
}

/* The input's option input-format, else the model's. */
static parser_form requested_form(const parser_runner *r, const rill_input *input, int tokenized)
{
    const char *value = rill_input_value(input, parser_input_options->name);
    int32_t word;
    const int known = value != NULL && rill_option_read(r->ctx, parser_input_options, value, &word) == RILL_OK;
    return parser_default_form(known ? (parser_form)(word - 1) : r->model->form, tokenized);
}

rill_status parser_read(parser_runner *r, rill_input *input, int32_t *words)
{
    const parser *p = r->model;
    rill_sentence *s = &r->sentence[input->slot];
    rill_sentence_begin(s);
    *words = 0;
    const int tokenized = rill_input_switch(input, "tokenized", p->tokenized);
    const parser_form asked = requested_form(r, input, tokenized);
    const parser_form form = parser_detect_form(p, asked, input->text, input->length);
    rill_status status = read_line(r, s, form, tokenized, input->text, input->length);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s%s", rill_error(r->ctx),
                        s->words > p->max_input ? "" : form_hint(asked, form));
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
