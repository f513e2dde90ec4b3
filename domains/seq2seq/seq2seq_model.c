/* Callbacks of all sequence-to-sequence domains: open models, start runners, write outputs.
 *
 * An ensemble has several nets with equal vocabularies and special tokens. Invariant: seq_close() and seq_stop() accept partly built
 * objects. */
#include <stdio.h>
#include <string.h>

#include "seq2seq.h"

const rill_option seq_options[] = {
    RILL_WEIGHTS_OPTION("f32|bf16|f16|int8"),
    RILL_DEVICE_OPTIONS,
    {"shortlist", "FILE[,F[,B]]", "F and B: 100",
     "limit the output vocabulary to its first F tokens and, by this lexicon, the best B for each token of the "
     "input; none: no limit, whatever config.json says",
     RILL_OPTION_PATH, RILL_OPTION_MODEL, 0, 0, 0, NULL},
    {"scores", "logp|logits", "logp",
     "score of a token: its log-probability, or its logit, for models trained to be self-normalised", RILL_OPTION_WORD,
     RILL_OPTION_MODEL, 0, 0, 0, NULL},
    {"source-lang", "NAME", "", "language of the inputs, as a multilingual model names it", RILL_OPTION_TEXT,
     RILL_OPTION_MODEL, 0, 0, 0, "src src-lang"},
    {"target-lang", "NAME", "", "language of the outputs, as a multilingual model names it", RILL_OPTION_TEXT,
     RILL_OPTION_MODEL, 0, 0, 0, "tgt tgt-lang"},
    {"language-columns", "", "",
     "each input is SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT; an empty column leaves the option's language",
     RILL_OPTION_SWITCH, RILL_OPTION_MODEL, 0, 0, 0, NULL},
    {0},
};

/* --- ensembles: compatibility ------------------------------------------------------------------------------------------------ */

/* The directories of two nets of an ensemble that are compared: the first net's and the other's. */
typedef struct match_context {
    rill_context *ctx;
    const char *home, *directory;
} match_context;

static rill_status check_vocabulary(const match_context *context, const char *side, const rill_vocabulary *a,
                                    const rill_vocabulary *b)
{
    const int32_t n = rill_vocabulary_count(a), found = rill_vocabulary_count(b);
    for (int32_t i = 0; i < n && i < found; i++) {
        const char *x = rill_vocabulary_token(a, i, NULL), *y = rill_vocabulary_token(b, i, NULL);
        if (strcmp(x, y) != 0)
            return rill_fail(
                context->ctx, RILL_ERR_FORMAT,
                "%s: the %s vocabulary differs from that of %s: token %d is \"%.60s\" there and \"%.60s\" here; "
                "all models of an ensemble need the same vocabularies",
                context->directory, side, context->home, i, x, y);
    }
    if (n == found) return RILL_OK;
    return rill_fail(
        context->ctx, RILL_ERR_FORMAT,
        "%s: the %s vocabulary differs from that of %s: it has %d entries there and %d here, so token %d is in one "
        "of them only; all models of an ensemble need the same vocabularies",
        context->directory, side, context->home, n, found, n < found ? n : found);
}

static rill_status check_same_id(const match_context *context, const char *key, int32_t expected, int32_t found)
{
    if (expected == found) return RILL_OK;
    return rill_fail(context->ctx, RILL_ERR_FORMAT, "%s: %s: expected %d, as in %s, found %d", context->directory, key,
                     expected, context->home, found);
}

/* Fail unless `other`, loaded from `directory`, fits an ensemble with `first`, loaded from `home`. The message names file and first
 * difference. */
static rill_status check_compatible(const seq_net *first, const char *home, const seq_net *other, const char *directory)
{
    const match_context context = {first->ctx, home, directory};
    const rill_tokenizer *a = first->tokenizer, *b = other->tokenizer;
    TRY(check_vocabulary(&context, "source", a->source, b->source));
    TRY(check_vocabulary(&context, "target", a->target, b->target));
    TRY(check_same_id(&context, "the number of target symbols", first->target_vocab_size, other->target_vocab_size));
    TRY(check_same_id(&context, "eos_token_id", first->eos, other->eos));
    TRY(check_same_id(&context, "the source's first symbol", a->source_bos, b->source_bos));
    TRY(check_same_id(&context, "the source's end symbol", a->source_eos, b->source_eos));
    return check_same_id(&context, "pad_token_id", first->pad, other->pad);
}

