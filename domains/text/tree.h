/* tree.h: reads and writes constituency trees in Penn Treebank brackets.
 *
 * A tree is an array of nodes in the order of their opening brackets. The descendants of node i are nodes i + 1 to
 * node[i].end - 1, and words are numbered from left to right. A node either has child nodes, or is a part-of-speech tag with
 * one word.
 *
 * Reading simplifies trees as parsers usually do:
 *   traces              a word tagged -NONE- is removed, and so is a constituent that then has no words
 *   function tags       a label is cut before its first '-', '=' or '|', unless that is its first character: NP-SBJ-1, NP=2
 *                       and ADVP|PRT become NP, NP, ADVP. Tags of words are not cut. With RILL_TREE_KEEP_BARS labels are not
 *                       cut at '|'
 *   empty labels        the outer bracket of "( (S ...))" in .mrg files gets the label TOP
 * With RILL_TREE_AS_WRITTEN only empty labels are changed.
 * Words stay as written in the file, where "(" is -LRB-; rill_tree_escape() and rill_tree_unescape() convert them.
 *
 * Order of use: a zeroed rill_tree with ctx set; any number of trees read into it, each of which replaces the previous one
 * and reuses its memory; rill_tree_clear(). No function is recursive: only memory limits the depth of a tree.
 * Memory: labels and words are slices of the text that was read, which must outlive the tree. One thread at a time.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_TREE_H
#define RILL_TEXT_TREE_H

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

/* Read the only tree of a line; spaces around it are allowed.
 *   RILL_OK · RILL_ERR_MEMORY
 *   RILL_ERR_INPUT  malformed: unbalanced or empty brackets, a word at a wrong position, no words, an empty line; recorded with the
 *                   column. *tree is then empty */
rill_status rill_tree_parse(rill_tree *tree, const char *text, size_t length, int flags);

/* Append the tree in one line. If `indented` is set, write one constituent per line, indented by two spaces more than its
 * parent (at most 32 levels), with the words at the start of a constituent on the line of its label. No newline at the end.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_tree_write(rill_tree *tree, rill_text *out, int indented);

/* Build a tree bracket by bracket: rill_tree_begin(), then rill_tree_open(), _word() and _close() in the order of the
 * brackets. Each open() needs a close(), with a word or another bracket between them.
 *   RILL_OK · RILL_ERR_MEMORY */
void rill_tree_begin(rill_tree *tree);
rill_status rill_tree_open(rill_tree *tree, rill_slice label);
rill_status rill_tree_word(rill_tree *tree, rill_slice tag, rill_slice word);
void rill_tree_close(rill_tree *tree);

/* Free the memory. */
void rill_tree_clear(rill_tree *tree);

/* rill_tree_escape() appends a word as trees spell it: each ( ) { } in it becomes -LRB- -RRB- -LCB- -RCB-.
 * rill_tree_unescape() reverses this.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_tree_escape(rill_text *out, const char *word, size_t length);
rill_status rill_tree_unescape(rill_text *out, const char *word, size_t length);

#endif
