/* Loads a parser: configuration, vocabularies, weights. p->arena owns the model's data; a second arena holds temporaries. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "rill/file.h"
#include "shiftreduce.h"

enum {
    WIDTH_LIMIT = 1 << 14,
    VOCABULARY_LIMIT = 1 << 22,
    LABEL_LIMIT = 1 << 16,
    LENGTH_LIMIT = 1 << 20,
    DEFAULT_MAX_INPUT = 1000
};

typedef struct loader {
    rill_loader *w;
    parser *p;
} loader;

/* --- configuration ------------------------------------------------------------------------------------------------ */

static rill_status read_root(loader *l, const rill_config *config)
{
    const char *root;
    TRY(rill_config_string(config, "root", &root));
    if (*root == '\0')
        return rill_config_fail(config, "root", "expected the outermost label of every tree, found \"\"");
    l->p->root.length = strlen(root);
    return rill_arena_copy(&l->p->arena, root, l->p->root.length, "the root's label", &l->p->root.data);
}

static rill_status read_settings(void *user, const rill_config *config)
{
    loader *l = user;
    parser *p = l->p;
    const char *task;
    TRY(rill_config_expect(config, "model_type", "span-shift-reduce"));
    TRY(rill_config_expect_object(config, "rill"));
    rill_config_warn_unknown(config, "rill", (const char *const[]){"domain", "example", "options"}, 3);
    TRY(rill_config_expect(config, "rill.domain", "shiftreduce"));
    TRY(read_root(l, config));
    TRY(rill_config_size(config, "embedding_size", 1, WIDTH_LIMIT, &p->embedding));
    TRY(rill_config_size(config, "tag_size", 1, WIDTH_LIMIT, &p->tag_size));
    TRY(rill_config_size(config, "hidden_size", 1, WIDTH_LIMIT, &p->hidden));
    TRY(rill_config_size(config, "net_size", 1, WIDTH_LIMIT, &p->ffn_width));
    TRY(rill_config_int(config, "suffix_length", 0, PARSER_MAX_SUFFIXES, &p->suffix_length));
    TRY(rill_config_int(config, "word_vocab_size", PARSER_N_SPECIALS, VOCABULARY_LIMIT, &p->word_vocab_size));
    TRY(rill_config_int(config, "suffix_vocab_size", 1, VOCABULARY_LIMIT, &p->suffix_vocab_size));
    TRY(rill_config_int(config, "shape_vocab_size", 1, VOCABULARY_LIMIT, &p->shape_vocab_size));
    TRY(rill_config_int(config, "tag_vocab_size", 2, LABEL_LIMIT, &p->n_tags));
    TRY(rill_config_int(config, "label_vocab_size", 2, LABEL_LIMIT, &p->n_labels));
    TRY(rill_config_int_or(config, "max_input_length", 1, LENGTH_LIMIT, DEFAULT_MAX_INPUT, &p->max_input));
    TRY(rill_config_string_or(config, "task", l->w->directory, &task));
    snprintf(p->description, sizeof p->description,
             "span shift-reduce parser \"%.50s\": %d words, %d tags, %d labels, LSTM of 2 x %zu", task,
             p->word_vocab_size, p->n_tags - 1, p->n_labels - 1, p->hidden);
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
        {"words.vocab", "word_vocab_size", &p->word_vocab, p->word_vocab_size, PARSER_N_SPECIALS, words},
        {"suffixes.vocab", "suffix_vocab_size", &p->suffix_vocab, p->suffix_vocab_size, 0, NULL},
        {"shapes.vocab", "shape_vocab_size", &p->shape_vocab, p->shape_vocab_size, 1, unknown},
        {"tags.vocab", "tag_vocab_size", &p->tag_vocab, p->n_tags, 1, none},
        {"labels.vocab", "label_vocab_size", &p->label_vocab, p->n_labels, 1, none},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        TRY(rill_path_join(&l->w->path, l->w->directory, files[i].name));
        TRY(rill_vocabulary_open_checked(files[i].out, l->w->ctx, l->w->path.data, files[i].key, files[i].size,
                                         files[i].special, files[i].specials));
    }
    return RILL_OK;
}

