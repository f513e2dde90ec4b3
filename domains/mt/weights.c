/* Loading a translation model's tensors.
 *
 * Names and shapes are those of transformers' MarianMTModel and FSMTForConditionalGeneration. Embeddings may be stored
 * under any of their names: where the configuration says that two are one, whichever is there is taken. What has no place is refused.
 * Invariant: tables that live as long as the model are in its blocks; what is only needed while loading is in a second
 * set of blocks that is cleared once it is packed, so the peak is the packed model plus its largest matrix as fp32. The
 * output layer, often the largest, is packed first, when there is little else.
 *
 * Divisions: reading and packing · layers · positions · embeddings · output · the whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "foreign.h"
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
    const char *source, *target, *output; /* names of tables: the encoder's symbols, the decoder's, the output layer */
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
    return rill_plan_matrix(l->net->seq.model->plan, l->net->seq.model->weights, n, k, w, k);
}

static rill_constant keep(const loader *l, const float *data, size_t rows, size_t width)
{
    return rill_plan_constant(l->net->seq.model->plan, data, rows, width);
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

/* What a Marian file stores is what the model was trained with; all else is computed (positions.c). */
static rill_status load_positions(loader *l)
{
    mt_net *net = l->net;
    const size_t count = (size_t)net->seq.positions;
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

static const char SHARED[] = "model.shared.weight", SOURCE[] = "model.encoder.embed_tokens.weight",
                  TARGET[] = "model.decoder.embed_tokens.weight", MARIAN_OUTPUT[] = "lm_head.weight",
                  FSMT_OUTPUT[] = "model.decoder.output_projection.weight";

static int is_there(const loader *l, const char *name)
{
    return name != NULL && rill_tensors_find(l->tensors, name) != NULL;
}

/* The first of the names that the file has, which may be NULL; without any `expected`, for the error that follows. */
static const char *first_present(const loader *l, const char *const *names, size_t count, const char *expected)
{
    for (size_t i = 0; i < count; i++)
        if (is_there(l, names[i])) return names[i];
    return expected;
}

/* transformers of one version take one of tables that are tied, those of another the one of that name. */
static rill_status check_tied(loader *l, const char *const *names, size_t count)
{
    const rill_tensor *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const rill_tensor *table = names[i] != NULL ? rill_tensors_find(l->tensors, names[i]) : NULL;
        int same;
        if (first == NULL) first = table;
        if (table == NULL || table == first) continue;
        TRY(rill_tensors_same(l->tensors, first, table, &same));
        if (same) continue;
        return rill_fail(
            l->ctx, RILL_ERR_FORMAT,
            "%s: tensors \"%s\" and \"%s\" differ, but are one by tie_word_embeddings of config.json, which "
            "must be false for a model with tables of its own",
            l->path.data, first->name, table->name);
    }
    return RILL_OK;
}

/* A table goes by its own name, else by that of one that it is tied to; what is tied is one table, however often the file has it.
 * Without ties transformers 5 stores each table, and `shared` besides, which then is no one's. Old FSMT files have no output layer,
 * since it used to be the decoder's embedding whatever the configuration said. */
static rill_status name_tables(loader *l)
{
    const mt_settings *s = &l->net->settings;
    const int fsmt = s->kind == MT_FSMT, one = s->shared && s->tied;
    const char *output = fsmt ? FSMT_OUTPUT : MARIAN_OUTPUT, *shared = fsmt ? NULL : SHARED,
               *tied = fsmt || s->tied ? output : NULL, *source = s->shared ? SOURCE : NULL;
    const char *const all[] = {one ? shared : NULL, one ? SOURCE : NULL, TARGET, output};
    const char *const sources[] = {SOURCE, shared, s->shared ? TARGET : NULL, s->shared ? tied : NULL};
    const char *const targets[] = {TARGET, tied, shared, source};
    const char *expected = s->shared && !fsmt ? SHARED : SOURCE;
    if (s->tied) TRY(check_tied(l, all, 4));
    l->source = first_present(l, one ? all : sources, 4, expected);
    l->target = one ? l->source : first_present(l, targets, 4, s->shared ? expected : TARGET);
    l->output = !s->tied && (!fsmt || is_there(l, output)) ? output : l->target;
    return RILL_OK;
}

/* Is the decoder's embedding in the packed output layer, number by number? Then it need not be there a second time. */
static int is_in_output(const loader *l)
{
    const seq_model *m = l->net->seq.model;
    return l->output == l->target && m->shortlist == NULL && m->weights == RILL_WEIGHT_F32;
}

static rill_status load_embeddings(loader *l)
{
    mt_net *net = l->net;
    rill_blocks *blocks = is_in_output(l) ? &l->passing : l->kept;
    float *table;
    TRY(read_new(l, blocks, l->target, (size_t)net->seq.actions, net->width, &table));
    net->encoder.rows = net->decoder.rows = table;
    if (l->source == l->target) return RILL_OK;
    TRY(read_new(l, l->kept, l->source, (size_t)net->seq.words, net->width, &table));
    net->encoder.rows = table;
    return RILL_OK;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

/* A row, [1, V], or a vector, [V]; zeros when it is absent. */
static rill_status load_output_bias(loader *l, float **out)
{
    static const char *const name = "final_logits_bias";
    size_t symbols = (size_t)l->net->seq.actions;
    const rill_tensor *tensor = rill_tensors_find(l->tensors, name);
    float *bias;
    TRY(rill_blocks_get(l->kept, &bias, symbols, sizeof *bias, name));
    memset(bias, 0, symbols * sizeof *bias);
    if (tensor != NULL && tensor->rank == 1) TRY(read_into(l, name, "", symbols, 0, bias));
    if (tensor != NULL && tensor->rank != 1) TRY(read_into(l, name, "", 1, symbols, bias));
    /* transformers scales the softmax anew when the symbols that may not be chosen are struck: those without a piece are not. */
    for (int32_t i = 0; l->net->settings.renormalized && i < l->net->seq.actions; i++)
        if (i == l->net->seq.pad || (i < l->net->seq.pieces && !(l->net->seq.legal[i / 64] >> (i % 64) & 1)))
            bias[i] = -INFINITY;
    *out = bias;
    return RILL_OK;
}

/* The decoder's may be in the output layer, and the encoder's the decoder's. */
static void keep_embeddings(const loader *l)
{
    mt_side *encoder = &l->net->encoder, *decoder = &l->net->decoder;
    const size_t width = l->net->width;
    decoder->embedding = is_in_output(l) ? RILL_NONE : keep(l, decoder->rows, (size_t)l->net->seq.actions, width);
    encoder->embedding = decoder->embedding;
    if (encoder->rows != decoder->rows) encoder->embedding = keep(l, encoder->rows, (size_t)l->net->seq.words, width);
}

/* Behind the embeddings, which it may be. */
static rill_status load_output(loader *l)
{
    mt_net *net = l->net;
    const float *rows = net->decoder.rows;
    float *bias;
    if (l->output != l->target) {
        float *own;
        TRY(read_new(l, net->seq.model->shortlist != NULL ? l->kept : &l->passing, l->output, (size_t)net->seq.actions,
                     net->width, &own));
        rows = own;
    }
    TRY(load_output_bias(l, &bias));
    seq_keep_output(&net->seq, rows, net->width, bias);
    keep_embeddings(l);
    rill_blocks_clear(&l->passing);
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static rill_status open_tensors(loader *l, const char *directory)
{
    TRY(rill_path_join(&l->path, directory, "model.safetensors"));
    const rill_status status = rill_tensors_open(&l->tensors, l->ctx, l->path.data);
    if (status == RILL_ERR_NOT_FOUND) TRY(rill_foreign_fail(l->ctx, directory));
    return status;
}

/* What may be left over: tables that are another one, were stored to be computed anew, or are no one's (name_tables()), and what
 * fairseq kept for itself. */
static int is_harmless(const char *name)
{
    static const char *const known[] = {SHARED,
                                        SOURCE,
                                        TARGET,
                                        MARIAN_OUTPUT,
                                        FSMT_OUTPUT,
                                        "model.encoder.embed_positions.weight",
                                        "model.encoder.embed_positions._float_tensor",
                                        "model.encoder.version",
                                        "model.decoder.embed_positions.weight",
                                        "model.decoder.embed_positions._float_tensor",
                                        "model.decoder.version"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0) return 1;
    return 0;
}

static rill_status load_all(loader *l, const char *directory)
{
    TRY(open_tensors(l, directory));
    TRY(name_tables(l));
    TRY(load_embeddings(l));
    TRY(load_output(l));
    TRY(load_layers(l, "encoder", &l->net->encoder));
    TRY(load_layers(l, "decoder", &l->net->decoder));
    TRY(load_positions(l));
    mt_make_tables(l->net);
    return rill_weights_all_read(l->ctx, l->tensors, l->path.data, is_harmless);
}

rill_status mt_load(seq_net *seq, const char *directory)
{
    loader l = {.net = (mt_net *)seq,
                .ctx = seq->ctx,
                .kept = &seq->model->blocks,
                .passing = {.ctx = seq->ctx},
                .path = {.ctx = seq->ctx}};
    rill_status status = load_all(&l, directory);
    rill_tensors_close(l.tensors);
    rill_blocks_clear(&l.passing);
    rill_text_clear(&l.path);
    return status;
}
