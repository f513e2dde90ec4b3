/* CTranslate2 directories: a transformer's settings from model.bin's variables.
 *
 * Names: ctranslate2/specs/transformer_spec.py and attention_spec.py; defaults: CTranslate2's layers. Unsupported scalars are errors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "mt.h"
#include "tensor_file.h"

static const char MODEL_FILE[] = "model.bin";

/* Properties of all models of this format. Everything else comes from variables of model.bin; encoder and decoder differ only in sizes. */
static const mt_family ct2_family = {.model_type = "ctranslate2",
                                     .title = "CTranslate2 folder's",
                                     .layout = MT_LAYOUT_BART,
                                     .flags = MT_LOGITS_BIAS | MT_SEPARATE_VOCABS | MT_TIED_BY_FILE | MT_OPTIONAL_BIAS,
                                     .position_kind = MT_POSITIONS_HF,
                                     .pad = -1,
                                     .eos = -1,
                                     .decoder_start = -1};

/* DEFAULT_POSITIONS and DEFAULT_MAX_OUTPUT are CTranslate2's limits of input and output tokens. Computed positions
 * allow POSITIONS_FACTOR times as many input tokens. */
enum { DEFAULT_POSITIONS = 1024, DEFAULT_MAX_OUTPUT = 256, POSITIONS_FACTOR = 16 };

enum { BLOCK_BYTES = 64, NAME_BYTES = 192 };

/* Revisions of the specification. Before FIRST_BY_SIDE, encoder and decoder share variables. Before
 * FIRST_WITH_HEADS, the specification's name gives the number of heads. */
enum { OLDEST_REVISION = 1, FIRST_WITH_HEADS = 3, FIRST_BY_SIDE = 5, NEWEST_REVISION = 7 };

/* --- reading numbers ---------------------------------------------------------------------------------------------- */

typedef struct ct2_model {
    mt_net *net;
    rill_context *ctx;
    rill_tensor_file *tensors; /* variables of model.bin; the file's name is its path */
} ct2_model;

/* Fail with the path of model.bin, the name SIDE/NAME of a tensor, and a reason. SIDE is "encoder" or "decoder". */
#define CT2_FAIL(r, side, variable, format, ...)                                                              \
    rill_fail((r)->ctx, RILL_ERR_FORMAT, "%s: tensor \"%s/%s\": " format, (r)->tensors->name, side, variable, \
              ##__VA_ARGS__)

/* Read SIDE/NAME or, before revision 5, NAME. If the variable is absent, *out = fallback; a NAN fallback makes it
 * required. */
static rill_status read_number(const ct2_model *r, const char *side, const char *name, double low, double high,
                               double fallback, double *out)
{
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "%s/%s", side, name);
    const int of_both = r->tensors->ct2_revision < FIRST_BY_SIDE && rill_tensor_file_find(r->tensors, full) == NULL &&
                        rill_tensor_file_find(r->tensors, name) != NULL;
    return rill_ct2_number(r->tensors, of_both ? name : full, low, high, fallback, out);
}

/* Like read_number() for a variable that counts or numbers something; files may store it in F32. */
static rill_status read_whole(const ct2_model *r, const char *side, const char *name, double low, double high,
                              double fallback, double *out)
{
    TRY(read_number(r, side, name, low, high, fallback, out));
    if (*out == floor(*out)) return RILL_OK;
    return CT2_FAIL(r, side, name, "expected a whole number, found %g", *out);
}

/* Fail if the scalar variable SIDE/NAME is present and is not `expected`. */
static rill_status expect_number(const ct2_model *r, const char *side, const char *name, double expected)
{
    double value;
    TRY(read_number(r, side, name, -INFINITY, INFINITY, expected, &value));
    if (value == expected) return RILL_OK;
    return CT2_FAIL(r, side, name, "only %g is supported, found %g", expected, value);
}

static const rill_file_tensor *ct2_find(const ct2_model *r, const char *side, const char *name)
{
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "%s/%s", side, name);
    return rill_tensor_file_find(r->tensors, full);
}

