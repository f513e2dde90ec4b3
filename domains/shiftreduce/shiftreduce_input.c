/* Reads a line as a tree, tagged tokens or text; finds the words' features; computes each position's products.
 *
 * A word's embedding is the sum of the embeddings of the word, its shape and its suffixes, as in the trainer (docs/parsing.md). */
#include <string.h>

#include "shiftreduce.h"

const rill_option parser_input_options[] = {PARSER_INPUT_FORMAT, RILL_TOKENIZED_OPTION, {0}};

/* --- input formats ----------------------------------------------------------------------------------------------- */

/* Return where the tag of word_TAG starts; 0: no tag or no word. */
static size_t tag_offset(rill_slice token)
{
    size_t pos = token.length;
    while (pos > 0 && token.data[pos - 1] != '_') pos--;
    return pos > 1 && pos < token.length ? pos : 0;
}

/* Return 1 if a name has a lower-case letter, digit or non-ASCII character: most words do, no treebank's tags do. */
static int has_lower_or_digit(rill_slice name)
{
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80) return 1;
    }
    return 0;
}

/* Return 1 if all tokens are word_TAG, with tags in capitals, at least one known to the model; else 0. */
static int is_tagged(const parser *p, rill_slice remaining)
{
    int known = 0;
    for (rill_slice token; (token = rill_next_word(&remaining)).length > 0;) {
        const size_t tag = tag_offset(token);
        const rill_slice name = {token.data + tag, token.length - tag};
        if (tag == 0 || has_lower_or_digit(name)) return 0;
        known |= rill_vocabulary_id(p->tag_vocab, name.data, name.length) > PARSER_NO_TAG;
    }
    return known;
}

