/* Telling of progress; progress.h.
 *
 * What is final is the path that all hypotheses have in common which may still be given, or lead to one that is: those of the beam and the
 * outputs kept. Each that comes later extends one of these, so the path never becomes shorter while a search goes on. A scorer that may
 * have an input decoded again (rill_scorer.found) leaves nothing final, nor does exact search. One that was sent back for want of memory
 * comes by all it came to before, which is not told again. */
#include "progress.h"

typedef struct path {
    int32_t history;
    int32_t depth; /* actions on the way to it */
} path;

static int32_t depth_of(const forest *f, int32_t history)
{
    int32_t depth = 0;
    for (; f->h[history].parent >= 0; history = f->h[history].parent) depth++;
    return depth;
}

/* Where the paths of two hypotheses part. */
static path meet(const forest *f, path a, int32_t history)
{
    path b = {history, depth_of(f, history)};
    for (; b.depth > a.depth; b.depth--) b.history = f->h[b.history].parent;
    for (; a.depth > b.depth; a.depth--) a.history = f->h[a.history].parent;
    for (; a.history != b.history; a.depth--) {
        a.history = f->h[a.history].parent;
        b.history = f->h[b.history].parent;
    }
    return a;
}

static path common_path(const rill_engine *e, const item *it)
{
    const forest *f = &e->forest;
    path common = {it->beam[0].history, depth_of(f, it->beam[0].history)};
    for (int32_t i = 1; i < it->width && common.depth > 0; i++) common = meet(f, common, it->beam[i].history);
    for (int32_t i = 0; i < it->n_outputs && common.depth > 0; i++) common = meet(f, common, it->outputs[i].history);
    if (it->best_ended.history >= 0) common = meet(f, common, it->best_ended.history);
    return common;
}

/* Append the text of what is written so far, as of an output that is cut short there unless it has ended, and a NUL. */
static rill_status write_so_far(rill_engine *e, int32_t slot, const path *p, rill_text *text, size_t *length)
{
    const beam_entry *best = &e->items.at[slot].beam[0];
    const int ended = best->ended && best->history == p->history;
    const item_output output = {.history = p->history, .length = p->depth, .truncated = (uint8_t)!ended};
    const size_t before = text->length;
    rill_hypothesis h;
    rill_output out;
    int kept;
    const writing bare = {.ctx = e->ctx, .domain = e->domain, .self = e->self};
    RILL__TRY(unroll_output(&e->writing.unroll, &e->forest, slot, &output, e->info.phases, &h));
    for (int32_t i = 0; i < h.length; i++) h.score += (double)h.action_score[i];
    RILL__TRY(writing_append(&bare, &h, 0, NULL, 0, text, &out, &kept));
    *length = text->length - before - 1;
    return RILL_OK;
}

static int decodes_again(const chain *c, const item *it)
{
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->found != NULL) return 1;
    return it->settings->exact;
}

static rill_status tell(rill_engine *e, int32_t slot)
{
    item *it = &e->items.at[slot];
    path final = common_path(e, it);
    const path best = {it->beam[0].history, depth_of(&e->forest, it->beam[0].history)};
    rill_text text = {.ctx = e->ctx};
    rill_progress p = {
        .struct_size = sizeof p, .user = it->request->user, .timestep = it->timestep, .score = it->beam[0].score};
    if (decodes_again(&e->chain, it))
        for (; final.depth > 0; final.depth--) final.history = e->forest.h[final.history].parent;
    rill_status status = write_so_far(e, slot, &final, &text, &p.final_length);
    if (status >= 0) status = write_so_far(e, slot, &best, &text, &p.draft_length);
    if (status >= 0) {
        p.final_actions = final.depth;
        p.draft_actions = best.depth;
        p.final_text = text.data;
        p.draft_text = text.data + p.final_length + 1;
        it->request->progress(it->request->user, &p);
    }
    rill_text_clear(&text);
    return status;
}

rill_status progress_tell(rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.at[t->selected[i]];
        if (it->request == NULL || it->request->progress == NULL || it->width == 0 || e->items.done[t->selected[i]])
            continue;
        if (!it->exact.on && it->timestep <= it->request->told) continue;
        it->request->told = it->timestep;
        RILL__TRY(tell(e, t->selected[i]));
    }
    return RILL_OK;
}
