/* model.h: loaded transformers with their programs, and the runners that decode with them. Inner header of the mt domain.
 *
 * Sources: Vaswani et al., Attention is all you need, 2017; Marian (Junczys-Dowmunt et al. 2018) in the form that
 * transformers' modeling_marian.py gives it: norms behind each block, sinusoidal positions, scaled embeddings.
 * Letters: D width, F inner width of the feed-forward block, V target symbols, T pieces of an input.
 *
 * A model is what open makes, one transformer or an ensemble of them, and is const from then on: any number of runners, each
 * with a thread of its own, use it at once. What a run changes is the runner's: its stream with the tables, its columns and texts.
 *
 * States: a node is one target position. Its keys and values stand, per decoder layer, in row `node` of a table [nodes,
 * 2D]; what the last layer made of it in row `node` of `top`, for scoring. A row attends to the nodes between the root
 * and itself, where they lie: nothing is padded, copied or reordered, whatever the lengths of the rows of a call.
 * Slots hold the encoder's output as the decoder reads it, multiplied out per layer: [T, 2D] keys and values, shared by all
 * nodes of the item. */
#ifndef RILL_MT_MODEL_H
#define RILL_MT_MODEL_H

#include "blocks.h"
#include "codec.h"
#include "rill/carve.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "try.h"

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
    int32_t words; /* rows of the embedding */
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
    int32_t first;                   /* p of the first piece */
    const char *end_file, *pad_file; /* names of the files that said so */
    int32_t start, end,
        pad;            /* of target symbols: what the decoder starts from, what ends an output, what is never one */
    int32_t source_end; /* of source symbols: what ends an input */
    int renormalized;   /* pieces that may not be chosen are outside the softmax */
} mt_settings;

/* --- the model ---------------------------------------------------------------------------------------------------- */

typedef struct mt_shortlist mt_shortlist;
typedef struct mt_model mt_model;

/* One transformer, of an ensemble or alone. */
typedef struct mt_net {
    rill_context *ctx; /* open's */
    mt_model *model;
    mt_settings settings;
    size_t width;        /* D */
    int32_t usual;       /* positions by the configuration */
    int32_t positions;   /* most pieces of an input: the same, but more where they are computed for any number */
    int32_t most_length; /* most actions of an output, whatever is asked for */
    int32_t max_length;
    mt_side encoder, decoder;
    rill_matrix output;        /* V x D, RILL_NONE with a shortlist; its bias is added in selection */
    rill_constant output_bias; /* [V] */
    rill_list list;            /* with a shortlist: each input's part of the output layer */
    rill_table places;         /* [positions, D] computed ones, filled by runners as they are asked for */
    rill_table top;            /* [nodes, D] what the last layer made of them */
    uint64_t *legal;           /* [words / 64 rounded up] bits: target symbols that may be chosen */
    int32_t pieces;            /* target symbols that have one: those below */
    rill_codec *text;          /* of all but the first only while it is loaded */
    char description[240];
} mt_net;

/* What runs: columns are in the order in which mt_build() declares them. */
typedef struct mt_programs {
    rill_program encode, step, score, watch;
} mt_programs;

struct mt_model {
    rill_context *ctx;  /* open's and close's */
    rill_blocks blocks; /* everything of fixed size below, and what the plan borrows */
    rill_device *device;
    rill_plan *plan;
    mt_programs programs;
    rill_weight_type weights; /* how linear layers and the output layer are kept; all else is fp32 */
    mt_net *net;              /* [nets] */
    size_t nets;
    mt_shortlist *shortlist;                           /* NULL: all symbols may be chosen */
    const uint64_t *legal;                             /* the first net's */
    int32_t usual, positions, most_length, max_length; /* the least of the nets' */
    char description[240];
    char recommended[160]; /* settings for decoding as transformers does */
};

/* --- a runner ----------------------------------------------------------------------------------------------------- */

/* An input on its way into a slot: its pieces are ids[offset .. offset + length - 1]. */
typedef struct mt_reading {
    rill_input *input;
    int32_t length; /* pieces, the end counted; 0: the input is empty */
    size_t offset;
} mt_reading;

/* The symbols that outputs of an input are made of. Zero-initialise. */
typedef struct mt_list {
    int32_t n;
    int32_t *symbol; /* [n] ascending */
    uint64_t *mark;
    size_t symbol_room, mark_room;
} mt_list;

