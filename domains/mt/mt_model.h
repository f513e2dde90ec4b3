/* mt_model.h: transformers as nets of ../seq2seq. Private header of the mt domain.
 *
 * Sources: Vaswani et al., Attention is all you need, 2017, and its successors Marian (Junczys-Dowmunt et al. 2018),
 * FSMT, BART (Lewis et al. 2020), mBART, M2M100, Pegasus and T5 (Raffel et al. 2020), as in transformers' modeling
 * files. mt_family and mt_settings hold the differences. A Marian decoder may replace self-attention by an SSRU (Kim et
 * al. 2019) or average attention (Zhang et al. 2018), which read only the parent's state.
 * Letters: D width, A width of all heads, F inner width of the feed-forward block, V target symbols, T input tokens.
 *
 * KV cache: a node is one target position. Its keys and values are, per decoder layer, row `node` of a table [nodes,
 * 2A]; the last layer's output is row `node` of `hidden`, for scoring. A row attends to the nodes on its path from the
 * root, in place: nothing is padded, copied or reordered, whatever the lengths of the rows of a call. With an SSRU or
 * average attention a node has instead a state of D per layer, computed from its parent's.
 * Slots hold the encoder's output projected per layer: [T, 2A] cross-attention keys and values, shared by all nodes of
 * the item. */
#ifndef RILL_MT_MODEL_H
#define RILL_MT_MODEL_H

#include "config_json.h"
#include "rill/safetensors.h"
#include "seq2seq.h"

/* --- weights ------------------------------------------------------------------------------------------------------ */

typedef struct mt_linear {
    rill_matrix weight; /* N x K */
    rill_constant bias; /* [N], or none */
} mt_linear;

typedef struct mt_norm {
    rill_constant gain, bias; /* [D]; bias: or none */
} mt_norm;

typedef struct mt_attention {
    mt_linear query;             /* A x D */
    mt_linear key_value;         /* 2A x D: keys, then values */
    mt_linear out;               /* D x A */
    mt_norm norm;                /* before (pre-norm) or after (post-norm) the block */
    rill_constant relative_bias; /* [heads, distances] relative position bias, or none */
} mt_attention;

typedef struct mt_feed_forward {
    mt_linear fc1; /* F x D; gated: 2F x D, the activated part, then the gate */
    mt_linear fc2; /* D x F */
    mt_norm norm;
} mt_feed_forward;

/* Replacement for a decoder's self-attention. */
typedef struct mt_recurrence {
    mt_linear gates;                 /* SSRU: 3D x D: forget gate, negated candidate, candidate */
    mt_linear ffn_fc1, ffn_fc2;      /* average attention: I x D and D x I; RILL_NONE: no feed-forward block */
    mt_linear input_gate, mean_gate; /* ... D x D, or none */
    mt_norm norm;
} mt_recurrence;

typedef struct mt_layer {
    mt_attention self_attention, cross_attention; /* cross_attention, and its norm: decoder only */
    mt_feed_forward feed_forward;
    mt_recurrence
        recurrence;        /* instead of self-attention; node_table is then [nodes, D]: SSRU cells, or running sums */
    rill_table node_table; /* [nodes, 2A] keys and values of the nodes (the KV cache) */
    rill_table encoder_kv; /* per slot [T, 2A] keys and values of the input's tokens */
} mt_layer;

typedef struct mt_stack {
    size_t n_layers, n_heads, ffn_width;
    size_t attention_width;             /* A: all heads */
    mt_layer *layer;                    /* [layers] */
    mt_norm embedding_norm, final_norm; /* after the embeddings, after the last layer; if the family has them */
    const float *embedding_rows;        /* [words, D] the embedding, during loading */
    rill_constant embedding;            /* [words, D]; RILL_NONE: tied to the output layer */
    rill_constant position_embedding;   /* [positions, D] by position; RILL_NONE: sinusoidal, or none */
} mt_stack;

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* Naming scheme of tensors and keys. */
typedef enum mt_layout { MT_LAYOUT_BART, MT_LAYOUT_T5 } mt_layout;