/* Choose the tokenizer's style by the vocabularies. With a tag HYPH, hyphenated words are split. With the straight double quote among the
 * words, quotes stay as they are. */
static void choose_style(parser *p)
{
    if (rill_vocabulary_id(p->tag_vocab, "HYPH", 4) >= 0) p->penn_style |= RILL_PENN_HYPHENS;
    if (rill_vocabulary_id(p->word_vocab, "\"", 1) >= 0) p->penn_style |= RILL_PENN_QUOTES;
}

/* --- labels of constituents --------------------------------------------------------------------------------------- */

/* Return 1 if a name is empty or has spaces or brackets, because a tree reader could not read it back. */
static int is_unwritable_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == '(' || name[i] == ')') return 1;
    return length == 0;
}

/* Split label i at "+" into its nonterminals, which are stored after those of earlier labels. */
static rill_status split_label(loader *l, int32_t i)
{
    parser *p = l->p;
    size_t length, from = 0;
    int32_t n = p->nonterminal_offsets[i];
    const char *name = rill_vocabulary_token(p->label_vocab, i, &length);
    for (size_t pos = 0; pos <= length; pos++) {
        if (pos < length && name[pos] != '+') continue;
        p->nonterminals[n] = (rill_slice){name + from, pos - from};
        if (is_unwritable_name(name + from, pos - from))
            return rill_fail(l->w->ctx, RILL_ERR_FORMAT,
                             "%s:%d: expected names without spaces and brackets, separated by \"+\", found \"%.60s\"",
                             l->w->path.data, i + 1, name);
        if (n > p->nonterminal_offsets[i] && rill_slice_equal(p->nonterminals[n], p->nonterminals[n - 1]))
            return rill_fail(l->w->ctx, RILL_ERR_FORMAT,
                             "%s:%d: \"%.60s\": a label may not consist of equal labels only", l->w->path.data, i + 1,
                             name);
        n++;
        from = pos + 1;
    }
    p->nonterminal_offsets[i + 1] = n;
    return RILL_OK;
}

/* Split all labels. l->w->path must still be the path of labels.vocab, for messages. */
static rill_status split_labels(loader *l)
{
    parser *p = l->p;
    size_t max_symbols = 0;
    for (int32_t i = 0; i < p->n_labels; i++) {
        const char *name = rill_vocabulary_token(p->label_vocab, i, NULL);
        for (max_symbols++; *name != '\0'; name++) max_symbols += *name == '+';
    }
    TRY(rill_arena_alloc(&p->arena, &p->nonterminals, max_symbols, sizeof *p->nonterminals, "labels"));
    TRY(rill_arena_alloc(&p->arena, &p->nonterminal_offsets, (size_t)p->n_labels + 1, sizeof *p->nonterminal_offsets,
                         "labels"));
    p->nonterminal_offsets[0] = p->nonterminal_offsets[1] = 0; /* the label PARSER_NO_LABEL has no nonterminals */
    int32_t roots = 0;
    for (int32_t i = 1; i < p->n_labels; i++) {
        TRY(split_label(l, i));
        roots += rill_slice_equal(p->nonterminals[p->nonterminal_offsets[i]], p->root);
    }
    if (roots == 0)
        return rill_fail(l->w->ctx, RILL_ERR_FORMAT,
                         "%s: expected a label that begins with the root \"%.*s\", found none", l->w->path.data,
                         (int)p->root.length, p->root.data);
    return RILL_OK;
}