/* Set *out to dimension `i` of the matrix SIDE/NAME, which must be in low..high. */
static rill_status read_size(const ct2_model *r, const char *side, const char *name, int i, int64_t low, int64_t high,
                             size_t *out)
{
    const rill_file_tensor *tensor = ct2_find(r, side, name);
    if (tensor == NULL)
        return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: tensor \"%s/%s\" is missing", r->tensors->name, side, name);
    if (tensor->rank != 2) return CT2_FAIL(r, side, name, "expected two dimensions");
    if (tensor->shape[i] < low || tensor->shape[i] > high)
        return CT2_FAIL(r, side, name, "dimension %d: expected %lld to %lld, found %lld", i + 1, (long long)low,
                        (long long)high, (long long)tensor->shape[i]);
    *out = (size_t)tensor->shape[i];
    return RILL_OK;
}

/* --- reading a stack of layers ------------------------------------------------------------------------------------ */

/* Settings that encoder and decoder must share. */
typedef struct stack_settings {
    unsigned flags;
    rill_activation activation;
    int gated;
    /* factors of the embeddings and of the queries; attention_scale 0: 1 / sqrt(head width) */
    double embedding_scale, attention_scale;
    size_t width, n_positions, n_buckets;
    double max_distance;
} stack_settings;

static size_t count_layers(const ct2_model *r, const char *side)
{
    char name[BLOCK_BYTES];
    for (size_t n = 0;; n++) {
        snprintf(name, sizeof name, "layer_%zu/self_attention/linear_0/weight", n);
        if (ct2_find(r, side, name) == NULL) return n;
    }
}

static rill_status read_activation(const ct2_model *r, const char *side, stack_settings *c)
{
    static const rill_activation known[] = {RILL_RELU, RILL_GELU_TANH, RILL_SWISH, RILL_GELU, RILL_GELU_SIGMOID};
    double value;
    TRY(read_whole(r, side, "activation", 0, 4, 0, &value));
    c->activation = known[(int)value];
    return RILL_OK;
}

/* The default is sqrt(D). An integer variable chooses between sqrt(D) and 1. A float variable is the factor itself. */
static rill_status read_embedding_scale(const ct2_model *r, const char *side, stack_settings *c)
{
    static const char *const names[] = {"scale_embeddings", "embeddings_0/multiply_by_sqrt_depth",
                                        "embeddings/multiply_by_sqrt_depth"};
    const double root = sqrt((double)c->width);
    const rill_file_tensor *tensor = NULL;
    size_t i = 0;
    for (; i < sizeof names / sizeof *names && (tensor = ct2_find(r, side, names[i])) == NULL; i++) continue;
    c->embedding_scale = root;
    if (tensor == NULL) return RILL_OK;
    TRY(read_number(r, side, names[i], 0, 1e6, NAN, &c->embedding_scale));
    if (tensor->dtype[0] == 'I') c->embedding_scale = c->embedding_scale != 0 ? root : 1;
    return RILL_OK;
}

/* Check that all attention blocks have the same scale, because mt_settings stores only one. */
static rill_status read_attention(const ct2_model *r, const char *block, size_t head, stack_settings *c, int first)
{
    double scale, width;
    TRY(read_number(r, block, "queries_scale", 1e-6, 1e6, 0, &scale));
    TRY(read_whole(r, block, "head_dim", 1, WIDTH_LIMIT, (double)head, &width));
    if (width != (double)head)
        return CT2_FAIL(r, block, "head_dim", "expected %zu by the shapes, found %g", head, width);
    if (first) c->attention_scale = scale;
    if (scale == c->attention_scale) return RILL_OK;
    return CT2_FAIL(r, block, "queries_scale", "expected %g, as in the first layer", c->attention_scale);
}

/* Read the number of buckets and the maximum distance of the relative position bias. All layers must have the same. 0 buckets: no bias. */
static rill_status read_relative(const ct2_model *r, const char *block, stack_settings *c, int first)
{
    double reach;
    size_t buckets = 0;
    const int has_buckets = ct2_find(r, block, "relative_attention_bias") != NULL;
    if (has_buckets) TRY(read_size(r, block, "relative_attention_bias", 0, 4, LENGTH_LIMIT, &buckets));
    TRY(read_whole(r, block, "relative_attention_max_distance", 1, LENGTH_LIMIT, has_buckets ? NAN : 0, &reach));
    if (first) {
        c->n_buckets = buckets;
        c->max_distance = reach;
    }
    if (buckets != c->n_buckets || reach != c->max_distance)
        return CT2_FAIL(r, block, "relative_attention_bias", "expected as in the first layer");
    if (!has_buckets || reach > (double)(buckets / 2)) return RILL_OK;
    return CT2_FAIL(r, block, "relative_attention_max_distance", "expected more than half of the %zu buckets, found %g",
                    buckets, reach);
}

