/* See random_parser.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "random_parser.h"

static float random_weight(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(*state >> 40) * 0x1p-24f - 0.5f;
}

static int same(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

static size_t n_elements(const model_tensor *t)
{
    return (size_t)t->rows * (size_t)(t->columns ? t->columns : 1);
}

/* A tensor file being written. */
typedef struct writer {
    char header[32768];
    size_t header_length, n_written;
    float *data;
    uint64_t random;
} writer;

/* The values of the tensor of this name, which comes before `end`. */
static const float *tensor_values(const writer *w, const model_tensor *shapes, const model_tensor *end,
                                  const char *name)
{
    const float *data = w->data;
    for (; shapes < end && !same(name, shapes->name); shapes++) data += n_elements(shapes);
    return data;
}

static void write_one(writer *w, const model_spec *m, const model_tensor *s, const float *like)
{
    const int turned = same(m->reshaped, s->name);
    const size_t count = n_elements(s);
    char dimensions[64];
    if (s->columns == 0)
        snprintf(dimensions, sizeof dimensions, turned ? "[%d,1]" : "[%d]", s->rows);
    else
        snprintf(dimensions, sizeof dimensions, "[%d,%d]", turned ? s->columns : s->rows,
                 turned ? s->rows : s->columns);
    w->header_length += (size_t)snprintf(w->header + w->header_length, sizeof w->header - w->header_length,
                                         ",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", s->name,
                                         same(m->retyped, s->name) ? "I32" : "F32", dimensions,
                                         w->n_written * sizeof(float), (w->n_written + count) * sizeof(float));
    assert_true(w->header_length < sizeof w->header);
    for (size_t j = 0; j < count; j++) w->data[w->n_written++] = like != NULL ? like[j] : random_weight(&w->random);
}

void model_write_tensors(const char *folder, const model_spec *m, const model_tensor *shapes, size_t n)
{
    const model_tensor extra = {m->extra, 2, 0, NULL};
    size_t total = 2;
    for (size_t i = 0; i < n; i++) total += n_elements(&shapes[i]);
    writer *w = calloc(1, sizeof *w);
    char *file = malloc(8 + sizeof w->header + total * sizeof(float));
    assert_true(w != NULL && file != NULL);
    w->data = malloc(total * sizeof *w->data);
    assert_non_null(w->data);
    w->random = m->seed;
    w->header_length = (size_t)snprintf(w->header, sizeof w->header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < n; i++) {
        const float *like = shapes[i].like != NULL ? tensor_values(w, shapes, shapes + i, shapes[i].like) : NULL;
        if (!same(m->missing, shapes[i].name)) write_one(w, m, &shapes[i], like);
    }
    if (m->extra != NULL) write_one(w, m, &extra, NULL);
    w->header[w->header_length++] = '}';
    for (int i = 0; i < 8; i++) file[i] = (char)((uint64_t)w->header_length >> (8 * i));
    memcpy(file + 8, w->header, w->header_length);
    memcpy(file + 8 + w->header_length, w->data, w->n_written * sizeof *w->data);
    write_bytes(folder, "model.safetensors", file, 8 + w->header_length + w->n_written * sizeof *w->data);
    free(file);
    free(w->data);
    free(w);
}

static void write_vocabulary(const char *folder, const char *name, char letter, int count)
{
    char *text = malloc((size_t)count * 12 + 32);
    assert_non_null(text);
    size_t pos = (size_t)sprintf(text, "<s>\n</s>\n<unk>\n");
    for (int i = 0; i < count - 3; i++) pos += (size_t)sprintf(text + pos, "%c%d\n", letter, i);
    write_bytes(folder, name, text, pos);
    free(text);
}

void model_write_config(const char *folder, const model_spec *m, const char *extra)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "{%s\"model_type\": \"seq2seq-attention\", \"rill\": {\"domain\": \"semparse\", \"options\": {\"k\": 3}},\n"
        "\"task\": \"small\", \"embedding_size\": %d, \"hidden_size\": %d, \"source_vocab_size\": %d,\n"
        "\"target_vocab_size\": %d, \"max_length\": 20, \"max_input_length\": 30}\n",
        extra, m->embedding, m->hidden, m->words, m->actions);
    write_string(folder, "config.json", text);
}

void model_write(const char *folder, const model_spec *m)
{
    const model_tensor shapes[] = {
        {"encoder.embedding.weight", m->words, m->embedding, NULL},
        {"encoder.lstm.weight_ih", 4 * m->hidden, m->embedding, NULL},
        {"encoder.lstm.weight_hh", 4 * m->hidden, m->hidden, NULL},
        {"encoder.lstm.bias", 4 * m->hidden, 0, NULL},
        {"decoder.embedding.weight", m->actions, m->embedding, NULL},
        {"decoder.lstm.weight_ih", 4 * m->hidden, m->embedding, NULL},
        {"decoder.lstm.weight_hh", 4 * m->hidden, m->hidden, NULL},
        {"decoder.lstm.bias", 4 * m->hidden, 0, NULL},
        {"attention.weight", m->hidden, 2 * m->hidden, NULL},
        {"attention.bias", m->hidden, 0, NULL},
        {"output.weight", m->actions, m->hidden, NULL},
        {"output.bias", m->actions, 0, NULL},
    };
    model_write_tensors(folder, m, shapes, sizeof shapes / sizeof *shapes);
    write_vocabulary(folder, "source.vocab", 'w', m->words);
    write_vocabulary(folder, "target.vocab", 'a', m->actions);
    model_write_config(folder, m, "");
}

