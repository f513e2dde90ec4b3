/* Reads and writes constituency trees in Penn Treebank brackets.
 *
 * A tree is an array of nodes in the order of their opening brackets. A node has children, or is a part-of-speech tag with one word. Words
 * are numbered from left to right.
 * Reading simplifies trees, unless RILL_TREE_AS_WRITTEN:
 *   traces              words tagged -NONE-, and constituents without other words, are removed
 *   function tags       a label ends before '-', '=' or '|', except as its first character: NP-SBJ-1, NP=2, ADVP|PRT become NP, NP,
 *                       ADVP. Tags of words are not cut. RILL_TREE_KEEP_BARS: '|' does not end it
 *   empty labels        the outer bracket of "( (S ...))" in .mrg files gets the label TOP, always
 * Words stay as written, e.g. -LRB- for "(".
 *
 * Zero-initialise a rill_tree and set ctx. Each tree read replaces the last. Finally rill_tree_clear(). Nothing is recursive: only memory
 * limits the depth. Labels and words are slices of the text, which must outlive the tree. Threads: one at a time. */
#pragma once

#include "domain_base.h"
#include "utf8.h"

typedef struct rill_tree_node {
    rill_slice label; /* label of the bracket; part-of-speech tag if it holds a word */
    rill_slice word;  /* the word; data is NULL for inner nodes */
    int32_t end;      /* nodes i + 1 .. end - 1 are descendants of node i */
    int32_t from, to; /* the node spans words from .. to - 1 */
} rill_tree_node;

typedef struct rill_tree {
    rill_context *ctx;
    rill_tree_node *node; /* [count] */
    int32_t count;
    int32_t words;
    int32_t *open_nodes; /* [depth] nodes whose brackets are open, while the tree is read, built or written */
    int32_t depth;
    rill_arena arena; /* memory of the tree's arrays */
} rill_tree;

enum { RILL_TREE_AS_WRITTEN = 1, RILL_TREE_KEEP_BARS = 2 };

/* Read the only tree of a line.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_INPUT (recorded, with column: unbalanced or empty brackets, a misplaced word, no words, an
 *   empty line; *tree is then empty) */
rill_status rill_tree_parse(rill_tree *tree, const char *text, size_t length, int flags);

/* Append the tree in one line; `indented`: one constituent per line, two spaces per level, up to 32 levels. No newline at the end.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_tree_write(rill_tree *tree, rill_text *out, int indented);

/* Build a tree: rill_tree_begin(), then _open(), _word() and _close() in the order of the brackets. Each bracket needs content.
 *   RILL_OK · RILL_ERR_MEMORY */
void rill_tree_begin(rill_tree *tree);
rill_status rill_tree_open(rill_tree *tree, rill_slice label);
rill_status rill_tree_word(rill_tree *tree, rill_slice tag, rill_slice word);
void rill_tree_close(rill_tree *tree);

/* Free the memory. */
void rill_tree_clear(rill_tree *tree);

/* Append a word as trees spell it, with -LRB- -RRB- -LCB- -RCB- for ( ) { }.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_tree_escape(rill_text *out, const char *word, size_t length);
