/* Loading a parser: configuration, vocabularies, weights.
 *
 * Invariant: what the plan borrows and what lives as long as the model is in p->blocks; what is only needed while loading is in a
 * second set of blocks that is cleared after each part.
 *
 * Divisions: configuration · vocabularies · labels · embeddings and layers · tags · products of positions · outputs · the whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "model.h"
#include "penn.h"
#include "rill/file.h"
#include "weights.h"

enum {
    WIDTH_LIMIT = 1 << 14,
    VOCABULARY_LIMIT = 1 << 22,
    LABEL_LIMIT = 1 << 16,
    LENGTH_LIMIT = 1 << 20,
    DEFAULT_MAX_INPUT = 1000
};

/* What loading passes around. */
typedef struct loader {
    parser *p;
    rill_context *ctx;
    const char *directory;
    rill_tensors *tensors;
    rill_blocks passing; /* freed after each part */
    rill_text path;
} loader;

/* --- configuration ------------------------------------------------------------------------------------------------ */

static rill_status read_size(const rill_config *config, const char *key, int64_t low, int64_t high, int32_t *out)
{
    int64_t value;
    TRY(rill_config_int(config, key, low, high, &value));
    *out = (int32_t)value;
    return RILL_OK;
}

static rill_status read_width(const rill_config *config, const char *key, size_t *out)
{
    int32_t value;
    TRY(read_size(config, key, 1, WIDTH_LIMIT, &value));
    *out = (size_t)value;
    return RILL_OK;
}

static rill_status read_root(loader *l, const rill_config *config)
{
    const char *root;
    char *copy;
    TRY(rill_config_string(config, "root", &root));
    size_t length = strlen(root);
    if (length == 0)
        return rill_fail(l->ctx, RILL_ERR_FORMAT, "%s: root: expected the outermost label of every tree, found \"\"",
                         rill_config_name(config));
    TRY(rill_blocks_get(&l->p->blocks, &copy, length, 1, "the root's label"));
    memcpy(copy, root, length);
    l->p->root = (rill_slice){copy, length};
    return RILL_OK;
}

static rill_status read_settings(void *user, const rill_config *config)
{
    loader *l = user;
    parser *p = l->p;
    const char *task;
    int found;
    int64_t max_input;
    TRY(rill_config_expect(config, "model_type", "span-shift-reduce"));
    TRY(rill_config_object(config, "rill", &found));
    rill_config_heed(config, "rill", (const char *const[]){"domain", "search"}, 2);
    TRY(rill_config_expect(config, "rill.domain", "shiftreduce"));
    TRY(read_root(l, config));
    TRY(read_width(config, "embedding_size", &p->embedding));
    TRY(read_width(config, "tag_size", &p->tag_size));
    TRY(read_width(config, "hidden_size", &p->hidden));
    TRY(read_width(config, "net_size", &p->net));
    TRY(read_size(config, "suffix_length", 0, PARSER_MOST_SUFFIXES, &p->suffix_length));
    TRY(read_size(config, "word_vocab_size", PARSER_SPECIALS, VOCABULARY_LIMIT, &p->words));
    TRY(read_size(config, "suffix_vocab_size", 1, VOCABULARY_LIMIT, &p->suffixes));
    TRY(read_size(config, "shape_vocab_size", 1, VOCABULARY_LIMIT, &p->shapes));
    TRY(read_size(config, "tag_vocab_size", 2, LABEL_LIMIT, &p->tags));
    TRY(read_size(config, "label_vocab_size", 2, LABEL_LIMIT, &p->labels));
    TRY(rill_config_int_or(config, "max_input_length", 1, LENGTH_LIMIT, DEFAULT_MAX_INPUT, &max_input));
    TRY(rill_config_string_or(config, "task", l->directory, &task));
    p->max_input = (int32_t)max_input;
    snprintf(p->description, sizeof p->description,
             "span shift-reduce parser \"%.50s\": %d words, %d tags, %d labels, LSTM of 2 x %zu", task, p->words,
             p->tags - 1, p->labels - 1, p->hidden);
    return RILL_OK;
}

