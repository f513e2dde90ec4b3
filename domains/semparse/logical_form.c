/* Sorts the children of `and` and `or` in a logical form, innermost first, without recursion.
 *
 * Invariant: the children of an open bracket are adjacent in `tokens`, up to the current token. */
#include <stdlib.h>
#include <string.h>

#include "semparse.h"

enum { MAX_NESTING = 1000 };

typedef rill_slice token;

/* A child of a bracket: the tokens first .. first + count - 1. */
typedef struct span {
    size_t first, count;
} span;

typedef struct open_bracket {
    size_t open_index;  /* index in `tokens` of its '(' */
    size_t first_child; /* index in `children` of the bracket's first child */
} open_bracket;

typedef struct form_sorter {
    rill_arena *arena;       /* memory of the arrays below */
    token *tokens, *scratch; /* tokens of the logical form; memory in which reordered children are put together */
    size_t count;
    span *children;
    size_t child_count;
    open_bracket *frames;
    size_t depth;
} form_sorter;

/* --- tokens ------------------------------------------------------------------------------------------------------- */

static int is_form_space(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

static int is_bracket(char c)
{
    return c == '(' || c == ')';
}

/* Return the next token from *pos on, and move *pos past it; empty at the end. */
static token next_token(const char *text, size_t length, size_t *pos)
{
    while (*pos < length && is_form_space(text[*pos])) ++*pos;
    size_t start = *pos;
    if (start < length && is_bracket(text[start])) {
        ++*pos;
    } else {
        while (*pos < length && !is_form_space(text[*pos]) && !is_bracket(text[*pos])) ++*pos;
    }
    return (token){text + start, *pos - start};
}

static rill_status tokenise(form_sorter *f, const char *text, size_t length)
{
    size_t pos = 0;
    f->count = 0;
    for (;;) {
        token tok = next_token(text, length, &pos);
        if (tok.length == 0) return RILL_OK;
        PUSH(f->arena, f->tokens, f->count, tok, "tokens of a logical form");
    }
}

/* --- order of operands -------------------------------------------------------------------------------------------- */

static int compare_tokens(token a, token b)
{
    int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* Compare two spans token by token, for qsort_r(). No span is a prefix of another. */
static int compare_spans(const void *a_span, const void *b_span, void *user)
{
    const span *a = a_span, *b = b_span;
    const token *tokens = user;
    int order = 0;
    for (size_t i = 0; order == 0 && i < a->count; i++)
        order = compare_tokens(tokens[a->first + i], tokens[b->first + i]);
    return order;
}

/* --- sorting the operands of one bracket -------------------------------------------------------------------------- */

static rill_status add_child(form_sorter *f, size_t first, size_t count)
{
    /* the form is complete: there is no enclosing bracket whose children are sorted */
    if (f->depth == 0) return RILL_OK;
    const span child = {first, count};
    PUSH(f->arena, f->children, f->child_count, child, "children in a logical form");
    return RILL_OK;
}

/* Sort sibling spans and move their tokens into the new order. The spans are adjacent in `tokens`. */
static rill_status sort_children(form_sorter *f, span *spans, size_t count)
{
    size_t first = spans[0].first, total = spans[count - 1].first + spans[count - 1].count - first, used = 0;
    TRY(GROW(f->arena, f->scratch, total, "tokens of a logical form"));
    qsort_r(spans, count, sizeof *spans, compare_spans, f->tokens);
    for (size_t i = 0; i < count; i++) {
        memcpy(f->scratch + used, f->tokens + spans[i].first, spans[i].count * sizeof *f->scratch);
        used += spans[i].count;
    }
    memcpy(f->tokens + first, f->scratch, total * sizeof *f->scratch);
    return RILL_OK;
}

static rill_status close_node(form_sorter *f, size_t index)
{
    open_bracket node = f->frames[--f->depth];
    size_t count = f->child_count - node.first_child;
    token head = f->tokens[node.open_index + 1];
    if (count > 2 && (rill_slice_is(head, "and") || rill_slice_is(head, "or")))
        TRY(sort_children(f, f->children + node.first_child + 1, count - 1));
    f->child_count = node.first_child;
    return add_child(f, node.open_index, index - node.open_index + 1);
}

/* --- sorting the whole form --------------------------------------------------------------------------------------- */

/* Sort the children of all `and` and `or`. *is_balanced: 1 if brackets match and are not nested too deep, else 0. */
static rill_status sort_all_children(form_sorter *f, int *is_balanced)
{
    *is_balanced = 0;
    for (size_t i = 0; i < f->count; i++) {
        token tok = f->tokens[i];
        if (rill_slice_is(tok, "(")) {
            const open_bracket node = {.open_index = i, .first_child = f->child_count};
            if (f->depth == MAX_NESTING) return RILL_OK;
            PUSH(f->arena, f->frames, f->depth, node, "brackets of a logical form");
        } else if (rill_slice_is(tok, ")")) {
            if (f->depth == 0) return RILL_OK;
            TRY(close_node(f, i));
        } else {
            TRY(add_child(f, i, 1));
        }
    }
    *is_balanced = f->depth == 0;
    return RILL_OK;
}

static rill_status write_form(const form_sorter *f, rill_text *out)
{
    for (size_t i = 0; i < f->count; i++) {
        if (i > 0) TRY(rill_text_append(out, " ", 1));
        TRY(rill_text_append(out, f->tokens[i].data, f->tokens[i].length));
    }
    return RILL_OK;
}

rill_status rill_logic_canonical(const rill_domain *table, rill_context *ctx, const char *text, size_t length,
                                 rill_text *out)
{
    (void)table;
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = ctx};
    form_sorter f = {.arena = &arena};
    const size_t old_length = out->length;
    int is_balanced = 0;
    TRY(tokenise(&f, text, length));
    TRY(sort_all_children(&f, &is_balanced));
    if (!is_balanced) TRY(tokenise(&f, text, length)); /* undoes the partial sort by reading the tokens again */
    const rill_status status = write_form(&f, out);
    if (status == RILL_OK) return RILL_OK;
    out->length = old_length;
    if (out->data) out->data[old_length] = '\0';
    return status;
}