static rill_status read_layers(const ct2_model *r, const char *name, mt_stack *side, stack_settings *c)
{
    char block[BLOCK_BYTES];
    const size_t head = side->attention_width / side->n_heads;
    for (size_t i = 0; i < side->n_layers; i++) {
        snprintf(block, sizeof block, "%s/layer_%zu/self_attention", name, i);
        TRY(read_attention(r, block, head, c, i == 0));
        TRY(read_relative(r, block, c, i == 0));
        snprintf(block, sizeof block, "%s/layer_%zu/attention", name, i);
        if (side == &r->net->decoder) TRY(read_attention(r, block, head, c, 0));
    }
    return RILL_OK;
}

/* Read which norms the model has: pre-norm or post-norm, final norm, embedding norm, and RMSNorm or layer norm. */
static rill_status read_norms(const ct2_model *r, const char *side, stack_settings *c)
{
    double pre_norm;
    TRY(read_number(r, side, "pre_norm", 0, 1, 1, &pre_norm));
    if (pre_norm != 0) c->flags |= MT_PRE_NORM;
    if (ct2_find(r, side, "layer_norm/gamma") != NULL) c->flags |= MT_FINAL_NORM;
    if (ct2_find(r, side, "layernorm_embedding/gamma") != NULL) c->flags |= MT_EMBEDDING_NORM;
    if (ct2_find(r, side, "layer_0/self_attention/layer_norm/beta") == NULL) c->flags |= MT_RMS_NORM;
    return RILL_OK;
}

/* Read which heads make alignments. Layer -1 means the last layer; 0 heads mean all heads. */
static rill_status read_alignment_heads(const ct2_model *r)
{
    mt_settings *set = &r->net->settings;
    const double layers = (double)r->net->decoder.n_layers, all = (double)r->net->decoder.n_heads;
    double layer, heads;
    TRY(read_whole(r, "decoder", "alignment_layer", -layers, layers - 1, -1, &layer));
    TRY(read_whole(r, "decoder", "alignment_heads", 0, all, 1, &heads));
    set->alignment_layer = (size_t)(layer < 0 ? layer + layers : layer);
    set->n_alignment_heads = (size_t)(heads == 0 ? all : heads);
    return RILL_OK;
}

/* Mark variables without effect as read. ALiBi and multi-query attention are errors. */
static rill_status read_ignored(const ct2_model *r, const char *side)
{
    static const char *const names[] = {"alibi_use_positive_positions", "scale_alibi", "embeddings_merge"};
    double value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TRY(read_number(r, side, names[i], -INFINITY, INFINITY, 0, &value));
    TRY(expect_number(r, side, "alibi", 0));
    return expect_number(r, side, "multi_query_attention", 0);
}

/* Returns the number of heads of a model without the variable num_heads; NAN: the variable is required. */
static double implied_heads(const ct2_model *r)
{
    if (r->tensors->ct2_revision >= FIRST_WITH_HEADS) return NAN;
    return strcmp(r->tensors->ct2_spec, "TransformerBig") == 0 ? 16 : 8;
}

static rill_status read_stack(const ct2_model *r, const char *name, mt_stack *side, stack_settings *c)
{
    const char *table = side == &r->net->encoder ? mt_ct2_source_table(r->tensors) : "embeddings/weight";
    double heads;
    side->n_layers = count_layers(r, name);
    if (side->n_layers == 0 || side->n_layers > LAYER_LIMIT)
        return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: %s: expected 1 to %d layers, found %zu", r->tensors->name, name,
                         LAYER_LIMIT, side->n_layers);
    TRY(read_size(r, name, table, 1, 2, WIDTH_LIMIT, &c->width));
    TRY(read_size(r, name, "layer_0/self_attention/linear_1/weight", 1, 1, WIDTH_LIMIT, &side->attention_width));
    TRY(read_size(r, name, "layer_0/ffn/linear_0/weight", 0, 1, WIDTH_LIMIT, &side->ffn_width));
    TRY(read_whole(r, name, "num_heads", 1, WIDTH_LIMIT, implied_heads(r), &heads));
    side->n_heads = (size_t)heads;
    if (side->attention_width % side->n_heads != 0)
        return CT2_FAIL(r, name, "num_heads", "expected a divisor of %zu, found %zu", side->attention_width,
                        side->n_heads);
    TRY(read_norms(r, name, c));
    TRY(read_activation(r, name, c));
    TRY(read_embedding_scale(r, name, c));
    TRY(read_layers(r, name, side, c));
    c->gated = ct2_find(r, name, "layer_0/ffn/linear_0_noact/weight") != NULL;
    if (ct2_find(r, name, "position_encodings/encodings") != NULL)
        TRY(read_size(r, name, "position_encodings/encodings", 0, 2, LENGTH_LIMIT, &c->n_positions));
    if (side == &r->net->decoder) TRY(read_alignment_heads(r));
    return read_ignored(r, name);
}

