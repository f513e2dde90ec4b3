/* Machine translation with transformers and recurrent models: the domain "mt", on ../seq2seq.
 *
 * A model is an unchanged Hugging Face or CTranslate2 directory (docs/mt.md).
 * Input: one sentence per line; with options.tokenized, subword tokens. A line that is not UTF-8, or too long, fails alone.
 * Output: text, or tokens separated by spaces. */
#pragma once

#include "config_json.h"
#include "rill/domain.h"
#include "rill/safetensors.h"
#include "seq2seq.h"

extern const rill_domain rill_mt_domain;

/* Largest sizes that a configuration may have. */
enum { WIDTH_LIMIT = 1 << 16, LAYER_LIMIT = 1 << 10, WORD_LIMIT = 1 << 22, LENGTH_LIMIT = 1 << 20 };

/* --- sizes of transformers ---------------------------------------------------------------------------------------- */

/* Transformers. Sources: Vaswani et al. 2017; Marian (Junczys-Dowmunt et al. 2018), FSMT, BART (Lewis et al. 2020), mBART, M2M100, Pegasus
 * and T5 (Raffel et al. 2020), as in transformers' modeling files. SSRU: Kim et al. 2019; average attention: Zhang et al. 2018.
 * Dimensions: D model width, A width of all heads, F feed-forward width, V target tokens, T input tokens.
 *
 * KV cache: per decoder layer a table [nodes, 2A] of keys and values, one row per target position (node). Attention reads the rows on the
 * path to the root: nothing is padded or copied. SSRU and average attention store D values per node instead.
 * Cross-attention: keys and values [T, 2A] per input and decoder layer. */

/* --- weights ------------------------------------------------------------------------------------------------------ */

typedef struct mt_linear {
    rill_matrix weight; /* N x K weights */
    rill_constant bias; /* [N] bias; RILL_NONE: none */
} mt_linear;

static inline rill_product mt_linear_product(const mt_linear *linear, rill_view a, rill_view out)
{
    return (rill_product){.matrix = linear->weight, .bias = linear->bias, .a = a, .out = out};
}

typedef struct mt_norm {
    rill_constant gain, bias; /* [D] gain and bias of a norm; RMSNorm has no bias (RILL_NONE) */
} mt_norm;

/* Weights of an attention block. A: width of all heads; D: model width. */
typedef struct mt_attention {
    mt_linear query;             /* A x D query projection */
    mt_linear key_value;         /* 2A x D projections: keys, then values */
    mt_linear out;               /* D x A output projection */
    mt_norm norm;                /* norm before the block (pre-norm) or after it (post-norm) */
    rill_constant relative_bias; /* [heads, distances] relative position bias; RILL_NONE: none */
} mt_attention;

/* Weights of a feed-forward block. F: inner width; D: model width. */
typedef struct mt_feed_forward {
    mt_linear fc1; /* F x D; gated: 2F x D, first the rows that are activated, then those of the gate */
    mt_linear fc2; /* D x F second linear layer */
    mt_norm norm;
} mt_feed_forward;

/* SSRU or average attention, in place of a decoder layer's self-attention. D: model width; I: inner width of average attention. */
typedef struct mt_recurrence {
    mt_linear gates;                 /* SSRU: 3D x D: forget gate, negated candidate, candidate */
    mt_linear ffn_fc1, ffn_fc2;      /* average attention: I x D and D x I; RILL_NONE: no feed-forward block */
    mt_linear input_gate, mean_gate; /* average attention: D x D; RILL_NONE: no gates */
    mt_norm norm;
} mt_recurrence;

/* A transformer layer. A: width of all heads together; T: number of tokens of an input. */
typedef struct mt_layer {
    mt_attention self_attention, cross_attention; /* cross_attention: in decoder layers only */
    mt_feed_forward feed_forward;
    mt_recurrence recurrence; /* replaces self_attention if decoder_block is an SSRU or average attention */
    rill_table node_table;    /* KV cache: [nodes, 2A] a row of keys and values per hypothesis state (node) */
    rill_table encoder_kv;    /* [slots, T, 2A] cross-attention keys and values of each input's tokens */
} mt_layer;

