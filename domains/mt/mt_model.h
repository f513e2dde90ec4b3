/* mt_model.h: transformers as nets of ../seq2seq. Inner header of the mt domain.
 *
 * Sources: Vaswani et al., Attention is all you need, 2017, and what families made of it since: Marian (Junczys-Dowmunt et al. 2018),
 * FSMT, BART (Lewis et al. 2020), mBART, M2M100, Pegasus and T5 (Raffel et al. 2020), each in the form that transformers' modeling
 * files give it. They differ in a handful of choices, which mt_family and mt_settings name.
 * A Marian decoder may have another block in place of its self-attention: an SSRU (Kim et al. 2019) or average attention (Zhang et al.
 * 2018), which read the parent's state alone.
 * Letters: D width, A width of all heads, F inner width of the feed-forward block, V target symbols, T pieces of an input.
 *
 * States: a node is one target position. Its keys and values stand, per decoder layer, in row `node` of a table [nodes,
 * 2A]; what the last layer made of it in row `node` of `top`, for scoring. A row attends to the nodes between the root
 * and itself, where they lie: nothing is padded, copied or reordered, whatever the lengths of the rows of a call. With an SSRU or
 * average attention a node has a state of D per layer instead, made of its parent's.
 * Slots hold the encoder's output as the decoder reads it, multiplied out per layer: [T, 2A] keys and values, shared by all
 * nodes of the item. */
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
    mt_norm norm;                /* before or behind the block */
    rill_constant relative_bias; /* [heads, distances], or none */
} mt_attention;

typedef struct mt_feed_forward {
    mt_linear fc1; /* F x D; gated 2F x D: what is activated, then what it is multiplied with */
    mt_linear fc2; /* D x F */
    mt_norm norm;
} mt_feed_forward;

/* What stands in place of a decoder's self-attention. */
typedef struct mt_recurrence {
    mt_linear gates;                 /* SSRU: 3D x D: of the forget gate, of what is new negated, of what is new */
    mt_linear ffn_fc1, ffn_fc2;      /* average attention: I x D and D x I; matrix RILL_NONE where there is none */
    mt_linear input_gate, mean_gate; /* ... D x D, or none */
    mt_norm norm;
} mt_recurrence;

typedef struct mt_layer {
    mt_attention self_attention, cross_attention; /* cross, and what follows the block: in the decoder only */
    mt_feed_forward feed_forward;
    mt_recurrence
        recurrence; /* in place of self; with it the nodes' table is [nodes, D]: cells, or sums of what was read */
    rill_table node_table; /* [nodes, 2A] keys and values of the nodes */
    rill_table encoder_kv; /* per slot [T, 2A] those of the input's pieces */
} mt_layer;

typedef struct mt_stack {
    size_t n_layers, n_heads, ffn_width;
    size_t attention_width;             /* A: heads side by side */
    mt_layer *layer;                    /* [layers] */
    mt_norm embedding_norm, final_norm; /* of embeddings, and of what the last layer gives, where the family has them */
    const float *embedding_rows;        /* [words, D] the embedding while it is loaded */
    rill_constant embedding;            /* [words, D]; RILL_NONE: the rows of the output layer */
    rill_constant
        position_embedding; /* [positions, D]: row t is for the piece with t others before it; RILL_NONE: computed ones, or none */
} mt_stack;

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* Where its tensors and keys have their names from. */
typedef enum mt_layout { MT_LAYOUT_BART, MT_LAYOUT_T5 } mt_layout;

/* The angle of dimension j < D/2 at position p is p / 10000^(j / d). */
typedef enum mt_position_kind {
    MT_POSITIONS_HF,      /* d = D/2: Marian in transformers */
    MT_POSITIONS_MARIAN,  /* d = D/2 - 1: marian-decoder */
    MT_POSITIONS_FSMT,    /* d = D/2 - 1, the first piece is at p = pad + 1, an odd column is 0: fairseq */
    MT_POSITIONS_LEARNED, /* the file's own, behind LEARNED_OFFSET rows that stand for nothing */
    MT_POSITIONS_NONE,    /* numbers for distances in self-attention instead */
} mt_position_kind;

/* What a family's type says without another word, as bits. The first four may also be said by a Marian model's configuration. */
typedef enum mt_flag {
    MT_PRE_NORM = 1,             /* norms stand before blocks, not behind */
    MT_FINAL_NORM = 2,           /* one more behind the last layer */
    MT_EMBEDDING_NORM = 4,       /* one behind the embeddings */
    MT_RMS_NORM = 8,             /* norms are by the root mean square, without bias */
    MT_NO_BIAS = 16,             /* of linear layers */
    MT_LOGITS_BIAS = 32,         /* the output layer may have one */
    MT_SEPARATE_VOCABS = 64,     /* source and target may have vocabularies of their own */
    MT_TIED_BY_FILE = 128,       /* tables that are there and differ are two, whatever the configuration says */
    MT_RELATIVE_PER_LAYER = 256, /* each layer has distances of its own; else the first layer's serve all */
    MT_SCALED_OUTPUT = 512,      /* what the output layer reads is multiplied by D^-0.5 */
    MT_OPTIONAL_BIAS = 1024      /* a linear layer may have none */
} mt_flag;

/* What a decoder's layer has first. */
typedef enum mt_decoder_block { MT_SELF_ATTENTION, MT_SSRU, MT_AVERAGE_ATTENTION } mt_decoder_block;