/* --- ensembles: combined limits ---------------------------------------------------------------------------------------------- */

static int32_t min_int32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Set the model's limits to the minima over its nets, find which states the nets read, and write the model's
 * description. */
static void combine_limits(seq_model *m)
{
    const seq_net *first = m->net[0];
    const char *several = first->arch->plural_name;
    m->config_positions = m->max_input_length = m->max_positions = m->max_length = INT32_MAX;
    for (size_t i = 0; i < m->n_nets; i++) {
        const seq_net *net = m->net[i];
        m->needs_path |= net->arch->state_need == SEQ_NEEDS_PATH;
        m->needs_parent |= net->arch->state_need == SEQ_NEEDS_PARENT;
        if (net->arch != first->arch) several = "models";
        m->config_positions = min_int32(m->config_positions, net->config_positions);
        m->max_input_length = min_int32(m->max_input_length, net->max_input_length);
        m->max_positions = min_int32(m->max_positions, net->max_positions);
        m->max_length = min_int32(m->max_length, net->max_length);
    }
    m->state_need = m->needs_path || first->arch->has_alignment ? RILL_STATE_PATH : RILL_STATE_PARENT;
    snprintf(m->description, sizeof m->description, "%s", first->description);
    if (m->n_nets == 1) return;
    snprintf(m->description, sizeof m->description, "ensemble of %zu %s: %d and %d symbols", m->n_nets, several,
             first->source_vocab_size, first->target_vocab_size);
}

/* --- loading the model -------------------------------------------------------------------------------------------- */

rill_status seq_alloc_legal(seq_net *net)
{
    const size_t words = ((size_t)net->target_vocab_size + 63) / 64;
    TRY(rill_arena_alloc(&net->model->arena, &net->legal, words, sizeof *net->legal, "symbols"));
    memset(net->legal, 0xFF, words * sizeof *net->legal);
    return RILL_OK;
}

/* Make padding and ids without a token illegal. configure() has set all other legal bits. */
static rill_status set_legal_tokens(seq_net *net)
{
    const int32_t named = net->n_target_tokens = rill_vocabulary_count(net->tokenizer->target);
    if (net->eos >= named)
        return rill_fail(net->ctx, RILL_ERR_FORMAT,
                         "%s: eos_token_id: expected one of the vocabulary's %d symbols, found %d", net->eos_file,
                         named, net->eos);
    if (net->forced_bos >= named)
        return rill_fail(net->ctx, RILL_ERR_FORMAT,
                         "%s: forced_bos_token_id: expected one of the vocabulary's %d symbols, found %d",
                         net->forced_bos_file, named, net->forced_bos);
    for (int32_t i = 0; i < net->target_vocab_size; i++)
        if (i >= named || i == net->pad) net->legal[i / 64] &= ~(UINT64_C(1) << (i % 64));
    for (int32_t i = net->target_vocab_size; i % 64 != 0; i++) net->legal[i / 64] &= ~(UINT64_C(1) << (i % 64));
    return RILL_OK;
}

/* Read the language options, and refuse them for models without languages. The tokenizer checks the names. */
static rill_status read_languages(const seq_net *net, const rill_open_options *options, rill_tokenizer_files *files)
{
    const char *asked = NULL;
    files->source_language = rill_open_option(options, "source-lang");
    files->target_language = rill_open_option(options, "target-lang");
    files->language_columns = rill_open_switch(options, "language-columns");
    if (files->source_language != NULL) asked = "source-lang";
    if (files->target_language != NULL) asked = "target-lang";
    if (files->language_columns) asked = "language-columns";
    if (asked == NULL || files->kind == RILL_TOKENIZER_FAMILY) return RILL_OK;
    if (files->language_is_token && files->source_language == NULL && !files->language_columns) return RILL_OK;
    return rill_fail(net->ctx, RILL_ERR_OPTION, "%s: the model is not multilingual: it has no language tokens", asked);
}

