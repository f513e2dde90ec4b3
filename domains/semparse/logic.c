/* Sorting the children of `and` and `or`, without recursion.
 *
 * One pass over the tokens keeps the open brackets on a stack, and on a second stack the children of each of them, as
 * spans of tokens. When a bracket closes, its children are sorted already inside; if its head has no order they are
 * put in order, and the whole becomes one child of the bracket around it.
 * Invariant: the children of an open bracket lie one behind the other in `tokens`, from the token behind '(' to the
 * one before the current token; reordering them stays within that range.
 * Divisions: tokens, order, one node, the whole. */
#include <string.h>

#include "grow.h"
#include "logic.h"
#include "try.h"
#include "words.h"

enum { MOST_DEEP = 1000 };

typedef rill_slice token;

/* A child: tokens [first, first + count). */
typedef struct span {
    size_t first, count;
} span;

typedef struct frame {
    size_t open;  /* the token '(' */
    size_t child; /* where its children begin in `children` */
} frame;

typedef struct form {
    rill_context *ctx;
    token *tokens, *moved; /* `moved` is where children are laid out anew */
    size_t count, room, moved_room;
    span *children;
    size_t child_count, child_room;
    frame *frames;
    size_t depth, frame_room;
} form;

/* --- tokens ------------------------------------------------------------------------------------------------------- */

static int is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

static int is_bracket(char c)
{
    return c == '(' || c == ')';
}

/* The token at or behind *at, which moves on; length 0 at the end. */
static token next_token(const char *text, size_t length, size_t *at)
{
    while (*at < length && is_blank(text[*at])) ++*at;
    size_t start = *at;
    if (start < length && is_bracket(text[start])) {
        ++*at;
    } else {
        while (*at < length && !is_blank(text[*at]) && !is_bracket(text[*at])) ++*at;
    }
    return (token){text + start, *at - start};
}

static rill_status tokenise(form *f, const char *text, size_t length)
{
    size_t at = 0;
    f->count = 0;
    for (;;) {
        token here = next_token(text, length, &at);
        if (here.length == 0) return RILL_OK;
        PUSH(f->ctx, f->tokens, f->room, f->count, here, "tokens of a logical form");
    }
}

/* --- order -------------------------------------------------------------------------------------------------------- */

static int compare_tokens(token a, token b)
{
    int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* None is the beginning of another: it is one word, or ends where its bracket does. */
static int compare_spans(const token *tokens, span a, span b)
{
    int order = 0;
    for (size_t i = 0; order == 0 && i < a.count; i++) order = compare_tokens(tokens[a.first + i], tokens[b.first + i]);
    return order;
}

/* Let the span at `root` sink in the heap of `count` spans, largest on top. */
static void sink(const token *tokens, span *heap, size_t root, size_t count)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) return;
        if (child + 1 < count && compare_spans(tokens, heap[child], heap[child + 1]) < 0) child++;
        if (compare_spans(tokens, heap[root], heap[child]) >= 0) return;
        span swap = heap[root];
        heap[root] = heap[child];
        heap[child] = swap;
        root = child;
    }
}

/* Heap sort: no worst case, no memory, and equal children are the same bytes, so that stability does not matter. */
static void sort_spans(const token *tokens, span *spans, size_t count)
{
    for (size_t i = count / 2; i-- > 0;) sink(tokens, spans, i, count);
    for (size_t left = count; left > 1; left--) {
        span top = spans[0];
        spans[0] = spans[left - 1];
        spans[left - 1] = top;
        sink(tokens, spans, 0, left - 1);
    }
}

/* --- one node ----------------------------------------------------------------------------------------------------- */

static rill_status add_child(form *f, size_t first, size_t count)
{
    if (f->depth == 0) return RILL_OK; /* nothing around it could be sorted */
    const span child = {first, count};
    PUSH(f->ctx, f->children, f->child_room, f->child_count, child, "children in a logical form");
    return RILL_OK;
}

static rill_status open_node(form *f, size_t at)
{
    const frame node = {.open = at, .child = f->child_count};
    PUSH(f->ctx, f->frames, f->frame_room, f->depth, node, "brackets of a logical form");
    return RILL_OK;
}

/* Put the spans, which tile a range of tokens, in order. */
static rill_status arrange(form *f, span *spans, size_t count)
{
    size_t first = spans[0].first, total = spans[count - 1].first + spans[count - 1].count - first, at = 0;
    TRY(GROW(f->ctx, f->moved, f->moved_room, total, "tokens of a logical form"));
    sort_spans(f->tokens, spans, count);
    for (size_t i = 0; i < count; i++) {
        memcpy(f->moved + at, f->tokens + spans[i].first, spans[i].count * sizeof *f->moved);
        at += spans[i].count;
    }
    memcpy(f->tokens + first, f->moved, total * sizeof *f->moved);
    return RILL_OK;
}

static rill_status close_node(form *f, size_t at)
{
    frame node = f->frames[--f->depth];
    size_t count = f->child_count - node.child;
    token head = f->tokens[node.open + 1];
    rill_status status = RILL_OK;
    if (count > 2 && (rill_slice_is(head, "and") || rill_slice_is(head, "or")))
        status = arrange(f, f->children + node.child + 1, count - 1);
    f->child_count = node.child;
    return status == RILL_OK ? add_child(f, node.open, at - node.open + 1) : status;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Sort all there is; *whole tells whether brackets match and are not too deep. */
static rill_status sort_form(form *f, int *whole)
{
    rill_status status = RILL_OK;
    *whole = 0;
    for (size_t at = 0; status == RILL_OK && at < f->count; at++) {
        token here = f->tokens[at];
        if (rill_slice_is(here, "(")) {
            if (f->depth == MOST_DEEP) return RILL_OK;
            status = open_node(f, at);
        } else if (rill_slice_is(here, ")")) {
            if (f->depth == 0) return RILL_OK;
            status = close_node(f, at);
        } else {
            status = add_child(f, at, 1);
        }
    }
    *whole = status == RILL_OK && f->depth == 0;
    return status;
}

static rill_status write_form(const form *f, rill_text *out)
{
    size_t before = out->length;
    for (size_t i = 0; i < f->count; i++) {
        rill_status status = i ? rill_text_append(out, " ", 1) : RILL_OK;
        if (status == RILL_OK) status = rill_text_append(out, f->tokens[i].data, f->tokens[i].length);
        if (status != RILL_OK) {
            out->length = before;
            if (out->data) out->data[before] = '\0';
            return status;
        }
    }
    return RILL_OK;
}

rill_status rill_logic_canonical(rill_context *ctx, const char *text, size_t length, rill_text *out)
{
    form f = {.ctx = ctx};
    int whole = 0;
    rill_status status = tokenise(&f, text, length);
    if (status == RILL_OK) status = sort_form(&f, &whole);
    if (status == RILL_OK && !whole) status = tokenise(&f, text, length); /* some of it was sorted already */
    if (status == RILL_OK) status = write_form(&f, out);
    DROP(ctx, f.tokens, f.room);
    DROP(ctx, f.moved, f.moved_room);
    DROP(ctx, f.children, f.child_room);
    DROP(ctx, f.frames, f.frame_room);
    return status;
}
