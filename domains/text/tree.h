/* tree.h: constituency trees in Penn Treebank brackets, read and written.
 *
 * A tree is an array of nodes in the order of their opening brackets: the nodes below node i are those from i + 1 up to
 * node[i].end, and words are numbered from left to right. A node either holds nodes, or is a tag with one word.
 *
 * What reading changes, so that trees of any treebank come out as parsers know them:
 *   traces              a word tagged -NONE- is left out, and so is what then holds no word at all
 *   function tags       a label ends before its first '-', '=' or '|', unless that is its first character: NP-SBJ-1, NP=2 and
 *                       ADVP|PRT become NP, NP, ADVP. Tags of words are left alone. With RILL_TREE_KEEP_BARS '|' ends no label
 *   nameless brackets   "( (S ...))" of .mrg files: a bracket without a name is called TOP
 * RILL_TREE_AS_WRITTEN switches all three off but the last.
 * Words are kept as written: "(" is -LRB- in a tree. rill_tree_escape() and rill_tree_unescape() go between the two.
 *
 * Order of use: a zeroed rill_tree with ctx set, any number of readings into it (each replaces the one before; memory stays),
 * rill_tree_clear(). No recursion anywhere: depth is bounded by memory alone.
 * Memory: node texts are slices of what was read, which must outlive their use. One thread at a time.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_TREE_H
#define RILL_TEXT_TREE_H

#include "text_words.h"

typedef struct rill_tree_node {
    rill_slice label; /* label of the bracket; part-of-speech tag if it holds a word */
    rill_slice word;  /* data is NULL for inner nodes */
    int32_t end;      /* nodes i + 1 .. end - 1 are descendants of node i */
    int32_t from, to; /* words it spans */
} rill_tree_node;

typedef struct rill_tree {
    rill_context *ctx;
    rill_tree_node *node; /* [count] */
    int32_t count;
    int32_t words;
    size_t node_capacity;
    int32_t *open_nodes; /* [depth] open brackets, while reading, building or writing */
    int32_t depth;
    size_t open_capacity;
} rill_tree;

enum { RILL_TREE_AS_WRITTEN = 1, RILL_TREE_KEEP_BARS = 2 };

/* A text that contains trees: a file, or one line. */
typedef struct rill_tree_text {
    const char *name; /* file name for errors: "NAME:LINE:COLUMN: ..."; NULL for a line: "column COLUMN: ..." */
    const char *text;
    size_t length;
    size_t offset; /* in and out: offset in the text at which the next tree is read */
    /* Private: lines before byte `counted_to`, and the start of its line. */
    size_t line, line_offset, counted_to;
} rill_tree_text;

/* Read the next tree.
 *   RILL_OK            tree holds it
 *   RILL_AGAIN         nothing but blanks is left; tree is empty
 *   RILL_ERR_INPUT     no tree, or one that is not in order: a bracket open or closed too often, a bracket with nothing in it, a
 *                      word out of place, no words; recorded with place. `at` is behind the line at fault, so that a caller may
 *                      go on with the next
 *   RILL_ERR_MEMORY */
rill_status rill_tree_next(rill_tree *tree, rill_tree_text *text, int flags);

/* Read the only tree of a line; spaces around it are allowed.
 *   RILL_OK · RILL_ERR_INPUT (as above, also for an empty line; for an incomplete tree the message asks for one tree
 *   per line) · RILL_ERR_MEMORY */
rill_status rill_tree_parse(rill_tree *tree, const char *text, size_t length, int flags);

/* Append the tree in one line; or `indented`, a constituent per line, two blanks deeper than the one that holds it (of 32 levels at
 * most), with the words that a constituent begins with behind its label. No newline at the end.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_tree_write(rill_tree *tree, rill_text *out, int indented);

/* Build a tree from its brackets: begin, then open, word and close as they come. Every open() needs its close(), with a word or
 * another bracket between them.
 *   RILL_OK · RILL_ERR_MEMORY */
void rill_tree_begin(rill_tree *tree);
rill_status rill_tree_open(rill_tree *tree, rill_slice label);
rill_status rill_tree_word(rill_tree *tree, rill_slice tag, rill_slice word);
void rill_tree_close(rill_tree *tree);

/* Free the memory. */
void rill_tree_clear(rill_tree *tree);

/* Append a word as it stands in a tree: ( ) { } become -LRB- -RRB- -LCB- -RCB-, wherever in the word they stand. A word without
 * any is appended as it is. rill_tree_unescape() is the way back.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_tree_escape(rill_text *out, const char *word, size_t length);
rill_status rill_tree_unescape(rill_text *out, const char *word, size_t length);

#endif