/* The encoder or the decoder. D: model width. */
typedef struct mt_stack {
    size_t n_layers, n_heads, ffn_width;
    size_t attention_width;             /* A: width of all heads */
    mt_layer *layer;                    /* [n_layers] */
    mt_norm embedding_norm, final_norm; /* norms after the embeddings and after the last layer; some models lack them */
    const float *embedding_rows;        /* [words, D] token embedding; valid during loading only */
    /* [words, D] token embedding; RILL_NONE: the graph reads the rows of the output layer instead. */
    rill_constant embedding;
    rill_constant position_embedding; /* [positions, D] stored in the file; RILL_NONE: computed sinusoids, or none */
} mt_stack;

/* --- architecture ------------------------------------------------------------------------------------------------- */

/* The naming scheme of tensors in the file and of keys in config.json: BART's, or T5's. */
typedef enum mt_layout { MT_LAYOUT_BART, MT_LAYOUT_T5 } mt_layout;

/* Position embeddings. Computed ones have, for position p, the sines of p / 10000^(j / d), j from 0 to D/2 - 1, then the cosines. */
typedef enum mt_position_kind {
    MT_POSITIONS_HF,     /* computed as in Hugging Face's transformers for Marian models: d = D/2 */
    MT_POSITIONS_MARIAN, /* computed as in marian-decoder: d = D/2 - 1 */
    /* as in fairseq: d = D/2 - 1; first position 1 + padding id; if D is odd, the last column is 0 */
    MT_POSITIONS_FSMT,
    MT_POSITIONS_LEARNED, /* learned, in the file after LEARNED_OFFSET unused rows */
    MT_POSITIONS_NONE,    /* no position embedding: relative position bias in self-attention */
} mt_position_kind;

/* Properties of a model, as bits: its family's defaults. A Marian model's configuration may change the first three. */
typedef enum mt_flag {
    MT_PRE_NORM = 1,         /* pre-norm blocks; else post-norm */
    MT_FINAL_NORM = 2,       /* a norm after the last layer */
    MT_EMBEDDING_NORM = 4,   /* a norm after the embeddings */
    MT_RMS_NORM = 8,         /* RMSNorm, without bias; else layer norm */
    MT_NO_BIAS = 16,         /* linear layers have no bias */
    MT_LOGITS_BIAS = 32,     /* the output layer may have a bias */
    MT_SEPARATE_VOCABS = 64, /* source and target may have separate vocabularies */
    /* Tables that the file stores with different values are not tied, even if config.json ties them. */
    MT_TIED_BY_FILE = 128,
    /* Each layer has its own relative position bias; otherwise all layers share that of the first layer. */
    MT_RELATIVE_PER_LAYER = 256,
    MT_SCALED_OUTPUT = 512, /* the input of the output layer is scaled by D^-0.5 */
    MT_OPTIONAL_BIAS = 1024 /* linear layers may lack a bias */
} mt_flag;

/* Kinds of the first block of a decoder layer. */
typedef enum mt_decoder_block { MT_SELF_ATTENTION, MT_SSRU, MT_AVERAGE_ATTENTION } mt_decoder_block;

/* A model family: its config.json model_type and the defaults that follow from it. */
typedef struct mt_family {
    const char *model_type, *title;
    mt_layout layout;
    unsigned flags; /* set of mt_flag */
    mt_position_kind position_kind;
    /* Default of config.json's activation. Of the integers below, -1 means that there is no default. */
    const char *activation;
    int scale_embedding; /* default of config.json's scale_embedding; 1: embeddings are scaled by sqrt(D) */
    int32_t pad, eos, decoder_start;
    int32_t max_length; /* default of max_length; 0: the number of positions */
} mt_family;

