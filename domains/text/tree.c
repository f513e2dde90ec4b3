/* Reads and writes bracketed trees without recursion.
 *
 * Invariant: open_nodes[0 .. depth) is the path from the root. While a node is open, `from` counts the words before it. */
#include <stdio.h>
#include <string.h>

#include "tree.h"

/* --- building a tree ---------------------------------------------------------------------------------------------- */

void rill_tree_begin(rill_tree *tree)
{
    tree->arena.ctx = tree->ctx;
    tree->count = tree->words = tree->depth = 0;
}

void rill_tree_clear(rill_tree *tree)
{
    rill_arena_clear(&tree->arena);
    *tree = (rill_tree){.ctx = tree->ctx};
}

/* Append a node; word.data NULL: an inner node. */
rill_status rill_tree_word(rill_tree *tree, rill_slice label, rill_slice word)
{
    size_t count = (size_t)tree->count + 1;
    if (count > INT32_MAX) return rill_fail_memory(tree->ctx, SIZE_MAX, "a tree");
    TRY(GROW(&tree->arena, tree->node, count, "a tree"));
    tree->node[tree->count++] = (rill_tree_node){
        .label = label, .word = word, .end = tree->count, .from = tree->words, .to = word.data ? tree->words + 1 : 0};
    tree->words += word.data != NULL;
    return RILL_OK;
}

static rill_status push_open(rill_tree *tree, int32_t node)
{
    size_t depth = (size_t)tree->depth + 1;
    TRY(GROW(&tree->arena, tree->open_nodes, depth, "a tree"));
    tree->open_nodes[tree->depth++] = node;
    return RILL_OK;
}

rill_status rill_tree_open(rill_tree *tree, rill_slice label)
{
    TRY(rill_tree_word(tree, label, (rill_slice){0}));
    return push_open(tree, tree->count - 1);
}

void rill_tree_close(rill_tree *tree)
{
    rill_tree_node *node = &tree->node[tree->open_nodes[--tree->depth]];
    node->end = tree->count;
    node->to = tree->words;
}

/* --- positions and errors ----------------------------------------------------------------------------------------- */

typedef struct tree_reader {
    rill_tree *tree;
    const char *text;
    size_t length, offset; /* length of the text; offset of the next byte to read */
    int flags;
} tree_reader;

/* Fail with the column of byte `place`, counted in characters from 1 within its line. */
static rill_status fail_at_offset(tree_reader *r, size_t place, const char *what)
{
    size_t column = 1;
    for (size_t i = 0; i < place; i++)
        column = r->text[i] == '\n' ? 1 : column + (((unsigned char)r->text[i] & 0xC0) != 0x80);
    rill_tree_begin(r->tree);
    return rill_fail(r->tree->ctx, RILL_ERR_INPUT, "column %zu: %s", column, what);
}

/* Fail because the tree and the line do not end together. */
static rill_status fail_incomplete(tree_reader *r, size_t place, const char *what)
{
    char all[160];
    snprintf(all, sizeof all, "%s; one tree per line is expected", what);
    return fail_at_offset(r, place, all);
}

/* --- reading a token ---------------------------------------------------------------------------------------------- */

static void skip_tree_spaces(tree_reader *r)
{
    while (r->offset < r->length && rill_is_space(r->text[r->offset])) r->offset++;
}

/* Read a label or a word, which ends before white space or a bracket. */
static rill_slice read_label_or_word(tree_reader *r)
{
    const size_t from = r->offset;
    for (; r->offset < r->length; r->offset++) {
        const char c = r->text[r->offset];
        if (rill_is_space(c) || c == '(' || c == ')') break;
    }
    return (rill_slice){r->text + from, r->offset - from};
}

/* Cut a label before its first '-', '=' or, without RILL_TREE_KEEP_BARS, '|'. */
static rill_slice strip_function_tag(rill_slice label, int flags)
{
    const char *ends = flags & RILL_TREE_KEEP_BARS ? "-=" : "-=|";
    for (size_t i = 1; i < label.length; i++)
        if (memchr(ends, label.data[i], strlen(ends)) != NULL) return (rill_slice){label.data, i};
    return label;
}

static rill_tree_node *top_node(const rill_tree *tree)
{
    return &tree->node[tree->open_nodes[tree->depth - 1]];
}

/* --- reading a tree ----------------------------------------------------------------------------------------------- */

static rill_status read_open(tree_reader *r)
{
    rill_tree *tree = r->tree;
    size_t place = r->offset++;
    if (tree->depth > 0 && top_node(tree)->word.data != NULL)
        return fail_at_offset(r, place, "expected ')' after a word, found '('");
    rill_slice label = read_label_or_word(r);
    if (label.length == 0 && tree->depth > 0)
        return fail_at_offset(r, place + 1, "expected a label after '('; only the outermost bracket may have none");
    return rill_tree_open(tree, label);
}

static rill_status read_word(tree_reader *r)
{
    rill_tree *tree = r->tree;
    size_t place = r->offset;
    rill_slice word = read_label_or_word(r);
    if (tree->depth == 0) return fail_incomplete(r, place, "expected '(' at the beginning of a tree, found a word");
    rill_tree_node *node = top_node(tree);
    if (node->label.length == 0) return fail_at_offset(r, place, "expected a tag before the word");
    if (node->word.data != NULL) return fail_at_offset(r, place, "expected ')' after a word, found a second word");
    if (node != &tree->node[tree->count - 1] || node->to)
        return fail_at_offset(r, place, "expected '(' or ')' after a bracket, found a word");
    node->word = word;
    tree->words++;
    return RILL_OK;
}

