/* Models that read and write pieces as a domain's functions: models, runners, outputs. What is computed is in program.c and in the
 * architecture's functions, the way to it in encode.c and step.c.
 *
 * An ensemble is a model of several nets. What is once for all of them, as text and the plan, is the model's.
 * Invariant: what seq_close() and seq_stop() get may be half built; everything in it is zero until it is owned.
 *
 * Divisions: loading · the model · the runner · outputs · names of actions. */
#include <stdio.h>
#include <string.h>

#include "grow.h"
#include "options.h"
#include "seq2seq.h"
#include "weights.h"
#include "words.h"

const rill_option seq_options[] = {
    RILL_WEIGHTS_ROW("f32|bf16|f16|int8"),
    RILL_DEVICE_ROWS,
    {"shortlist", "FILE[,F[,B]]", "F and B: 100",
     "choose only among the first F actions and, by this lexicon, the best B for each piece of the input",
     RILL_OPTION_PATH, RILL_OPTION_MODEL, 0, 0, 0},
    {"scores", "logp|logits", "logp",
     "what an action scores: its log-probability, or its logit as it is, for models that are trained to need no normaliser",
     RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, 0, 0},
    {"source-lang", "NAME", "", "the language of inputs, by the name that a multilingual model has for it",
     RILL_OPTION_TEXT, RILL_OPTION_MODEL, 0, 0, 0},
    {"target-lang", "NAME", "", "the language of outputs, likewise", RILL_OPTION_TEXT, RILL_OPTION_MODEL, 0, 0, 0},
    {"language-columns", "", "",
     "inputs say their languages themselves: SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT, where an empty column says nothing",
     RILL_OPTION_SWITCH, RILL_OPTION_MODEL, 0, 0, 0},
    {0},
};

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* Of the symbols that the configuration does not forbid, those that have a piece and are not padding. */
static rill_status mark_legal(seq_net *net)
{
    const int32_t named = net->pieces = rill_vocabulary_count(rill_codec_target(net->text));
    if (net->end >= named)
        return rill_fail(net->ctx, RILL_ERR_FORMAT,
                         "%s: eos_token_id: expected one of the vocabulary's %d symbols, found %d", net->end_file,
                         named, net->end);
    for (int32_t i = 0; i < net->actions; i++)
        if (i >= named || i == net->pad) net->legal[i / 64] &= ~(UINT64_C(1) << (i % 64));
    for (int32_t i = net->actions; i % 64 != 0; i++) net->legal[i / 64] &= ~(UINT64_C(1) << (i % 64));
    return RILL_OK;
}

/* Languages of a model that has none are refused here; of one that has some, where they are looked up. */
static rill_status read_languages(const seq_net *net, const rill_open_options *options, rill_codec_files *files)
{
    const char *asked = NULL;
    files->source_language = rill_open_value(options, "source-lang");
    files->target_language = rill_open_value(options, "target-lang");
    files->language_columns = rill_open_switch(options, "language-columns");
    if (files->source_language != NULL) asked = "source-lang";
    if (files->target_language != NULL) asked = "target-lang";
    if (files->language_columns) asked = "language-columns";
    if (asked == NULL || files->kind == RILL_CODEC_FAMILY) return RILL_OK;
    if (files->target_piece && files->source_language == NULL && !files->language_columns) return RILL_OK;
    return rill_fail(net->ctx, RILL_ERR_OPTION, "%s: the model is not multilingual: it has no symbols of languages",
                     asked);
}

/* Outputs begin with the piece that is called like their language. */
static rill_status begin_outputs(seq_net *net, const rill_codec_files *files)
{
    const char *language = files->target_language;
    if (!files->target_piece || language == NULL || files->kind == RILL_CODEC_FAMILY) return RILL_OK;
    net->forced_first = rill_vocabulary_id(rill_codec_target(net->text), language, strlen(language));
    if (net->forced_first >= 0) return RILL_OK;
    return rill_fail(net->ctx, RILL_ERR_OPTION, "target-lang: \"%.60s\" is not in the vocabulary of %s", language,
                     files->directory);
}

static rill_status load_text(seq_net *net, const char *directory, const rill_open_options *options)
{
    rill_codec_files files = {.directory = directory, .tokenized = options->tokenized};
    TRY(net->kind->configure(net, directory, &files));
    files.words = net->words;
    files.actions = net->actions;
    files.end = net->end;
    files.start = net->start;
    files.forced_first = net->forced_first;
    TRY(read_languages(net, options, &files));
    if (options->tokenized && files.kind != RILL_CODEC_FAMILY) files.kind = RILL_CODEC_WORDS;
    TRY(rill_codec_open(&net->text, net->ctx, &files));
    net->source_begin = rill_codec_source_begin(net->text);
    net->source_end = rill_codec_source_end(net->text);
    TRY(begin_outputs(net, &files));
    if (net->kind->find_symbols != NULL) TRY(net->kind->find_symbols(net, directory));
    return mark_legal(net);
}

