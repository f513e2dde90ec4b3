/* Constituency parsing: the domain "shiftreduce".
 *
 * Model: span-based shift-reduce parsing of Cross and Huang (2016). Two BiLSTM layers read the sentence. A span is the difference of their
 * outputs at its ends. Two feed-forward networks take turns: one chooses shift or combine, the other labels the top span of the stack.
 * A model directory holds
 *   config.json         sizes and settings (docs/parsing.md)
 *   model.safetensors   weights, F32, F16 or BF16; computed in fp32
 *   words.vocab, suffixes.vocab, shapes.vocab, tags.vocab, labels.vocab
 *
 * Input: one sentence per line (option input-format): a tree (only words and tags are read), word_TAG tokens, or text. Malformed or too
 * long lines fail alone.
 * Output: one tree in brackets.
 * Actions: 0 shift, 1 combine, then labels. Phases: 0 structure, 1 label; max_candidates applies to labels alone.
 * State: the parser's stack, linked through ancestors (RILL_STATE_PATH). */
#pragma once

#include "domain_base.h"
#include "penn_tokenizer.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "vocabulary.h"

extern const rill_domain rill_shiftreduce_domain;

/* --- a loaded parser and a runner --------------------------------------------------------------------------------- */

/* Source: Cross and Huang, Span-Based Constituency Parsing with a Structure-Label System and Provably Optimal Dynamic Oracles, 2016.
 * Dimensions: E embedding width, G tag width, H hidden width per direction, D width of the feed-forward layers, T tags, L labels, n words.
 * Frames are the n + 2 input tokens: <s>, the words, </s>. Positions 0 .. n are the boundaries of words.
 *
 * Positions: p_i = [f_i; b_{i+1}]: f_i is the forward output after i words, b_{i+1} the backward output after the words n .. i + 1. The
 * span (i, j) is p_j - p_i with the half of b negated; loading folds the negation into the weights.
 *
 * Products: the structure network reads the spans (0, a), s1 = (a, b), s0 = (b, c), (c, n), with weights W0 .. W3; the label network (0,
 * b), s0, (c, n), with V0 .. V2. Adjacent spans share a position:
 *   structure  (W0 - W1) p_a + (W1 - W2) p_b + (W2 - W3) p_c + (W3 p_n - W0 p_0 + bias)
 *   label                      (V0 - V1) p_b + (V1 - V2) p_c + (V2 p_n - V0 p_0 + bias)
 * encode() computes these five products for every position. The products of p_c include the term in the last brackets, the same for the
 * whole sentence. Scoring only adds three rows for structure, two for labels.
 *
 * States: the stack is a linked list. A state's cell has the positions of the two top spans, and the ancestor whose cell describes the
 * rest.
 *
 * Invariant: a loaded parser is const, and any number of runners share it. */

enum { PARSER_SHIFT = 0, PARSER_COMBINE = 1, PARSER_FIRST_LABEL = 2 }; /* actions; label i: PARSER_FIRST_LABEL + i */
enum { PARSER_PHASE_STRUCTURE = 0, PARSER_PHASE_LABEL = 1, PARSER_PHASES = 2 };
/* ids in words.vocab of <s>, </s> and unknown words; number of these ids */
enum { PARSER_BOS = 0, PARSER_EOS = 1, PARSER_UNK = 2, PARSER_N_SPECIALS = 3 };
/* the frames <s> and </s> around each sentence */
enum { PARSER_FRAME_TOKENS = 2 };
/* ids in tags.vocab: the tag of <s> and </s>; the first tag of words */
enum { PARSER_NO_TAG = 0, PARSER_FIRST_TAG = 1 };
enum { PARSER_NO_LABEL = 0 }; /* id in labels.vocab of "no label": a span that gets no bracket */
enum { PARSER_MAX_SUFFIXES = 8, PARSER_MAX_FEATURES = 2 + PARSER_MAX_SUFFIXES };

/* Products of a position with the weights, D floats each. From PRODUCT_C on they include a term that is the same for the whole sentence. */
enum { PRODUCT_A, PRODUCT_B, PRODUCT_LABEL_B, PRODUCT_C, PRODUCT_LABEL_C, N_PRODUCTS };

/* How inputs are read: detected from the line, as a tree, as word_TAG tokens, or as plain text. */
typedef enum parser_form { PARSER_FORM_AUTO, PARSER_FORM_TREE, PARSER_FORM_TAGGED, PARSER_FORM_TEXT } parser_form;

/* A bidirectional LSTM layer. H: hidden width per direction. */
typedef struct parser_layer {
    rill_matrix input;        /* 8H x input width: weights of the gates of both directions */
    rill_matrix recurrent[2]; /* 4H x H: recurrent weights of the forward and of the backward direction */
} parser_layer;

