/* Progress reports (rill_request.progress). The final part is the common prefix of all hypotheses that may still become outputs. It is
 * empty in exact search, and with a scorer that may restart the search. */
#include "engine_internal.h"

/* A hypothesis: the path from the root of the hypothesis tree to hyp_pool.hyp[hyp]. */
typedef struct hyp_path {
    int32_t hyp;
    int32_t depth; /* number of actions from the root to `hyp` */
} hyp_path;

static int32_t hyp_depth(const hyp_pool *f, int32_t hyp)
{
    int32_t depth = 0;
    for (; f->hyp[hyp].parent >= 0; hyp = f->hyp[hyp].parent) depth++;
    return depth;
}

/* Returns the longest common prefix of the hypotheses `a` and `hyp`. */
static hyp_path common_prefix(const hyp_pool *f, hyp_path a, int32_t hyp)
{
    hyp_path b = {hyp, hyp_depth(f, hyp)};
    for (; b.depth > a.depth; b.depth--) b.hyp = f->hyp[b.hyp].parent;
    for (; a.depth > b.depth; a.depth--) a.hyp = f->hyp[a.hyp].parent;
    for (; a.hyp != b.hyp; a.depth--) {
        a.hyp = f->hyp[a.hyp].parent;
        b.hyp = f->hyp[b.hyp].parent;
    }
    return a;
}

/* Returns the longest common prefix of the input's beam, its outputs and its best ended hypothesis. */
static hyp_path common_path(const rill_engine *e, const item *it)
{
    const hyp_pool *f = &e->hyps;
    hyp_path common = {it->beam[0].hyp, hyp_depth(f, it->beam[0].hyp)};
    for (int32_t i = 1; i < it->width && common.depth > 0; i++) common = common_prefix(f, common, it->beam[i].hyp);
    for (int32_t i = 0; i < it->n_outputs && common.depth > 0; i++)
        common = common_prefix(f, common, it->outputs[i].hyp);
    if (it->best_ended.hyp >= 0) common = common_prefix(f, common, it->best_ended.hyp);
    return common;
}

/* Append the text of hypothesis p and a NUL. *length: bytes without the NUL. A live hypothesis counts as truncated. */
static rill_status write_partial(rill_engine *e, int32_t slot, const hyp_path *p, rill_text *text, size_t *length)
{
    const beam_entry *best = &e->items.item[slot].beam[0];
    const int ended = best->ended && best->hyp == p->hyp;
    const item_output output = {.hyp = p->hyp, .length = p->depth, .truncated = (uint8_t)!ended};
    const size_t old_length = text->length;
    rill_hypothesis h;
    rill_output out;
    int kept;
    const output_writer bare = {.ctx = e->ctx, .domain = e->domain, .self = e->self};
    RILL__TRY(backtrace_output(&e->output_writer.backtrace, &e->hyps, slot, &output, e->info.phases, &h));
    for (int32_t i = 0; i < h.length; i++) h.path_score += (double)h.action_path_score[i];
    RILL__TRY(output_writer_append(&bare, &h, 0, NULL, 0, text, &out, &kept));
    *length = text->length - old_length - 1;
    return RILL_OK;
}

/* Returns 1 if the input may be searched again after its beam search, by exact search or for a scorer; else 0. */
static int may_redecode(const chain *c, const item *it)
{
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->found != NULL) return 1;
    return it->settings->exact;
}

static rill_status report_progress(rill_engine *e, int32_t slot)
{
    item *it = &e->items.item[slot];
    hyp_path final = common_path(e, it);
    const hyp_path best = {it->beam[0].hyp, hyp_depth(&e->hyps, it->beam[0].hyp)};
    RILL__SCOPED_TEXT(text, e->ctx);
    rill_progress p = {.struct_size = sizeof p,
                       .user = it->request->user,
                       .timestep = it->timestep,
                       .path_score = it->beam[0].path_score};
    if (may_redecode(&e->chain, it))
        for (; final.depth > 0; final.depth--) final.hyp = e->hyps.hyp[final.hyp].parent;
    RILL__TRY(write_partial(e, slot, &final, &text, &p.final_length));
    RILL__TRY(write_partial(e, slot, &best, &text, &p.draft_length));
    p.final_actions = final.depth;
    p.draft_actions = best.depth;
    p.final_text = text.data;
    p.draft_text = text.data + p.final_length + 1;
    it->request->progress(it->request->user, &p);
    return RILL_OK;
}

rill_status progress_report(rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.item[t->selected[i]];
        if (it->request == NULL || it->request->progress == NULL || it->width == 0 || e->items.done[t->selected[i]])
            continue;
        if (it->owner == NULL && it->timestep <= it->request->last_reported) continue;
        it->request->last_reported = it->timestep;
        RILL__TRY(report_progress(e, t->selected[i]));
    }
    return RILL_OK;
}
