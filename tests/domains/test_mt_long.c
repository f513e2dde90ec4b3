/* domains/mt: inputs of thousands of tokens: the memory they take, and that other inputs are unaffected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "mt_runner.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "context_fixture.h"

static char *folder;

/* Replace `from` by `to` in the configuration. */
static void configure(const char *from, const char *to)
{
    size_t length;
    char *bytes = read_bytes(folder, "config.json", &length), *pos = strstr(bytes, from);
    assert_non_null(pos);
    char *edited = malloc(length + strlen(to) + 1);
    assert_non_null(edited);
    memcpy(edited, bytes, (size_t)(pos - bytes));
    strcpy(edited + (pos - bytes), to);
    strcat(edited, pos + strlen(from));
    write_string(folder, "config.json", edited);
    free(edited);
    free(bytes);
}

/* Copy a model with 4,000 positions. */
static int fill_folder(void **state)
{
    static const char *const files[] = {"config.json", "generation_config.json", "model.safetensors", "vocab.json"};
    set_up(state);
    folder = folder_make();
    char *from = data_path("mt/shared");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) copy_file(from, folder, files[i]);
    free(from);
    configure("\"max_position_embeddings\": 40", "\"max_position_embeddings\": 4000");
    return 0;
}

static int remove_folder(void **state)
{
    folder_remove(folder);
    return tear_down(state);
}

/* "a a a ...", malloc()ed. */
static char *make_line(size_t subwords)
{
    char *line = calloc(subwords, 2);
    assert_non_null(line);
    for (size_t i = 0; i + 1 < 2 * subwords; i++) line[i] = i % 2 == 0 ? 'a' : ' ';
    return line;
}

/* An allocator that refuses blocks larger than a limit. */
static void *small_blocks(void *user, void *block, size_t old_size, size_t new_size)
{
    const size_t *max_bytes = user;
    void *fresh = NULL;
    if (new_size > *max_bytes || (new_size > 0 && posix_memalign(&fresh, 64, new_size) != 0)) return NULL;
    if (fresh != NULL && block != NULL) memcpy(fresh, block, old_size < new_size ? old_size : new_size);
    free(block);
    return fresh;
}

static seq_runner *open_for(rill_context *owner, int32_t slots)
{
    seq_runner *self;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    assert_ok(owner, runner_open(owner, &options, &self, &info));
    assert_ok(owner, domain->reserve(self, 1, slots));
    return self;
}

/* Encode a line of 3,000 tokens between two short ones, in blocks of at most max_bytes; returns the long line's status. */
static rill_status encode_long_line(size_t max_bytes)
{
    rill_context_options context = {
        .struct_size = sizeof context, .allocate = small_blocks, .allocate_user = &max_bytes};
    rill_context *small;
    char *line = make_line(3000);
    rill_input inputs[] = {{.text = "a b", .length = 3, .slot = 0},
                           {.text = line, .length = strlen(line), .slot = 1},
                           {.text = "a", .length = 1, .slot = 2}};
    assert_int_equal(rill_context_create(&small, &context), RILL_OK);
    seq_runner *m = open_for(small, 3);
    assert_ok(small, domain->encode(m, 3, inputs));
    assert_true(inputs[0].status == RILL_OK && inputs[2].status == RILL_OK);
    if (inputs[1].status != RILL_OK)
        assert_non_null(strstr(inputs[1].message, "3001 tokens needs more memory than there is: "));
    runner_close(m);
    rill_context_destroy(small);
    free(line);
    return inputs[1].status;
}

/* If memory does not suffice for all attention weights of the long line, 144 MB, that line fails alone. */
static void a_line_too_long_for_the_memory_fails_alone(void **state)
{
    (void)state;
    assert_int_equal(encode_long_line(1 << 20), RILL_ERR_INPUT);
    assert_int_equal(encode_long_line(8 << 20), RILL_OK);
}

/* In a batch with a long line, attention is computed in parts; without one, all at once. Results of short lines are the
 * same. */
static void long_neighbours_change_nothing(void **state)
{
    (void)state;
    configure("\"encoder_attention_heads\": 4", "\"encoder_attention_heads\": 16");
    char *line = make_line(480);
    rill_input inputs[] = {{.text = line, .length = strlen(line), .slot = 0},
                           {.text = "a b c d", .length = 7, .slot = 1},
                           {.text = "a b c d", .length = 7, .slot = 2}};
    seq_runner *m = open_for(ctx, 3);
    assert_ok(ctx, domain->encode(m, 2, inputs));
    assert_ok(ctx, domain->encode(m, 1, inputs + 2));
    const mt_net *net = mt_from_seq(m->model->net[0]);
    for (size_t i = 0; i < net->decoder.n_layers; i++) {
        float with_others[5 * 64], alone[5 * 64];
        assert_true(net->width <= 32);
        assert_int_equal(rill_session_units(m->session, 1), 5);
        assert_int_equal(rill_session_units(m->session, 2), 5);
        assert_ok(ctx, rill_session_read(m->session, net->decoder.layer[i].encoder_kv, 1, 0, 5, with_others));
        assert_ok(ctx, rill_session_read(m->session, net->decoder.layer[i].encoder_kv, 2, 0, 5, alone));
        assert_memory_equal(with_others, alone, 5 * 2 * net->width * sizeof(float));
    }
    runner_close(m);
    free(line);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, fill_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_line_too_long_for_the_memory_fails_alone),
        IN_FOLDER(long_neighbours_change_nothing),
    };
    return cmocka_run_group_tests_name("domains_mt_long", tests, NULL, NULL);
}
