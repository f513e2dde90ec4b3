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
    rill_matrix weight; /* N x K */
    rill_constant bias; /* [N], or none */
} rnn_linear;

typedef struct rnn_net {
    seq_net seq;         /* the first: what any architecture has */
    int conditional_gru; /* a GRU before attention and one behind it; else one GRU, whose input has the context */
    int32_t unk;         /* the target's symbol, by the configuration */
    size_t embedding_width, encoder_width, decoder_width, attention_width; /* E, H, D, A */

    rill_constant source_embedding,
        target_embedding;       /* [words, E]; [V + 1, E], of which the last row, zeros, is what outputs start from */
    rnn_linear input_gates;     /* 6H x E: gates forward, backward */
    rill_matrix recurrent[2];   /* 3H x H of either direction */
    rnn_linear init_projection; /* D x 2H: the first state, of the mean annotation */
    rnn_linear key_projection;  /* A x 2H */
    rnn_linear word_gates;      /* 3D + E x E: gates, and the word's part of the readout */
    rnn_linear first_gru;       /* conditional: 3D x D, recurrent gates of the first GRU */
    rnn_linear second_gru;      /* 3D + A x D: recurrent gates behind attention, and its query */
    rill_constant attention_vector; /* [A] of attention's score */
    rnn_linear context_gates;       /* 3D x 2H: gates */
    rnn_linear readout;             /* E x 2H + D: of context and state */

    rill_table annotations, memory_keys, initial_state; /* of slots */
    rill_table state, hidden_table, query;              /* of nodes */
} rnn_net;

static inline const rnn_net *rnn_from_seq(const seq_net *net)
{
    return (const rnn_net *)net;
}

/* See seq_arch.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and key, or tensor) · RILL_ERR_MEMORY */
rill_status rnn_configure(seq_net *net, const char *directory, rill_tokenizer_files *text);
rill_status rnn_load(seq_net *net, const char *directory);
void rnn_encode(const seq_net *net, const seq_encoder_columns *columns);
void rnn_step(const seq_net *net, const seq_decoder_columns *columns);
rill_view rnn_decoder_output(const seq_net *net, rill_graph graph, rill_column node, rill_column slot);

#endif