typedef struct mt_runner {
    rill_stream *stream; /* the first: see rill_runner_drop() */
    const mt_model *model;
    rill_context *ctx;
    rill_codec *text; /* shares what the model's has read */
    int32_t *root;    /* [slots] the item's first node */
    size_t root_room;
    size_t places;       /* computed positions made so far, in all nets */
    mt_reading *reading; /* the inputs of an encode() call */
    size_t reading_room;
    int32_t *ids;
    size_t ids_room;
    mt_list list;  /* with a shortlist: of the input at work */
    char *scratch; /* columns of one call, see carve.h */
    size_t scratch_room;
    char *aligned; /* arrays of one alignment, see carve.h */
    size_t aligned_room;
} mt_runner;

/* Room for c->used bytes of scratch; then *c is at the start of the buffer. */
static inline rill_status mt_carve_again(mt_runner *r, rill_carver *c)
{
    return rill_carve_again(r->ctx, &r->scratch, &r->scratch_room, c);
}

/* --- config.c ----------------------------------------------------------------------------------------------------- */

/* Read config.json and generation_config.json of the directory into net: settings, sizes, description.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key) · RILL_ERR_MEMORY */
rill_status mt_load_config(mt_net *net, const char *directory);

/* --- recommend.c -------------------------------------------------------------------------------------------------- */

/* Fill m->recommended from the directory's generation configuration; the first net's symbols and lengths are known. A warning names
 * what changes outputs there and is not done.
 *   as mt_load_config() */
rill_status mt_load_recommended(mt_model *m, const char *directory);

/* See rill_domain.advise. */
rill_status mt_advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out);

/* --- weights.c ---------------------------------------------------------------------------------------------------- */

/* Read model.safetensors into the plan; net's sizes are known. On failure the caller clears what is there.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and tensor) · RILL_ERR_MEMORY */
rill_status mt_load_weights(mt_net *net, const char *directory);

/* --- ensemble.c --------------------------------------------------------------------------------------------------- */

/* Whether `other`, loaded from `directory`, can decode together with `first`, that of `home`: what it makes and reads is the same.
 *   RILL_OK · RILL_ERR_FORMAT (names the file and the first entry that differs) */
rill_status mt_match(const mt_net *first, const char *home, const mt_net *other, const char *directory);

/* Fill in what all nets can do, the lengths, and what they are. */
void mt_agree(mt_model *m);

/* --- program.c ---------------------------------------------------------------------------------------------------- */

/* Tables and programs of all nets; failures are the plan's. */
void mt_build(mt_model *m);

/* --- encode.c ----------------------------------------------------------------------------------------------------- */

rill_status mt_encode(void *self, int32_t n, rill_input *inputs);

/* Make the computed positions below `count`. RILL_OK · RILL_ERR_MEMORY */
rill_status mt_fill_places(mt_runner *r, size_t count);

/* --- step.c ------------------------------------------------------------------------------------------------------- */

rill_status mt_step(void *self, const rill_rows *rows);
rill_status mt_score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out);

/* States that are there, looked at once more: how much the action that led to each, of the first net's symbols, attends to each
 * piece of its input in the last layer. Arrays of [n]; share [n, ld], ld at least the most pieces. */
typedef struct mt_watched {
    int32_t n;
    const int32_t *node, *slot, *depth, *action;
    float *share;
    size_t ld;
} mt_watched;

rill_status mt_watch(mt_runner *r, const mt_watched *watched);

/* --- align.c ------------------------------------------------------------------------------------------------------ */

/* The field "alignment" of an output, see rill_domain.field. */
rill_status mt_field(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out);

/* --- shortlist.c -------------------------------------------------------------------------------------------------- */

/* Read what `option`, "FILE[,FIRST[,BEST]]", names, for the vocabularies of m's first net.
 *   *out: to be closed by the caller, after a failure too
 *   RILL_OK · RILL_ERR_OPTION (no file is named) · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and
 *   line) · RILL_ERR_MEMORY */
rill_status mt_shortlist_open(mt_shortlist **out, const mt_model *m, const char *option);
void mt_shortlist_close(mt_shortlist *shortlist); /* NULL is allowed */

/* Make the list of an input of `length` > 0 pieces. RILL_OK · RILL_ERR_MEMORY */
rill_status mt_list_make(const mt_shortlist *shortlist, rill_context *ctx, const int32_t *ids, int32_t length,
                         mt_list *list);
void mt_list_clear(mt_list *list, rill_context *ctx);

/* The most symbols that the list of an input of so many pieces has; grows evenly with these. */
size_t mt_list_most(const mt_shortlist *shortlist, size_t pieces);

#endif
