/* rnn.h: recurrent translation models as nets of ../seq2seq. Private header of the mt domain.
 *
 * Source: Bahdanau et al., Neural machine translation by jointly learning to align and translate, 2015; tensors, gates
 * and readout follow Nematus (Sennrich et al. 2017), as Amun decodes them. docs/mt.md has the formulas.
 * Letters: E embedding width, H encoder width per direction, D decoder width, A attention width; V target symbols, T
 * input tokens. GRU gates are in the order reset, update, candidate: 3D.
 *
 * States: a node is one target position. Row `node` of `state` [nodes, D] is the decoder state, of `hidden_table`
 * [nodes, E] the input of the output layer, of `query` [nodes, A] the attention query. A node reads only its parent's
 * state; rows stay along the path for alignments and for ensembles with transformers.
 * Slots hold the annotations [T, 2H], the attention keys [T, A], and the initial state [D]. */
#ifndef RILL_MT_RNN_H
#define RILL_MT_RNN_H

#include "seq2seq.h"

typedef struct rnn_linear {
    rill_matrix weight; /* N x K */
    rill_constant bias; /* [N], or none */
} rnn_linear;

typedef struct rnn_net {
    seq_net seq;         /* first member: the base of every architecture */
    int conditional_gru; /* one GRU before attention and one after; else a single GRU with the context as input */
    int32_t unk;         /* target symbol of <unk>, from the configuration */
    size_t embedding_width, encoder_width, decoder_width, attention_width; /* E, H, D, A */

    rill_constant source_embedding,
        target_embedding;       /* [words, E]; [V + 1, E], whose last row, zeros, is the initial input of the decoder */
    rnn_linear input_gates;     /* 6H x E: gates forward, backward */
    rill_matrix recurrent[2];   /* 3H x H, forward and backward */
    rnn_linear init_projection; /* D x 2H: initial state, from the mean annotation */
    rnn_linear key_projection;  /* A x 2H */
    rnn_linear word_gates;      /* 3D + E x E: gates, and the embedding's part of the readout */
    rnn_linear first_gru;       /* conditional: 3D x D, recurrent gates of the first GRU */
    rnn_linear second_gru;      /* 3D + A x D: recurrent gates after attention, and its query */
    rill_constant attention_vector; /* [A], Bahdanau's v */
    rnn_linear context_gates;       /* 3D x 2H: gates */
    rnn_linear readout;             /* E x 2H + D: readout from context and state */

    rill_table annotations, memory_keys, initial_state; /* per slot */
    rill_table state, hidden_table, query;              /* per node */
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