/* The angle of dimension j < D/2 at position p is p / 10000^(j / d). */
typedef enum mt_position_kind {
    MT_POSITIONS_HF,      /* d = D/2: Marian in transformers */
    MT_POSITIONS_MARIAN,  /* d = D/2 - 1: marian-decoder */
    MT_POSITIONS_FSMT,    /* d = D/2 - 1, the first piece is at p = pad + 1, an odd column is 0: fairseq */
    MT_POSITIONS_LEARNED, /* learned, after LEARNED_OFFSET unused rows */
    MT_POSITIONS_NONE,    /* none: relative position bias in self-attention */
} mt_position_kind;

/* Defaults of a family, as bits. A Marian model's configuration may also set the first four. */
typedef enum mt_flag {
    MT_PRE_NORM = 1,             /* norms before blocks instead of after */
    MT_FINAL_NORM = 2,           /* a norm after the last layer */
    MT_EMBEDDING_NORM = 4,       /* a norm after the embeddings */
    MT_RMS_NORM = 8,             /* RMSNorm, without bias */
    MT_NO_BIAS = 16,             /* linear layers have no bias */
    MT_LOGITS_BIAS = 32,         /* the output layer may have one */
    MT_SEPARATE_VOCABS = 64,     /* source and target may have separate vocabularies */
    MT_TIED_BY_FILE = 128,       /* tensors that are present and differ are separate, whatever the configuration says */
    MT_RELATIVE_PER_LAYER = 256, /* one relative position bias per layer; else shared from the first layer */
    MT_SCALED_OUTPUT = 512,      /* the input of the output layer is scaled by D^-0.5 */
    MT_OPTIONAL_BIAS = 1024      /* linear layers may lack a bias */
} mt_flag;

/* First block of a decoder layer. */
typedef enum mt_decoder_block { MT_SELF_ATTENTION, MT_SSRU, MT_AVERAGE_ATTENTION } mt_decoder_block;

/* A model family: its config.json model_type and the defaults that follow from it. */
typedef struct mt_family {
    const char *model_type, *title;
    mt_layout layout;
    unsigned flags; /* set of mt_flag */
    mt_position_kind position_kind;
    const char
        *activation;     /* default of the config.json key; of the integers below, -1 means that there is no default */
    int scale_embedding; /* scale embeddings by sqrt(D) */
    int32_t pad, eos, decoder_start;
    int32_t max_length; /* 0: the number of positions */
} mt_family;

/* Settings of the configuration files, beyond the sizes in mt_stack. */
typedef struct mt_settings {
    const mt_family *family;
    unsigned flags;                 /* the family's, and the configuration's */
    int shared_embedding;           /* source and target share one embedding */
    int tied_output;                /* the output layer is the decoder's embedding */
    float embedding_scale;          /* 1, or sqrt(D) */
    rill_activation activation;     /* activation of the feed-forward block */
    int gated;                      /* ... multiplied by a linear gate */
    float attention_scale;          /* 0: 1 / sqrt(head width) */
    mt_decoder_block decoder_block; /* first block of the decoder's layers */
    size_t average_ffn_width;       /* average attention's I; 0: without a feed-forward block */
    int average_gate;
    rill_activation average_activation;
    float eps; /* epsilon of layer norms */
    int32_t n_buckets,
        max_distance; /* relative position buckets and the largest distance, for models without absolute positions */
    mt_position_kind position_kind;
    int32_t first_position;                    /* position of the first token */
    const char *pad_file;                      /* file that defines the padding symbol */
    size_t alignment_layer, n_alignment_heads; /* alignments are the mean of this layer's first heads */
    int renormalize_logits;                    /* banned tokens are masked before the softmax */
} mt_settings;

/* --- the net ------------------------------------------------------------------------------------------------------ */

