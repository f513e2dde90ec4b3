/* rnn.h: recurrent translation models as nets of ../seq2seq. Inner header of the mt domain.
 *
 * Source: Bahdanau et al., Neural machine translation by jointly learning to align and translate, 2015; tensors, gates and readout are
 * Nematus' (Sennrich et al. 2017), which Amun decodes. docs/mt.md has the formulas.
 * Letters: E width of embeddings, H of the encoder in each direction, D of the decoder, A of attention; V target symbols, T pieces of
 * an input. Gates of a GRU stand in the order reset, update, candidate: 3D.
 *
 * States: a node is one target position. Row `node` of `state` [nodes, D] is the decoder's, of `top` [nodes, E] what the output layer
 * multiplies, of `query` [nodes, A] what it attended to its input with. A node reads its parent's state and no other; that they stay
 * along the path is for alignments and for ensembles with transformers.
 * Slots hold the annotations [T, 2H], attention's keys [T, A], and the first state [D]. */
#ifndef RILL_MT_RNN_H
#define RILL_MT_RNN_H

#include "seq2seq.h"

typedef struct rnn_linear {
    rill_matrix matrix; /* N x K */
    rill_constant bias; /* [N], or none */
} rnn_linear;

typedef struct rnn_net {
    seq_net seq;     /* the first: what any architecture has */
    int conditional; /* a GRU before attention and one behind it; else one GRU, whose input has the context */
    int32_t unknown; /* the target's symbol, by the configuration */
    size_t embedding, encoder, decoder, attention; /* E, H, D, A */

    rill_constant source, target; /* [words, E]; [V + 1, E], of which the last row, zeros, is what outputs start from */
    rnn_linear reads;             /* 6H x E: gates forward, backward */
    rill_matrix recurrent[2];     /* 3H x H of either direction */
    rnn_linear begin;             /* D x 2H: the first state, of the mean annotation */
    rnn_linear keys;              /* A x 2H */
    rnn_linear word;              /* 3D + E x E: gates, and the word's part of the readout */
    rnn_linear first;             /* conditional: 3D x D, recurrent gates of the first GRU */
    rnn_linear hidden;            /* 3D + A x D: recurrent gates behind attention, and its query */
    rill_constant additive;       /* [A] of attention's score */
    rnn_linear context;           /* 3D x 2H: gates */
    rnn_linear readout;           /* E x 2H + D: of context and state */

    rill_table annotations, memory_keys, initial; /* of slots */
    rill_table state, top, query;                 /* of nodes */
} rnn_net;

static inline const rnn_net *rnn_net_of(const seq_net *net)
{
    return (const rnn_net *)net;
}

/* See seq_kind.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key, or tensor) · RILL_ERR_MEMORY */
rill_status rnn_configure(seq_net *net, const char *directory, rill_codec_files *text);
rill_status rnn_load(seq_net *net, const char *directory);
void rnn_encode(const seq_net *net, const seq_reader *reader);
void rnn_step(const seq_net *net, const seq_writer *writer);
rill_view rnn_state(const seq_net *net, rill_program program, rill_column node, rill_column slot);

#endif