/* Settings of the configuration files, except the sizes in mt_stack. */
typedef struct mt_settings {
    const mt_family *family;
    unsigned flags;                 /* set of mt_flag: the family's defaults, changed by the configuration */
    int shared_embedding;           /* 1: source and target share one embedding */
    int tied_output;                /* 1: the output layer is tied to the decoder's embedding */
    float embedding_scale;          /* factor of token embeddings: 1, or sqrt(D) */
    rill_activation activation;     /* activation of the feed-forward block */
    int gated;                      /* 1: feed-forward blocks are gated: activation(fc1 x) * (gate x) */
    float attention_scale;          /* factor of q . k; 0: 1 / sqrt(head width) */
    mt_decoder_block decoder_block; /* kind of the first block of the decoder's layers */
    size_t average_ffn_width;       /* I, inner width of average attention's feed-forward block; 0: no such block */
    int average_gate;               /* 1: average attention has gates */
    rill_activation average_activation;
    float eps; /* epsilon of layer norms */
    /* relative position bias: number of buckets, largest distance */
    int32_t n_buckets, max_distance;
    mt_position_kind position_kind;
    int32_t first_position; /* position number of the first token, for computed sinusoids */
    const char *pad_file;   /* file that defines the padding token, for error messages */
    /* An alignment is the mean of the cross-attention weights of the first n_alignment_heads heads of this decoder
     * layer. */
    size_t alignment_layer, n_alignment_heads;
    int renormalize_logits; /* 1: banned tokens are masked before the softmax; 0: after it */
} mt_settings;

/* --- the network -------------------------------------------------------------------------------------------------- */

typedef struct mt_net {
    seq_net seq; /* first member: the base of every architecture */
    mt_settings settings;
    size_t width; /* D */
    mt_stack encoder, decoder;
    rill_table sinusoids; /* [positions, D] sinusoidal embeddings; runners fill rows on demand */
    /* Average attention: [positions, D], 1 / (t + 1) in all columns of row t; runners fill rows on demand. */
    rill_table mean_weights;
    rill_table hidden;      /* [nodes, D] output of the last layer */
    const char *ct2_config; /* CTranslate2 before version 6: the text that config.json would have; else NULL */
} mt_net;

static inline int mt_has_flag(const mt_net *net, mt_flag choice)
{
    return (net->settings.flags & (unsigned)choice) != 0;
}

static inline const mt_net *mt_from_seq(const seq_net *net)
{
    return (const mt_net *)net;
}

/* --- defined in mt_config.c ---------------------------------------------------------------------------------------- */

/* Read config.json's decoder_self_attention: "attention", "ssru" or "average" (Marian only, mt_configure()).
 *   RILL_OK · RILL_ERR_FORMAT (the message names file and key) */
rill_status mt_read_decoder_block(const rill_config *config, mt_decoder_block *out);

/* seq_arch.configure: read config.json and generation_config.json.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_configure(seq_net *net, const char *directory, rill_tokenizer_files *text);

/* Write type, sizes and options to net->seq.description, which `rill info` prints. */
void mt_describe(mt_net *net);

/* --- defined in mt_ct2.c, mt_ct2_folder.c, mt_ct2_names.c --------------------------------------------------------------- */

/* Returns 1 if the directory has CTranslate2's model.bin and no weights in safetensors format. */
int mt_is_ct2(const char *directory);

/* Functions of seq_arch for CTranslate2 directories.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor, or key) · RILL_ERR_MEMORY */
rill_status mt_ct2_configure(seq_net *net, const char *directory, rill_tokenizer_files *text);
rill_status mt_ct2_find_special_tokens(seq_net *net, const char *directory);

/* Parts of mt_ct2_configure(), with its statuses: make net->ct2_config from a model.bin before version 6; read config.json; name
 * vocabularies and tokenizer. */
rill_status mt_ct2_read_old_config(mt_net *net, rill_tensor_file *tensors);
rill_status mt_ct2_read_config(mt_net *net, const char *directory, rill_tokenizer_files *text);
rill_status mt_ct2_name_tokenizer(const seq_net *net, const char *directory, rill_tokenizer_files *text);

/* Returns the name of the source embedding, without "encoder/". It has no number before revision 5. */
const char *mt_ct2_source_table(const rill_tensor_file *tensors);

/* Add the tensors of model.bin under transformers' names, which mt_load() expects.
 *   RILL_OK · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_ct2_rename_tensors(const mt_net *net, rill_tensor_file *tensors);

/* --- defined in mt_generation.c --------------------------------------------------------------------------------------- */

