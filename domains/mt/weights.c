/* Loading a translation model's tensors.
 *
 * Names and shapes are those of transformers' MarianMTModel and FSMTForConditionalGeneration. Embeddings may be stored
 * under any of their names: where the configuration says that two are one, whichever is there is taken.
 * Invariant: tables that live as long as the model are in its blocks; what is only needed while loading is in a second
 * set of blocks that is cleared once it is packed, so the peak is the packed model plus its largest matrix as fp32. The
 * output layer, often the largest, is packed first, when there is little else.
 *
 * Divisions: reading and packing · layers · positions · embeddings · output · the whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "rill/file.h"
#include "weights.h"

enum { NAME_BYTES = 96 };

/* What loading passes around. */
typedef struct loader {
    mt_net *net;
    rill_context *ctx;
    rill_blocks *kept; /* as long as the model */
    rill_tensors *tensors;
    rill_blocks passing; /* freed when it is packed */
    rill_text path;
} loader;

/* --- reading and packing ------------------------------------------------------------------------------------------ */

/* The tensor PREFIX + NAME, rows x columns or just [rows] when columns is 0, into `out`. */
static rill_status read_into(loader *l, const char *prefix, const char *name, size_t rows, size_t columns, float *out)
{
    char full[2 * NAME_BYTES];
    int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return rill_tensors_read(l->tensors, full, RILL_TENSOR_FLOATS, columns > 0 ? 2 : 1, shape, out);
}

/* Refuse the tensor PREFIX + NAME by its name when it is absent or has not a byte for each element, before sizes of the
 * configuration, which may be anything, become memory. */
static rill_status check_size(loader *l, const char *prefix, const char *name, size_t rows, size_t columns)
{
    char full[2 * NAME_BYTES];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const rill_tensor *tensor = rill_tensors_find(l->tensors, full);
    if (tensor != NULL && tensor->end - tensor->begin >= rows * columns) return RILL_OK;
    return read_into(l, prefix, name, rows, columns, NULL);
}

/* The tensor NAME, likewise, in a new block of `blocks`. */
static rill_status read_new(loader *l, rill_blocks *blocks, const char *name, size_t rows, size_t columns, float **out)
{
    return rill_weights_read(l->tensors, blocks, name, rows, columns, out);
}

/* Of weights that nobody needs any more afterwards. */
static rill_matrix pack(const loader *l, const float *w, size_t n, size_t k)
{
    return rill_plan_matrix(l->net->model->plan, l->net->model->weights, n, k, w, k);
}

static rill_constant keep(const loader *l, const float *data, size_t rows, size_t width)
{
    return rill_plan_constant(l->net->model->plan, data, rows, width);
}

/* Projections with the names given, each n x k, one below the other. */
static rill_status load_linear(loader *l, const char *prefix, const char *const *names, size_t count, size_t n,
                               size_t k, mt_linear *out)
{
    float *weights, *bias;
    char name[NAME_BYTES];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s.weight", names[i]);
        TRY(check_size(l, prefix, name, n, k));
    }
    TRY(rill_blocks_get(&l->passing, &weights, count * n * k, sizeof *weights, prefix));
    TRY(rill_blocks_get(l->kept, &bias, count * n, sizeof *bias, prefix));
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s.weight", names[i]);
        TRY(read_into(l, prefix, name, n, k, weights + i * n * k));
        snprintf(name, sizeof name, "%s.bias", names[i]);
        TRY(read_into(l, prefix, name, n, 0, bias + i * n));
    }
    *out = (mt_linear){.matrix = pack(l, weights, count * n, k), .bias = keep(l, bias, 1, count * n)};
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* The vector PREFIX + NAME.PART. */
static rill_status load_vector(loader *l, const char *prefix, const char *name, const char *part, rill_constant *out)
{
    char full[2 * NAME_BYTES];
    float *data;
    snprintf(full, sizeof full, "%s%s.%s", prefix, name, part);
    TRY(read_new(l, l->kept, full, l->net->width, 0, &data));
    *out = keep(l, data, 1, l->net->width);
    return RILL_OK;
}

