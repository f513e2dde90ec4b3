/* Encodes sentences: reads lines into words and features, and runs the graph that computes each position's products.
 *
 * Invariant: an input that fails is left out of the batch. Divisions: lines to features · tags · entry point. */
#include <string.h>

#include "domain_base.h"
#include "shiftreduce_model.h"

/* --- lines to features -------------------------------------------------------------------------------------------- */

static rill_status add_frame(parser_runner *r, size_t frame, const int32_t *feature)
{
    for (size_t f = 0; f < parser_features(r->model); f++) {
        TRY(GROW(r->ctx, r->feature[f], r->feature_capacity[f], frame + 1, "features of words"));
        r->feature[f][frame] = feature[f];
    }
    return RILL_OK;
}

/* Write the features of <s>, the sentence's words and </s>, from frame index `frame` on. */
static rill_status add_sentence_features(parser_runner *r, const rill_sentence *s, size_t frame)
{
    int32_t feature[PARSER_MAX_FEATURES];
    parser_boundary_features(r->model, PARSER_BOS, feature);
    TRY(add_frame(r, frame++, feature));
    for (int32_t i = 0; i < s->words; i++) {
        TRY(parser_word_features(r, rill_sentence_word(s, i), feature));
        TRY(add_frame(r, frame++, feature));
    }
    parser_boundary_features(r->model, PARSER_EOS, feature);
    return add_frame(r, frame, feature);
}

static rill_status read_inputs(parser_runner *r, int32_t m, rill_input *inputs, int32_t *sentences, size_t *frames)
{
    TRY(GROW(r->ctx, r->slot, r->slot_capacity, (size_t)m, "sentences"));
    TRY(GROW(r->ctx, r->frames, r->frames_capacity, (size_t)m, "sentences"));
    TRY(GROW(r->ctx, r->positions, r->positions_capacity, (size_t)m, "sentences"));
    for (int32_t i = 0; i < m; i++) {
        int32_t words;
        TRY(parser_read(r, &inputs[i], &words));
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

/* --- tags --------------------------------------------------------------------------------------------------------- */

/* Copy the tags of tagged words and mark untagged words for prediction.
 *   tag, untagged  [frames] out */
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

/* --- entry point -------------------------------------------------------------------------------------------------- */

rill_status parser_encode(void *self, int32_t m, rill_input *inputs)
{
    parser_runner *r = self;
    rill_run_arguments run = {.struct_size = sizeof run};
    size_t frames = 0;
    TRY(read_inputs(r, m, inputs, &run.n, &frames));
    const size_t n = (size_t)run.n;
    TRY(GROW(r->ctx, r->column, r->column_capacity, 2 * n + 2 * frames, "columns of sentences"));
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
