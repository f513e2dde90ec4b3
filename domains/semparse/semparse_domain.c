/* The semantic parser's domain table: models, runners, outputs and names of actions. semparse_graphs.c defines the
 * computation; semparse_encode.c and semparse_step.c prepare its inputs.
 *
 * Invariant: close_model() and stop() accept half-built objects, whose unset members are zero. Slots below
 * r->n_slots are initialised.
 *
 * Divisions: the model · the runner · outputs · names of actions · the table. */
#include <string.h>

#include "domain_base.h"
#include "logical_form.h"
#include "semparse.h"
#include "semparse_model.h"
#include "utf8.h"

/* --- the model ---------------------------------------------------------------------------------------------------- */

static void close_model(void *model)
{
    semparse *s = model;
    if (s == NULL) return;
    rill_context *ctx = s->ctx;
    rill_lexicon_close(s->lexicon);
    rill_vocabulary_close(s->source_vocab);
    rill_vocabulary_close(s->target_vocab);
    rill_network_close(s->network);
    rill_device_close(s->device);
    rill_arena_clear(&s->arena);
    rill_free(ctx, s, sizeof *s);
}

static rill_status load_model(semparse *s, const rill_open_options *options)
{
    TRY(rill_options_device(s->ctx, "semparse", options, &s->device));
    TRY(rill_network_open(&s->network, s->ctx, s->device));
    TRY(semparse_load(s, options->path));
    rill_options_describe(s->device, s->description, sizeof s->description);
    return RILL_OK;
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    TRY(rill_options_check(ctx, "semparse", options));
    semparse *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a semantic parser");
    s->ctx = s->arena.ctx = ctx;
    s->tokenized = options->tokenized;
    rill_status status = load_model(s, options);
    if (status != RILL_OK) {
        close_model(s);
        return status;
    }
    const rill_network_bytes bytes = rill_network_sizes(s->network);
    *info = (rill_domain_info){.actions = s->target_vocab_size,
                               .phases = 1,
                               .group_rows = rill_device_group_rows(s->device),
                               .state_need = RILL_STATE_PARENT,
                               .max_length = s->max_length,
                               .description = s->description,
                               .device = rill_device_name(s->device),
                               .node_bytes = bytes.node,
                               .row_bytes = bytes.row,
                               .runner_bytes = bytes.session,
                               .slot_bytes = bytes.slot + (int64_t)(sizeof(rill_mentions) + sizeof(rill_text)),
                               .slot_unit_bytes = bytes.unit,
                               .has_end_action = 1,
                               .end_action = SEMPARSE_EOS};
    *model = s;
    return RILL_OK;
}

/* --- the runner --------------------------------------------------------------------------------------------------- */

static void stop(void *runner)
{
    semparse_runner *r = runner;
    if (r == NULL) return;
    rill_context *ctx = r->ctx;
    for (size_t i = 0; i < r->n_slots; i++) {
        rill_mentions_clear(&r->mentions_by_slot[i]);
        rill_text_clear(&r->unknown_names[i]);
    }
    FREE_ARRAY(ctx, r->mentions_by_slot, r->mentions_capacity);
    FREE_ARRAY(ctx, r->unknown_names, r->unknown_capacity);
    FREE_ARRAY(ctx, r->slot, r->slot_capacity);
    FREE_ARRAY(ctx, r->length, r->length_capacity);
    FREE_ARRAY(ctx, r->token_ids, r->word_capacity);
    FREE_ARRAY(ctx, r->column, r->column_capacity);
    rill_arena_clear(&r->arena);
    rill_question_close(r->question);
    rill_session_close(r->session);
    rill_free(ctx, r, sizeof *r);
}

static rill_status open_runner_parts(semparse_runner *r, int threads)
{
    const semparse *s = r->model;
    TRY(rill_session_open(&r->session, r->ctx, s->network, threads));
    TRY(rill_question_open(r->ctx, s->lexicon, &r->question));
    if (s->n_placeholders == 0) return RILL_OK;
    TRY(rill_arena_alloc(&r->arena, &r->mentioned, (size_t)s->target_vocab_size, sizeof *r->mentioned, "placeholders"));
    return rill_arena_alloc(&r->arena, &r->unmentioned, s->n_placeholders, sizeof *r->unmentioned, "placeholders");
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    semparse_runner *r = rill_calloc(ctx, 1, sizeof *r);
    if (r == NULL) return rill_fail_memory(ctx, sizeof *r, "a semantic parser's runner");
    r->model = model;
    r->ctx = r->arena.ctx = ctx;
    rill_status status = open_runner_parts(r, threads);
    if (status != RILL_OK) {
        stop(r);
        return status;
    }
    *runner = r;
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    semparse_runner *r = self;
    TRY(rill_session_reserve(r->session, nodes, slots));
    TRY(GROW(r->ctx, r->mentions_by_slot, r->mentions_capacity, (size_t)slots, "item slots"));
    TRY(GROW(r->ctx, r->unknown_names, r->unknown_capacity, (size_t)slots, "item slots"));
    for (; r->n_slots < (size_t)slots; r->n_slots++) {
        r->mentions_by_slot[r->n_slots] = (rill_mentions){.bytes = {.ctx = r->ctx}};
        r->unknown_names[r->n_slots] = (rill_text){.ctx = r->ctx};
    }
    return RILL_OK;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    const semparse_runner *r = self;
    const rill_mentions *mentions = &r->mentions_by_slot[hypothesis->slot];
    size_t written = 0;
    for (int32_t i = 0; i < hypothesis->length; i++) {
        if (hypothesis->action[i] == SEMPARSE_EOS) continue;
        size_t length;
        const char *token = rill_vocabulary_token(r->model->target_vocab, hypothesis->action[i], &length);
        rill_slice word = rill_mentions_constant(mentions, token, length);
        if (word.length == 0) continue;
        if (written++ > 0) TRY(rill_text_append(out, " ", 1));
        TRY(rill_text_append(out, word.data, word.length));
    }
    return RILL_OK;
}

