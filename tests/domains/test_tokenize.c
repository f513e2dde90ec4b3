/* Texts to actions (rill_domain.tokenize) with the example models. The actions of an output's text must write that text
 * again, also in several threads at once. Texts that cannot be tokenized are refused with a message. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "mt.h"
#include "rill/engine.h"
#include "semparse.h"
#include "shiftreduce.h"

static const rill_domain *const domains[] = {&rill_mt_domain, &rill_semparse_domain, &rill_shiftreduce_domain};

#include "engine_fixture.h"

enum { CAPACITY = 512 }; /* actions of the longest text here */

/* --- models ------------------------------------------------------------------------------------------------------- */

static rill_model *open_at(const char *domain, char *path, int tokenized)
{
    rill_model *model;
    rill_open_options options = {.struct_size = sizeof options, .path = path, .threads = 1, .tokenized = tokenized};
    assert_ok(ctx, rill_model_open(&model, ctx, domain, &options));
    free(path);
    return model;
}

static rill_model *open_example(const char *domain, const char *name, int tokenized)
{
    return open_at(domain, join_path(getenv("RILL_TEST_EXAMPLES"), name), tokenized);
}

/* --- tokenize calls ----------------------------------------------------------------------------------------------- */

static int32_t actions_of(const rill_model *model, const char *text, int32_t *action)
{
    int32_t n = -1;
    assert_ok(ctx, rill_model_tokenize(model, ctx, text, strlen(text), action, CAPACITY, &n));
    assert_in_range(n, 0, CAPACITY);
    return n;
}

static void refused(const rill_model *model, const char *text, const char *why)
{
    int32_t action[CAPACITY], n = -1;
    assert_int_equal(rill_model_tokenize(model, ctx, text, strlen(text), action, CAPACITY, &n), RILL_ERR_INPUT);
    assert_int_equal(n, 0);
    if (strstr(rill_error(ctx), why) == NULL) fail_msg("%s: %s", text, rill_error(ctx));
}

/* With too small a capacity, tokenize() writes that many actions and still returns the full number. An empty text has
 * no actions. */
static void capacity_is_kept(const rill_model *model, const char *text)
{
    int32_t all[CAPACITY], some[CAPACITY], n = actions_of(model, text, all);
    assert_true(n > 2);
    for (int32_t capacity = 0; capacity <= n; capacity++) {
        int32_t total = -1;
        for (int32_t i = 0; i < n; i++) some[i] = -7;
        assert_ok(ctx, rill_model_tokenize(model, ctx, text, strlen(text), some, capacity, &total));
        assert_int_equal(total, n);
        for (int32_t i = 0; i < n; i++) assert_int_equal(some[i], i < capacity ? all[i] : -7);
    }
    assert_int_equal(actions_of(model, "", all), 0);
    assert_int_equal(actions_of(model, "  ", all), 0);
    assert_ok(ctx, rill_model_tokenize(model, ctx, text, 0, NULL, 0, &n));
    assert_int_equal(n, 0);
}

/* Join the names of actions, with `between` as the separator. */
static void join_names(const rill_model *model, const int32_t *action, int32_t n, const char *between, rill_text *out)
{
    rill_text_reset(out);
    for (int32_t i = 0; i < n; i++) {
        if (i > 0) assert_ok(ctx, rill_text_append(out, between, strlen(between)));
        assert_ok(ctx, rill_model_action_name(model, action[i], out));
    }
    if (n == 0) assert_ok(ctx, rill_text_append(out, "", 0));
}