/* State of looks_like_tree(): what the line has contained so far. */
typedef struct tree_scan {
    rill_slice rest;
    int32_t depth, max_depth;
    /* has_leaf = 1: a bracket with a word was seen. has_known_tag = 1: one was seen whose tag is the model's */
    int has_leaf, has_known_tag;
    /* has_known_label = 1: a label of the model was seen. has_unknown_label = 1: any other label was seen */
    int has_known_label, has_unknown_label;
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

/* Return 1 for a label of the model or of a root, cut before its first "-", "=" or "|": NP-SBJ-1 becomes NP. */
static int is_known_label(const parser *p, rill_slice label)
{
    size_t n = label.length > 0;
    while (n < label.length && strchr("-=|", label.data[n]) == NULL) n++;
    label.length = n;
    for (int32_t i = 0; i < p->nonterminal_offsets[p->n_labels]; i++)
        if (rill_slice_equal(p->nonterminals[i], label)) return 1;
    return rill_slice_equal(p->root, label) || rill_slice_is(label, "TOP") || rill_slice_is(label, "ROOT");
}

/* Scan the text after "(": a label before a bracket, or a tag, a word and ")". Returns 0 if the line is no tree. It may end after the
 * label. */
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

/* Return 1 if a line looks like a tree: it has brackets, a known tag, and an empty or known outermost label. Incomplete trees pass, and
 * the tree reader then reports the error. */
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

parser_form parser_read_form(rill_context *ctx, const char *value, parser_form fallback)
{
    int32_t word = 0;
    const int known = value != NULL && rill_option_read(ctx, parser_input_options, value, &word) == RILL_OK;
    return known ? (parser_form)(word - 1) : fallback;
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

/* --- reading trees ------------------------------------------------------------------------------------------------ */

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

/* --- reading tokens ----------------------------------------------------------------------------------------------- */

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

/* --- reading an input line ---------------------------------------------------------------------------------------- */

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

/* Hint how to set the format, for errors in lines whose format was detected; else "". */
static const char *form_hint(parser_form asked, parser_form form)
{
    if (asked != PARSER_FORM_AUTO) return "";
    if (form == PARSER_FORM_TREE)
        return "; a line that looks like a tree is read as a tree: set input-format to text to prevent that";
    return form == PARSER_FORM_TAGGED ? "; a line of word_TAG tokens is read as tagged words: set input-format to "
                                        "text to prevent that"
                                      : "";
}

/* Read an input into its slot's sentence. *words: 0 if empty or malformed. A malformed input is marked as failed; others continue. */
static rill_status read_input(parser_runner *r, rill_input *input, int32_t *words)
{
    const parser *p = r->model;
    rill_sentence *s = &r->sentence[input->slot];
    rill_text_reset(&s->bytes);
    *words = s->words = 0;
    const int tokenized = rill_input_switch(input, "tokenized", p->tokenized);
    const char *own_form = rill_input_value(input, parser_input_options->name);
    const parser_form asked = parser_default_form(parser_read_form(r->ctx, own_form, p->form), tokenized);
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

/* --- normal form of words ----------------------------------------------------------------------------------------- */

static char normalized_char(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c >= '0' && c <= '9' ? '0' : c;
}

/* Set r->normalized_word to "^" followed by the word, with ASCII letters in lower case and digits replaced by 0. */
static rill_status normalise_word(parser_runner *r, rill_slice word)
{
    rill_text_reset(&r->normalized_word);
    TRY(rill_text_append(&r->normalized_word, "^", 1));
    TRY(rill_text_append(&r->normalized_word, word.data, word.length));
    for (size_t i = 1; i < r->normalized_word.length; i++)
        r->normalized_word.data[i] = normalized_char(r->normalized_word.data[i]);
    return RILL_OK;
}

/* --- embedding rows of a word ------------------------------------------------------------------------------------- */

/* Return the embedding row of the word, or of its normal form in r->normalized_word, or PARSER_UNK. */
static int32_t word_row(const parser_runner *r, rill_slice word)
{
    const parser *p = r->model;
    int32_t id = rill_vocabulary_id(p->word_vocab, word.data, word.length);
    if (id < 0) id = rill_vocabulary_id(p->word_vocab, r->normalized_word.data + 1, r->normalized_word.length - 1);
    return id >= 0 ? id : PARSER_UNK;
}

static char char_shape(char c)
{
    if ((unsigned char)c >= 0x80) return 'u';
    if (c >= 'A' && c <= 'Z') return 'X';
    if (c >= 'a' && c <= 'z') return 'x';
    return c >= '0' && c <= '9' ? 'd' : c;
}

/* Return the id of the word's shape; 0 if the vocabulary does not have it. Overwrites r->normalized_word. */
static int32_t shape_row(parser_runner *r, rill_slice word)
{
    char *shape = r->normalized_word.data; /* large enough: a shape is never longer than its word */
    size_t length = 0;
    for (size_t i = 0; i < word.length; i++) {
        char c = char_shape(word.data[i]);
        if (length == 0 || shape[length - 1] != c) shape[length++] = c;
    }
    int32_t id = rill_vocabulary_id(r->model->shape_vocab, shape, length);
    return id >= 0 ? id : 0;
}

/* Set row[l] to the id of the suffix of l + 1 characters of r->normalized_word; -1 if there is none. */
static void suffix_rows(const parser_runner *r, int32_t *row)
{
    const parser *p = r->model;
    const char *bytes = r->normalized_word.data;
    size_t from = r->normalized_word.length;
    for (int32_t l = 0; l < p->suffix_length; l++) {
        row[l] = -1;
        if (from == 0) continue;
        from = rill_utf8_prev(bytes, from);
        row[l] = rill_vocabulary_id(p->suffix_vocab, bytes + from, r->normalized_word.length - from);
    }
}

/* Set feature [parser_features()] to a word's rows of the embedding: the word, its shape, each suffix; -1 for an unknown suffix. */
static rill_status word_features(parser_runner *r, rill_slice word, int32_t *feature)
{
    TRY(normalise_word(r, word));
    feature[0] = word_row(r, word);
    suffix_rows(r, feature + 2);
    feature[1] = shape_row(r, word);
    return RILL_OK;
}

/* Set the features of <s> or </s>: the word's id `word`, and -1 for all others. */
static void boundary_features(const parser *p, int32_t word, int32_t *feature)
{
    feature[0] = word;
    for (size_t i = 1; i < parser_features(p); i++) feature[i] = -1;
}

/* The graph's input columns, in order of declaration. Columns up to ENCODE_LAST have an entry per sentence, the others an entry per frame
 * (a position of a sentence). */
enum {
    ENCODE_SLOT,
    ENCODE_FRAMES,
    ENCODE_POSITIONS,
    ENCODE_FIRST, /* position 0, the first of a sentence */
    ENCODE_LAST,  /* position n, the last of a sentence */
    ENCODE_TAG,
    ENCODE_UNTAGGED, /* >= 0: the frame has no tag, so predict one; -1: it has a tag */
    ENCODE_FEATURES,
    ENCODE_COLUMNS = ENCODE_FEATURES + PARSER_MAX_FEATURES
};
/* --- lines to features -------------------------------------------------------------------------------------------- */

static rill_status add_frame(parser_runner *r, size_t frame, const int32_t *feature)
{
    for (size_t f = 0; f < parser_features(r->model); f++) {
        TRY(GROW(&r->arena, r->feature[f], frame + 1, "features of words"));
        r->feature[f][frame] = feature[f];
    }
    return RILL_OK;
}

/* Write the features of <s>, the sentence's words and </s>, from frame index `frame` on. */
static rill_status add_sentence_features(parser_runner *r, const rill_sentence *s, size_t frame)
{
    int32_t feature[PARSER_MAX_FEATURES];
    boundary_features(r->model, PARSER_BOS, feature);
    TRY(add_frame(r, frame++, feature));
    for (int32_t i = 0; i < s->words; i++) {
        TRY(word_features(r, rill_sentence_word(s, i), feature));
        TRY(add_frame(r, frame++, feature));
    }
    boundary_features(r->model, PARSER_EOS, feature);
    return add_frame(r, frame, feature);
}

static rill_status read_inputs(parser_runner *r, int32_t m, rill_input *inputs, int32_t *sentences, size_t *frames)
{
    TRY(GROW(&r->arena, r->slot, (size_t)m, "sentences"));
    TRY(GROW(&r->arena, r->frames, (size_t)m, "sentences"));
    TRY(GROW(&r->arena, r->positions, (size_t)m, "sentences"));
    for (int32_t i = 0; i < m; i++) {
        int32_t words;
        TRY(read_input(r, &inputs[i], &words));
        if (words == 0) continue;
        TRY(add_sentence_features(r, &r->sentence[inputs[i].slot], *frames));
        r->slot[*sentences] = inputs[i].slot;
        r->frames[*sentences] = words + PARSER_FRAME_TOKENS;
        r->positions[*sentences] = words + 1;
        *frames += (size_t)words + PARSER_FRAME_TOKENS;
        ++*sentences;
    }
    return RILL_OK;
}

/* --- storing tags ------------------------------------------------------------------------------------------------- */

/* Set tag [frames] to the tags of tagged frames, and untagged [frames] to >= 0 for words to be predicted, else -1. */
static void fill_tags(const parser_runner *r, int32_t sentences, int32_t *tag, int32_t *untagged)
{
    for (int32_t i = 0; i < sentences; i++) {
        const rill_sentence *s = &r->sentence[r->slot[i]];
        const int32_t last = s->words + 1;
        for (int32_t t = 0; t <= last; t++, tag++, untagged++) {
            const int edge = t == 0 || t == last;
            *untagged = !edge && s->tag[t - 1] == RILL_NO_TAG ? t : -1;
            *tag = edge || *untagged >= 0 ? PARSER_NO_TAG : s->tag[t - 1];
        }
    }
}

static void store_tags(const parser_runner *r, int32_t sentences, const int32_t *tag)
{
    for (int32_t i = 0; i < sentences; i++) {
        rill_sentence *s = &r->sentence[r->slot[i]];
        memcpy(s->tag, tag + 1, (size_t)s->words * sizeof *s->tag);
        tag += s->words + PARSER_FRAME_TOKENS;
    }
}

/* --- encoding inputs ------------------------------------------------------------------------------------------- */

rill_status parser_encode(void *self, int32_t m, rill_input *inputs)
{
    parser_runner *r = self;
    rill_run_arguments run = {.struct_size = sizeof run};
    size_t frames = 0;
    TRY(read_inputs(r, m, inputs, &run.n, &frames));
    const size_t n = (size_t)run.n;
    TRY(GROW(&r->arena, r->column, 2 * n + 2 * frames, "columns of sentences"));
    int32_t *first = r->column, *last = first + n, *tag = last + n, *untagged = tag + frames;
    for (size_t i = 0; i < n; i++) first[i] = 0, last[i] = r->positions[i] - 1;
    fill_tags(r, run.n, tag, untagged);
    const int32_t *columns[ENCODE_COLUMNS] = {
        [ENCODE_SLOT] = r->slot, [ENCODE_FRAMES] = r->frames, [ENCODE_POSITIONS] = r->positions, [ENCODE_FIRST] = first,
        [ENCODE_LAST] = last,    [ENCODE_TAG] = tag,          [ENCODE_UNTAGGED] = untagged};
    for (size_t f = 0; f < parser_features(r->model); f++) columns[ENCODE_FEATURES + f] = r->feature[f];
    run.columns = columns;
    TRY(rill_session_set_slots(r->session, run.n, r->slot, r->positions));
    TRY(rill_session_run(r->session, r->model->encode, &run));
    store_tags(r, run.n, tag);
    return RILL_OK;
}
