/* Callbacks of the domain "semparse" (rill/domain.h).
 *
 * Invariants: close_model() and stop() accept partly built objects with zeroed members. A failed input is left out of the batch. */
#include <string.h>

#include "semparse.h"

/* Indices of the graphs' input columns, in order of declaration. */
enum { ENCODE_SLOT, ENCODE_LENGTH, ENCODE_TOKEN, ENCODE_COLUMNS };
enum { STEP_NODE, STEP_SLOT, STEP_PARENT_OR_SELF, STEP_TOKEN, STEP_ROOT_SLOT, STEP_COLUMNS };
enum { SCORE_NODE, SCORE_SLOT, SCORE_COLUMNS };

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

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    TRY(rill_struct_alloc(ctx, model, sizeof(semparse), "a semantic parser"));
    semparse *s = *model;
    s->ctx = s->arena.ctx = ctx;
    s->tokenized = options->tokenized;
    TRY(RILL_OPENED(semparse_load(s, options), model, close_model));
    *info = rill_network_info(s->device, s->network, s->description, sizeof s->description);
    info->actions = s->target_vocab_size;
    info->phases = 1;
    info->state_need = RILL_STATE_PARENT;
    info->max_length = s->max_length;
    info->slot_bytes += (int64_t)(sizeof(rill_mentions) + sizeof(rill_text));
    info->has_end_action = 1;
    info->end_action = SEMPARSE_EOS;
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
    return rill_arena_alloc(&r->arena, &r->unmentioned, s->n_placeholders, sizeof *r->unmentioned, "placeholders");
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    TRY(rill_struct_alloc(ctx, runner, sizeof(semparse_runner), "a semantic parser's runner"));
    semparse_runner *r = *runner;
    r->model = model;
    r->ctx = r->arena.ctx = ctx;
    return RILL_OPENED(open_runner_parts(r, threads), runner, stop);
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    semparse_runner *r = self;
    TRY(rill_session_reserve(r->session, nodes, slots));
    TRY(GROW(&r->arena, r->mentions_by_slot, (size_t)slots, "item slots"));
    TRY(GROW(&r->arena, r->unknown_names, (size_t)slots, "item slots"));
    for (; r->n_slots < (size_t)slots; r->n_slots++) {
        r->mentions_by_slot[r->n_slots] = (rill_mentions){.bytes = {.ctx = r->ctx}};
        r->unknown_names[r->n_slots] = (rill_text){.ctx = r->ctx};
    }
    return RILL_OK;
}

enum { FRAME_TOKENS = 2 }; /* the tokens <s> and </s> around each question */

/* --- token ids of a question -------------------------------------------------------------------------------------- */

/* Write the ids of a question from index `offset` on: <s>, the words in reverse, </s>. */
static rill_status add_framed_ids(semparse_runner *r, const rill_slice *token, size_t count, size_t offset)
{
    TRY(GROW(&r->arena, r->token_ids, offset + count + FRAME_TOKENS, "word ids"));
    int32_t *word = r->token_ids + offset;
    *word++ = SEMPARSE_BOS;
    for (size_t i = count; i-- > 0;) {
        int32_t id = rill_vocabulary_id(r->model->source_vocab, token[i].data, token[i].length);
        *word++ = id >= 0 ? id : SEMPARSE_UNK;
    }
    *word = SEMPARSE_EOS;
    return RILL_OK;
}

/* Store the placeholders (as "city0") that a question does not mention: scoring masks them. A tokenized input masks none. */
static rill_status set_unmentioned(semparse_runner *r, int32_t slot, int tokenized, const rill_slice *token,
                                   size_t count)
{
    const semparse *s = r->model;
    int32_t n = 0;
    if (s->n_placeholders == 0) return RILL_OK;
    for (size_t i = 0; i < s->n_placeholders && !tokenized; i++) {
        const char *name = rill_vocabulary_token(s->target_vocab, s->placeholder_ids[i], NULL);
        size_t t = 0;
        while (t < count && !rill_slice_is(token[t], name)) t++;
        if (t == count) r->unmentioned[n++] = s->placeholder_ids[i];
    }
    return rill_session_set_vocab_subset(r->session, s->tables.unmentioned, slot, n, r->unmentioned);
}