static rill_status load_norm(loader *l, const char *prefix, const char *name, mt_norm *out)
{
    TRY(load_vector(l, prefix, name, "weight", &out->gain));
    return load_vector(l, prefix, name, "bias", &out->bias);
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

static rill_status load_attention(loader *l, const char *layer, const char *name, mt_attention *out)
{
    static const char *const query[] = {"q_proj"}, *const memory[] = {"k_proj", "v_proj"}, *const back[] = {"out_proj"};
    size_t width = l->net->width;
    char prefix[NAME_BYTES], norm[NAME_BYTES];
    snprintf(prefix, sizeof prefix, "%s%s.", layer, name);
    snprintf(norm, sizeof norm, "%s_layer_norm", name);
    TRY(load_linear(l, prefix, query, 1, width, width, &out->query));
    TRY(load_linear(l, prefix, memory, 2, width, width, &out->memory));
    TRY(load_linear(l, prefix, back, 1, width, width, &out->out));
    return load_norm(l, layer, norm, &out->norm);
}

static rill_status load_layer(loader *l, const char *prefix, size_t inner, int cross, mt_layer *out)
{
    static const char *const first[] = {"fc1"}, *const second[] = {"fc2"};
    size_t width = l->net->width;
    TRY(load_attention(l, prefix, "self_attn", &out->self));
    if (cross) TRY(load_attention(l, prefix, "encoder_attn", &out->cross));
    TRY(load_linear(l, prefix, first, 1, inner, width, &out->feed.inner));
    TRY(load_linear(l, prefix, second, 1, width, inner, &out->feed.outer));
    return load_norm(l, prefix, "final_layer_norm", &out->feed.norm);
}

static rill_status load_layers(loader *l, const char *name, mt_side *side)
{
    TRY(rill_blocks_get(l->kept, &side->layer, side->layers, sizeof *side->layer, "layers"));
    memset(side->layer, 0, side->layers * sizeof *side->layer);
    for (size_t i = 0; i < side->layers; i++) {
        char prefix[NAME_BYTES];
        snprintf(prefix, sizeof prefix, "model.%s.layers.%zu.", name, i);
        TRY(load_layer(l, prefix, side->inner, side == &l->net->decoder, &side->layer[i]));
    }
    return RILL_OK;
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* What a Marian file stores is what the model was trained with; all else is computed (encode.c). */
static rill_status load_positions(loader *l)
{
    mt_net *net = l->net;
    const size_t count = (size_t)net->positions;
    const struct {
        const char *name;
        mt_side *side;
    } stored[] = {{"model.encoder.embed_positions.weight", &net->encoder},
                  {"model.decoder.embed_positions.weight", &net->decoder}};
    net->encoder.position = net->decoder.position = RILL_NONE;
    for (size_t i = 0; net->settings.kind == MT_MARIAN && i < sizeof stored / sizeof *stored; i++) {
        float *table;
        if (rill_tensors_find(l->tensors, stored[i].name) == NULL) continue;
        TRY(read_new(l, l->kept, stored[i].name, count, net->width, &table));
        stored[i].side->position = keep(l, table, count, net->width);
    }
    return RILL_OK;
}

/* --- embeddings --------------------------------------------------------------------------------------------------- */

/* The first of the names that the file has; the first of all when it has none, for the error that follows. */
static const char *first_present(const loader *l, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] != NULL && rill_tensors_find(l->tensors, names[i]) != NULL) return names[i];
    return names[0];
}

/* What the output layer may be called. An FSMT file may have its weights once, under any name that stands for them. */
static const char *output_name(const mt_net *net)
{
    return net->settings.kind == MT_FSMT ? "model.decoder.output_projection.weight" : "lm_head.weight";
}

/* Old FSMT files have no output layer, since it used to be the decoder's embedding whatever the configuration said. */
static int has_own_output(const loader *l)
{
    const mt_net *net = l->net;
    if (net->settings.tied) return 0;
    return net->settings.kind == MT_MARIAN || rill_tensors_find(l->tensors, output_name(net)) != NULL;
}

/* Is the decoder's embedding in the packed output layer, number by number? Then it need not be there a second time. */
static int is_in_output(const loader *l)
{
    const mt_model *m = l->net->model;
    return !has_own_output(l) && m->shortlist == NULL && m->weights == RILL_WEIGHT_F32;
}

