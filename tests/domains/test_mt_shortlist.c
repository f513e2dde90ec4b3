/* domains/mt with a shortlist: the tokens that an input may be decoded with. Scores are normalised over these tokens.
 * Neither the other inputs of a call nor the method changes a bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "domain_driver.h"
#include "helpers.h"
#include "mt_runner.h"
#include "reference.h"
#include "rill/engine.h"
#include "rill/plugin.h"

static failing_allocator memory;
static rill_context *ctx;
static char *folder;
static const char *kind; /* weight type; NULL: f32 */

static int set_up(void **state)
{
    (void)state;
    ctx = failing_allocator_context(&memory);
    folder = folder_make();
    assert_ok(ctx, rill_register_core(ctx));
    assert_ok(ctx, rill_register_domain(ctx, &rill_mt_domain));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    rill_context_destroy(ctx);
    assert_int_equal(memory.out, 0);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

enum { CAPACITY = 64 };

static const char *const models[] = {"mt/shared", "mt/odd", "mt/separate", "mt/fsmt", "mt/rnn", "mt/rnn-simple"};

/* Open model `name`, in an ensemble with `also` unless that is NULL, with a shortlist from the directory's file "lex"
 * and these `counts`; NULL: without a shortlist. */
static rill_status try_open(const char *name, const char *also, const char *counts, int threads, seq_runner **out)
{
    char *path = data_path(name), *second = also != NULL ? data_path(also) : NULL, option[300];
    rill_domain_info info;
    snprintf(option, sizeof option, "%s/lex%s", folder, counts != NULL ? counts : "");
    const char *const list[] = {second};
    rill_pair values[2];
    rill_open_options options = {.struct_size = sizeof options,
                                 .path = path,
                                 .threads = threads,
                                 .tokenized = 1,
                                 .ensemble = list,
                                 .n_ensemble = second != NULL,
                                 .values = values};
    if (kind != NULL) values[options.n_values++] = (rill_pair){"weights", kind};
    if (counts != NULL) values[options.n_values++] = (rill_pair){"shortlist", option};
    rill_status status = runner_open(ctx, &options, out, &info);
    free(path), free(second);
    return status;
}

static seq_runner *open_it(const char *name, const char *counts)
{
    seq_runner *m;
    assert_ok(ctx, try_open(name, NULL, counts, 1, &m));
    return m;
}

static void encode(seq_runner *m, int32_t n, char *const *text)
{
    rill_input inputs[8];
    for (int32_t i = 0; i < n; i++) inputs[i] = (rill_input){.text = text[i], .length = strlen(text[i]), .slot = i};
    assert_ok(ctx, rill_mt_domain.reserve(m, n, n));
    assert_ok(ctx, rill_mt_domain.encode(m, n, inputs));
}

/* Make and score a node for each of n slots; log-probabilities [n][CAPACITY], -infinity for no choice. */
static void start(seq_runner *m, int32_t n, float (*logp)[CAPACITY])
{
    int32_t node[8], none[8], action[8], depth[8];
    for (int32_t i = 0; i < n; i++) node[i] = i, none[i] = action[i] = -1, depth[i] = 0;
    const rill_rows rows = {n, 0, node, none, none, action, node, depth, 0};
    const rill_domain_info info = {.actions = m->model->net[0]->target_vocab_size, .legal = m->model->legal};
    answer a = answer_make(n, info.actions);
    answer_rows(ctx, &rill_mt_domain, m, &rows, &a);
    for (int32_t i = 0; i < n; i++) {
        for (int32_t v = info.actions; v < CAPACITY; v++) logp[i][v] = -INFINITY;
        answer_logp(&a, i, logp[i]);
    }
    answer_free(&a);
    check_random_requests(ctx, &rill_mt_domain, m, &info, &rows, 30);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Return the bytes of the list of an input with this many source tokens, from the fifth token on; check the announced
 * maximum. */
static size_t check_bytes(seq_runner *m, size_t subwords)
{
    const size_t symbol = (size_t)rill_network_sizes(m->model->network).symbol;
    const size_t max_bytes = (seq_vocab_subset_max(m->model->shortlist, subwords + 1) + RILL_VOCAB_SUBSET_PADDING) *
                             symbol;
    char text[400] = "", *texts[1] = {text};
    for (size_t i = 0; i < subwords; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
                 rill_vocabulary_token(m->model->net[0]->tokenizer->source, 5 + (int32_t)i, NULL));
    encode(m, 1, texts);
    assert_int_equal(rill_session_units(m->session, 0), subwords + 1);
    assert_ok(ctx, rill_mt_domain.reserve(m, 1, 2));
    const size_t old_bytes = rill_memory_used(ctx);
    assert_ok(ctx, rill_session_set_vocab_subset(m->session, m->model->net[0]->vocab_subset, 1, m->vocab_subset.n,
                                                 m->vocab_subset.ids));
    assert_in_range(rill_memory_used(ctx) - old_bytes, (size_t)m->vocab_subset.n * symbol, max_bytes);
    rill_session_drop(m->session, 1);
    return max_bytes;
}

static const char *subword(const seq_runner *m, int32_t action)
{
    return rill_vocabulary_token(m->model->net[0]->tokenizer->target, action, NULL);
}

/* A lexicon over the model's own tokens, so that it fits any model: source token 5 has three translations, 6 has one. */
static void write_lexicon(const seq_runner *m)
{
    const rill_vocabulary *source = m->model->net[0]->tokenizer->source;
    char text[1000];
    const char *five = rill_vocabulary_token(source, 5, NULL), *six = rill_vocabulary_token(source, 6, NULL);
    snprintf(text, sizeof text, "%s %s 0.2\n%s\t%s\t0.5\r\n\n%s %s 0.3\n%s %s 1\nNULL %s 0.9\nnowhere %s 1\n%s NULL 1",
             subword(m, 10), five, subword(m, 11), five, subword(m, 12), five, subword(m, 13), six, five, five,
             subword(m, 14));
    write_string(folder, "lex", text);
}

/* Check the list of an input of one token. */
static void check_list(const char *name, const char *counts, int32_t source, const int32_t *expected, size_t n)
{
    seq_runner *m = open_it(name, counts);
    char *text = strdup(rill_vocabulary_token(m->model->net[0]->tokenizer->source, source, NULL));
    encode(m, 1, &text);
    assert_int_equal(rill_session_vocab_subset_size(m->session, m->model->net[0]->vocab_subset, 0), n);
    assert_memory_equal(m->vocab_subset.ids, expected, n * sizeof *expected);
    runner_close(m);
    free(text);
}

static void lists_are_what_the_lexicon_says(void **state)
{
    (void)state;
    seq_runner *m = open_it("mt/shared", NULL);
    write_lexicon(m);
    runner_close(m);
    check_list("mt/shared", ",0,0", 5, (const int32_t[]){0, 5}, 2); /* the end token, and the source token itself */
    check_list("mt/shared", ",0,1", 5, (const int32_t[]){0, 5, 11}, 3);
    check_list("mt/shared", ",0,2", 5, (const int32_t[]){0, 5, 11, 12}, 4);
    check_list("mt/shared", ",0,02", 5, (const int32_t[]){0, 5, 11, 12}, 4);
    check_list("mt/shared", ",0,100", 5, (const int32_t[]){0, 5, 10, 11, 12}, 5);
    check_list("mt/shared", ",14", 5, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, 14);
    check_list("mt/shared", ",3", 5, (const int32_t[]){0, 1, 2, 5, 10, 11, 12}, 7);
    m = open_it("mt/shared", "");
    /* with a shortlist, the model does not keep the complete output layer */
    assert_int_equal(m->model->net[0]->output_weight, RILL_NONE);
    runner_close(m);
    m = open_it("mt/odd", NULL);
    write_lexicon(m);
    runner_close(m);
    check_list("mt/odd", ",0,0", 0, (const int32_t[]){0, 26}, 2); /* in this vocabulary token 0 is no special token */
}

static void a_lists_memory_is_bounded(void **state)
{
    (void)state;
    static const char *const kinds[] = {"f32", "bf16", "int8"};
    size_t old_bytes = SIZE_MAX;
    seq_runner *m = open_it("mt/shared", NULL);
    write_lexicon(m);
    runner_close(m);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kind = kinds[i];
        m = open_it("mt/shared", ",5,100");
        const size_t one = check_bytes(m, 1), two = check_bytes(m, 2), ten = check_bytes(m, 10);
        assert_int_equal(ten - two, 8 * (two - one)); /* each source token adds at most three translations and itself */
        assert_in_range(two - one, 4, 4 * (mt_from_seq(m->model->net[0])->width * sizeof(float) + 8));
        assert_true(ten < old_bytes);
        old_bytes = ten;
        runner_close(m);
    }
    kind = NULL;
}

/* --- binary files ------------------------------------------------------------------------------------------------- */

enum { SUMMED_FROM = 16 }; /* the checksum of a binary file covers the bytes from here on */

/* An image of a binary shortlist file. */
typedef struct binary {
    size_t n;
    unsigned char bytes[4096];
} binary;

static void put_little(binary *b, size_t at, uint64_t value, size_t bytes)
{
    assert_true(at + bytes <= sizeof b->bytes);
    for (size_t i = 0; i < bytes; i++) b->bytes[at + i] = (unsigned char)(value >> 8 * i);
    if (b->n < at + bytes) b->n = at + bytes;
}

static void set_checksum(binary *b)
{
    uint64_t sum = 0;
    for (size_t at = SUMMED_FROM; at + 8 <= b->n; at += 8) {
        uint64_t word = 0;
        for (size_t i = 8; i-- > 0;) word = word << 8 | b->bytes[at + i];
        sum ^= word + 0x9E3779B9u + (sum << 6) + (sum >> 2);
    }
    put_little(b, 8, sum, 8);
}

static void write_binary(const binary *b)
{
    write_bytes(folder, "lex", (const char *)b->bytes, b->n);
}

/* In this file source token 5 has targets 10 and 11, token 6 has 12, and the others, up to this many, have none. */
static binary small_binary(uint64_t first, size_t source_tokens)
{
    static const uint32_t ids[] = {10, 11, 12};
    const uint64_t head[] = {UINT64_C(0xF11A48D5013417F5), 0, first, 50, source_tokens + 1, 3};
    binary b = {0};
    for (size_t i = 0; i < 6; i++) put_little(&b, 8 * i, head[i], 8);
    for (size_t i = 0; i <= source_tokens; i++) put_little(&b, 48 + 8 * i, i <= 5 ? 0 : i == 6 ? 2 : 3, 8);
    for (size_t i = 0; i < 3; i++) put_little(&b, 48 + 8 * (source_tokens + 1) + 4 * i, ids[i], 4);
    set_checksum(&b);
    return b;
}

/* Lists are those of Marian for a batch of one input: their length is a multiple of 8, filled with the tokens from
 * number `first` on. */
static void binary_lists_are_marians(void **state)
{
    (void)state;
    binary b = small_binary(3, 10);
    write_binary(&b);
    check_list("mt/shared", "", 5, (const int32_t[]){0, 1, 2, 3, 4, 5, 10, 11}, 8);
    check_list("mt/shared", "", 6, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 12}, 8);
    b = small_binary(0, 10);
    write_binary(&b);
    check_list("mt/shared", "", 5, (const int32_t[]){0, 1, 2, 3, 4, 5, 10, 11}, 8);
    b = small_binary(12, 10); /* nine ids with token 12, so seven more fill the list */
    write_binary(&b);
    check_list("mt/shared", "", 5, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 16);
    b = small_binary(8, 10); /* the token itself is among the first 8, so the list is full */
    write_binary(&b);
    check_list("mt/shared", "", 7, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
    b = small_binary(3, 6); /* the file is shorter than the vocabulary: token 6 has no list */
    put_little(&b, 48 + 8 * 6, 3, 8);
    set_checksum(&b);
    write_binary(&b);
    check_list("mt/shared", "", 6, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
    b = small_binary(
        /* separate vocabularies: the list has no source ids; 16 is the end token; 4, a filler, is never chosen and left
         * out */
        3, 10);
    write_binary(&b);
    check_list("mt/separate", "", 6, (const int32_t[]){0, 1, 2, 3, 5, 12, 16}, 7);
    check_list("mt/separate", "", 9, (const int32_t[]){0, 1, 2, 3, 5, 6, 16}, 7);
}

static void a_binary_file_has_its_own_counts(void **state)
{
    (void)state;
    const binary b = small_binary(3, 10);
    seq_runner *m;
    write_binary(&b);
    assert_int_equal(try_open("mt/shared", NULL, ",5", 1, &m), RILL_ERR_OPTION);
    assert_error(ctx, "shortlist: %s/lex is binary and has its own F and B: name the file alone", folder);
}

static void refused_binary(const binary *b, const char *sentence)
{
    seq_runner *m;
    write_binary(b);
    assert_int_equal(try_open("mt/shared", NULL, "", 1, &m), RILL_ERR_FORMAT);
    assert_null(m);
    assert_error(ctx, sentence, folder);
}

/* Every number in the file is set to wrong values, with a correct checksum. */
static void damaged_binary_files(void **state)
{
    (void)state;
    seq_runner *m = open_it("mt/shared", NULL);
    const size_t words = (size_t)m->model->net[0]->source_vocab_size;
    runner_close(m);
    enum { ID = 48 + 8 * 11 };
    char sentence[200];
    const struct {
        size_t at, bytes;
        uint64_t value;
        const char *sentence;
    } bad[] = {
        {32, 8, 0, "%s/lex: expected 1 to N offsets, one more than source tokens, found 0: is it another model's?"},
        {32, 8, UINT64_C(1) << 61,
         "%s/lex: expected 1 to N offsets, one more than source tokens, found 2305843009213693952: is it another "
         "model's?"},
        {32, 8, 10, "%s/lex: 10 offsets and 3 ids do not match the file's 148 bytes"},
        {40, 8, 4, "%s/lex: 11 offsets and 4 ids do not match the file's 148 bytes"},
        {40, 8, (UINT64_C(1) << 62) + 3,
         "%s/lex: 11 offsets and 4611686018427387907 ids do not match the file's 148 bytes"},
        {48, 8, 1, "%s/lex: offset 0: expected 0 to 0, found 1"},
        {48 + 8 * 6, 8, 4, "%s/lex: offset 6: expected 0 to 3, found 4"},
        {48 + 8 * 7, 8, 1, "%s/lex: offset 7: expected 2 to 3, found 1"},
        {48 + 8 * 7, 8, UINT64_MAX, "%s/lex: offset 7: expected 2 to 3, found 18446744073709551615"},
        {ID + 4, 4, 4000000000, "%s/lex: id 1: expected 0 to 50, found 4000000000"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        binary b = small_binary(3, 10);
        put_little(&b, bad[i].at, bad[i].value, bad[i].bytes);
        set_checksum(&b);
        const char *n = strstr(bad[i].sentence, "1 to N");
        if (n != NULL)
            snprintf(sentence, sizeof sentence, "%.*s1 to %zu%s", (int)(n - bad[i].sentence), bad[i].sentence,
                     words + 1, n + 6);
        refused_binary(&b, n != NULL ? sentence : bad[i].sentence);
    }
    binary b = small_binary(3, 10);
    b.bytes[8] ^= 1;
    refused_binary(&b, "%s/lex: the checksum does not match: the file is damaged");
    b.n = 47;
    refused_binary(&b, "%s/lex: expected a header of 48 bytes, the file has 47");
    /* all tokens are among the first: the list restricts nothing, but that is no error */
    b = small_binary(UINT64_MAX, 10);
    write_binary(&b);
    runner_close(open_it("mt/shared", ""));
}

/* A list has at most all targets. Without this limit, ids that a crafted file repeats would take memory and time for
 * each of an input's tokens. */
static void a_token_has_at_most_all_targets(void **state)
{
    (void)state;
    enum { TARGETS = 51, IDS = 48 + 8 * 11 };
    binary b = small_binary(3, 10);
    char sentence[100];
    for (size_t n = TARGETS; n <= TARGETS + 1; n++) {
        put_little(&b, 40, n, 8);
        for (size_t i = 6; i <= 10; i++) put_little(&b, 48 + 8 * i, n, 8);
        for (size_t i = 0; i < n; i++) put_little(&b, IDS + 4 * i, 7, 4);
        set_checksum(&b);
        if (n > TARGETS) break;
        write_binary(&b);
        seq_runner *m = open_it("mt/shared", "");
        assert_int_equal(m->model->net[0]->target_vocab_size, TARGETS);
        for (size_t pieces = 0; pieces < 3; pieces++)
            assert_in_range(seq_vocab_subset_max(m->model->shortlist, pieces), 8, TARGETS);
        runner_close(m);
    }
    snprintf(sentence, sizeof sentence, "%%s/lex: offset 6: expected 0 to %d, found %d", TARGETS, TARGETS + 1);
    refused_binary(&b, sentence);
}

static void random_damage_does_no_harm(void **state)
{
    (void)state;
    uint64_t dice = 4;
    int opened = 0;
    for (int round = 0; round < 300; round++) {
        binary b = small_binary(3, 10);
        seq_runner *m;
        for (uint32_t n = 1 + random_below(&dice, 3); n > 0; n--)
            b.bytes[random_below(&dice, (uint32_t)b.n)] = (unsigned char)random_below(&dice, round % 3 == 0 ? 256 : 4);
        b.n -= random_below(&dice, 10) == 0 ? random_below(&dice, (uint32_t)b.n) : 0;
        if (b.n >= SUMMED_FROM) set_checksum(&b);
        write_binary(&b);
        if (try_open("mt/shared", NULL, "", 1, &m) != RILL_OK) {
            assert_true(rill_error(ctx)[0] != '\0');
            continue;
        }
        char *text = strdup(rill_vocabulary_token(m->model->net[0]->tokenizer->source, 6, NULL));
        encode(m, 1, &text);
        runner_close(m);
        free(text);
        opened++;
    }
    assert_in_range(opened, 5, 295);
}

/* --- scores ------------------------------------------------------------------------------------------------------- */

static void softmax_is_over_the_list(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        seq_runner *unlisted = open_it(models[i], NULL);
        write_lexicon(unlisted);
        seq_runner *m = open_it(models[i], ",4,2");
        char *text = strdup(rill_vocabulary_token(m->model->net[0]->tokenizer->source, 5, NULL));
        float all[1][CAPACITY], some[1][CAPACITY];
        encode(unlisted, 1, &text), encode(m, 1, &text);
        start(unlisted, 1, all), start(m, 1, some);
        const seq_vocab_subset *list = &m->vocab_subset;
        double sum = 0;
        for (int32_t i_symbol = 0; i_symbol < list->n; i_symbol++) sum += exp((double)all[0][list->ids[i_symbol]]);
        for (int32_t a = 0, i_symbol = 0; a < m->model->net[0]->target_vocab_size; a++) {
            const int listed = i_symbol < list->n && list->ids[i_symbol] == a;
            i_symbol += listed;
            if (!listed)
                assert_true(some[0][a] == -INFINITY);
            else
                assert_true(fabs((double)all[0][a] - log(sum) - (double)some[0][a]) <= 1e-5);
        }
        runner_close(unlisted), runner_close(m);
        free(text);
    }
}

/* An input's list is the same alone and beside inputs with other lists, also in an ensemble of two. */
static void a_list_is_the_inputs_alone(void **state)
{
    (void)state;
    for (int together = 0; together <= 1; together++) {
        seq_runner *m = open_it("mt/shared", NULL), *one;
        write_lexicon(m);
        const rill_vocabulary *source = m->model->net[0]->tokenizer->source;
        char text[4][200], *texts[4] = {text[0], text[1], text[2], text[3]};
        float with_others[4][CAPACITY], alone[1][CAPACITY];
        snprintf(text[0], sizeof *text, "%s", rill_vocabulary_token(source, 6, NULL));
        snprintf(text[1], sizeof *text, "%s %s", rill_vocabulary_token(source, 6, NULL),
                 rill_vocabulary_token(source, 5, NULL));
        snprintf(text[2], sizeof *text, "%s", rill_vocabulary_token(source, 5, NULL));
        snprintf(text[3], sizeof *text, "%s", rill_vocabulary_token(source, 7, NULL));
        runner_close(m);
        const char *also = together ? "mt/ensemble" : NULL;
        assert_ok(ctx, try_open("mt/shared", also, ",3,1", 2, &m));
        encode(m, 4, texts);
        start(m, 4, with_others);
        for (size_t i = 0; i < 4; i++) {
            assert_ok(ctx, try_open("mt/shared", also, ",3,1", 1, &one));
            encode(one, 1, &texts[i]);
            start(one, 1, alone);
            assert_memory_equal(alone[0], with_others[i], sizeof *alone);
            runner_close(one);
        }
        runner_close(m);
    }
}

/* --- searching ---------------------------------------------------------------------------------------------------- */

/* Decode the reference's cases; returns a hash of all outputs and their scores. */
static uint64_t decode(const char *method, int32_t n, const json_t *cases)
{
    char *path = data_path("mt/shared"), option[300];
    snprintf(option, sizeof option, "%s/lex,6,2", folder);
    const rill_pair list = {"shortlist", option};
    rill_open_options options = {
        .struct_size = sizeof options, .path = path, .threads = 1, .tokenized = 1, .values = &list, .n_values = 1};
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    strcpy(setup.settings.method, method);
    setup.settings.k = setup.settings.max_candidates = setup.settings.n_best = 5;
    setup.settings.n = n;
    assert_ok(ctx, rill_model_open(&model, ctx, "mt", &options));
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    const size_t count = json_array_size(cases);
    uint64_t digest = UINT64_C(14695981039346656037);
    for (size_t submitted = 0, seen = 0; seen < count;) {
        for (; submitted < count && rill_engine_free_slots(engine) > 0; submitted++) {
            char *text = reference_text(json_object_get(json_array_get(cases, submitted), "pieces"));
            assert_ok(ctx, rill_engine_submit(engine, text, strlen(text)));
            free(text);
        }
        if (submitted == count) rill_engine_close_input(engine);
        assert_ok(ctx, rill_engine_step(engine));
        const rill_result *result;
        for (; rill_engine_next(engine, &result) == RILL_OK; seen++) {
            assert_int_equal(result->status, RILL_OK);
            for (int32_t i = 0; i < result->n_outputs; i++) {
                uint64_t bits;
                memcpy(&bits, &rill_result_output(result, i)->path_score, sizeof bits);
                digest = (digest ^ bits) * UINT64_C(1099511628211);
                for (int32_t a = 0; a < rill_result_output(result, i)->n_ids; a++)
                    digest = (digest ^ (uint64_t)rill_result_output(result, i)->ids[a]) * UINT64_C(1099511628211);
            }
        }
    }
    rill_engine_destroy(engine);
    rill_model_close(model);
    free(path);
    return digest;
}

static void methods_agree_to_the_bit(void **state)
{
    (void)state;
    static const char *const methods[] = {"var-batch", "var-stream", "var-stream-fifo", "top-up", "stream-all"};
    seq_runner *m = open_it("mt/shared", NULL);
    write_lexicon(m);
    runner_close(m);
    reference r = reference_open("mt/shared");
    const uint64_t first = decode("var-batch", 1, r.cases);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for (int32_t n = 1; n <= 7; n += 3) assert_true(decode(methods[i], n, r.cases) == first);
    reference_close(&r);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void refused(const char *text, rill_status status, const char *sentence)
{
    seq_runner *m;
    if (text != NULL) write_string(folder, "lex", text);
    assert_int_equal(try_open("mt/shared", NULL, ",5,5", 1, &m), status);
    assert_null(m);
    assert_error(ctx, sentence, folder);
}

static void bad_files(void **state)
{
    (void)state;
    static const char wanted[] =
        ": expected a target token, a source token and a probability from 0 to 1, separated by spaces";
    char sentence[200];
    refused(NULL, RILL_ERR_NOT_FOUND, "cannot open %s/lex: No such file or directory");
    refused("nowhere a 1\n", RILL_ERR_FORMAT,
            "%s/lex: no line has a token of the target vocabulary followed by one of the source vocabulary");
    refused("\x1F\x8B", RILL_ERR_FORMAT, "%s/lex: the file is compressed: unpack it with gunzip");
    static const char *const bad[] = {"a b", "a b x", "a b 1.5", "a b -1", "a b 0.5 c", "a b nan"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        snprintf(text, sizeof text, "a b 1\n%s\n", bad[i]);
        snprintf(sentence, sizeof sentence, "%%s/lex:2%s", wanted);
        refused(text, RILL_ERR_FORMAT, sentence);
    }
}

static void every_allocation_fails_once(void)
{
    seq_runner *m;
    const long old_calls = memory.calls;
    rill_status status = try_open("mt/shared", NULL, "", 1, &m);
    assert_int_equal(status, RILL_OK);
    runner_close(m);
    const long calls = memory.calls - old_calls;
    for (long allowed = 0; allowed < calls; allowed++) {
        memory.allowed = allowed;
        assert_int_equal(try_open("mt/shared", NULL, "", 1, &m), RILL_ERR_MEMORY);
    }
    memory.allowed = -1;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const binary b = small_binary(3, 10);
    seq_runner *m = open_it("mt/shared", NULL);
    write_lexicon(m);
    runner_close(m);
    every_allocation_fails_once();
    write_binary(&b);
    every_allocation_fails_once();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lists_are_what_the_lexicon_says),  CASE(a_lists_memory_is_bounded),
        CASE(softmax_is_over_the_list),         CASE(a_list_is_the_inputs_alone),
        CASE(methods_agree_to_the_bit),         CASE(bad_files),
        CASE(every_allocation_may_fail),        CASE(binary_lists_are_marians),
        CASE(a_binary_file_has_its_own_counts), CASE(damaged_binary_files),
        CASE(a_token_has_at_most_all_targets),  CASE(random_damage_does_no_harm),
    };
    return cmocka_run_group_tests_name("domains_mt_shortlist", tests, NULL, NULL);
}