/* --- reading the specification ------------------------------------------------------------------------------------ */

static rill_status check_stacks(const ct2_model *r, const stack_settings *e, const stack_settings *d)
{
    const struct {
        const char *what;
        int differ;
    } checks[] = {
        {"the norms", e->flags != d->flags},
        {"activation", e->activation != d->activation || e->gated != d->gated},
        {"scale_embeddings", fabs(e->embedding_scale - d->embedding_scale) > 1e-6 * e->embedding_scale},
        {"queries_scale", e->attention_scale != d->attention_scale},
        {"the width", e->width != d->width},
        {"position_encodings", (e->n_positions > 0) != (d->n_positions > 0)},
        {"relative_attention_bias", e->n_buckets != d->n_buckets || e->max_distance != d->max_distance},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].differ)
            return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: %s: encoder and decoder differ, which is not supported",
                             r->tensors->name, checks[i].what);
    return RILL_OK;
}

/* Computed sinusoids count positions from 1, as in OpenNMT. */
static void set_positions(mt_net *net, const stack_settings *e, const stack_settings *d)
{
    const size_t stored = e->n_positions < d->n_positions ? e->n_positions : d->n_positions;
    net->settings.position_kind = e->n_buckets > 0 ? MT_POSITIONS_NONE
                                  : stored > 0     ? MT_POSITIONS_HF
                                                   : MT_POSITIONS_FSMT;
    net->settings.first_position = 1;
    net->settings.n_buckets = (int32_t)e->n_buckets;
    net->settings.max_distance = (int32_t)e->max_distance;
    net->seq.config_positions = stored > 0 && e->n_buckets == 0 ? (int32_t)stored : DEFAULT_POSITIONS;
    net->seq.max_input_length = stored > 0 && e->n_buckets == 0 ? (int32_t)stored
                                                                : POSITIONS_FACTOR * DEFAULT_POSITIONS;
}

static rill_status read_output_scale(const ct2_model *r, const stack_settings *d)
{
    double scale;
    TRY(read_number(r, "decoder", "scale_outputs", 0, 1e6, 1, &scale));
    if (scale == 1) return RILL_OK;
    r->net->settings.flags |= MT_SCALED_OUTPUT;
    if (fabs(scale * sqrt((double)d->width) - 1) < 1e-5 && (d->flags & MT_FINAL_NORM) != 0) return RILL_OK;
    return CT2_FAIL(r, "decoder", "scale_outputs",
                    "expected one over the root of the width after a last norm, found %g", scale);
}

/* A decoder that starts from a zero vector gets a start token with a zero embedding, after the other tokens. The softmax excludes it. */
static rill_status read_tables(const ct2_model *r)
{
    seq_net *s = &r->net->seq;
    const char *table = mt_ct2_source_table(r->tensors);
    size_t words, actions;
    double zero;
    int same = 0;
    TRY(read_size(r, "encoder", table, 0, 2, WORD_LIMIT, &words));
    TRY(read_size(r, "decoder", "embeddings/weight", 0, 2, WORD_LIMIT, &actions));
    TRY(read_number(r, "decoder", "start_from_zero_embedding", 0, 1, 0, &zero));
    TRY(rill_tensor_file_same_values(r->tensors, ct2_find(r, "encoder", table),
                                     ct2_find(r, "decoder", "embeddings/weight"), &same));
    r->net->settings.shared_embedding = same;
    r->net->settings.renormalize_logits = zero != 0;
    s->target_vocab_size = (int32_t)actions + (zero != 0);
    s->source_vocab_size = (int32_t)words + (same && zero != 0);
    s->pad = s->decoder_start = zero != 0 ? (int32_t)actions : -1;
    return RILL_OK;
}