/* Read special tokens, bad words and maximum length from config.json or generation_config.json; the latter overrides, as in transformers.
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_read_generation(mt_net *net, const rill_config *config, const char *file);

/* seq_arch.recommend: search options that decode like transformers with generation_config.json. Warns about
 * unsupported settings that change outputs.
 *   as mt_configure() */
rill_status mt_recommend(const seq_net *net, const char *directory, rill_text *out);

/* rill_domain.advise: the default search options for the directory `path`. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

/* --- defined in mt_weights.c ----------------------------------------------------------------------------------------- */

/* seq_arch.load: read the weights from model.safetensors or model.bin. On failure the caller frees the model.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_load(seq_net *net, rill_loader *loader);

/* Expand T5's bias [buckets, heads] to `out` [heads, 2 * max_distance + 1]. causal: 1 for a decoder, whose buckets have no later
 * positions. */
void mt_expand_buckets(const mt_net *net, const float *bucket_bias, size_t heads, int causal, float *out);

/* --- defined in mt_graph.c ---------------------------------------------------------------------------- */

/* Declare the network's tables, e.g. the KV cache. Called when the net's weights are loaded. */
void mt_make_tables(mt_net *net);

/* Callbacks of seq_arch for transformers; seq2seq.h documents them. */
void mt_encode(const seq_net *net, const seq_encoder_columns *columns);
void mt_step(const seq_net *net, const seq_decoder_columns *columns);
rill_view mt_decoder_output(const seq_net *net, rill_graph graph, rill_column node, rill_column slot);
rill_status mt_prepare_positions(seq_runner *runner, const seq_net *net, size_t from, size_t to);

/* --- recurrent models: rnn.c -------------------------------------------------------------------------------------- */

/* Sources: Bahdanau et al. 2015; Nematus (Sennrich et al. 2017) for tensors, gates and readout, as Amun decodes them. Formulas:
 * docs/mt.md.
 * Dimensions: E embedding width, H encoder width per direction, D decoder width, A attention width, V target vocabulary size, T input
 * tokens. GRU gates: reset, update, candidate (3D).
 *
 * A hypothesis state (node) has rows in three tables: decoder state [nodes, D], input of the output layer [nodes, E], attention query
 * [nodes, A]. It reads the parent's state; alignments, and ensembles with transformers, read all ancestors.
 * Per input in flight (slot): annotations [T, 2H], attention keys [T, A], initial state [D]. */

typedef struct rnn_net {
    seq_net seq; /* first member: the base of every architecture */
    /* 1: one GRU before attention and one after it; 0: a single GRU whose input includes the attention context. */
    int conditional_gru;
    int32_t unk;                                                           /* target id of <unk>, from config.json */
    size_t embedding_width, encoder_width, decoder_width, attention_width; /* the sizes E, H, D, A */

    /* Source embedding [words, E]. Target embedding [V + 1, E]; its last row, zeros, is the decoder's initial input. */
    rill_constant source_embedding, target_embedding;
    mt_linear input_gates;     /* 6H x E gates from the embedding, forward and backward */
    rill_matrix recurrent[2];  /* 3H x H recurrent weights, forward and backward */
    mt_linear init_projection; /* D x 2H initial state, from the mean annotation */
    mt_linear key_projection;  /* A x 2H attention keys, from annotations */
    mt_linear word_gates; /* (3D + E) x E, from the token embedding: gates, then the embedding's part of the readout */
    mt_linear first_gru;  /* conditional: 3D x D, recurrent gates of the first GRU */
    mt_linear second_gru; /* (3D + A) x D: recurrent gates of the GRU after attention, and the attention query */
    rill_constant attention_vector; /* [A], Bahdanau's v */
    mt_linear context_gates;        /* 3D x 2H part of the gates from the attention context */
    mt_linear readout;              /* E x (2H + D) readout, from context and state */

    rill_table annotations, memory_keys, initial_state; /* tables with a row per slot (input in flight) */
    rill_table state, hidden_table, query;              /* tables with a row per node (model state of a hypothesis) */
} rnn_net;

static inline const rnn_net *rnn_from_seq(const seq_net *net)
{
    return (const rnn_net *)net;
}

extern const seq_arch rnn_arch;