/* Force outputs to begin with the token of the target language. */
static rill_status set_target_language(seq_net *net, const rill_tokenizer_files *files)
{
    const char *language = files->target_language;
    if (!files->language_is_token || language == NULL || files->kind == RILL_TOKENIZER_FAMILY) return RILL_OK;
    net->forced_bos = rill_vocabulary_id(net->tokenizer->target, language, strlen(language));
    if (net->forced_bos >= 0) return RILL_OK;
    return rill_fail(net->ctx, RILL_ERR_OPTION, "target-lang: \"%.60s\" is not in the vocabulary of %s", language,
                     files->directory);
}

static rill_status load_text(seq_net *net, const char *directory, const rill_open_options *options)
{
    rill_tokenizer_files files = {.directory = directory, .tokenized = options->tokenized};
    TRY(net->arch->configure(net, directory, &files));
    files.source_vocab_size = net->source_vocab_size;
    files.target_vocab_size = net->target_vocab_size;
    files.eos = net->eos;
    files.decoder_start = net->decoder_start;
    files.forced_bos = net->forced_bos;
    TRY(read_languages(net, options, &files));
    if (options->tokenized && files.kind != RILL_TOKENIZER_FAMILY) files.kind = RILL_TOKENIZER_WHITESPACE;
    TRY(rill_tokenizer_open(&net->tokenizer, net->ctx, &files));
    TRY(set_target_language(net, &files));
    if (net->arch->find_special_tokens != NULL) TRY(net->arch->find_special_tokens(net, directory));
    return set_legal_tokens(net);
}

/* Load net i. Later nets' tokenizers are only compared with the first net's and then closed. */
static rill_status load_net(seq_model *m, size_t i, const rill_open_options *options)
{
    const seq_arch *kind;
    const char *directory = i == 0 ? options->path : options->ensemble[i - 1];
    seq_net *net;
    TRY(m->choose_arch(m->ctx, directory, &kind));
    TRY(rill_arena_alloc(&m->arena, &net, 1, kind->net_size, "models"));
    memset(net, 0, kind->net_size);
    *net = (seq_net){.ctx = m->ctx, .model = m, .arch = kind, .forced_bos = -1};
    m->net[m->n_nets++] = net;
    TRY(load_text(net, directory, options));
    if (i == 0) m->legal = net->legal;
    if (i > 0) TRY(check_compatible(m->net[0], options->path, net, directory));
    const char *list = rill_open_option(options, "shortlist");
    if (i == 0 && list != NULL && strcmp(list, "none") != 0) TRY(seq_shortlist_open(&m->shortlist, net, list));
    SCOPED(rill_loader_close)
    rill_loader loader = {m->ctx, directory, m->network, &m->arena, m->weights, .path.ctx = m->ctx};
    TRY(kind->load(net, &loader));
    if (i == 0 && kind->recommend != NULL) return kind->recommend(net, directory, &m->hf_settings);
    if (i == 0) return RILL_OK;
    rill_tokenizer_close(net->tokenizer);
    net->tokenizer = NULL;
    return RILL_OK;
}