/* Remove the last node. Its parent's `to` becomes 1, so that the parent is not taken for an empty bracket. */
static void drop_last_node(rill_tree *tree)
{
    tree->count--;
    tree->depth--;
    if (tree->depth > 0) top_node(tree)->to = 1;
}

static rill_status read_close(tree_reader *r)
{
    rill_tree *tree = r->tree;
    size_t place = r->offset++;
    if (tree->depth == 0) return fail_incomplete(r, place, "expected '(' at the beginning of a tree, found ')'");
    rill_tree_node *node = top_node(tree);
    int clean = !(r->flags & RILL_TREE_AS_WRITTEN);
    if (node->word.data != NULL) {
        if (clean && rill_slice_is(node->label, "-NONE-")) {
            tree->words--;
            drop_last_node(tree);
            return RILL_OK;
        }
    } else if (node == &tree->node[tree->count - 1]) {
        if (!node->to) return fail_at_offset(r, place, "the bracket is empty: expected a word or a bracket");
        drop_last_node(tree);
        return RILL_OK;
    } else if (node->label.length == 0) {
        node->label = (rill_slice){"TOP", 3};
    } else if (clean) {
        node->label = strip_function_tag(node->label, r->flags);
    }
    rill_tree_close(tree);
    return RILL_OK;
}

static rill_status fail_unclosed(tree_reader *r)
{
    char what[96];
    snprintf(what, sizeof what, "the text ends, but %d bracket%s not closed; the last one opens here", r->tree->depth,
             r->tree->depth == 1 ? " is" : "s are");
    return fail_incomplete(r, (size_t)(top_node(r->tree)->label.data - r->text) - 1, what);
}

rill_status rill_tree_parse(rill_tree *tree, const char *text, size_t length, int flags)
{
    tree_reader r = {.tree = tree, .text = text, .length = length, .flags = flags};
    rill_tree_begin(tree);
    skip_tree_spaces(&r);
    const size_t start = r.offset;
    if (start == length) return rill_fail(tree->ctx, RILL_ERR_INPUT, "expected a tree, found an empty line");
    do {
        skip_tree_spaces(&r);
        if (r.offset == length) return fail_unclosed(&r);
        const char c = text[r.offset];
        TRY(c == '(' ? read_open(&r) : c == ')' ? read_close(&r) : read_word(&r));
    } while (tree->depth > 0);
    if (tree->count == 0) return fail_at_offset(&r, start, "the tree has no words");
    skip_tree_spaces(&r);
    if (r.offset == length) return RILL_OK;
    return fail_incomplete(&r, r.offset,
                           text[r.offset] == ')' ? "')' closes a bracket that was never opened"
                                                 : "expected nothing after the tree");
}

/* --- writing a tree ----------------------------------------------------------------------------------------------- */

enum { INDENT = 2, DEEPEST_INDENT = 32 };

/* Write the space or the line break before node i. */
static rill_status write_separator(const rill_tree *tree, int32_t i, rill_text *out, int indented)
{
    static const char newline[1 + INDENT * DEEPEST_INDENT + 1] =
        "\n                                                                ";
    const rill_tree_node *node = &tree->node[i];
    if (i == 0) return RILL_OK;
    int32_t holder = tree->open_nodes[tree->depth - 1];
    /* node i stays on the line of its parent if all nodes between them are words */
    int stays = node->word.data != NULL && node->from - tree->node[holder].from == i - holder - 1;
    if (!indented || stays) return rill_text_append(out, " ", 1);
    int32_t deep = tree->depth < DEEPEST_INDENT ? tree->depth : DEEPEST_INDENT;
    return rill_text_append(out, newline, 1 + INDENT * (size_t)deep);
}

static rill_status write_node(rill_tree *tree, int32_t i, rill_text *out)
{
    const rill_tree_node *node = &tree->node[i];
    TRY(rill_text_append(out, "(", 1));
    TRY(rill_text_append(out, node->label.data, node->label.length));
    if (node->word.data == NULL) return push_open(tree, i);
    TRY(rill_text_append(out, " ", 1));
    TRY(rill_text_append(out, node->word.data, node->word.length));
    return rill_text_append(out, ")", 1);
}

/* Close the brackets of nodes that end before node i. */
static rill_status write_closes(rill_tree *tree, int32_t i, rill_text *out)
{
    for (; tree->depth > 0 && tree->node[tree->open_nodes[tree->depth - 1]].end <= i; tree->depth--)
        TRY(rill_text_append(out, ")", 1));
    return RILL_OK;
}

rill_status rill_tree_write(rill_tree *tree, rill_text *out, int indented)
{
    tree->depth = 0;
    for (int32_t i = 0; i < tree->count; i++) {
        TRY(write_closes(tree, i, out));
        TRY(write_separator(tree, i, out, indented));
        TRY(write_node(tree, i, out));
    }
    return write_closes(tree, tree->count, out);
}

/* --- brackets in words -------------------------------------------------------------------------------------------- */

static const struct {
    char bracket[2], name[6];
} escapes[] = {{"(", "-LRB-"}, {")", "-RRB-"}, {"{", "-LCB-"}, {"}", "-RCB-"}};

enum { ESCAPES = sizeof escapes / sizeof *escapes, ESCAPE_LENGTH = 5 };

rill_status rill_tree_escape(rill_text *out, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t e = 0;
        while (e < ESCAPES && word[i] != escapes[e].bracket[0]) e++;
        TRY(e < ESCAPES ? rill_text_append(out, escapes[e].name, ESCAPE_LENGTH) : rill_text_append(out, word + i, 1));
    }
    return RILL_OK;
}