/* Number i; what the nets behind the first have of text is only compared. */
static rill_status load_net(seq_model *m, size_t i, const rill_open_options *options)
{
    const seq_kind *kind;
    const char *directory = i == 0 ? options->path : options->also[i - 1];
    seq_net *net;
    TRY(m->choose(m->ctx, directory, &kind));
    TRY(rill_blocks_get(&m->blocks, &net, 1, kind->net_size, "models"));
    memset(net, 0, kind->net_size);
    *net = (seq_net){.ctx = m->ctx, .model = m, .kind = kind, .forced_first = -1};
    m->net[m->nets++] = net;
    TRY(load_text(net, directory, options));
    if (i == 0) m->legal = net->legal;
    if (i > 0) TRY(seq_match(m->net[0], options->path, net, directory));
    const char *list = rill_open_value(options, "shortlist");
    if (i == 0 && list != NULL) TRY(seq_shortlist_open(&m->shortlist, net, list));
    TRY(kind->load(net, directory));
    if (i == 0 && kind->recommend != NULL) return kind->recommend(net, directory, &m->recommended);
    if (i == 0) return RILL_OK;
    rill_codec_close(net->text);
    net->text = NULL;
    return RILL_OK;
}

static rill_status load_all(seq_model *m, const rill_open_options *options)
{
    const size_t nets = 1 + (size_t)options->n_also;
    const char *domain = m->domain;
    if (nets > RILL_MIX_MODELS)
        return rill_fail(m->ctx, RILL_ERR_OPTION, "%s: expected at most %d models, found %zu", domain, RILL_MIX_MODELS,
                         nets);
    m->reads_text = !options->tokenized;
    m->weights = rill_weights_type(options);
    TRY(rill_options_device(m->ctx, domain, options, &m->device));
    const char *scores = rill_open_value(options, "scores");
    m->raw = scores != NULL && strcmp(scores, "logits") == 0;
    if (m->raw && nets > 1)
        return rill_fail(m->ctx, RILL_ERR_OPTION, "scores logits: an ensemble is a mean of probabilities: use logp");
    TRY(rill_plan_open(&m->plan, m->ctx, m->device));
    for (size_t i = 0; i < nets; i++) TRY(load_net(m, i, options));
    seq_agree(m);
    seq_build(m);
    return rill_plan_finish(m->plan);
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

void seq_close(void *model)
{
    seq_model *m = model;
    if (m == NULL) return;
    rill_context *ctx = m->ctx;
    for (size_t i = 0; i < m->nets; i++) rill_codec_close(m->net[i]->text);
    seq_shortlist_close(m->shortlist);
    rill_plan_close(m->plan);
    rill_device_close(m->device);
    rill_text_clear(&m->recommended);
    rill_blocks_clear(&m->blocks);
    rill_free(ctx, m, sizeof *m);
}

/* What computes, behind what it is. */
static void describe(seq_model *m, const rill_open_options *options)
{
    const size_t used = strlen(m->description);
    if (m->weights != RILL_WEIGHT_F32)
        snprintf(m->description + used, sizeof m->description - used, ", weights in %s",
                 rill_open_value(options, "weights"));
    rill_options_describe(m->device, m->description, sizeof m->description);
}

/* The most symbols of the list of an input of so many pieces, and what packing adds. */
static int64_t list_symbols(const seq_model *m, size_t pieces)
{
    return m->shortlist != NULL ? (int64_t)seq_list_most(m->shortlist, pieces) + RILL_LIST_MORE : 0;
}

static void fill_info(const seq_model *m, rill_domain_info *info)
{
    const rill_plan_bytes bytes = rill_plan_sizes(m->plan);
    const int64_t none = list_symbols(m, 0), one = list_symbols(m, 1);
    *info = (rill_domain_info){.actions = m->net[0]->actions,
                               .texts_apart = 1,
                               .phases = 1,
                               .group_rows = rill_device_group_rows(m->device),
                               .state_need = m->state_need,
                               .max_length = m->max_length,
                               .most_length = m->most_length,
                               .description = m->description,
                               .device = rill_device_name(m->device),
                               .node_bytes = bytes.node,
                               .row_bytes = bytes.row,
                               .runner_bytes = bytes.stream,
                               .languages = rill_codec_languages(m->net[0]->text),
                               .slot_bytes = bytes.slot + none * bytes.symbol,
                               .slot_unit_bytes = bytes.unit + (one - none) * bytes.symbol,
                               .has_end_action = 1,
                               .end_action = m->net[0]->end,
                               .unnormalised = m->raw,
                               .has_start_action = m->net[0]->start >= 0 && m->net[0]->start < m->net[0]->actions,
                               .start_action = m->net[0]->start,
                               .legal = m->legal,
                               .forbidden = m->net[0]->forbidden,
                               .n_forbidden = m->net[0]->n_forbidden};
}

static void note_language(seq_model *m, const rill_open_options *options)
{
    const char *said = rill_open_value(options, "source-lang"), *name = options->path;
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] == '/') length--;
    for (const char *slash; (slash = memchr(name, '/', length)) != NULL; name = slash + 1)
        length -= (size_t)(slash + 1 - name);
    snprintf(m->language, sizeof m->language, "%.*s", said ? (int)strlen(said) : (int)length, said ? said : name);
}

