/* model.h: a loaded transformer, and the tables its states live in. Inner header of the mt domain.
 *
 * Sources: Vaswani et al., Attention is all you need, 2017; Marian (Junczys-Dowmunt et al. 2018) in the form that
 * transformers' modeling_marian.py gives it: norms behind each block, sinusoidal positions, scaled embeddings.
 * Letters: D width, F inner width of the feed-forward block, V target symbols, T pieces of an input, R rows of a call.
 *
 * States: a node is one target position. Its keys and values stand, per decoder layer, in row `node` of a table [nodes,
 * 2D]; what the last layer made of it in row `node` of `top`, for scoring. A row attends to the nodes between the root
 * and itself, found through `above`, where they lie: nothing is padded, copied or reordered, whatever the lengths of
 * the rows of a call.
 * Slots hold the encoder's output as the decoder reads it, multiplied out per layer: [layers, T, 2D] keys and values,
 * shared by all nodes of the item. */
#ifndef RILL_MT_MODEL_H
#define RILL_MT_MODEL_H

#include "blocks.h"
#include "kernels.h"
#include "rill/carve.h"
#include "rill/domain.h"
#include "text.h"
#include "threads.h"
#include "try.h"

/* --- weights ------------------------------------------------------------------------------------------------------ */

typedef struct mt_linear {
    rill_weights w;       /* N x K */
    const float *bias;    /* [N] */
    void *const *scratch; /* the model's product_scratch */
} mt_linear;

typedef struct mt_norm {
    const float *gain, *bias; /* [D] */
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
    mt_attention self, cross; /* cross: in the decoder only */
    mt_feed feed;
} mt_layer;

typedef struct mt_side {
    int32_t words; /* rows of the embedding */
    size_t layers, heads, inner;
    mt_layer *layer;            /* [layers] */
    const float *embedding;     /* [words, D]; NULL: the rows of `packed` */
    const rill_weights *packed; /* the output layer where it holds the embedding as it is, or NULL */
    const float *position; /* [positions, D]: row t is for the piece with t others before it; NULL: computed ones */
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
    int shared;               /* one embedding for both sides */
    int tied;                 /* the output layer is the decoder's embedding */
    float scale;              /* of embeddings */
    rill_epilogue activation; /* of the feed-forward block */
    mt_position_form form;
    int32_t first;                   /* p of the first piece */
    const char *end_file, *pad_file; /* names of the files that said so */
    int32_t start, end,
        pad;            /* of target symbols: what the decoder starts from, what ends an output, what is never one */
    int32_t source_end; /* of source symbols: what ends an input */
    int renormalized;   /* the padding symbol is outside the softmax */
} mt_settings;

typedef struct mt_shortlist mt_shortlist;

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* Positions that are computed, see embed.c. */
typedef struct mt_places {
    float *rows;  /* [room, D] */
    size_t count; /* made so far */
    size_t room;
} mt_places;

/* Keys and values of the nodes, of one layer. */
typedef struct mt_node_table {
    float *rows; /* [room, 2D] */
    size_t room;
} mt_node_table;

/* The symbols that outputs of an input are made of, ascending, and the output layer for them alone. */
typedef struct mt_list {
    size_t n;
    int32_t *id;    /* [n] */
    float *bias;    /* [n] */
    rill_weights w; /* n x D */
    char *memory;   /* of all of them */
    size_t room;
} mt_list;

typedef struct mt_slot {
    float *rows;     /* [layers, length, 2D] */
    size_t capacity; /* floats there is room for */
    int32_t length;  /* pieces, the end counted; 0: the input was empty */
    int32_t root;    /* the item's first node */
    mt_list list;    /* with a shortlist */
} mt_slot;

/* An input on its way into a slot: its pieces are ids[offset .. offset + length - 1]. */
typedef struct mt_reading {
    rill_input *input;
    int32_t slot, length;
    size_t offset;
} mt_reading;

typedef struct mt_model {
    struct mt_model *next; /* the next one of an ensemble, see ensemble.c; NULL for the last */
    int32_t models;        /* of the ensemble, of the first one on */
    rill_context *ctx;
    rill_kernels kernels;
    rill_threads threads;
    rill_blocks blocks; /* everything of fixed size below */
    mt_settings settings;
    rill_dtype weights;    /* how linear layers and the output layer are kept; all else is fp32 */
    void *product_scratch; /* what a product with any of them needs, one at a time; NULL for nothing */
    size_t width;          /* D */
    int32_t positions;     /* most pieces of an input and actions of an output */
    mt_places places;
    int32_t max_length;
    char description[240];
    char recommended[160]; /* settings for decoding as transformers does */
    mt_side encoder, decoder;
    mt_linear output;         /* V x D, not packed with a shortlist; its bias is added in selection */
    const float *output_rows; /* [V, D] the same before packing; with a shortlist only */
    mt_shortlist *shortlist;  /* NULL: all symbols may be chosen; belongs to the first of an ensemble */
    const uint64_t *legal;    /* [V / 64 rounded up] bits: symbols that may be chosen */
    mt_text *text;

    mt_node_table *memory; /* [decoder.layers] */
    float *top;            /* [nodes, D] */
    int32_t *above;        /* [nodes] the node before, RILL_NO_NODE for a first one */
    int32_t *depth;        /* [nodes] how many are before */
    size_t top_room, above_room, depth_room;

    mt_slot *slot;             /* [slots] */
    const float **slot_keys;   /* [slots] of the layer at work */
    const float **slot_values; /* [slots] */
    int32_t *slot_length;      /* [slots] */
    size_t slot_room, slot_keys_room, slot_values_room, slot_length_room;
    size_t slots; /* initialised so far */

    mt_reading *reading; /* the inputs of an encode() call */
    size_t reading_room;
    int32_t *ids;
    size_t ids_room;
    char *scratch; /* arrays of one call, see carve.h */
    size_t scratch_room;
    char *aligned; /* arrays of one alignment, see carve.h */
    size_t aligned_room;
} mt_model;

