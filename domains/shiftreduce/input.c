/* From a line to a sentence: a tree's words and tags, tokens with their tags, or text.
 *
 * Which of the three a line is, the option says; or the line itself. What could be no tree with this model's tags is text, whatever
 * brackets it has, and likewise tokens: looks_like_tree() and looks_tagged() say what is looked for.
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

/* Most words of text have nothing but small letters and digits, which no tag of any treebank has. */
static int has_small(rill_slice name)
{
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80) return 1;
    }
    return 0;
}

/* Does it end in what may be a tag? */
static int looks_tagged(rill_slice token)
{
    const size_t at = tag_of(token);
    return at > 0 && !has_small((rill_slice){token.data + at, token.length - at});
}

/* Is each token a word_TAG, and one of the tags the model's? */
static int is_tagged(const parser *p, rill_slice left)
{
    int known = 0;
    for (rill_slice token; (token = rill_next_word(&left)).length > 0;) {
        const size_t tag = tag_of(token);
        if (!looks_tagged(token)) return 0;
        known |= rill_vocabulary_id(p->tag, token.data + tag, token.length - tag) > PARSER_NO_TAG;
    }
    return known;
}

/* What looks_like_tree() has read. */
typedef struct tree_scan {
    rill_slice left;
    int32_t depth, deepest;
    int leaves, known;     /* is there a bracket with a word; one whose tag the model knows */
    int labels, strangers; /* likewise a label that the model knows; one that it does not */
} tree_scan;

static int takes(tree_scan *scan, char bracket)
{
    if (scan->left.length == 0 || scan->left.data[0] != bracket) return 0;
    scan->left = (rill_slice){scan->left.data + 1, scan->left.length - 1};
    return 1;
}

/* A label, a tag or a word: up to a blank or a bracket. */
static rill_slice take_piece(tree_scan *scan)
{
    size_t n = 0;
    while (n < scan->left.length && (unsigned char)scan->left.data[n] > ' ' && strchr("()", scan->left.data[n]) == NULL)
        n++;
    const rill_slice piece = {scan->left.data, n};
    scan->left = (rill_slice){scan->left.data + n, scan->left.length - n};
    return piece;
}

static void skip_blanks(tree_scan *scan)
{
    while (scan->left.length > 0 && (unsigned char)scan->left.data[0] <= ' ')
        scan->left = (rill_slice){scan->left.data + 1, scan->left.length - 1};
}

/* Is it a label of the model's, before what treebanks write behind one: NP-SBJ-1, ADVP|PRT? */
static int is_known_label(const parser *p, rill_slice label)
{
    size_t n = label.length > 0;
    while (n < label.length && strchr("-=|", label.data[n]) == NULL) n++;
    label.length = n;
    for (int32_t i = 0; i < p->symbols[p->labels]; i++)
        if (rill_slice_same(p->symbol[i], label)) return 1;
    return rill_slice_same(p->root, label) || rill_slice_is(label, "TOP") || rill_slice_is(label, "ROOT");
}

/* What stands behind "(": the label and a bracket, or the tag, the word and ")"; or, the line being cut there, the label. */
static int scan_bracket(const parser *p, tree_scan *scan)
{
    const rill_slice label = take_piece(scan);
    skip_blanks(scan);
    const rill_slice word = take_piece(scan);
    if (++scan->depth > scan->deepest) scan->deepest = scan->depth;
    if (word.length == 0) {
        const int known = is_known_label(p, label), outermost = scan->depth == 1;
        scan->labels |= known;
        scan->strangers |= !known && label.length > 0;
        if (scan->left.length > 0 && scan->left.data[0] == ')') return 0;
        return known || (label.length == 0 ? outermost : !outermost && !has_small(label));
    }
    skip_blanks(scan);
    if (label.length == 0 || !takes(scan, ')')) return 0;
    const int known = rill_slice_is(label, "-NONE-") ||
                      rill_vocabulary_id(p->tag, label.data, label.length) > PARSER_NO_TAG;
    scan->depth--;
    scan->leaves = 1;
    scan->known |= known;
    return known || !has_small(label);
}