static rill_status load_embeddings(loader *l)
{
    mt_net *net = l->net;
    const int fsmt = net->settings.kind == MT_FSMT;
    const char *source = "model.encoder.embed_tokens.weight", *target = "model.decoder.embed_tokens.weight";
    const char *shared = fsmt ? NULL : "model.shared.weight",
               *tied = fsmt || net->settings.tied ? output_name(net) : NULL;
    const char *const any[] = {fsmt ? source : shared, source, target, tied};
    const char *const encoder[] = {source, shared}, *const decoder[] = {target, tied, shared};
    const char *first = net->settings.shared ? first_present(l, any, 4) : first_present(l, encoder, 2);
    rill_blocks *blocks = is_in_output(l) ? &l->passing : l->kept;
    float *table;
    TRY(read_new(l, net->settings.shared ? blocks : l->kept, first, (size_t)net->encoder.words, net->width, &table));
    net->encoder.rows = net->decoder.rows = table;
    if (net->settings.shared) return RILL_OK;
    TRY(read_new(l, blocks, first_present(l, decoder, 3), (size_t)net->decoder.words, net->width, &table));
    net->decoder.rows = table;
    return RILL_OK;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

/* A row, [1, V], or a vector, [V]; zeros when it is absent. */
static rill_status load_output_bias(loader *l)
{
    static const char *const name = "final_logits_bias";
    size_t symbols = (size_t)l->net->decoder.words;
    const rill_tensor *tensor = rill_tensors_find(l->tensors, name);
    float *bias;
    TRY(rill_blocks_get(l->kept, &bias, symbols, sizeof *bias, name));
    memset(bias, 0, symbols * sizeof *bias);
    if (tensor != NULL && tensor->rank == 1) TRY(read_into(l, name, "", symbols, 0, bias));
    if (tensor != NULL && tensor->rank != 1) TRY(read_into(l, name, "", 1, symbols, bias));
    /* transformers scales the softmax anew when the symbols that may not be chosen are struck: the padding symbol always is. */
    if (l->net->settings.renormalized) bias[l->net->settings.pad] = -INFINITY;
    l->net->output_bias = keep(l, bias, 1, symbols);
    return RILL_OK;
}

/* With a shortlist each input takes the rows that it needs. */
static void keep_output(const loader *l, const float *rows)
{
    mt_net *net = l->net;
    const mt_model *m = net->model;
    const size_t symbols = (size_t)net->decoder.words;
    net->output = net->list = RILL_NONE;
    if (m->shortlist == NULL)
        net->output = pack(l, rows, symbols, net->width);
    else
        net->list = rill_plan_list(m->plan, keep(l, rows, symbols, net->width), net->output_bias, m->weights,
                                   "a shortlist's output layer");
}

/* The decoder's may be in the output layer, and the encoder's the decoder's. */
static void keep_embeddings(const loader *l)
{
    mt_side *encoder = &l->net->encoder, *decoder = &l->net->decoder;
    const size_t width = l->net->width;
    decoder->embedding = is_in_output(l) ? RILL_NONE : keep(l, decoder->rows, (size_t)decoder->words, width);
    encoder->embedding = decoder->embedding;
    if (encoder->rows != decoder->rows) encoder->embedding = keep(l, encoder->rows, (size_t)encoder->words, width);
}

/* Behind the embeddings, which it may be. */
static rill_status load_output(loader *l)
{
    mt_net *net = l->net;
    const float *rows = net->decoder.rows;
    if (has_own_output(l)) {
        float *own;
        TRY(read_new(l, net->model->shortlist != NULL ? l->kept : &l->passing, output_name(net),
                     (size_t)net->decoder.words, net->width, &own));
        rows = own;
    }
    TRY(load_output_bias(l));
    keep_output(l, rows);
    keep_embeddings(l);
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* A directory whose weights are a pickle alone is common enough to be told what to do. */
static rill_status say_convert(loader *l, const char *directory)
{
    rill_file pickle;
    char why[300];
    snprintf(why, sizeof why, "%s", rill_error(l->ctx));
    TRY(rill_path_join(&l->path, directory, "pytorch_model.bin"));
    if (rill_file_open(&pickle, l->ctx, l->path.data, RILL_FILE_REGULAR) != RILL_OK)
        return rill_fail(l->ctx, RILL_ERR_NOT_FOUND, "%s", why);
    rill_file_close(&pickle);
    return rill_fail(l->ctx, RILL_ERR_NOT_FOUND,
                     "%s: expected model.safetensors beside it: tools/convert_mt.py bin %s --out %s makes it",
                     l->path.data, directory, directory);
}

static rill_status open_tensors(loader *l, const char *directory)
{
    TRY(rill_path_join(&l->path, directory, "model.safetensors"));
    rill_status status = rill_tensors_open(&l->tensors, l->ctx, l->path.data);
    return status == RILL_ERR_NOT_FOUND ? say_convert(l, directory) : status;
}

static rill_status load_all(loader *l, const char *directory)
{
    TRY(open_tensors(l, directory));
    TRY(load_embeddings(l));
    TRY(load_output(l));
    TRY(load_layers(l, "encoder", &l->net->encoder));
    TRY(load_layers(l, "decoder", &l->net->decoder));
    return load_positions(l);
}

rill_status mt_load_weights(mt_net *net, const char *directory)
{
    loader l = {.net = net,
                .ctx = net->ctx,
                .kept = &net->model->blocks,
                .passing = {.ctx = net->ctx},
                .path = {.ctx = net->ctx}};
    rill_status status = load_all(&l, directory);
    rill_tensors_close(l.tensors);
    rill_blocks_clear(&l.passing);
    rill_text_clear(&l.path);
    return status;
}
