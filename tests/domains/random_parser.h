/* Writes semantic parsers and shift-reduce parsers with random weights, intact or with one defect. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct model_spec {
    int embedding, hidden, words, actions; /* words, actions: vocabulary sizes, including three special tokens each */
    uint64_t seed;
    const char *missing;  /* tensor left out, or NULL */
    const char *reshaped; /* tensor whose dimensions are reversed ([n] becomes [n, 1]) */
    const char *retyped;  /* tensor stored with type I32 */
    const char *extra;    /* an additional tensor, a vector of two numbers */
} model_spec;

/* A tensor of a model file. columns: 0 for a vector. */
typedef struct model_tensor {
    const char *name;
    int rows, columns;
    const char *like; /* an earlier tensor whose values it copies, or NULL */
} model_tensor;

/* Write model.safetensors with n tensors to the directory; uses the spec's seed and defects. */
void model_write_tensors(const char *folder, const model_spec *spec, const model_tensor *tensor, size_t n);

#define SMALL_MODEL ((model_spec){.embedding = 5, .hidden = 6, .words = 12, .actions = 9, .seed = 1})

/* Write config.json, model.safetensors, source.vocab (w0, w1, ...), target.vocab (a0, a1, ...) to the directory.
 * Weights are in -0.5..0.5. */
void model_write(const char *folder, const model_spec *spec);

/* Write config.json only, with `extra` ("\"key\": value,") at its start. */
void model_write_config(const char *folder, const model_spec *spec, const char *extra);

/* A parser: words.vocab (w0, w1, ...), labels.vocab (L1, L2, L3+M3, ..., then TOP, TOP+L1, ...), tags.vocab (T0, T1,
 * -LRB-), two shapes and four suffixes. Uses the spec's embedding, hidden, words (including three special ones) and
 * actions (number of labels, including "<none>"; at least 5). */
void parser_write_model(const char *folder, const model_spec *spec);
void parser_write_config(const char *folder, const model_spec *spec, const char *extra);

enum { PARSER_MODEL_TAGS = 4, PARSER_MODEL_TAG_SIZE = 3, PARSER_MODEL_NET = 9 }; /* tags include "<none>" */

#define SMALL_PARSER ((model_spec){.embedding = 5, .hidden = 6, .words = 12, .actions = 9, .seed = 1})
