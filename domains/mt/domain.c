/* Machine translation as a table of functions: models, runners, outputs. What is computed is in program.c, the way to it in
 * encode.c and step.c.
 *
 * An ensemble is a model of several nets. What is once for all of them, as text and the plan, is the model's.
 *
 * Invariant: what close_model() and stop() get may be half built; everything in it is zero until it is owned.
 *
 * Divisions: loading · the model · the runner · outputs · names of actions · the table. */
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "mt.h"
#include "options.h"
#include "weights.h"
#include "words.h"

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* Of the symbols that the configuration does not forbid, those that have a piece and are not padding. */
static rill_status mark_legal(mt_net *net)
{
    const int32_t named = net->pieces = rill_vocabulary_count(rill_codec_target(net->text));
    if (net->settings.end >= named)
        return rill_fail(net->ctx, RILL_ERR_FORMAT,
                         "%s: eos_token_id: expected one of the vocabulary's %d symbols, found %d",
                         net->settings.end_file, named, net->settings.end);
    for (int32_t i = 0; i < net->decoder.words; i++)
        if (i >= named || i == net->settings.pad) net->legal[i / 64] &= ~(UINT64_C(1) << (i % 64));
    for (int32_t i = net->decoder.words; i % 64 != 0; i++) net->legal[i / 64] &= ~(UINT64_C(1) << (i % 64));
    return RILL_OK;
}

/* What ends an input is the source's own symbol of that name, whose number may be another where vocabularies are two. */
static rill_status find_source_end(mt_net *net, const char *directory, const char *file)
{
    static const char name[] = "</s>";
    const rill_vocabulary *source = rill_codec_source(net->text);
    net->settings.source_end = net->settings.end;
    if (source == rill_codec_target(net->text)) return RILL_OK;
    net->settings.source_end = rill_vocabulary_id(source, name, sizeof name - 1);
    if (net->settings.source_end >= 0) return RILL_OK;
    return rill_fail(net->ctx, RILL_ERR_FORMAT, "%s/%s: expected a token %s, which ends inputs", directory, file, name);
}

static rill_status load_text(mt_net *net, const char *directory, const rill_open_options *options)
{
    const int fsmt = net->settings.kind == MT_FSMT;
    const rill_codec_kind kind = fsmt ? RILL_CODEC_MOSES_BPE : RILL_CODEC_SENTENCEPIECE;
    const rill_codec_files files = {.kind = options->tokenized ? RILL_CODEC_WORDS : kind,
                                    .directory = directory,
                                    .source = fsmt ? "vocab-src.json" : "vocab.json",
                                    .target = fsmt ? "vocab-tgt.json" : "target_vocab.json",
                                    .optional = !fsmt,
                                    .words = net->encoder.words,
                                    .actions = net->decoder.words};
    TRY(rill_codec_open(&net->text, net->ctx, &files));
    return find_source_end(net, directory, files.source);
}

/* Number i; what the nets behind the first have of text is only compared. */
static rill_status load_net(mt_model *m, size_t i, const rill_open_options *options)
{
    mt_net *net = &m->net[i];
    const char *directory = i == 0 ? options->path : options->also[i - 1];
    *net = (mt_net){.ctx = m->ctx, .model = m};
    TRY(mt_load_config(net, directory));
    TRY(load_text(net, directory, options));
    TRY(mark_legal(net));
    if (i == 0) m->legal = net->legal;
    if (i > 0) TRY(mt_match(&m->net[0], options->path, net, directory));
    if (i == 0 && options->shortlist != NULL) TRY(mt_shortlist_open(&m->shortlist, m, options->shortlist));
    TRY(mt_load_weights(net, directory));
    if (i == 0) return mt_load_recommended(m, directory);
    rill_codec_close(net->text);
    net->text = NULL;
    return RILL_OK;
}