/* Join tokens to text: the boundary mark becomes a space, except at the start. */
static void join_subwords(rill_text *subwords)
{
    char *to = subwords->data;
    for (const char *from = subwords->data; *from != '\0'; from++) {
        const int boundary = strncmp(from, "\xE2\x96\x81", 3) == 0;
        if (boundary) from += 2;
        if (!boundary || to > subwords->data) *to++ = boundary ? ' ' : *from;
    }
    *to = '\0';
    subwords->length = (size_t)(to - subwords->data);
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

typedef void (*output_fn)(const rill_model *model, const rill_output *output, void *user);

static void decode(rill_model *model, const char *const *inputs, output_fn fn, void *user)
{
    rill_engine *engine;
    rill_engine_setup setup;
    const rill_result *result;
    rill_engine_setup_default(&setup);
    setup.settings.k = 3;
    setup.settings.n_best = 3;
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    for (; *inputs != NULL; inputs++) assert_ok(ctx, rill_engine_submit(engine, *inputs, strlen(*inputs)));
    rill_engine_close_input(engine);
    while (!rill_engine_idle(engine)) {
        assert_ok(ctx, rill_engine_step(engine));
        while (rill_engine_next(engine, &result) == RILL_OK) {
            assert_int_equal(result->status, RILL_OK);
            for (int32_t i = 0; i < result->n_outputs; i++) fn(model, rill_result_output(result, i), user);
        }
    }
    rill_engine_destroy(engine);
}

typedef struct write_check {
    int32_t outputs, same; /* number of outputs whose text gives the same actions again */
} write_check;

static int is_same(const rill_output *output, int32_t end, const int32_t *action, int32_t n)
{
    int32_t length = output->n_ids - (output->n_ids > 0 && output->ids[output->n_ids - 1] == end);
    return n == length && memcmp(action, output->ids, (size_t)n * sizeof *action) == 0;
}

/* --- translation -------------------------------------------------------------------------------------------------- */

static const char *const german[] = {"Ein Mann spielt Gitarre.", "Zwei Kinder bauen am Strand eine Burg aus Sand.",
                                     "Eine Frau in einem roten Mantel wartet an der Haltestelle auf den Bus.", NULL};

static void writes_sentence(const rill_model *model, const rill_output *output, void *user)
{
    write_check *t = user;
    int32_t action[CAPACITY], n = actions_of(model, output->text, action);
    rill_text joined = {.ctx = ctx};
    join_names(model, action, n, "", &joined);
    join_subwords(&joined);
    assert_string_equal(joined.data, output->text);
    rill_text_clear(&joined);
    t->outputs++;
    t->same += is_same(output, rill_model_info(model)->end_action, action, n);
}

/* A model may segment a word differently from its tokenizer, but mostly segments as it was trained. */
static void sentences(void **state)
{
    (void)state;
    write_check t = {0};
    rill_model *model = open_example("mt", "de-en", 0);
    decode(model, german, writes_sentence, &t);
    assert_in_range(t.outputs, 6, 9);
    assert_true(2 * t.same > t.outputs);
    capacity_is_kept(model, "A dog barks at two men.");
    refused(model, "A snowman \xE2\x98\x83 melts.", "\xE2\x98\x83");
    refused(model, "A \xFF", "byte 3 is not UTF-8");
    rill_model_close(model);
}

/* Tokenized text has spaces between tokens; special tokens write nothing. */
static void subwords(void **state)
{
    (void)state;
    int32_t action[CAPACITY], n;
    rill_text names = {.ctx = ctx};
    static const char text[] = "\xE2\x96\x81"
                               "A \xE2\x96\x81man .";
    rill_model *model = open_example("mt", "de-en", 1);
    n = actions_of(model, text, action);
    assert_int_equal(n, 3);
    join_names(model, action, n, " ", &names);
    assert_string_equal(names.data, text);
    refused(model,
            "\xE2\x96\x81"
            "A </s>",
            "\"</s>\"");
    refused(model, "<unk>", "\"<unk>\"");
    refused(model, "<pad>", "\"<pad>\"");
    rill_model_close(model);
    /* with two tokenizers, the target's tokenizer segments */
    model = open_at("mt", data_path("mt/separate"), 0);
    n = actions_of(model, "a man.", action);
    join_names(model, action, n, "", &names);
    join_subwords(&names);
    assert_string_equal(names.data, "a man.");
    rill_text_clear(&names);
    rill_model_close(model);
}

/* Byte pair encoding uses the language and vocabulary of the target, which differ from those of the source. */
static void byte_pairs(void **state)
{
    (void)state;
    int32_t action[CAPACITY];
    rill_text names = {.ctx = ctx};
    rill_model *model = open_at("mt", data_path("mt/fsmt"), 0);
    int32_t n = actions_of(model, "a man and dogs.", action);
    join_names(model, action, n, " ", &names);
    assert_string_equal(names.data, "a</w> man</w> and</w> dogs</w> .</w>");
    capacity_is_kept(model, "a guitar and a book.");
    refused(model, "ein Wald", "\"");
    rill_text_clear(&names);
    rill_model_close(model);
}

/* --- logical forms ------------------------------------------------------------------------------------------------ */

static const char *const tokens[] = {"which state border s0", "what be the longest river in s0",
                                     "how many people live in c0", NULL};

static void writes_form(const rill_model *model, const rill_output *output, void *user)
{
    write_check *t = user;
    int32_t action[CAPACITY], n = actions_of(model, output->text, action);
    t->outputs++;
    t->same += is_same(output, rill_model_info(model)->end_action, action, n);
}

static void forms(void **state)
{
    (void)state;
    write_check t = {0};
    int32_t action[CAPACITY];
    rill_model *model = open_example("semparse", "geo", 1);
    decode(model, tokens, writes_form, &t);
    assert_in_range(t.outputs, 3, 9);
    assert_int_equal(t.same, t.outputs);
    capacity_is_kept(model, "( lambda $0 e ( state:t $0 ) )");
    refused(model, "( state:t </s>", "\"</s>\" is a special token");
    rill_model_close(model);
    model = open_example("semparse", "geo", 0);
    assert_int_equal(actions_of(model, "next_to:t $0 s0", action), 3);
    refused(model, "next_to:t $0 texas:s", "\"texas:s\" is not a token of the model's logical forms: write a name");
    rill_model_close(model);
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

static const char *const sentences_to_parse[] = {"The cat sat on the mat.", "Dogs bark.", NULL};

static void writes_actions(const rill_model *model, const rill_output *output, void *user)
{
    write_check *t = user;
    int32_t action[CAPACITY];
    rill_text names = {.ctx = ctx};
    join_names(model, output->ids, output->n_ids, " ", &names);
    t->outputs++;
    t->same += is_same(output, RILL_NO_ACTION, action, actions_of(model, names.data, action));
    rill_text_clear(&names);
}

static void trees(void **state)
{
    (void)state;
    write_check t = {0};
    rill_model *model = open_example("shiftreduce", "gum", 0);
    decode(model, sentences_to_parse, writes_actions, &t);
    assert_in_range(t.outputs, 2, 6);
    assert_int_equal(t.same, t.outputs);
    capacity_is_kept(model, "shift NP shift <none> combine S+VP");
    refused(model, "(NP (DT the) (NN cat))", "\"(NP\" is part of a tree");
    refused(model, "shift reduce", "\"reduce\" is not shift, combine or a label");
    rill_model_close(model);
}

/* --- threads, memory ---------------------------------------------------------------------------------------------- */

typedef struct tokenize_job {
    const rill_model *model;
    const char *text;
    int32_t n;
    int wrong;
} tokenize_job;

static void *tokenize_repeatedly(void *user)
{
    tokenize_job *a = user;
    int32_t first[CAPACITY], again[CAPACITY], n;
    rill_context *own;
    a->wrong = rill_context_create(&own, NULL) != RILL_OK;
    if (a->wrong) return NULL;
    a->wrong |= rill_model_tokenize(a->model, own, a->text, strlen(a->text), first, CAPACITY, &a->n) != RILL_OK;
    for (int i = 0; i < 50; i++) {
        a->wrong |= rill_model_tokenize(a->model, own, a->text, strlen(a->text), again, CAPACITY, &n) != RILL_OK;
        a->wrong |= n != a->n || memcmp(first, again, (size_t)n * sizeof *first) != 0;
        a->wrong |= rill_model_tokenize(a->model, own, "\xE2\x98\x83", 3, again, CAPACITY, &n) != RILL_ERR_INPUT;
    }
    rill_context_destroy(own);
    return NULL;
}

static void tokenize_in_threads(rill_model *model, const char *text)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    tokenize_job a[THREADS];
    for (int i = 0; i < THREADS; i++) {
        a[i] = (tokenize_job){model, text, 0, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, tokenize_repeatedly, &a[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(a[i].wrong, 0);
        assert_true(a[i].n > 0 && a[i].n == a[0].n);
    }
    rill_model_close(model);
}

static void threads(void **state)
{
    (void)state;
    tokenize_in_threads(open_at("mt", data_path("mt/fsmt"), 0), "a man and dogs.");
    tokenize_in_threads(open_at("mt", data_path("mt/shared"), 0), "a b");
    tokenize_in_threads(open_at("shiftreduce", data_path("shiftreduce/tiny"), 0), "shift combine");
}

/* Whichever allocation fails, nothing leaks. */
static void memory_is_refused(void **state)
{
    (void)state;
    static const char text[] = "a guitar and a book.";
    rill_model *model = open_at("mt", data_path("mt/fsmt"), 0);
    const long old_blocks = memory.out;
    rill_status status = RILL_ERR_MEMORY;
    long refusals = 0;
    for (; status == RILL_ERR_MEMORY; refusals++) {
        int32_t action[CAPACITY], n;
        memory.allowed = refusals;
        status = rill_model_tokenize(model, ctx, text, sizeof text - 1, action, CAPACITY, &n);
        memory.allowed = -1;
        assert_int_equal(memory.out, old_blocks);
    }
    assert_ok(ctx, status);
    assert_true(refusals > 3);
    rill_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(sentences), CASE(subwords), CASE(byte_pairs),       CASE(forms),
                                       CASE(trees),     CASE(threads),  CASE(memory_is_refused)};
    return cmocka_run_group_tests_name("domains_tokenize", tests, NULL, NULL);
}