/* --- vocabularies ------------------------------------------------------------------------------------------------- */

static rill_status load_vocabularies(loader *l)
{
    static const char *const words[] = {"<s>", "</s>", "<unk>"}, *const unknown[] = {"<unk>"},
                             *const none[] = {"<none>"};
    parser *p = l->p;
    const struct {
        const char *name, *key;
        rill_vocabulary **out;
        int32_t size, specials;
        const char *const *special;
    } files[] = {
        {"words.vocab", "word_vocab_size", &p->word, p->words, PARSER_SPECIALS, words},
        {"suffixes.vocab", "suffix_vocab_size", &p->suffix, p->suffixes, 0, NULL},
        {"shapes.vocab", "shape_vocab_size", &p->shape, p->shapes, 1, unknown},
        {"tags.vocab", "tag_vocab_size", &p->tag, p->tags, 1, none},
        {"labels.vocab", "label_vocab_size", &p->label, p->labels, 1, none},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        TRY(rill_path_join(&l->path, l->directory, files[i].name));
        TRY(rill_vocabulary_expect(files[i].out, l->ctx, l->path.data, files[i].key, files[i].size, files[i].special,
                                   files[i].specials));
    }
    return RILL_OK;
}

/* Treebanks that take hyphenated words apart have a tag for hyphens; those that leave quotes
 * as they were typed have the typed one among their words. */
static void choose_style(parser *p)
{
    if (rill_vocabulary_id(p->tag, "HYPH", 4) >= 0) p->style |= RILL_PENN_HYPHENS;
    if (rill_vocabulary_id(p->word, "\"", 1) >= 0) p->style |= RILL_PENN_QUOTES;
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

/* A name that could not be read back from a tree. */
static int breaks_brackets(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == '(' || name[i] == ')') return 1;
    return length == 0;
}

/* Take label i apart at "+", behind those before it. */
static rill_status split_label(loader *l, int32_t i)
{
    parser *p = l->p;
    size_t length, from = 0;
    int32_t n = p->symbols[i];
    const char *name = rill_vocabulary_token(p->label, i, &length);
    for (size_t at = 0; at <= length; at++) {
        if (at < length && name[at] != '+') continue;
        p->symbol[n] = (rill_slice){name + from, at - from};
        if (breaks_brackets(name + from, at - from))
            return rill_fail(l->ctx, RILL_ERR_FORMAT,
                             "%s:%d: expected names without blanks and brackets between \"+\", found \"%.60s\"",
                             l->path.data, i + 1, name);
        if (n > p->symbols[i] && rill_slice_same(p->symbol[n], p->symbol[n - 1]))
            return rill_fail(l->ctx, RILL_ERR_FORMAT, "%s:%d: \"%.60s\": a bracket may not hold nothing but its like",
                             l->path.data, i + 1, name);
        n++;
        from = at + 1;
    }
    p->symbols[i + 1] = n;
    return RILL_OK;
}

/* All labels; l->path is still that of labels.vocab, which was read last. */
static rill_status split_labels(loader *l)
{
    parser *p = l->p;
    size_t most = 0;
    for (int32_t i = 0; i < p->labels; i++) {
        const char *name = rill_vocabulary_token(p->label, i, NULL);
        for (most++; *name != '\0'; name++) most += *name == '+';
    }
    TRY(rill_blocks_get(&p->blocks, &p->symbol, most, sizeof *p->symbol, "labels"));
    TRY(rill_blocks_get(&p->blocks, &p->symbols, (size_t)p->labels + 1, sizeof *p->symbols, "labels"));
    p->symbols[0] = p->symbols[1] = 0; /* PARSER_NO_LABEL has none */
    int32_t roots = 0;
    for (int32_t i = 1; i < p->labels; i++) {
        TRY(split_label(l, i));
        roots += rill_slice_same(p->symbol[p->symbols[i]], p->root);
    }
    if (roots == 0)
        return rill_fail(l->ctx, RILL_ERR_FORMAT, "%s: expected a label that begins with the root \"%.*s\", found none",
                         l->path.data, (int)p->root.length, p->root.data);
    return RILL_OK;
}