/* --- names that the lexicon lacks --------------------------------------------------------------------------------- */

/* Return 1 if the text between two words may be part of a name: "Las Palmas", "St. Gallen". */
static int is_within_name(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '-' || *from == '.')) from++;
    return from == to;
}

static int is_listed(const rill_text *names, rill_slice name)
{
    for (const char *entry = names->data; entry != NULL && names->length > 0; entry = strstr(entry, ", ")) {
        if (*entry == ',') entry += 2;
        const size_t length = strcspn(entry, ",");
        if (length == name.length && memcmp(entry, name.data, length) == 0) return 1;
    }
    return 0;
}

static rill_status add_name(rill_text *names, rill_slice name)
{
    if (name.length == 0 || is_listed(names, name)) return RILL_OK;
    if (names->length > 0) TRY(rill_text_append(names, ", ", 2));
    return rill_text_append(names, name.data, name.length);
}

/* List the names that neither lexicon nor vocabulary contains, each once, in the line's order. The model sees them as <unk>. */
static rill_status list_unknown_names(semparse_runner *r, rill_input *input, int tokenized, const rill_slice *token,
                                      size_t count)
{
    rill_text *names = &r->unknown_names[input->slot];
    rill_slice pending = {input->text, 0};
    rill_text_reset(names);
    for (size_t i = 0; i < count && !tokenized; i++) {
        if (rill_vocabulary_id(r->model->source_vocab, token[i].data, token[i].length) >= 0) continue;
        const rill_slice name = rill_question_name(r->question, i);
        if (name.length == 0) continue;
        if (pending.length > 0 && is_within_name(pending.data + pending.length, name.data)) {
            pending.length = (size_t)(name.data + name.length - pending.data);
            continue;
        }
        TRY(add_name(names, pending));
        pending = name;
    }
    TRY(add_name(names, pending));
    if (names->length > 0) rill_input_warn(input, "names that the model does not know: %s", names->data);
    return RILL_OK;
}

/* Store one input's word ids from r->token_ids[used] on. *length: 0 if empty or invalid. An invalid input fails alone. */
static rill_status read_input(semparse_runner *r, rill_input *input, size_t used, int32_t *length)
{
    const semparse *s = r->model;
    const int tokenized = rill_input_switch(input, "tokenized", s->tokenized);
    const rill_slice *token;
    size_t count;
    *length = 0;
    rill_status status = rill_question_prepare(r->question, input->text, input->length, tokenized, &token, &count,
                                               &r->mentions_by_slot[input->slot]);
    if (status == RILL_ERR_INPUT) {
        rill_input_fail(input, status, "%s", rill_error(r->ctx));
        return RILL_OK;
    }
    if (status != RILL_OK) return status;
    input->size = (int64_t)count;
    if (count == 0) {
        input->status = RILL_EMPTY;
        return RILL_OK;
    }
    if (count > (size_t)s->max_input) {
        rill_input_fail(input, RILL_ERR_INPUT, "expected at most %d tokens, found %zu", s->max_input, count);
        return RILL_OK;
    }
    TRY(set_unmentioned(r, input->slot, tokenized, token, count));
    TRY(list_unknown_names(r, input, tokenized, token, count));
    TRY(add_framed_ids(r, token, count, used));
    *length = (int32_t)(count + FRAME_TOKENS);
    return RILL_OK;
}

static rill_status read_inputs(semparse_runner *r, int32_t m, rill_input *inputs, int32_t *questions)
{
    TRY(GROW(&r->arena, r->slot, (size_t)m, "questions"));
    TRY(GROW(&r->arena, r->length, (size_t)m, "questions"));
    size_t used = 0;
    int32_t n = 0;
    for (int32_t i = 0; i < m; i++) {
        r->slot[n] = inputs[i].slot;
        TRY(read_input(r, &inputs[i], used, &r->length[n]));
        used += (size_t)r->length[n];
        n += r->length[n] > 0;
    }
    *questions = n;
    return RILL_OK;
}