typedef struct mt_net {
    seq_net seq; /* first member: the base of every architecture */
    mt_settings settings;
    size_t width; /* D */
    mt_stack encoder, decoder;
    rill_table sinusoids; /* [positions, D] sinusoidal embeddings, filled by runners on demand */
    rill_table
        mean_weights;  /* average attention: [positions, D], row t is 1 / (t + 1) in all columns; filled likewise */
    rill_table hidden; /* [nodes, D] output of the last layer */
} mt_net;

static inline int mt_has_flag(const mt_net *net, mt_flag choice)
{
    return (net->settings.flags & (unsigned)choice) != 0;
}

static inline const mt_net *mt_from_seq(const seq_net *net)
{
    return (const mt_net *)net;
}

/* --- mt_families.c --------------------------------------------------------------------------------------------------- */

extern const mt_family mt_families[]; /* ends with type == NULL */

/* Find the family named by config.json and read its keys: sizes, flags, activation, positions.
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) */
rill_status mt_read_family(mt_net *net, const rill_config *config);

/* Read the first block of decoder layers; only models of type marian may choose another than "attention".
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) */
rill_status mt_read_decoder_block(rill_context *ctx, const rill_config *config, mt_decoder_block *out);

/* --- mt_config.c ----------------------------------------------------------------------------------------------------- */

/* Read config.json and generation_config.json of the directory: see seq_arch.configure.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_configure(seq_net *net, const char *directory, rill_tokenizer_files *text);

/* Describe the net for `rill info`, besides files and dtypes: net->seq.description. */
void mt_describe(mt_net *net);

/* --- mt_ct2.c, mt_ct2_names.c ------------------------------------------------------------------------------------------- */

/* Whether the directory's weights are in CTranslate2's form. */
int mt_is_ct2(const char *directory);

/* See seq_arch; for CTranslate2 directories.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor, or key) · RILL_ERR_MEMORY */
rill_status mt_ct2_configure(seq_net *net, const char *directory, rill_tokenizer_files *text);
rill_status mt_ct2_find_special_tokens(seq_net *net, const char *directory);

/* Rename the file's tensors as mt_load() expects them.
 *   RILL_OK · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_ct2_rename_tensors(const mt_net *net, rill_tensor_file *tensors);

/* --- mt_bad_words.c ------------------------------------------------------------------------------------------------------- */

/* Read the bad words of a configuration file: updates the net's existing `legal` and `forbidden`. Later files override
 * earlier ones.
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_read_bad_words(mt_net *net, const rill_config *config);

/* --- mt_default_search.c -------------------------------------------------------------------------------------------------- */

/* Default search options from the generation configuration: see seq_arch.recommend. Warns about each setting that would
 * change outputs and is not supported.
 *   as mt_configure() */
rill_status mt_recommend(const seq_net *net, const char *directory, rill_text *out);

/* See rill_domain.advise. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

/* --- mt_weights.c ---------------------------------------------------------------------------------------------------- */

/* Read model.safetensors: see seq_arch.load. On failure the caller frees what was loaded.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_load(seq_net *net, const char *directory);

/* --- relative_bias.c --------------------------------------------------------------------------------------------------- */

/* Expand T5's bucketed relative position bias, [buckets, heads] as stored, to one entry per distance: [heads, 2 reach +
 * 1]. `causal`: a decoder's, which has no positions to the right. */
void mt_expand_buckets(const mt_net *net, const float *bucket_bias, size_t heads, int causal, float *out);

/* --- mt_graph.c, positions.c --------------------------------------------------------------------------------------- */

/* Declare the tables of a net whose weights are loaded. */
void mt_make_tables(mt_net *net);

/* See seq_arch. */
void mt_encode(const seq_net *net, const seq_encoder_columns *columns);
void mt_step(const seq_net *net, const seq_decoder_columns *columns);
rill_view mt_decoder_output(const seq_net *net, rill_graph graph, rill_column node, rill_column slot);
rill_status mt_prepare_positions(seq_runner *runner, const seq_net *net, size_t from, size_t to);

#endif