/* E: embedding width; H: hidden width per direction; D: width of the feed-forward networks; T: tags; L: labels. */
typedef struct parser_weights {
    rill_constant word_rows; /* [words, E] word embeddings */
    rill_constant suffix_rows, shape_rows;
    parser_layer layer[2];
    rill_constant first_bias; /* [8H] bias of the first layer's gates */
    /* [tags, 8H] for each tag, its embedding times the second layer's weights, plus that layer's bias */
    rill_constant tag_gates;
    rill_matrix tagger; /* (T - PARSER_FIRST_TAG) x 2H: weights that predict the tag of an untagged word */
    rill_constant tagger_bias;
    rill_matrix position_products; /* PRODUCT_C * D x 2H: weights of the products before PRODUCT_C */
    /* (N_PRODUCTS - PRODUCT_C) * D x 2H: weights of the products from PRODUCT_C on */
    rill_matrix last_position_products;
    /* [2D, 4H] weights of the term that is the same for the whole sentence; rows: structure, labels; columns: p_n, p_0 */
    rill_matrix boundary;
    rill_constant
        boundary_bias; /* [2D] bias of the hidden layer's input from the sentence, which is computed once per sentence */
    rill_matrix structure_output; /* 2 x D: output layer for shift and combine */
    rill_constant structure_output_bias;
    rill_matrix label_output; /* L x D: output layer for labels */
    /* [2, L] biases of the labels: row 0 before an input's last timestep, row 1 in it; -infinity for illegal labels */
    rill_constant label_output_bias;
} parser_weights;

typedef struct parser {
    rill_context *ctx;
    rill_device *device;
    rill_network *network;
    rill_arena arena; /* weights that the network borrows, and other data of fixed size */
    parser_weights weights;
    rill_table products; /* for each input [n + 1, N_PRODUCTS * D]: the products of its n + 1 positions */
    rill_graph encode, score[PARSER_PHASES];

    size_t embedding, tag_size, hidden, ffn_width;
    int32_t word_vocab_size, suffix_vocab_size, shape_vocab_size, n_tags, n_labels;
    int32_t max_input; /* maximum words of a sentence */
    int32_t suffix_length;
    parser_form form;
    int tokenized;
    int penn_style; /* bit set of RILL_PENN_*: how the tokenizer treats hyphens and quotes */
    char description[200];
    rill_vocabulary *word_vocab, *suffix_vocab, *shape_vocab, *tag_vocab, *label_vocab;
    rill_slice root; /* outermost nonterminal of every tree; bytes in the arena */
    /* the nonterminals of all labels, one label after the other; within a label, the outermost first */
    rill_slice *nonterminals;
    /* [labels + 1] label i has nonterminals[nonterminal_offsets[i] .. nonterminal_offsets[i + 1]) */
    int32_t *nonterminal_offsets;
} parser;

/* The top of a hypothesis's parser stack. c: number of words shifted so far; 0: the stack is empty. */
typedef struct parser_cell {
    /* state id whose cell describes the stack below the top span; RILL_NO_NODE: nothing below */
    int32_t below_node;
    /* positions of words: the top span is s0 = (b, c), the span below s1 = (a, b), if below_node exists */
    int32_t a, b, c;
} parser_cell;

/* The data that one decoding thread writes. */
typedef struct parser_runner {
    rill_session *session; /* first member, read by rill_runner_drop() */
    const parser *model;
    rill_context *ctx;
    rill_arena arena; /* memory of the arrays below */

    parser_cell *cell;       /* [nodes] top of each hypothesis's stack, by state id */
    rill_sentence *sentence; /* [slots] words and tags of the input in each slot */
    size_t n_slots;          /* number of inputs (slots) whose `sentence` is initialised */

    /* [sentences of an encode() call] slot of each sentence; its number of frames (words, <s> and </s>); its number of positions */
    int32_t *slot;
    int32_t *frames, *positions;
    /* [frames] for each feature: the embedding row of each frame's word, shape or suffix; -1: none */
    int32_t *feature[PARSER_MAX_FEATURES];
    int32_t *column;           /* the other input columns of a call */
    rill_text normalized_word; /* normal form of the word whose features are being looked up */
    rill_tree tree;            /* input tree while reading, output tree while building */
    int32_t *tree_scratch;     /* memory of a tree_builder's arrays */
} parser_runner;

/* Return the number of features of a word: the word, its shape, and its suffixes. */
static inline size_t parser_features(const parser *p)
{
    return 2 + (size_t)p->suffix_length;
}

/* --- defined in shiftreduce_model.c ------------------------------------------------------------------------------------------- */

/* Open the device and a network, and read the model's files into a zeroed *p with ctx and arena.ctx set. On failure the caller frees *p.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status parser_load(parser *p, const rill_open_options *options);

/* --- defined in shiftreduce_graphs.c ---------------------------------------------------------------------------------------- */

/* Build the compute graphs and finish the network. */
rill_status parser_build_graphs(parser *p);

/* --- defined in shiftreduce_input.c ------------------------------------------------------------------------------------------- */

/* Return the format of a line: `asked`, or for PARSER_FORM_AUTO what the line looks like. */
parser_form parser_detect_form(const parser *model, parser_form asked, const char *text, size_t length);
/* The option `input-format`. Its choices are in the order of parser_form. */
/* clang-format off */
#define PARSER_INPUT_FORMAT                                                                                                               \
    {"input-format", "auto|tree|tagged|text", "auto", "format of the inputs", RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, 0, 0, NULL}
/* clang-format on */
extern const rill_option parser_input_options[]; /* options of an input; the first is input-format */
/* Return the format that a value of input-format names; `fallback` if the value is NULL or no format. */
parser_form parser_read_form(rill_context *ctx, const char *value, parser_form fallback);
/* Return `form`. Exception: if it is PARSER_FORM_AUTO and inputs are tokenized, return PARSER_FORM_TEXT. */
parser_form parser_default_form(parser_form form, int tokenized);

rill_status parser_encode(void *self, int32_t m, rill_input *inputs); /* rill_domain.encode; self is the runner */