static rill_status load_all(seq_model *m, const rill_open_options *options)
{
    /* in the order of the option's words */
    static const rill_weight_type weight_types[] = {RILL_WEIGHT_F32, RILL_WEIGHT_BF16, RILL_WEIGHT_F16,
                                                    RILL_WEIGHT_INT8};
    const size_t nets = 1 + (size_t)options->n_ensemble;
    const char *domain = m->domain, *weights = rill_open_option(options, seq_options->name);
    int32_t word = 1;
    if (nets > RILL_MIX_MODELS)
        return rill_fail(m->ctx, RILL_ERR_OPTION, "%s: expected at most %d models, found %zu", domain, RILL_MIX_MODELS,
                         nets);
    m->takes_raw_text = !options->tokenized;
    if (weights != NULL) TRY(rill_option_read(m->ctx, seq_options, weights, &word));
    m->weights = weight_types[word - 1];
    TRY(rill_options_network(m->ctx, domain, options, &m->device, &m->network));
    const char *scores = rill_open_option(options, "scores");
    m->raw_logits = scores != NULL && strcmp(scores, "logits") == 0;
    if (m->raw_logits && nets > 1)
        return rill_fail(m->ctx, RILL_ERR_OPTION,
                         "scores logits cannot be combined with an ensemble, which averages probabilities: use logp");
    for (size_t i = 0; i < nets; i++) TRY(load_net(m, i, options));
    combine_limits(m);
    seq_build_graphs(m);
    return rill_network_finish(m->network);
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

void seq_close(void *model)
{
    seq_model *m = model;
    if (m == NULL) return;
    rill_context *ctx = m->ctx;
    for (size_t i = 0; i < m->n_nets; i++) rill_tokenizer_close(m->net[i]->tokenizer);
    seq_shortlist_close(m->shortlist);
    rill_network_close(m->network);
    rill_device_close(m->device);
    rill_text_clear(&m->hf_settings);
    rill_arena_clear(&m->arena);
    rill_free(ctx, m, sizeof *m);
}

/* Return an upper bound on the vocabulary subset of an input of `pieces` tokens, with padding; 0 without a shortlist. */
static int64_t vocab_subset_size(const seq_model *m, size_t pieces)
{
    return m->shortlist != NULL ? (int64_t)seq_vocab_subset_max(m->shortlist, pieces) + RILL_VOCAB_SUBSET_PADDING : 0;
}

static void fill_info(seq_model *m, const rill_open_options *options, rill_domain_info *info)
{
    const seq_net *net = m->net[0];
    const int64_t none = vocab_subset_size(m, 0), one = vocab_subset_size(m, 1),
                  symbol = rill_network_sizes(m->network).symbol;
    const size_t used = strlen(m->description);
    if (m->weights != RILL_WEIGHT_F32)
        snprintf(m->description + used, sizeof m->description - used, ", weights in %s",
                 rill_open_option(options, "weights"));
    *info = rill_network_info(m->device, m->network, m->description, sizeof m->description);
    info->actions = net->target_vocab_size;
    info->finalize_anywhere = info->phases = 1;
    info->state_need = m->state_need;
    info->max_length = m->max_length;
    info->max_positions = m->max_positions;
    info->languages = net->tokenizer->languages;
    info->slot_bytes += none * symbol;
    info->slot_unit_bytes += (one - none) * symbol;
    info->has_end_action = 1;
    info->end_action = net->eos;
    info->unnormalised = m->raw_logits;
    info->has_start_action = net->decoder_start >= 0 && net->decoder_start < net->target_vocab_size;
    info->start_action = net->decoder_start;
    info->legal = m->legal;
    info->forbidden = net->bad_words;
    info->n_forbidden = net->n_bad_words;
}

static void set_source_language(seq_model *m, const rill_open_options *options)
{
    const char *option = rill_open_option(options, "source-lang"), *name = options->path;
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] == '/') length--;
    for (const char *slash; (slash = memchr(name, '/', length)) != NULL; name = slash + 1)
        length -= (size_t)(slash + 1 - name);
    snprintf(m->source_language, sizeof m->source_language, "%.*s", option ? (int)strlen(option) : (int)length,
             option ? option : name);
}

rill_status seq_open(const char *domain, seq_choose_arch_fn choose, rill_context *ctx, const rill_open_options *options,
                     void **model, rill_domain_info *info)
{
    TRY(rill_struct_alloc(ctx, model, sizeof(seq_model), "a model"));
    seq_model *m = *model;
    m->ctx = m->arena.ctx = m->hf_settings.ctx = ctx;
    m->domain = domain;
    m->choose_arch = choose;
    TRY(RILL_OPENED(load_all(m, options), model, seq_close));
    fill_info(m, options, info);
    set_source_language(m, options);
    return RILL_OK;
}

/* --- the runner --------------------------------------------------------------------------------------------------- */

void seq_stop(void *runner)
{
    seq_runner *r = runner;
    if (r == NULL) return;
    rill_context *ctx = r->ctx;
    rill_arena_clear(&r->arena);
    rill_free(ctx, r->ids, r->ids_capacity * sizeof *r->ids);
    rill_session_close(r->session);
    rill_free(ctx, r, sizeof *r);
}