static rill_status field(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out)
{
    const semparse_runner *r = self;
    if (strcmp(name, "unknown") != 0)
        return rill_fail(r->ctx, RILL_ERR_OPTION, "semparse: outputs have no field \"%s\", only unknown", name);
    if (hypothesis == NULL) return RILL_OK;
    const rill_text *names = &r->unknown_names[hypothesis->slot];
    return rill_text_append(out, names->length > 0 ? names->data : "", names->length);
}

/* Number of words between spaces. The lexicon may join or split words, but the number is precise enough for sorting. */
static int64_t measure(void *self, const char *text, size_t length)
{
    (void)self;
    int64_t words = 0;
    for (rill_slice remaining = {text, length}; rill_next_text_word(&remaining).length > 0;) words++;
    return words;
}

static rill_status canonical(const rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out)
{
    (void)table;
    return rill_logic_canonical(ctx, text, length, out);
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static rill_status action_name(void *model, int32_t action, rill_text *out)
{
    return rill_vocabulary_write(((const semparse *)model)->target_vocab, action, out);
}

static int32_t find_action(void *model, const char *text, size_t length)
{
    const semparse *s = model;
    int32_t action = rill_vocabulary_id(s->target_vocab, text, length);
    return action >= 0 ? action : RILL_NO_ACTION;
}

static rill_status add_token_by_text(void *user, const char *token, size_t length)
{
    rill_action_list *to = user;
    const semparse *s = to->model;
    const int32_t action = rill_vocabulary_id(s->target_vocab, token, length);
    if (action >= SEMPARSE_N_SPECIALS) {
        rill_action_list_add(to, action);
        return RILL_OK;
    }
    if (action >= 0)
        return rill_fail(to->ctx, RILL_ERR_INPUT, "\"%.*s\" is a special token, which a logical form cannot contain",
                         (int)length, token);
    return rill_fail(to->ctx, RILL_ERR_INPUT, "\"%.*s\" is not a token of the model's logical forms%s", (int)length,
                     token,
                     s->n_placeholders > 0 ? ": write a name that the question mentions as its placeholder" : "");
}

/* Target tokens in `text` are separated by spaces, as in outputs. */
static rill_status tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n)
{
    rill_action_list to = {model, ctx, action, capacity, 0};
    TRY(rill_for_each_word(text, length, add_token_by_text, &to));
    *n = to.n;
    return RILL_OK;
}

/* The best setting that the paper [stream] reports for such models (docs/algorithms.md): on ATIS' dev set it reaches
 * the quality of beam 10 without pruning, with less than half of the expansions. */
static rill_status advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    (void)table;
    (void)ctx;
    (void)path;
    return rill_text_printf(out, "k=10 absolute=10 max-candidates=3");
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const rill_option own_options[] = {RILL_WEIGHTS_OPTION("f32"), RILL_DEVICE_OPTIONS, {0}};

static const rill_option input_options[] = {RILL_TOKENIZED_OPTION, {0}};

const rill_domain rill_semparse_domain = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "semparse",
    .summary = "questions to logical forms: LSTM encoder and decoder with attention",
    .open = open_model,
    .reserve = reserve,
    .encode = semparse_encode,
    .step = semparse_step,
    .score = semparse_score,
    .finalize = finalize,
    .drop = rill_runner_drop,
    .close = close_model,
    .measure = measure,
    .canonical = canonical,
    .action_name = action_name,
    .find_action = find_action,
    .tokenize = tokenize,
    .field = field,
    .start = start,
    .stop = stop,
    .profile = rill_runner_profile,
    .profile_row = rill_runner_profile_row,
    .limits = rill_runner_limits,
    .collect = rill_runner_collect,
    .advise = advise,
    .options = own_options,
    .input_options = input_options,
};