/* --- span shift-reduce parsers ------------------------------------------------------------------------------------ */

enum { SUFFIXES = 4, SHAPES = 3 };

/* Half of the labels are for inner spans, half begin with the root. */
static void write_labels(const char *folder, int count)
{
    char text[4096];
    size_t pos = (size_t)sprintf(text, "<none>\n");
    assert_true(count >= 5 && count < 100);
    for (int i = 1; i < count; i++) {
        const char *root = i <= count / 2 ? "" : i == count / 2 + 1 ? "TOP" : "TOP+";
        const int n = i <= count / 2 ? i : i - count / 2 - 1;
        pos += (size_t)sprintf(text + pos, "%s", root);
        if (n > 0) pos += (size_t)sprintf(text + pos, n % 3 == 0 ? "L%d+M%d" : "L%d", n, n);
        pos += (size_t)sprintf(text + pos, "\n");
    }
    write_bytes(folder, "labels.vocab", text, pos);
}

void parser_write_config(const char *folder, const model_spec *m, const char *extra)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{%s\"model_type\": \"span-shift-reduce\", \"rill\": {\"domain\": \"shiftreduce\"}, \"task\": \"small\",\n"
             "\"root\": \"TOP\", \"embedding_size\": %d, \"tag_size\": %d, \"hidden_size\": %d, \"net_size\": %d,\n"
             "\"suffix_length\": 2, \"word_vocab_size\": %d, \"suffix_vocab_size\": %d, \"shape_vocab_size\": %d,\n"
             "\"tag_vocab_size\": %d, \"label_vocab_size\": %d, \"max_input_length\": 300}\n",
             extra, m->embedding, PARSER_MODEL_TAG_SIZE, m->hidden, PARSER_MODEL_NET, m->words, SUFFIXES, SHAPES,
             PARSER_MODEL_TAGS, m->actions);
    write_string(folder, "config.json", text);
}

void parser_write_model(const char *folder, const model_spec *m)
{
    const int gates = 4 * m->hidden, both = 2 * m->hidden, inner = both + PARSER_MODEL_TAG_SIZE, net = PARSER_MODEL_NET;
    const model_tensor tensors[] = {
        {"words.weight", m->words, m->embedding, NULL},
        {"suffixes.weight", SUFFIXES, m->embedding, NULL},
        {"shapes.weight", SHAPES, m->embedding, NULL},
        {"tags.weight", PARSER_MODEL_TAGS, PARSER_MODEL_TAG_SIZE, NULL},
        {"layer1.forward.weight_ih", gates, m->embedding, NULL},
        {"layer1.forward.weight_hh", gates, m->hidden, NULL},
        {"layer1.forward.bias", gates, 0, NULL},
        {"layer1.backward.weight_ih", gates, m->embedding, NULL},
        {"layer1.backward.weight_hh", gates, m->hidden, NULL},
        {"layer1.backward.bias", gates, 0, NULL},
        {"layer2.forward.weight_ih", gates, inner, NULL},
        {"layer2.forward.weight_hh", gates, m->hidden, NULL},
        {"layer2.forward.bias", gates, 0, NULL},
        {"layer2.backward.weight_ih", gates, inner, NULL},
        {"layer2.backward.weight_hh", gates, m->hidden, NULL},
        {"layer2.backward.bias", gates, 0, NULL},
        {"tagger.weight", PARSER_MODEL_TAGS, both, NULL},
        {"tagger.bias", PARSER_MODEL_TAGS, 0, NULL},
        {"structure.hidden.weight", net, 4 * both, NULL},
        {"structure.hidden.bias", net, 0, NULL},
        {"structure.output.weight", 2, net, NULL},
        {"structure.output.bias", 2, 0, NULL},
        {"label.hidden.weight", net, 3 * both, NULL},
        {"label.hidden.bias", net, 0, NULL},
        {"label.output.weight", m->actions, net, NULL},
        {"label.output.bias", m->actions, 0, NULL},
    };
    model_write_tensors(folder, m, tensors, sizeof tensors / sizeof *tensors);
    write_vocabulary(folder, "words.vocab", 'w', m->words);
    write_string(folder, "suffixes.vocab", "1\n2\nw1\n^(\n");
    write_string(folder, "shapes.vocab", "<unk>\nxd\nX\n");
    write_string(folder, "tags.vocab", "<none>\nT0\nT1\n-LRB-\n");
    write_labels(folder, m->actions);
    parser_write_config(folder, m, "");
}
