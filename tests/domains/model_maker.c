/* See model_maker.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "model_maker.h"

typedef struct shape {
    const char *name;
    int rows, columns; /* columns 0: a vector */
} shape;

static float random_weight(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(*state >> 40) * 0x1p-24f - 0.5f;
}

static int same(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

static void write_tensors(const char *folder, const model_spec *m, const shape *shapes, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += (size_t)shapes[i].rows * (size_t)(shapes[i].columns ? shapes[i].columns : 1);
    char header[4096];
    char *file = malloc(8 + sizeof header + total * sizeof(float));
    float *data = malloc(total * sizeof *data);
    assert_true(file != NULL && data != NULL);
    size_t at = (size_t)snprintf(header, sizeof header, "{\"__metadata__\":{\"format\":\"pt\"}"), used = 0;
    uint64_t state = m->seed;
    for (size_t i = 0; i < n; i++) {
        const shape *s = &shapes[i];
        if (same(m->missing, s->name)) continue;
        int turned = same(m->reshaped, s->name);
        char dimensions[64];
        if (s->columns == 0)
            snprintf(dimensions, sizeof dimensions, turned ? "[%d,1]" : "[%d]", s->rows);
        else
            snprintf(dimensions, sizeof dimensions, "[%d,%d]", turned ? s->columns : s->rows,
                     turned ? s->rows : s->columns);
        size_t count = (size_t)s->rows * (size_t)(s->columns ? s->columns : 1);
        at += (size_t)snprintf(header + at, sizeof header - at,
                               ",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", s->name,
                               same(m->retyped, s->name) ? "I32" : "F32", dimensions, used * sizeof(float),
                               (used + count) * sizeof(float));
        for (size_t j = 0; j < count; j++) data[used++] = random_weight(&state);
    }
    at += (size_t)snprintf(header + at, sizeof header - at, "}");
    assert_true(at < sizeof header);
    for (int i = 0; i < 8; i++) file[i] = (char)((uint64_t)at >> (8 * i));
    memcpy(file + 8, header, at);
    memcpy(file + 8 + at, data, used * sizeof *data);
    write_bytes(folder, "model.safetensors", file, 8 + at + used * sizeof *data);
    free(file);
    free(data);
}

static void write_vocabulary(const char *folder, const char *name, char letter, int count)
{
    char *text = malloc((size_t)count * 12 + 32);
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, "<s>\n</s>\n<unk>\n");
    for (int i = 0; i < count - 3; i++) at += (size_t)sprintf(text + at, "%c%d\n", letter, i);
    write_bytes(folder, name, text, at);
    free(text);
}

void model_write_config(const char *folder, const model_spec *m, const char *extra)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{%s\"model_type\": \"seq2seq-attention\", \"rill\": {\"domain\": \"semparse\", \"search\": {\"k\": 3}},\n"
             "\"task\": \"small\", \"embedding_size\": %d, \"hidden_size\": %d, \"source_vocab_size\": %d,\n"
             "\"target_vocab_size\": %d, \"max_length\": 20, \"max_input_length\": 30}\n",
             extra, m->embedding, m->hidden, m->words, m->actions);
    write_string(folder, "config.json", text);
}

void model_write(const char *folder, const model_spec *m)
{
    const shape shapes[] = {
        {"encoder.embedding.weight", m->words, m->embedding},
        {"encoder.lstm.weight_ih", 4 * m->hidden, m->embedding},
        {"encoder.lstm.weight_hh", 4 * m->hidden, m->hidden},
        {"encoder.lstm.bias", 4 * m->hidden, 0},
        {"decoder.embedding.weight", m->actions, m->embedding},
        {"decoder.lstm.weight_ih", 4 * m->hidden, m->embedding},
        {"decoder.lstm.weight_hh", 4 * m->hidden, m->hidden},
        {"decoder.lstm.bias", 4 * m->hidden, 0},
        {"attention.weight", m->hidden, 2 * m->hidden},
        {"attention.bias", m->hidden, 0},
        {"output.weight", m->actions, m->hidden},
        {"output.bias", m->actions, 0},
    };
    write_tensors(folder, m, shapes, sizeof shapes / sizeof *shapes);
    write_vocabulary(folder, "source.vocab", 'w', m->words);
    write_vocabulary(folder, "target.vocab", 'a', m->actions);
    model_write_config(folder, m, "");
}