static rill_status read_spec(const ct2_model *r)
{
    const uint32_t revision = r->tensors->ct2_revision;
    const char *spec = r->tensors->ct2_spec;
    if (spec == NULL) return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: expected a CTranslate2 model", r->tensors->name);
    if (strcmp(spec, "TransformerSpec") != 0 && strcmp(spec, "TransformerBase") != 0 &&
        strcmp(spec, "TransformerBig") != 0)
        return rill_fail(r->ctx, RILL_ERR_FORMAT,
                         "%s: CTranslate2's %s is not supported: only TransformerSpec, an encoder-decoder transformer",
                         r->tensors->name, spec);
    if (revision < OLDEST_REVISION || revision > NEWEST_REVISION)
        return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: %s: expected revision %d to %d, found %u", r->tensors->name,
                         spec, OLDEST_REVISION, NEWEST_REVISION, revision);
    if (ct2_find(r, "encoder", "embeddings_1/weight") != NULL)
        return CT2_FAIL(r, "encoder", "embeddings_1/weight", "a source of several features is not supported");
    return RILL_OK;
}

static rill_status read_model(const ct2_model *r)
{
    mt_net *net = r->net;
    mt_settings *s = &net->settings;
    stack_settings e = {0}, d = {0};
    TRY(read_spec(r));
    TRY(read_stack(r, "encoder", &net->encoder, &e));
    TRY(read_stack(r, "decoder", &net->decoder, &d));
    TRY(check_stacks(r, &e, &d));
    net->width = e.width;
    s->family = &ct2_family;
    s->flags = ct2_family.flags | e.flags | (e.n_buckets > 0 ? MT_RELATIVE_PER_LAYER : 0u);
    s->embedding_scale = (float)e.embedding_scale;
    s->activation = e.activation;
    s->gated = e.gated;
    s->attention_scale = (float)e.attention_scale;
    s->eps = (e.flags & MT_RMS_NORM) != 0 ? 1e-6f : 1e-5f;
    set_positions(net, &e, &d);
    TRY(read_output_scale(r, &d));
    return read_tables(r);
}

/* Fail if a scalar variable was not read: it may change the arithmetic in a way that is not supported. */
static rill_status check_unread_numbers(const ct2_model *r)
{
    for (size_t i = 0; i < rill_tensor_file_count(r->tensors); i++) {
        const rill_file_tensor *tensor = rill_tensor_file_tensor(r->tensors, i);
        if (tensor->rank > 0 || tensor->read) continue;
        return rill_fail(r->ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\": this value is not supported", r->tensors->name,
                         tensor->name);
    }
    return RILL_OK;
}

/* --- opening a CTranslate2 directory ------------------------------------------------------------------------------ */

int mt_is_ct2(const char *directory)
{
    return !rill_directory_has_file(directory, "model.safetensors") &&
           !rill_directory_has_file(directory, "model.safetensors.index.json") &&
           rill_directory_has_file(directory, MODEL_FILE);
}

rill_status mt_ct2_configure(seq_net *seq, const char *directory, rill_tokenizer_files *text)
{
    mt_net *net = (mt_net *)seq;
    SCOPED(rill_loader_close) rill_loader file = {.ctx = seq->ctx, .directory = directory};
    TRY(rill_loader_open(&file, MODEL_FILE));
    const ct2_model r = {net, seq->ctx, file.tensors};
    TRY(read_model(&r));
    TRY(mt_ct2_read_old_config(net, r.tensors));
    TRY(check_unread_numbers(&r));
    TRY(mt_ct2_read_config(net, directory, text));
    TRY(seq_alloc_legal(seq));
    seq->max_length = seq->max_input_length < DEFAULT_MAX_OUTPUT ? seq->max_input_length : DEFAULT_MAX_OUTPUT;
    seq->max_positions = seq->config_positions > seq->max_length ? seq->config_positions : seq->max_length;
    mt_describe(net);
    return mt_ct2_name_tokenizer(seq, directory, text);
}
