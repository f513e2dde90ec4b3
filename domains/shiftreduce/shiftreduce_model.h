/* shiftreduce_model.h: a loaded parser, and a runner that decodes with it. Inner header of the shiftreduce domain.
 *
 * Source: Cross and Huang, Span-Based Constituency Parsing with a Structure-Label System and Provably Optimal Dynamic Oracles,
 * 2016 [ch].
 * Letters: E embedding width, G tag width, H hidden width per direction, D width of the networks' hidden layers, T tags, L labels,
 * n words of a sentence. Frames are <s>, the words, </s>: n + 2; positions lie between words: 0 .. n.
 *
 * Positions: p_i = [f_i; b_{i+1}], f after reading <s> and i words, b after reading </s> and the words from the last down to i + 1.
 * The span (i, j) is p_j - p_i with the half of b negated; the sign is taken into the weights when they are loaded.
 *
 * Products: the first layer of either network multiplies spans that lie side by side, so a position between two spans is
 * multiplied with the difference of their weights. With s1 = (a, b), s0 = (b, c):
 *   structure  (W0 - W1) p_a + (W1 - W2) p_b + (W2 - W3) p_c + (W3 p_n - W0 p_0 + bias)
 *   label                      (V0 - V1) p_b + (V1 - V2) p_c + (V2 p_n - V0 p_0 + bias)
 * encode() makes these five for every position of a sentence, with the last brackets, which are the sentence's own, in the products
 * of c. An action then adds up three rows, or two, whatever the sentence's length.
 *
 * States: the parser's stack is a list through nodes: a cell says where the two spans on top lie, and which node's cell has the
 * stack below the top one. That node is an ancestor, hence RILL_STATE_PATH; nothing is ever copied but the cell.
 *
 * Invariant: a parser does not change once it is loaded, and any number of runners share it. */
#ifndef RILL_SHIFTREDUCE_MODEL_H
#define RILL_SHIFTREDUCE_MODEL_H

#include "arena.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "tagged_sentence.h"
#include "try.h"
#include "vocabulary.h"

enum { PARSER_SHIFT = 0, PARSER_COMBINE = 1, PARSER_FIRST_LABEL = 2 }; /* actions: label i is PARSER_FIRST_LABEL + i */
enum { PARSER_PHASE_STRUCTURE = 0, PARSER_PHASE_LABEL = 1, PARSER_PHASES = 2 };
enum { PARSER_BOS = 0, PARSER_EOS = 1, PARSER_UNK = 2, PARSER_N_SPECIALS = 3 }; /* words.vocab */
enum { PARSER_FRAME_TOKENS = 2 };                                               /* <s> and </s> of a sentence */
enum { PARSER_NO_TAG = 0, PARSER_FIRST_TAG = 1 }; /* tags.vocab: of <s> and </s>; the first that words have */
enum { PARSER_NO_LABEL = 0 };                     /* labels.vocab */
enum { PARSER_MAX_SUFFIXES = 8, PARSER_MAX_FEATURES = 2 + PARSER_MAX_SUFFIXES };

/* Products of a position, D floats each; those from PRODUCT_C on include the sentence's term. */
enum { PRODUCT_A, PRODUCT_B, PRODUCT_LABEL_B, PRODUCT_C, PRODUCT_LABEL_C, N_PRODUCTS };

/* Input format. */
typedef enum parser_form { PARSER_FORM_AUTO, PARSER_FORM_TREE, PARSER_FORM_TAGGED, PARSER_FORM_TEXT } parser_form;

/* A bidirectional LSTM layer. */
typedef struct parser_layer {
    rill_matrix input;        /* 8H x K: the gates of both directions */
    rill_matrix recurrent[2]; /* 4H x H: forward, backward */
} parser_layer;

typedef struct parser_weights {
    rill_constant word_rows; /* [words, E] */
    rill_constant suffix_rows, shape_rows;
    parser_layer layer[2];
    rill_constant first_bias; /* [8H] */
    rill_constant tag_gates;  /* [tags, 8H] tag embedding times the second layer's weights, plus its bias */
    rill_matrix tagger;       /* T - PARSER_FIRST_TAG x 2H */
    rill_constant tagger_bias;
    rill_matrix position_products;      /* PRODUCT_C * D x 2H */
    rill_matrix last_position_products; /* (N_PRODUCTS - PRODUCT_C) * D x 2H */
    rill_matrix boundary;               /* 2D x 4H: for p_n, then p_0; structure, then label */
    rill_constant boundary_bias;        /* [2D] */
    rill_matrix structure_output;       /* 2 x D */
    rill_constant structure_output_bias;
    rill_matrix label_output;        /* L x D */
    rill_constant label_output_bias; /* [2, L] -infinity for illegal labels: before the last timestep, at the last */
} parser_weights;

/* Columns of the graphs, in order of declaration; from ENCODE_UNTAGGED on per word. */
enum {
    ENCODE_SLOT,
    ENCODE_FRAMES,
    ENCODE_POSITIONS,
    ENCODE_FIRST, /* position of p_0 ... */
    ENCODE_LAST,  /* ... and p_n */
    ENCODE_TAG,
    ENCODE_UNTAGGED, /* >= 0: the tag is to be predicted */
    ENCODE_FEATURES,
    ENCODE_COLUMNS = ENCODE_FEATURES + PARSER_MAX_FEATURES
};
enum { STRUCTURE_SLOT, STRUCTURE_UNDECIDED, STRUCTURE_A, STRUCTURE_B, STRUCTURE_C, STRUCTURE_COLUMNS };
enum { LABEL_SLOT, LABEL_IS_LAST, LABEL_B, LABEL_C, LABEL_COLUMNS };