static rill_status load_all(mt_model *m, const rill_open_options *options)
{
    const size_t nets = 1 + (size_t)options->n_also;
    if (nets > RILL_MIX_MODELS)
        return rill_fail(m->ctx, RILL_ERR_OPTION, "mt: expected at most %d models, found %zu", RILL_MIX_MODELS, nets);
    TRY(rill_weights_type(m->ctx, "mt", options, &m->weights));
    TRY(rill_options_device(m->ctx, "mt", options, &m->device));
    TRY(rill_plan_open(&m->plan, m->ctx, m->device));
    TRY(rill_blocks_get(&m->blocks, &m->net, nets, sizeof *m->net, "models"));
    while (m->nets < nets) TRY(load_net(m, m->nets++, options));
    mt_agree(m);
    mt_build(m);
    return rill_plan_finish(m->plan);
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

static void close_model(void *model)
{
    mt_model *m = model;
    if (m == NULL) return;
    rill_context *ctx = m->ctx;
    for (size_t i = 0; i < m->nets; i++) rill_codec_close(m->net[i].text);
    mt_shortlist_close(m->shortlist);
    rill_plan_close(m->plan);
    rill_device_close(m->device);
    rill_blocks_clear(&m->blocks);
    rill_free(ctx, m, sizeof *m);
}

/* What computes, behind what it is. */
static void describe(mt_model *m, const rill_open_options *options)
{
    const size_t used = strlen(m->description);
    if (m->weights != RILL_WEIGHT_F32)
        snprintf(m->description + used, sizeof m->description - used, ", weights in %s", options->weights);
    rill_options_describe(m->device, m->description, sizeof m->description);
}

/* The most symbols of the list of an input of so many pieces, and what packing adds. */
static int64_t list_symbols(const mt_model *m, size_t pieces)
{
    return m->shortlist != NULL ? (int64_t)mt_list_most(m->shortlist, pieces) + RILL_LIST_MORE : 0;
}

static void fill_info(const mt_model *m, rill_domain_info *info)
{
    const rill_plan_bytes bytes = rill_plan_sizes(m->plan);
    const int64_t none = list_symbols(m, 0), one = list_symbols(m, 1);
    *info = (rill_domain_info){.actions = m->net[0].decoder.words,
                               .texts_apart = 1,
                               .phases = 1,
                               .state_need = RILL_STATE_PATH,
                               .max_length = m->max_length,
                               .most_length = m->most_length,
                               .description = m->description,
                               .node_bytes = bytes.node,
                               .slot_bytes = bytes.slot + none * bytes.symbol,
                               .slot_unit_bytes = bytes.unit + (one - none) * bytes.symbol,
                               .has_end_action = 1,
                               .end_action = m->net[0].settings.end,
                               .legal = m->legal};
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    TRY(rill_options_check(ctx, "mt", options));
    mt_model *m = rill_calloc(ctx, 1, sizeof *m);
    if (m == NULL) return rill_fail_memory(ctx, sizeof *m, "a translation model");
    m->ctx = m->blocks.ctx = ctx;
    rill_status status = load_all(m, options);
    if (status != RILL_OK) {
        close_model(m);
        return status;
    }
    describe(m, options);
    fill_info(m, info);
    *model = m;
    return RILL_OK;
}

/* --- the runner --------------------------------------------------------------------------------------------------- */

static void stop(void *runner)
{
    mt_runner *r = runner;
    if (r == NULL) return;
    rill_context *ctx = r->ctx;
    rill_free(ctx, r->root, r->root_room * sizeof *r->root);
    rill_free(ctx, r->reading, r->reading_room * sizeof *r->reading);
    rill_free(ctx, r->ids, r->ids_room * sizeof *r->ids);
    rill_free(ctx, r->scratch, r->scratch_room);
    rill_free(ctx, r->aligned, r->aligned_room);
    mt_list_clear(&r->list, ctx);
    rill_codec_close(r->text);
    rill_stream_close(r->stream);
    rill_free(ctx, r, sizeof *r);
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    const mt_model *m = model;
    mt_runner *r = rill_calloc(ctx, 1, sizeof *r);
    if (r == NULL) return rill_fail_memory(ctx, sizeof *r, "a translation model's runner");
    r->model = m;
    r->ctx = ctx;
    rill_status status = rill_stream_open(&r->stream, ctx, m->plan, threads);
    if (status == RILL_OK) status = rill_codec_share(&r->text, ctx, m->net[0].text);
    if (status != RILL_OK) {
        stop(r);
        return status;
    }
    *runner = r;
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    mt_runner *r = self;
    TRY(rill_stream_reserve(r->stream, nodes, slots));
    return rill_grow(r->ctx, (void **)&r->root, &r->root_room, (size_t)slots, sizeof *r->root, "item slots");
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    mt_runner *r = self;
    size_t length = (size_t)hypothesis->length;
    if (length > 0 && hypothesis->action[length - 1] == r->model->net[0].settings.end) length--;
    return rill_codec_write(r->text, length, hypothesis->action, out);
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static const rill_codec *text_of(const void *model)
{
    return ((const mt_model *)model)->net[0].text;
}

static const rill_vocabulary *symbols_of(const void *model)
{
    return rill_codec_target(text_of(model));
}

static rill_status action_name(void *model, int32_t action, rill_text *out)
{
    const rill_vocabulary *symbols = symbols_of(model);
    size_t length;
    if (action >= rill_vocabulary_count(symbols))
        return rill_fail(out->ctx, RILL_ERR_NOT_FOUND, "symbol %d has no piece in the vocabulary", action);
    const char *piece = rill_vocabulary_token(symbols, action, &length);
    return rill_text_append(out, piece, length);
}

static int32_t find_action(void *model, const char *text, size_t length)
{
    int32_t action = rill_vocabulary_id(symbols_of(model), text, length);
    return action >= 0 ? action : RILL_NO_ACTION;
}

static int32_t unknown_action(void *model)
{
    static const char unknown[] = "<unk>";
    return find_action(model, unknown, sizeof unknown - 1);
}

/* A text has no marks: a piece that is called like one stands for characters without a symbol. */
static int is_mark(void *model, int32_t action)
{
    const mt_settings *s = &((const mt_model *)model)->net[0].settings;
    return action == s->end || action == s->pad || action == unknown_action(model);
}

static rill_status take_piece(void *user, const char *piece, size_t length)
{
    rill_actions *to = user;
    const int32_t action = rill_vocabulary_id(symbols_of(to->model), piece, length);
    if (action < 0 || is_mark(to->model, action))
        return rill_fail(to->ctx, RILL_ERR_INPUT, "\"%.*s\" is no piece that the model writes", (int)length, piece);
    rill_actions_add(to, action);
    return RILL_OK;
}

static rill_status tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t room, int32_t *n)
{
    rill_actions to = {model, ctx, action, room, 0};
    TRY(rill_codec_split(text_of(model), ctx, text, length, take_piece, &to));
    *n = to.n;
    return RILL_OK;
}

static rill_status recommend(void *model, const char *like, rill_text *out)
{
    const mt_model *m = model;
    if (strcmp(like, "hf") != 0) return RILL_OK;
    return rill_text_append(out, m->recommended, strlen(m->recommended));
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

const rill_domain rill_mt_domain = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "mt",
    .summary = "machine translation: Marian and FSMT transformers from Hugging Face directories",
    .open = open_model,
    .close = close_model,
    .start = start,
    .stop = stop,
    .reserve = reserve,
    .encode = mt_encode,
    .step = mt_step,
    .score = mt_score,
    .finalize = finalize,
    .drop = rill_runner_drop,
    .action_name = action_name,
    .find_action = find_action,
    .unknown_action = unknown_action,
    .tokenize = tokenize,
    .recommend = recommend,
    .metric = "bleu",
    .features = RILL_TAKES_ENSEMBLES | RILL_TAKES_WEIGHTS | RILL_TAKES_SHORTLIST | RILL_TAKES_BACKEND,
    .field = mt_field,
    .profile = rill_runner_profile,
    .profiled = rill_runner_profiled,
    .limits = rill_runner_limits,
    .advise = mt_advise,
};