/* Does the line begin with "(", and is all of it brackets as trees have them: those of words hold a tag and a word, others a label and
 * brackets; the outermost label is one of the model's, or none; the others are too, or have neither small letters nor digits; and the
 * model knows one of the tags? A tag with its word alone is no tree. Parts of a tree, which may have more lines, pass: that they are
 * read as text would not be noticed, and the tree's reader says what is wrong with them. */
static int looks_like_tree(const parser *p, rill_slice line)
{
    tree_scan scan = {.left = line};
    for (skip_blanks(&scan); scan.left.length > 0; skip_blanks(&scan)) {
        if (takes(&scan, ')'))
            scan.depth -= scan.depth > 0;
        else if (!takes(&scan, '(') || !scan_bracket(p, &scan))
            return 0;
    }
    return scan.leaves ? scan.known && scan.deepest > 1 : scan.labels && !scan.strangers;
}

parser_form parser_form_asked(parser_form form, int tokenized)
{
    return form == FORM_AUTO && tokenized ? FORM_TEXT : form;
}

parser_form parser_form_of(const parser *p, parser_form asked, const char *text, size_t length)
{
    rill_slice left = {text, length};
    if (asked != FORM_AUTO) return asked;
    const rill_slice first = rill_next_word(&left);
    if (first.length == 0) return FORM_TEXT;
    if (first.data[0] == '(' && looks_like_tree(p, (rill_slice){text, length})) return FORM_TREE;
    return is_tagged(p, (rill_slice){text, length}) ? FORM_TAGGED : FORM_TEXT;
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

static rill_status read_line(parser_runner *r, rill_sentence *s, parser_form form, int tokenized, const char *text,
                             size_t length)
{
    const parser *p = r->model;
    const size_t good = rill_utf8_check(text, length);
    if (good < length)
        return rill_fail(r->ctx, RILL_ERR_INPUT, "the line is not UTF-8 at byte %zu (0x%02x)", good + 1,
                         (unsigned char)text[good]);
    switch (form) {
    case FORM_TREE: TRY(read_tree(r, s, text, length)); break;
    case FORM_TAGGED: TRY(read_tagged(r, s, text, length)); break;
    default: TRY(tokenized ? read_tokens(s, text, length) : rill_penn_split(s, text, length, p->style)); break;
    }
    if (s->words > p->max_input)
        return rill_fail(r->ctx, RILL_ERR_INPUT,
                         "expected at most %d words (max_input_length in config.json), found %d", p->max_input,
                         s->words);
    return RILL_OK;
}

/* A line that was taken for something else than it is wants to be told how that is said. */
static const char *remedy(parser_form asked, parser_form form)
{
    if (asked != FORM_AUTO) return "";
    if (form == FORM_TREE) return "; a line of a tree's brackets is read as one, unless --input-format says text";
    return form == FORM_TAGGED ? "; a line of word_TAG tokens is read as such, unless --input-format says text" : "";
}

/* What the input has of its own, or the model was opened with. */
static parser_form form_asked(const parser_runner *r, const rill_input *input, int tokenized)
{
    const char *value = rill_input_value(input, parser_input_options->name);
    int32_t word;
    const int said = value != NULL && rill_option_read(r->ctx, parser_input_options, value, &word) == RILL_OK;
    return parser_form_asked(said ? (parser_form)(word - 1) : r->model->form, tokenized);
}

rill_status parser_read(parser_runner *r, rill_input *input, int32_t *words)
{
    const parser *p = r->model;
    rill_sentence *s = &r->sentence[input->slot];
    rill_sentence_begin(s);
    *words = 0;
    const int tokenized = rill_input_switch(input, "tokenized", p->tokenized);
    const parser_form asked = form_asked(r, input, tokenized);
    const parser_form form = parser_form_of(p, asked, input->text, input->length);
    rill_status status = read_line(r, s, form, tokenized, input->text, input->length);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s%s", rill_error(r->ctx), s->words > p->max_input ? "" : remedy(asked, form));
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