/* --- config.c ----------------------------------------------------------------------------------------------------- */

/* Read config.json and generation_config.json of the directory into m: settings, sizes, description.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_load_config(mt_model *m, const char *directory);

/* --- recommend.c -------------------------------------------------------------------------------------------------- */

/* Fill m->recommended from the directory's generation configuration; m's symbols and lengths are known.
 *   as mt_load_config() */
rill_status mt_load_recommended(mt_model *m, const char *directory);

/* --- weights.c ---------------------------------------------------------------------------------------------------- */

/* Read model.safetensors into m, whose sizes and m->weights are known. On failure the caller clears what is there.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_load_weights(mt_model *m, const char *directory);

/* --- embed.c ------------------------------------------------------------------------------------------------------ */

/* What goes through the layers of a side, a row each. */
typedef struct mt_symbols {
    size_t rows, most;       /* positions are below `most` */
    const int32_t *id;       /* [rows] */
    const int32_t *position; /* [rows] */
} mt_symbols;

/* x = scale * embedding + position; x [rows, D].
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status mt_embed(mt_model *m, const mt_side *side, const mt_symbols *symbols, float *x);

/* --- layers.c ----------------------------------------------------------------------------------------------------- */

/* c = w a + bias; a [rows, K], c [rows, N], both without gaps. Members may be set before it is run. */
rill_gemm mt_product(const mt_linear *linear, size_t rows, const float *a, float *c);

/* x = norm(x + linear a), in place; x [rows, D]. */
void mt_add_norm(const mt_model *m, const mt_linear *linear, const mt_norm *norm, size_t rows, const float *a,
                 float *x);

/* x = norm(x + outer activation(inner x)); x [rows, D], scratch [rows, F]. */
void mt_feed_forward(const mt_model *m, const mt_feed *feed, size_t rows, float *x, float *scratch);

/* --- encode.c, step.c, score.c ------------------------------------------------------------------------------------ */

rill_status mt_encode(mt_model *m, int32_t n, rill_input *inputs);
rill_status mt_step(mt_model *m, const rill_rows *rows);
rill_status mt_score(mt_model *m, const rill_rows *rows, const rill_ask *ask, rill_choices *out);

/* The one choice of an empty input. */
void mt_answer_empty(const mt_model *m, const rill_ask *ask, size_t row, rill_choices *out);

/* Gets, of rows [from, from + rows) of a call, how much each head of the last layer attends to each piece of the input:
 * weights [rows, heads, ld], of which the first entries are for pieces. */
typedef struct mt_watcher {
    void (*see)(void *user, size_t from, size_t rows, const float *weights, size_t ld);
    void *user;
} mt_watcher;

/* Go through the layers again for states that are there, which stay as they are; of rows, node, action and slot are read. */
rill_status mt_watch(mt_model *m, const rill_rows *rows, const mt_watcher *watcher);

/* --- align.c ------------------------------------------------------------------------------------------------------ */

/* The field "alignment" of an output, see rill_domain.field. */
rill_status mt_field(mt_model *m, const char *name, const rill_hypothesis *hypothesis, rill_text *out);

/* --- shortlist.c -------------------------------------------------------------------------------------------------- */

/* Read what `option`, "FILE[,FIRST[,BEST]]", names, for the vocabularies of m.
 *   *out: to be closed by the caller, after a failure too
 *   RILL_OK · RILL_ERR_OPTION (no file is named) · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and
 *   line) · RILL_ERR_MEMORY */
rill_status mt_shortlist_open(mt_shortlist **out, const mt_model *m, const char *option);
void mt_shortlist_close(mt_shortlist *shortlist); /* NULL is allowed */

/* Make the list of an input of `length` pieces, which with 0 is empty. */
rill_status mt_list_make(mt_model *m, const int32_t *ids, int32_t length, mt_list *list);
void mt_list_free(const mt_model *m, mt_list *list);

/* The most bytes that the list of an input of so many pieces takes in m; grows evenly with these. */
size_t mt_list_most(const mt_model *m, size_t pieces);

/* The place of an action in the list, -1 if it is not there. */
int32_t mt_list_find(const mt_list *list, int32_t action);

/* --- ensemble.c, mix.c -------------------------------------------------------------------------------------------- */

/* Whether `other`, loaded from `directory`, can decode together with `first`, that of `home`: what it makes and reads is the same.
 *   RILL_OK · RILL_ERR_FORMAT (names the file and the first entry that differs) */
rill_status mt_match(const mt_model *first, const char *home, const mt_model *other, const char *directory);

/* Take over what all models of an ensemble can do: the lengths. */
void mt_agree(mt_model *first);

/* mt_score() for an ensemble, and with a shortlist. */
rill_status mt_mix_score(mt_model *m, const rill_rows *rows, const rill_ask *ask, rill_choices *out);

/* Room for c->used bytes of scratch; then *c is at the start of the buffer. */
static inline rill_status mt_carve_again(mt_model *m, rill_carver *c)
{
    return rill_carve_again(m->ctx, &m->scratch, &m->scratch_room, c);
}

#endif