static int is_trace(const char *tag, size_t length)
{
    return rill_slice_is((rill_slice){tag, length}, "-NONE-");
}

/* A predicted tag is written into trees, and one of traces would take the word away when the tree is read. */
static rill_status check_tags(loader *l)
{
    for (int32_t i = 1; i < l->p->tags; i++) {
        size_t length;
        const char *name = rill_vocabulary_token(l->p->tag, i, &length);
        if (!breaks_brackets(name, length) && !is_trace(name, length)) continue;
        TRY(rill_path_join(&l->path, l->directory, "tags.vocab"));
        return rill_fail(l->ctx, RILL_ERR_FORMAT,
                         "%s:%d: expected a tag without blanks and brackets, and not -NONE-, found \"%.60s\"",
                         l->path.data, i + 1, name);
    }
    return RILL_OK;
}

/* --- embeddings and layers ---------------------------------------------------------------------------------------- */

static rill_status read_floats(loader *l, const char *name, size_t rows, size_t columns, float **out)
{
    return rill_weights_read(l->tensors, &l->passing, name, rows, columns, out);
}

/* A tensor that the plan borrows. */
static rill_status keep(loader *l, const char *name, size_t rows, size_t columns, rill_constant *out)
{
    float *table;
    TRY(rill_weights_read(l->tensors, &l->p->blocks, name, rows, columns, &table));
    *out = columns > 0 ? rill_plan_constant(l->p->plan, table, rows, columns)
                       : rill_plan_constant(l->p->plan, table, 1, rows);
    return RILL_OK;
}

static rill_matrix matrix(loader *l, size_t n, size_t k, const float *w, size_t stride)
{
    return rill_plan_matrix(l->p->plan, RILL_WEIGHT_F32, n, k, w, stride);
}

static rill_status load_embeddings(loader *l)
{
    parser *p = l->p;
    TRY(keep(l, "words.weight", (size_t)p->words, p->embedding, &p->weights.word_rows));
    TRY(keep(l, "suffixes.weight", (size_t)p->suffixes, p->embedding, &p->weights.suffix_rows));
    return keep(l, "shapes.weight", (size_t)p->shapes, p->embedding, &p->weights.shape_rows);
}

static const char *const directions[2] = {"forward", "backward"};

static rill_status read_part(loader *l, int layer, int direction, const char *part, size_t columns, float **out)
{
    char name[64];
    snprintf(name, sizeof name, "layer%d.%s.%s", layer + 1, directions[direction], part);
    return read_floats(l, name, 4 * l->p->hidden, columns, out);
}

/* Both directions' input weights one below the other: inputs[8H, columns]; their biases likewise. */
static rill_status load_layer(loader *l, int layer, size_t columns, float **inputs, float *bias)
{
    parser *p = l->p;
    const size_t gates = 4 * p->hidden;
    TRY(rill_blocks_get(&l->passing, inputs, 2 * gates * columns, sizeof **inputs, "a layer's weights"));
    for (int d = 0; d < 2; d++) {
        float *input, *recurrent, *own;
        TRY(read_part(l, layer, d, "weight_ih", columns, &input));
        TRY(read_part(l, layer, d, "weight_hh", p->hidden, &recurrent));
        TRY(read_part(l, layer, d, "bias", 0, &own));
        memcpy(*inputs + (size_t)d * gates * columns, input, gates * columns * sizeof *input);
        memcpy(bias + (size_t)d * gates, own, gates * sizeof *own);
        p->weights.layer[layer].recurrent[d] = matrix(l, gates, p->hidden, recurrent, p->hidden);
    }
    return RILL_OK;
}