/* Fail if a tag cannot be written into a tree. The tag -NONE- is refused too: a tree reader would drop its word as a trace. */
static rill_status check_tags(loader *l)
{
    for (int32_t i = 1; i < l->p->n_tags; i++) {
        size_t length;
        const char *name = rill_vocabulary_token(l->p->tag_vocab, i, &length);
        if (!is_unwritable_name(name, length) && strcmp(name, "-NONE-") != 0) continue;
        TRY(rill_path_join(&l->w->path, l->w->directory, "tags.vocab"));
        return rill_fail(l->w->ctx, RILL_ERR_FORMAT,
                         "%s:%d: expected a tag without spaces and brackets other than -NONE-, found \"%.60s\"",
                         l->w->path.data, i + 1, name);
    }
    return RILL_OK;
}

/* --- embeddings and layers ---------------------------------------------------------------------------------------- */

static rill_status load_embeddings(loader *l)
{
    parser *p = l->p;
    TRY(rill_load_constant(l->w, "words.weight", (size_t)p->word_vocab_size, p->embedding, &p->weights.word_rows));
    TRY(rill_load_constant(l->w, "suffixes.weight", (size_t)p->suffix_vocab_size, p->embedding,
                           &p->weights.suffix_rows));
    return rill_load_constant(l->w, "shapes.weight", (size_t)p->shape_vocab_size, p->embedding, &p->weights.shape_rows);
}

static const char *const directions[2] = {"forward", "backward"};

static rill_status read_part(loader *l, int layer, int direction, const char *part, size_t columns, float **out)
{
    const char *name = rill_loader_name(l->w, "layer%d.%s.%s", layer + 1, directions[direction], part);
    return rill_load_floats(l->w, name, 4 * l->p->hidden, columns, out);
}

/* Load a layer. *inputs [8H, columns] = stacked input weights of both directions, bias [8H] = their biases. */
static rill_status load_layer(loader *l, int layer, size_t columns, float **inputs, float *bias)
{
    parser *p = l->p;
    const size_t gates = 4 * p->hidden;
    TRY(rill_arena_alloc(&l->w->temp, inputs, 2 * gates * columns, sizeof **inputs, "a layer's weights"));
    for (int d = 0; d < 2; d++) {
        float *input, *recurrent, *own;
        TRY(read_part(l, layer, d, "weight_ih", columns, &input));
        TRY(read_part(l, layer, d, "weight_hh", p->hidden, &recurrent));
        TRY(read_part(l, layer, d, "bias", 0, &own));
        memcpy(*inputs + (size_t)d * gates * columns, input, gates * columns * sizeof *input);
        memcpy(bias + (size_t)d * gates, own, gates * sizeof *own);
        p->weights.layer[layer].recurrent[d] = rill_load_matrix(l->w, gates, p->hidden, recurrent, p->hidden);
    }
    return RILL_OK;
}

static rill_status load_first_layer(loader *l)
{
    parser *p = l->p;
    const size_t gates = 8 * p->hidden;
    float *inputs, *bias;
    TRY(rill_arena_alloc(&p->arena, &bias, gates, sizeof *bias, "a layer's bias"));
    TRY(load_layer(l, 0, p->embedding, &inputs, bias));
    p->weights.layer[0].input = rill_load_matrix(l->w, gates, p->embedding, inputs, p->embedding);
    p->weights.first_bias = rill_network_constant(p->network, bias, 1, gates);
    return RILL_OK;
}

/* --- weights of the tagger ---------------------------------------------------------------------------------------- */

/* Load the second layer, over the first layer's outputs and a tag embedding. The products of the few tags are precomputed. */
static rill_status load_second_layer(loader *l)
{
    parser *p = l->p;
    const size_t gates = 8 * p->hidden, outputs = 2 * p->hidden, columns = outputs + p->tag_size;
    float *inputs, *bias, *rows;
    TRY(rill_arena_alloc(&l->w->temp, &bias, gates, sizeof *bias, "a layer's bias"));
    TRY(load_layer(l, 1, columns, &inputs, bias));
    TRY(rill_load_floats(l->w, "tags.weight", (size_t)p->n_tags, p->tag_size, &rows));
    p->weights.layer[1].input = rill_load_matrix(l->w, gates, outputs, inputs, columns);
    p->weights.tag_gates = rill_network_product(p->network, rows, (size_t)p->n_tags, p->tag_size, inputs + outputs,
                                                gates, columns, bias);
    return RILL_OK;
}