/* --- encoding -------------------------------------------------------------------------------------------------- */

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    semparse_runner *r = self;
    rill_run_arguments run = {.struct_size = sizeof run};
    TRY(read_inputs(r, m, inputs, &run.n));
    TRY(rill_session_set_slots(r->session, run.n, r->slot, r->length));
    run.columns = (const int32_t *[]){
        [ENCODE_SLOT] = r->slot, [ENCODE_LENGTH] = r->length, [ENCODE_TOKEN] = r->token_ids};
    return rill_session_run(r->session, r->model->encode, &run);
}

/* --- states and scores -------------------------------------------------------------------------------------------- */

static rill_status step(void *self, const rill_rows *rows)
{
    semparse_runner *r = self;
    const size_t n = (size_t)rows->n;
    TRY(GROW(&r->arena, r->column, 3 * n, "columns of a step"));
    int32_t *parent_or_self = r->column, *word = parent_or_self + n, *root_slot = word + n;
    rill_rows_parents(rows, parent_or_self, root_slot);
    for (size_t i = 0; i < n; i++) word[i] = rows->action[i] >= 0 ? rows->action[i] : SEMPARSE_BOS;
    const int32_t *columns[STEP_COLUMNS] = {[STEP_NODE] = rows->node,
                                            [STEP_SLOT] = rows->slot,
                                            [STEP_PARENT_OR_SELF] = parent_or_self,
                                            [STEP_TOKEN] = word,
                                            [STEP_ROOT_SLOT] = root_slot};
    return rill_rows_run(r->session, r->model->step, rows, columns, NULL);
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *req, rill_score_result *out)
{
    semparse_runner *r = self;
    const rill_selection selection = rill_selection_for_request(req, out);
    const int32_t *columns[SCORE_COLUMNS] = {[SCORE_NODE] = rows->node, [SCORE_SLOT] = rows->slot};
    return rill_rows_run(r->session, r->model->score, rows, columns, &selection);
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

/* Return the number of words separated by spaces: precise enough for sorting, although the lexicon may join or split words. */
static int64_t measure(void *self, const char *text, size_t length)
{
    (void)self;
    int64_t words = 0;
    for (rill_slice remaining = {text, length}; rill_next_text_word(&remaining).length > 0;) words++;
    return words;
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static rill_status action_name(void *model, int32_t action, rill_text *out)
{
    return rill_vocabulary_write(((const semparse *)model)->target_vocab, action, out);
}

static int32_t find_action(void *model, const char *text, size_t length)
{
    return rill_vocabulary_id(((const semparse *)model)->target_vocab, text, length); /* -1 is RILL_NO_ACTION */
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

/* Convert `text` to target ids. Its tokens must be separated by spaces, as in outputs. */
static rill_status tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n)
{
    rill_action_list to = {model, ctx, action, capacity, 0};
    TRY(rill_for_each_word(text, length, add_token_by_text, &to));
    *n = to.n;
    return RILL_OK;
}

/* Default search options: the best setting of [stream] (docs/algorithms.md) for semantic parsers. On ATIS it expands fewer hypotheses than
 * beam 10. */
static rill_status advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    (void)table, (void)ctx, (void)path;
    return rill_text_printf(out, "k=10 absolute=10 max-candidates=3");
}

/* --- table of the domain ------------------------------------------------------------------------------------------ */

static const rill_option own_options[] = {RILL_WEIGHTS_OPTION("f32"), RILL_DEVICE_OPTIONS, {0}};

static const rill_option input_options[] = {RILL_TOKENIZED_OPTION, {0}};

const rill_domain rill_semparse_domain = {
    RILL_RUNNER_CALLBACKS,
    .name = "semparse",
    .summary = "questions to logical forms: LSTM encoder and decoder with attention",
    .open = open_model,
    .reserve = reserve,
    .encode = encode,
    .step = step,
    .score = score,
    .finalize = finalize,
    .close = close_model,
    .measure = measure,
    .canonical = rill_logic_canonical,
    .action_name = action_name,
    .find_action = find_action,
    .tokenize = tokenize,
    .field = field,
    .start = start,
    .stop = stop,
    .collect = rill_runner_collect,
    .advise = advise,
    .options = own_options,
    .input_options = input_options,
};