typedef struct parser {
    rill_context *ctx;
    rill_device *device;
    rill_network *network;
    rill_arena arena; /* owns the weights that the network points to, and other data of fixed size */
    parser_weights weights;
    rill_table products; /* per slot [n + 1, N_PRODUCTS * D] */
    rill_graph encode, score[PARSER_PHASES];

    size_t embedding, tag_size, hidden, ffn_width;
    int32_t word_vocab_size, suffix_vocab_size, shape_vocab_size, n_tags, n_labels;
    int32_t max_input; /* words of a sentence */
    int32_t suffix_length;
    parser_form form;
    int tokenized;
    int penn_style; /* set of RILL_PENN_*: how the tokenizer treats hyphens and quotes */
    char description[200];
    rill_vocabulary *word_vocab, *suffix_vocab, *shape_vocab, *tag_vocab, *label_vocab;
    rill_slice root;          /* outermost label of every tree; points into the arena */
    rill_slice *nonterminals; /* non-terminals of all labels, outermost first, concatenated */
    int32_t *
        nonterminal_offsets; /* [labels + 1] label i has nonterminals[nonterminal_offsets[i] .. nonterminal_offsets[i + 1]) */
} parser;

/* Top of the parser stack at a node; c == 0: nothing has been shifted. */
typedef struct parser_cell {
    int32_t below_node; /* node whose cell describes the stack below the top span; RILL_NO_NODE if empty */
    int32_t a, b, c;    /* s1 = (a, b), if there is a below_node; s0 = (b, c); c words have been shifted */
} parser_cell;

/* Data of one thread's decoding. */
typedef struct parser_runner {
    rill_session *session; /* first member: see rill_runner_drop() */
    const parser *model;
    rill_context *ctx;

    parser_cell *cell; /* [nodes] */
    size_t cell_capacity;
    rill_sentence *sentence; /* [slots] */
    size_t sentence_capacity;
    size_t n_slots; /* initialised */

    int32_t *slot; /* slots of an encode() call, and their words and positions */
    int32_t *frames, *positions;
    size_t slot_capacity, frames_capacity, positions_capacity;
    int32_t *feature[PARSER_MAX_FEATURES]; /* rows of word, shape and suffixes of frames; -1: none */
    size_t feature_capacity[PARSER_MAX_FEATURES];
    int32_t *column; /* other columns of a call */
    size_t column_capacity;
    rill_text normalized_word; /* a word during lookup */
    rill_tree tree;            /* input tree while reading, output tree while building */
    int32_t *tree_scratch;     /* shiftreduce_output.c */
    size_t tree_scratch_capacity;
} parser_runner;

/* Number of features per word. */
static inline size_t parser_features(const parser *p)
{
    return 2 + (size_t)p->suffix_length;
}

/* --- shiftreduce_model.c ------------------------------------------------------------------------------------------------------ */

/* Read config.json, the vocabularies and model.safetensors into a zeroed *p whose ctx, device and empty network are
 * set, and finish the network. On failure the caller frees what was loaded.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status parser_load(parser *p, const char *directory);

/* --- shiftreduce_graphs.c --------------------------------------------------------------------------------------------------- */

/* Build the graphs and finish the network. */
rill_status parser_build_graphs(parser *p);

/* --- shiftreduce_input.c ------------------------------------------------------------------------------------------------------ */

/* The requested format; for AUTO the one the line looks like. */
parser_form parser_detect_form(const parser *model, parser_form asked, const char *text, size_t length);
/* The format for a model or an input: with tokenized, AUTO means text. */
extern const rill_option parser_input_options[]; /* the form is the first */
parser_form parser_default_form(parser_form form, int tokenized);

/* Read an input into its slot's sentence. A malformed input fails alone: then *words is 0.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status parser_read(parser_runner *r, rill_input *input, int32_t *words);

/* --- word_features.c ------------------------------------------------------------------------------------------------------ */

/* Features of a word, or of PARSER_BOS and PARSER_EOS.
 *   feature  [parser_features()] out
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status parser_word_features(parser_runner *r, rill_slice word, int32_t *feature);
void parser_boundary_features(const parser *p, int32_t word, int32_t *feature);

/* --- shiftreduce_encode.c, shiftreduce_step.c, shiftreduce_score.c, shiftreduce_output.c
 * -------------------------------------------------------------------------- */

/* Callbacks of the domain (rill/domain.h); self is the runner. */
rill_status parser_encode(void *self, int32_t m, rill_input *inputs);
rill_status parser_step(void *self, const rill_rows *rows);
rill_status parser_classify(void *self, const rill_rows *rows, int64_t *classes);
rill_status parser_score(void *self, const rill_rows *rows, const rill_score_request *req, rill_score_result *out);

/* Build the tree of a hypothesis. An unfinished hypothesis gives its partial trees and the remaining words under the
 * root. */
rill_status parser_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out);

#endif