/* Load the weights of the tagger, without those of tags below PARSER_FIRST_TAG, which are never predicted. */
static rill_status load_tagger(loader *l)
{
    parser *p = l->p;
    const size_t tags = (size_t)p->n_tags, width = 2 * p->hidden;
    float *weight, *bias;
    TRY(rill_load_floats(l->w, "tagger.weight", tags, width, &weight));
    TRY(rill_load_kept(l->w, "tagger.bias", tags, 0, &bias));
    p->weights.tagger = rill_load_matrix(l->w, tags - PARSER_FIRST_TAG, width, weight + PARSER_FIRST_TAG * width,
                                         width);
    p->weights.tagger_bias = rill_network_constant(p->network, bias + PARSER_FIRST_TAG, 1, tags - PARSER_FIRST_TAG);
    return RILL_OK;
}

/* --- products of positions ---------------------------------------------------------------------------------------- */

/* First-layer weights of a feed-forward network, 2H columns per span. The second H are negated: a span has b_i - b_j, not b_j - b_i. */
typedef struct span_weights {
    const float *weights; /* [D, n_spans * 2H] weights as in the file */
    size_t n_spans, ffn_width, width;
} span_weights;

/* For each row d, set to[d, :] to W_minuend - W_subtrahend (indices of spans; -1: zero). The second half is negated. */
static void put_weight_difference(const span_weights *s, int minuend, int subtrahend, float *to, size_t ld)
{
    for (size_t d = 0; d < s->ffn_width; d++) {
        const float *row = s->weights + d * s->n_spans * s->width;
        for (size_t k = 0; k < s->width; k++) {
            float value = minuend >= 0 ? row[(size_t)minuend * s->width + k] : 0.0f;
            if (subtrahend >= 0) value -= row[(size_t)subtrahend * s->width + k];
            to[d * ld + k] = k < s->width / 2 ? value : -value;
        }
    }
}

static rill_status load_products(loader *l)
{
    parser *p = l->p;
    const size_t width = 2 * p->hidden, net = p->ffn_width, block = net * width;
    float *structure, *label, *products, *ends, *structure_bias, *label_bias, *bias;
    TRY(rill_load_floats(l->w, "structure.hidden.weight", net, 4 * width, &structure));
    TRY(rill_load_floats(l->w, "structure.hidden.bias", net, 0, &structure_bias));
    TRY(rill_load_floats(l->w, "label.hidden.weight", net, 3 * width, &label));
    TRY(rill_load_floats(l->w, "label.hidden.bias", net, 0, &label_bias));
    TRY(rill_arena_alloc(&l->w->temp, &products, N_PRODUCTS * block, sizeof *products, "products"));
    TRY(rill_arena_alloc(&l->w->temp, &ends, 4 * block, sizeof *ends, "products"));
    TRY(rill_arena_alloc(&p->arena, &bias, 2 * net, sizeof *bias, "products"));
    const span_weights s = {structure, 4, net, width}, t = {label, 3, net, width};
    put_weight_difference(&s, 0, 1, products + PRODUCT_A * block, width);
    put_weight_difference(&s, 1, 2, products + PRODUCT_B * block, width);
    put_weight_difference(&t, 0, 1, products + PRODUCT_LABEL_B * block, width);
    put_weight_difference(&s, 2, 3, products + PRODUCT_C * block, width);
    put_weight_difference(&t, 1, 2, products + PRODUCT_LABEL_C * block, width);
    /* columns of `ends`: first the weights of p_n, then those of p_0 */
    put_weight_difference(&s, 3, -1, ends, 2 * width);
    put_weight_difference(&s, -1, 0, ends + width, 2 * width);
    put_weight_difference(&t, 2, -1, ends + 2 * block, 2 * width);
    put_weight_difference(&t, -1, 0, ends + 2 * block + width, 2 * width);
    memcpy(bias, structure_bias, net * sizeof *bias);
    memcpy(bias + net, label_bias, net * sizeof *bias);
    p->weights.boundary_bias = rill_network_constant(p->network, bias, 1, 2 * net);
    p->weights.position_products = rill_load_matrix(l->w, PRODUCT_C * net, width, products, width);
    p->weights.last_position_products = rill_load_matrix(l->w, (N_PRODUCTS - PRODUCT_C) * net, width,
                                                         products + PRODUCT_C * block, width);
    p->weights.boundary = rill_load_matrix(l->w, 2 * net, 2 * width, ends, 2 * width);
    return RILL_OK;
}