/* A family: what config.json calls it, and what follows from that. */
typedef struct mt_family {
    const char *model_type, *title;
    mt_layout layout;
    unsigned flags; /* of mt_flag */
    mt_position_kind position_kind;
    const char *activation; /* where nothing is said; so below, -1 being nothing */
    int scale_embedding;    /* embeddings, by sqrt(D) */
    int32_t pad, eos, decoder_start;
    int32_t max_length; /* 0: as many as there are positions */
} mt_family;

/* What the configuration files say, beyond the sizes in mt_stack. */
typedef struct mt_settings {
    const mt_family *family;
    unsigned flags;                 /* the family's, and the configuration's */
    int shared_embedding;           /* one embedding for both sides */
    int tied_output;                /* the output layer is the decoder's embedding */
    float embedding_scale;          /* of embeddings */
    rill_activation activation;     /* of the feed-forward block */
    int gated;                      /* ... which is multiplied with a linear layer */
    float attention_scale;          /* 0: one over the root of a head's width */
    mt_decoder_block decoder_block; /* of the decoder's layers */
    size_t average_ffn_width;       /* average attention's I; 0: without a feed-forward block */
    int average_gate;
    rill_activation average_activation;
    float eps;                       /* of norms */
    int32_t n_buckets, max_distance; /* of distances, without positions */
    mt_position_kind position_kind;
    int32_t first_position;                    /* p of the first piece */
    const char *pad_file;                      /* name of the file that said what padding is */
    size_t alignment_layer, n_alignment_heads; /* alignments are of this layer's first heads, in the mean */
    int renormalize_logits;                    /* pieces that may not be chosen are outside the softmax */
} mt_settings;

/* --- the net ------------------------------------------------------------------------------------------------------ */

typedef struct mt_net {
    seq_net seq; /* the first: what any architecture has */
    mt_settings settings;
    size_t width; /* D */
    mt_stack encoder, decoder;
    rill_table sinusoids;    /* [positions, D] computed ones, filled by runners as they are asked for */
    rill_table mean_weights; /* of average attention: [positions, D], row t is 1 / (t + 1) throughout; likewise */
    rill_table hidden;       /* [nodes, D] what the last layer made of them */
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

/* The family that config.json names, and what the keys of its layout say: sizes, choices, activation, positions.
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) */
rill_status mt_read_family(mt_net *net, const rill_config *config);

/* What the decoder's layers have first, by a key that only models of type marian may have at another value than "attention".
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) */
rill_status mt_read_decoder_block(rill_context *ctx, const rill_config *config, mt_decoder_block *out);

/* --- mt_config.c ----------------------------------------------------------------------------------------------------- */

/* Read config.json and generation_config.json of the directory: see seq_arch.configure.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_configure(seq_net *net, const char *directory, rill_tokenizer_files *text);

/* What `rill info` shows beside the files and their types of numbers: net->seq.description. */
void mt_describe(mt_net *net);

/* --- mt_ct2.c, mt_ct2_names.c ------------------------------------------------------------------------------------------- */

/* Whether the directory's weights are in CTranslate2's form. */
int mt_is_ct2(const char *directory);

/* See seq_arch; of such a directory.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor, or key) · RILL_ERR_MEMORY */
rill_status mt_ct2_configure(seq_net *net, const char *directory, rill_tokenizer_files *text);
rill_status mt_ct2_find_special_tokens(seq_net *net, const char *directory);

/* Give the file's tensors the names that mt_load() asks for.
 *   RILL_OK · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_ct2_rename_tensors(const mt_net *net, rill_tensor_file *tensors);

/* --- mt_bad_words.c ------------------------------------------------------------------------------------------------------- */

/* Read what a file that has the last word so far forbids: the net's `legal`, which is there, and `forbidden`.
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_read_bad_words(mt_net *net, const rill_config *config);

/* --- mt_default_search.c -------------------------------------------------------------------------------------------------- */

/* What the directory's generation configuration says: see seq_arch.recommend. A warning names what changes outputs there and is not
 * done.
 *   as mt_configure() */
rill_status mt_recommend(const seq_net *net, const char *directory, rill_text *out);

/* See rill_domain.advise. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

/* --- mt_weights.c ---------------------------------------------------------------------------------------------------- */

/* Read model.safetensors: see seq_arch.load. On failure the caller clears what is there.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_load(seq_net *net, const char *directory);

/* --- relative_bias.c --------------------------------------------------------------------------------------------------- */

/* Numbers for distances out of those of buckets, [buckets, heads] as a file has them: into [heads, 2 reach + 1]. `causal`: a decoder's,
 * where nothing stands behind the row. */
void mt_expand_buckets(const mt_net *net, const float *bucket_bias, size_t heads, int causal, float *out);

/* --- mt_graph.c, positions.c --------------------------------------------------------------------------------------- */

/* Tables of a net whose weights are there. */
void mt_make_tables(mt_net *net);

/* See seq_arch. */
void mt_encode(const seq_net *net, const seq_encoder_columns *columns);
void mt_step(const seq_net *net, const seq_decoder_columns *columns);
rill_view mt_decoder_output(const seq_net *net, rill_graph graph, rill_column node, rill_column slot);
rill_status mt_prepare_positions(seq_runner *runner, const seq_net *net, size_t from, size_t to);

#endif