rill_status seq_start(const void *model, rill_context *ctx, int threads, void **runner)
{
    const seq_model *m = model;
    TRY(rill_tokenizer_check_languages(m->net[0]->tokenizer, ctx));
    TRY(rill_struct_alloc(ctx, runner, sizeof(seq_runner), "a model's runner"));
    seq_runner *r = *runner;
    r->model = m;
    r->ctx = r->arena.ctx = ctx;
    return RILL_OPENED(rill_session_open(&r->session, ctx, m->network, threads), runner, seq_stop);
}

rill_status seq_reserve(void *self, int32_t nodes, int32_t slots)
{
    seq_runner *r = self;
    TRY(rill_session_reserve(r->session, nodes, slots));
    TRY(GROW(&r->arena, r->output_prefix, (size_t)slots, "item slots"));
    return GROW(&r->arena, r->root_node, (size_t)slots, "item slots");
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

rill_status seq_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    seq_runner *r = self;
    size_t length = (size_t)hypothesis->length;
    if (length > 0 && hypothesis->action[length - 1] == r->model->net[0]->eos) length--;
    return rill_tokenizer_decode(r->model->net[0]->tokenizer, length, hypothesis->action, out);
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static const rill_tokenizer *model_tokenizer(const void *model)
{
    return ((const seq_model *)model)->net[0]->tokenizer;
}

static const rill_vocabulary *target_vocabulary(const void *model)
{
    return model_tokenizer(model)->target;
}

rill_status seq_action_name(void *model, int32_t action, rill_text *out)
{
    const rill_vocabulary *symbols = target_vocabulary(model);
    if (action >= rill_vocabulary_count(symbols))
        return rill_fail(out->ctx, RILL_ERR_NOT_FOUND, "token %d is not in the vocabulary", action);
    return rill_vocabulary_write(symbols, action, out);
}

int32_t seq_find_action(void *model, const char *text, size_t length)
{
    return rill_vocabulary_id(target_vocabulary(model), text, length); /* -1 is RILL_NO_ACTION */
}

int32_t seq_unknown_action(void *model)
{
    return model_tokenizer(model)->unk_action; /* -1 is RILL_NO_ACTION */
}

/* Append the action of a token. Eos, padding and <unk> are refused: the tokenizer outputs them only for characters outside the
 * vocabulary. */
static rill_status add_token_action(void *user, const char *piece, size_t length)
{
    rill_action_list *to = user;
    const seq_net *net = ((const seq_model *)to->model)->net[0];
    const int32_t action = rill_vocabulary_id(net->tokenizer->target, piece, length);
    if (action < 0 || action == net->eos || action == net->pad || action == net->tokenizer->unk_action)
        return rill_fail(to->ctx, RILL_ERR_INPUT, "\"%.*s\" is not a token of the model's outputs", (int)length, piece);
    rill_action_list_add(to, action);
    return RILL_OK;
}

rill_status seq_tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action,
                         int32_t capacity, int32_t *n)
{
    rill_action_list to = {model, ctx, action, capacity, 0};
    TRY(rill_tokenizer_split(model_tokenizer(model), ctx, text, length, add_token_action, &to));
    *n = to.n;
    return RILL_OK;
}

int32_t seq_first_action(void *model, rill_context *ctx, const char *input, size_t length)
{
    const seq_net *net = ((const seq_model *)model)->net[0];
    rill_output_prefix opening;
    if (rill_tokenizer_output_prefix(net->tokenizer, ctx, input, length, &opening) != RILL_OK) return RILL_NO_ACTION;
    return opening.forced_bos >= 0 ? opening.forced_bos : net->forced_bos; /* -1 is RILL_NO_ACTION */
}

rill_status seq_recommend(void *model, const char *like, rill_text *out)
{
    const seq_model *m = model;
    if (strcmp(like, "hf") != 0) return RILL_OK;
    return rill_text_append(out, m->hf_settings.data, m->hf_settings.length);
}