static rill_status load_first_layer(loader *l)
{
    parser *p = l->p;
    const size_t gates = 8 * p->hidden;
    float *inputs, *bias;
    TRY(rill_blocks_get(&p->blocks, &bias, gates, sizeof *bias, "a layer's bias"));
    TRY(load_layer(l, 0, p->embedding, &inputs, bias));
    p->weights.layer[0].input = matrix(l, gates, p->embedding, inputs, p->embedding);
    p->weights.first_bias = rill_plan_constant(p->plan, bias, 1, gates);
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* --- tags --------------------------------------------------------------------------------------------------------- */

/* The second layer reads the first's outputs and a tag. There are few tags, so what they add to the gates is computed here. */
static rill_status load_second_layer(loader *l)
{
    parser *p = l->p;
    const size_t gates = 8 * p->hidden, outputs = 2 * p->hidden, columns = outputs + p->tag_size;
    float *inputs, *bias, *rows;
    TRY(rill_blocks_get(&l->passing, &bias, gates, sizeof *bias, "a layer's bias"));
    TRY(load_layer(l, 1, columns, &inputs, bias));
    TRY(read_floats(l, "tags.weight", (size_t)p->tags, p->tag_size, &rows));
    p->weights.layer[1].input = matrix(l, gates, outputs, inputs, columns);
    p->weights.tag_start = rill_plan_product(p->plan, rows, (size_t)p->tags, p->tag_size, inputs + outputs, gates,
                                             columns, bias);
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* Words never have the tags below PARSER_TAGS. */
static rill_status load_tagger(loader *l)
{
    parser *p = l->p;
    const size_t tags = (size_t)p->tags, width = 2 * p->hidden;
    float *weight, *bias;
    TRY(read_floats(l, "tagger.weight", tags, width, &weight));
    TRY(rill_weights_read(l->tensors, &p->blocks, "tagger.bias", tags, 0, &bias));
    p->weights.tagger = matrix(l, tags - PARSER_TAGS, width, weight + PARSER_TAGS * width, width);
    p->weights.tagger_bias = rill_plan_constant(p->plan, bias + PARSER_TAGS, 1, tags - PARSER_TAGS);
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* --- products of positions ---------------------------------------------------------------------------------------- */

/* Columns of hidden.weight: 2H for each span from left to right, of which the second H have their sign turned, since positions hold
 * b as it is and a span has b_i - b_j. */
typedef struct spans {
    const float *w; /* [D, count * 2H] */
    size_t count, net, width;
} spans;

/* to[d, :] = W_left - W_right; a span that does not exist (-1) counts as zero. */
static void put_difference(const spans *s, int left, int right, float *to, size_t ld)
{
    for (size_t d = 0; d < s->net; d++) {
        const float *row = s->w + d * s->count * s->width;
        for (size_t k = 0; k < s->width; k++) {
            float value = left >= 0 ? row[(size_t)left * s->width + k] : 0.0f;
            if (right >= 0) value -= row[(size_t)right * s->width + k];
            to[d * ld + k] = k < s->width / 2 ? value : -value;
        }
    }
}

static rill_status load_products(loader *l)
{
    parser *p = l->p;
    const size_t width = 2 * p->hidden, net = p->net, block = net * width;
    float *structure, *label, *products, *ends, *structure_bias, *label_bias, *bias;
    TRY(read_floats(l, "structure.hidden.weight", net, 4 * width, &structure));
    TRY(read_floats(l, "structure.hidden.bias", net, 0, &structure_bias));
    TRY(read_floats(l, "label.hidden.weight", net, 3 * width, &label));
    TRY(read_floats(l, "label.hidden.bias", net, 0, &label_bias));
    TRY(rill_blocks_get(&l->passing, &products, PRODUCTS * block, sizeof *products, "products"));
    TRY(rill_blocks_get(&l->passing, &ends, 4 * block, sizeof *ends, "products"));
    TRY(rill_blocks_get(&p->blocks, &bias, 2 * net, sizeof *bias, "products"));
    const spans s = {structure, 4, net, width}, t = {label, 3, net, width};
    put_difference(&s, 0, 1, products + PRODUCT_A * block, width);
    put_difference(&s, 1, 2, products + PRODUCT_B * block, width);
    put_difference(&t, 0, 1, products + PRODUCT_LABEL_B * block, width);
    put_difference(&s, 2, 3, products + PRODUCT_C * block, width);
    put_difference(&t, 1, 2, products + PRODUCT_LABEL_C * block, width);
    /* Columns of `ends`: those of p_n, then those of p_0. */
    put_difference(&s, 3, -1, ends, 2 * width);
    put_difference(&s, -1, 0, ends + width, 2 * width);
    put_difference(&t, 2, -1, ends + 2 * block, 2 * width);
    put_difference(&t, -1, 0, ends + 2 * block + width, 2 * width);
    memcpy(bias, structure_bias, net * sizeof *bias);
    memcpy(bias + net, label_bias, net * sizeof *bias);
    p->weights.ends_bias = rill_plan_constant(p->plan, bias, 1, 2 * net);
    p->weights.inner = matrix(l, PRODUCT_C * net, width, products, width);
    p->weights.closing = matrix(l, (PRODUCTS - PRODUCT_C) * net, width, products + PRODUCT_C * block, width);
    p->weights.ends = matrix(l, 2 * net, 2 * width, ends, 2 * width);
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

/* Labels that begin with the root are for the last timestep, and the only ones there. */
static rill_status load_label_output(loader *l)
{
    parser *p = l->p;
    const size_t labels = (size_t)p->labels;
    float *weight, *bias, *both;
    TRY(read_floats(l, "label.output.weight", labels, p->net, &weight));
    TRY(read_floats(l, "label.output.bias", labels, 0, &bias));
    TRY(rill_blocks_get(&p->blocks, &both, 2 * labels, sizeof *both, "biases"));
    for (int32_t i = 0; i < p->labels; i++) {
        int root = i != PARSER_NO_LABEL && rill_slice_same(p->symbol[p->symbols[i]], p->root);
        both[i] = root ? -INFINITY : bias[i];
        both[labels + (size_t)i] = root ? bias[i] : -INFINITY;
    }
    p->weights.bracket = matrix(l, labels, p->net, weight, p->net);
    p->weights.bracket_bias = rill_plan_constant(p->plan, both, 2, labels);
    return RILL_OK;
}

static rill_status load_outputs(loader *l)
{
    parser *p = l->p;
    float *weight;
    TRY(read_floats(l, "structure.output.weight", 2, p->net, &weight));
    TRY(keep(l, "structure.output.bias", 2, 0, &p->weights.structure_bias));
    p->weights.structure = matrix(l, 2, p->net, weight, p->net);
    TRY(load_label_output(l));
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static rill_status load_weights(loader *l)
{
    TRY(rill_path_join(&l->path, l->directory, "model.safetensors"));
    TRY(rill_tensors_open(&l->tensors, l->ctx, l->path.data));
    TRY(load_embeddings(l));
    TRY(load_first_layer(l));
    TRY(load_second_layer(l));
    TRY(load_tagger(l));
    TRY(load_products(l));
    TRY(load_outputs(l));
    return rill_weights_all_read(l->ctx, l->tensors, l->path.data, NULL);
}

static rill_status load_all(loader *l)
{
    TRY(rill_config_read(l->ctx, l->directory, "config.json", read_settings, l, NULL));
    TRY(load_vocabularies(l));
    choose_style(l->p);
    TRY(split_labels(l));
    TRY(check_tags(l));
    TRY(load_weights(l));
    return parser_plan(l->p);
}

rill_status parser_load(parser *p, const char *directory)
{
    loader l = {.p = p, .ctx = p->ctx, .directory = directory, .passing = {.ctx = p->ctx}, .path = {.ctx = p->ctx}};
    rill_status status = load_all(&l);
    rill_tensors_close(l.tensors);
    rill_blocks_clear(&l.passing);
    rill_text_clear(&l.path);
    return status;
}
