/* Writes semantic parsers with random weights, whole or damaged in one place. */
#ifndef TEST_DOMAINS_MODEL_MAKER_H
#define TEST_DOMAINS_MODEL_MAKER_H

#include <stdint.h>

typedef struct model_spec {
    int embedding, hidden, words, actions; /* vocabularies with their three special tokens */
    uint64_t seed;
    const char *missing;  /* tensor left out, or NULL */
    const char *reshaped; /* tensor whose dimensions are reversed ([n] becomes [n, 1]) */
    const char *retyped;  /* tensor called I32 */
} model_spec;

#define SMALL_MODEL ((model_spec){.embedding = 5, .hidden = 6, .words = 12, .actions = 9, .seed = 1})

/* config.json, model.safetensors, source.vocab (w0, w1, ...), target.vocab (a0, a1, ...) in the folder. Weights lie in -0.5..0.5. */
void model_write(const char *folder, const model_spec *spec);

/* config.json alone, with `extra` ("\"key\": value,") at its front. */
void model_write_config(const char *folder, const model_spec *spec, const char *extra);

#endif
