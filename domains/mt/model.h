/* model.h: transformers as nets of ../seq2seq. Inner header of the mt domain.
 *
 * Sources: Vaswani et al., Attention is all you need, 2017; Marian (Junczys-Dowmunt et al. 2018) in the form that
 * transformers' modeling_marian.py gives it: norms behind each block, sinusoidal positions, scaled embeddings.
 * Letters: D width, F inner width of the feed-forward block, V target symbols, T pieces of an input.
 *
 * States: a node is one target position. Its keys and values stand, per decoder layer, in row `node` of a table [nodes,
 * 2D]; what the last layer made of it in row `node` of `top`, for scoring. A row attends to the nodes between the root
 * and itself, where they lie: nothing is padded, copied or reordered, whatever the lengths of the rows of a call.
 * Slots hold the encoder's output as the decoder reads it, multiplied out per layer: [T, 2D] keys and values, shared by all
 * nodes of the item. */
#ifndef RILL_MT_MODEL_H
#define RILL_MT_MODEL_H

#include "config.h"
#include "seq2seq.h"

/* --- weights ------------------------------------------------------------------------------------------------------ */

typedef struct mt_linear {
    rill_matrix matrix; /* N x K */
    rill_constant bias; /* [N] */
} mt_linear;

typedef struct mt_norm {
    rill_constant gain, bias; /* [D] */
} mt_norm;

typedef struct mt_attention {
    mt_linear query;  /* D x D */
    mt_linear memory; /* 2D x D: keys, then values */
    mt_linear out;    /* D x D */
    mt_norm norm;
} mt_attention;

typedef struct mt_feed {
    mt_linear inner; /* F x D */
    mt_linear outer; /* D x F */
    mt_norm norm;
} mt_feed;

typedef struct mt_layer {
    mt_attention self, cross; /* cross, and the tables: in the decoder only */
    mt_feed feed;
    rill_table nodes; /* [nodes, 2D] keys and values of the nodes */
    rill_table slots; /* per slot [T, 2D] those of the input's pieces */
} mt_layer;

typedef struct mt_side {
    size_t layers, heads, inner;
    mt_layer *layer;         /* [layers] */
    const float *rows;       /* [words, D] the embedding while it is loaded */
    rill_constant embedding; /* [words, D]; RILL_NONE: the rows of the output layer */
    rill_constant
        position; /* [positions, D]: row t is for the piece with t others before it; RILL_NONE: computed ones */
} mt_side;

/* --- settings ----------------------------------------------------------------------------------------------------- */

typedef enum mt_kind { MT_MARIAN, MT_FSMT } mt_kind;

/* The angle of dimension j < D/2 at position p is p / 10000^(j / d). */
typedef enum mt_position_form {
    MT_POSITIONS_HF,     /* d = D/2: Marian in transformers */
    MT_POSITIONS_MARIAN, /* d = D/2 - 1: marian-decoder */
    MT_POSITIONS_FSMT,   /* d = D/2 - 1, the first piece is at p = pad + 1, an odd column is 0: fairseq */
} mt_position_form;

/* What the configuration files say, beyond the sizes in mt_side. */
typedef struct mt_settings {
    mt_kind kind;
    int shared;                 /* one embedding for both sides */
    int tied;                   /* the output layer is the decoder's embedding */
    float scale;                /* of embeddings */
    rill_activation activation; /* of the feed-forward block */
    mt_position_form form;
    int32_t first;        /* p of the first piece */
    const char *pad_file; /* name of the file that said what padding is */
    int renormalized;     /* pieces that may not be chosen are outside the softmax */
} mt_settings;

/* --- the net ------------------------------------------------------------------------------------------------------ */

typedef struct mt_net {
    seq_net seq; /* the first: what any architecture has */
    mt_settings settings;
    size_t width; /* D */
    mt_side encoder, decoder;
    rill_table places; /* [positions, D] computed ones, filled by runners as they are asked for */
    rill_table top;    /* [nodes, D] what the last layer made of them */
} mt_net;

static inline const mt_net *mt_net_of(const seq_net *net)
{
    return (const mt_net *)net;
}

/* --- config.c ----------------------------------------------------------------------------------------------------- */

/* Read config.json and generation_config.json of the directory: see seq_kind.configure.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_configure(seq_net *net, const char *directory, rill_codec_files *text);

/* --- bans.c ------------------------------------------------------------------------------------------------------- */

/* Read what a file that has the last word so far forbids: the net's `legal`, which is there, and `forbidden`.
 *   RILL_OK · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_read_bans(mt_net *net, const rill_config *config);

/* --- recommend.c -------------------------------------------------------------------------------------------------- */

/* What the directory's generation configuration says: see seq_kind.recommend. A warning names what changes outputs there and is not
 * done.
 *   as mt_configure() */
rill_status mt_recommend(const seq_net *net, const char *directory, rill_text *out);

/* See rill_domain.advise. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

/* --- weights.c ---------------------------------------------------------------------------------------------------- */

/* Read model.safetensors: see seq_kind.load. On failure the caller clears what is there.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_load(seq_net *net, const char *directory);

/* --- program.c, positions.c --------------------------------------------------------------------------------------- */

/* Tables of a net whose weights are there. */
void mt_make_tables(mt_net *net);

/* See seq_kind. */
void mt_encode(const seq_net *net, const seq_reader *reader);
void mt_step(const seq_net *net, const seq_writer *writer);
rill_view mt_state(const seq_net *net, rill_program program, rill_column node, rill_column slot);
rill_status mt_reach(seq_runner *runner, const seq_net *net, size_t from, size_t to);

#endif