/* --- output layers ------------------------------------------------------------------------------------------------ */

/* Load the label output. Labels whose outermost nonterminal is the root are legal only in the last timestep, others only before. */
static rill_status load_label_output(loader *l)
{
    parser *p = l->p;
    const size_t labels = (size_t)p->n_labels;
    float *weight, *bias, *both;
    TRY(rill_load_floats(l->w, "label.output.weight", labels, p->ffn_width, &weight));
    TRY(rill_load_floats(l->w, "label.output.bias", labels, 0, &bias));
    TRY(rill_arena_alloc(&p->arena, &both, 2 * labels, sizeof *both, "biases"));
    for (int32_t i = 0; i < p->n_labels; i++) {
        int root = i != PARSER_NO_LABEL && rill_slice_equal(p->nonterminals[p->nonterminal_offsets[i]], p->root);
        both[i] = root ? -INFINITY : bias[i];
        both[labels + (size_t)i] = root ? bias[i] : -INFINITY;
    }
    p->weights.label_output = rill_load_matrix(l->w, labels, p->ffn_width, weight, p->ffn_width);
    p->weights.label_output_bias = rill_network_constant(p->network, both, 2, labels);
    return RILL_OK;
}

static rill_status load_outputs(loader *l)
{
    parser *p = l->p;
    float *weight;
    TRY(rill_load_floats(l->w, "structure.output.weight", 2, p->ffn_width, &weight));
    TRY(rill_load_constant(l->w, "structure.output.bias", 2, 0, &p->weights.structure_output_bias));
    p->weights.structure_output = rill_load_matrix(l->w, 2, p->ffn_width, weight, p->ffn_width);
    TRY(load_label_output(l));
    return RILL_OK;
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

static rill_status load_all(loader *l)
{
    static rill_status (*const parts[])(loader *) = {load_embeddings, load_first_layer, load_second_layer,
                                                     load_tagger,     load_products,    load_outputs};
    TRY(rill_config_read(l->w->ctx, l->w->directory, "config.json", read_settings, l, NULL));
    TRY(load_vocabularies(l));
    choose_style(l->p);
    TRY(split_labels(l));
    TRY(check_tags(l));
    TRY(rill_loader_open(l->w, "model.safetensors"));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        TRY(parts[i](l));
        rill_arena_clear(&l->w->temp);
    }
    TRY(rill_loader_check_all_read(l->w, NULL));
    return parser_build_graphs(l->p);
}

rill_status parser_load(parser *p, const rill_open_options *options)
{
    TRY(rill_options_network(p->ctx, "shiftreduce", options, &p->device, &p->network));
    SCOPED(rill_loader_close) rill_loader w = {p->ctx, options->path, p->network, &p->arena, .path = {.ctx = p->ctx}};
    return load_all(&(loader){.w = &w, .p = p});
}