rill_status seq_open(const char *domain, seq_choose choose, rill_context *ctx, const rill_open_options *options,
                     void **model, rill_domain_info *info)
{
    TRY(rill_options_check(ctx, domain, options));
    seq_model *m = rill_calloc(ctx, 1, sizeof *m);
    if (m == NULL) return rill_fail_memory(ctx, sizeof *m, "a model");
    m->ctx = m->blocks.ctx = m->recommended.ctx = ctx;
    m->domain = domain;
    m->choose = choose;
    rill_status status = load_all(m, options);
    if (status != RILL_OK) {
        seq_close(m);
        return status;
    }
    describe(m, options);
    fill_info(m, info);
    note_language(m, options);
    *model = m;
    return RILL_OK;
}

/* --- the runner --------------------------------------------------------------------------------------------------- */

void seq_stop(void *runner)
{
    seq_runner *r = runner;
    if (r == NULL) return;
    rill_context *ctx = r->ctx;
    DROP(ctx, r->root, r->root_room);
    DROP(ctx, r->opening, r->opening_room);
    DROP(ctx, r->reading, r->reading_room);
    DROP(ctx, r->ids, r->ids_room);
    DROP(ctx, r->seen, r->seen_room);
    rill_free(ctx, r->scratch, r->scratch_room);
    rill_free(ctx, r->aligned, r->aligned_room);
    seq_list_clear(&r->list, ctx);
    rill_stream_close(r->stream);
    rill_free(ctx, r, sizeof *r);
}

rill_status seq_start(const void *model, rill_context *ctx, int threads, void **runner)
{
    const seq_model *m = model;
    TRY(rill_codec_ready(m->net[0]->text, ctx));
    seq_runner *r = rill_calloc(ctx, 1, sizeof *r);
    if (r == NULL) return rill_fail_memory(ctx, sizeof *r, "a model's runner");
    r->model = m;
    r->ctx = ctx;
    rill_status status = rill_stream_open(&r->stream, ctx, m->plan, threads);
    if (status != RILL_OK) {
        seq_stop(r);
        return status;
    }
    *runner = r;
    return RILL_OK;
}

rill_status seq_reserve(void *self, int32_t nodes, int32_t slots)
{
    seq_runner *r = self;
    TRY(rill_stream_reserve(r->stream, nodes, slots));
    TRY(GROW(r->ctx, r->opening, r->opening_room, (size_t)slots, "item slots"));
    return GROW(r->ctx, r->root, r->root_room, (size_t)slots, "item slots");
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

rill_status seq_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    seq_runner *r = self;
    size_t length = (size_t)hypothesis->length;
    if (length > 0 && hypothesis->action[length - 1] == r->model->net[0]->end) length--;
    return rill_codec_write(r->model->net[0]->text, length, hypothesis->action, out);
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static const rill_codec *text_of(const void *model)
{
    return ((const seq_model *)model)->net[0]->text;
}

static const rill_vocabulary *symbols_of(const void *model)
{
    return rill_codec_target(text_of(model));
}

rill_status seq_action_name(void *model, int32_t action, rill_text *out)
{
    const rill_vocabulary *symbols = symbols_of(model);
    if (action >= rill_vocabulary_count(symbols))
        return rill_fail(out->ctx, RILL_ERR_NOT_FOUND, "symbol %d has no piece in the vocabulary", action);
    return rill_vocabulary_write(symbols, action, out);
}

int32_t seq_find_action(void *model, const char *text, size_t length)
{
    int32_t action = rill_vocabulary_id(symbols_of(model), text, length);
    return action >= 0 ? action : RILL_NO_ACTION;
}

int32_t seq_unknown_action(void *model)
{
    const int32_t action = rill_codec_unknown(text_of(model));
    return action >= 0 ? action : RILL_NO_ACTION;
}

/* A text has no marks: a piece that is called like one stands for characters without a symbol. */
static int is_mark(void *model, int32_t action)
{
    const seq_net *net = ((const seq_model *)model)->net[0];
    return action == net->end || action == net->pad || action == seq_unknown_action(model);
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

rill_status seq_tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action, int32_t room,
                         int32_t *n)
{
    rill_actions to = {model, ctx, action, room, 0};
    TRY(rill_codec_split(text_of(model), ctx, text, length, take_piece, &to));
    *n = to.n;
    return RILL_OK;
}

int32_t seq_first_action(void *model, rill_context *ctx, const char *input, size_t length)
{
    const seq_net *net = ((const seq_model *)model)->net[0];
    rill_opening opening;
    if (rill_codec_opening(net->text, ctx, input, length, &opening) != RILL_OK) return RILL_NO_ACTION;
    if (opening.first >= 0) return opening.first;
    return net->forced_first >= 0 ? net->forced_first : RILL_NO_ACTION;
}

rill_status seq_recommend(void *model, const char *like, rill_text *out)
{
    const seq_model *m = model;
    if (strcmp(like, "hf") != 0) return RILL_OK;
    return rill_text_append(out, m->recommended.data, m->recommended.length);
}
