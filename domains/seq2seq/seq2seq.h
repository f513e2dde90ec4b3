/* The common part of sequence-to-sequence models over subword tokens.
 *
 * An architecture is a table of functions, seq_arch. A domain puts the callbacks below into its rill_domain and calls seq_open().
 * Threads: an open model is const; a runner belongs to one thread and owns all mutable data. */
#pragma once

#include "domain_base.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "tokenizer.h"

typedef struct seq_model seq_model;
typedef struct seq_runner seq_runner;
typedef struct seq_shortlist seq_shortlist;
typedef struct seq_arch seq_arch;

/* --- networks ----------------------------------------------------------------------------------------------------- */

/* A net: the model, or a member of an ensemble. An architecture's struct begins with it. configure() gets zeroed members, except those
 * that seq_open() has set. */
typedef struct seq_net {
    rill_context *ctx; /* set by seq_open(), as are the next two members */
    seq_model *model;
    const seq_arch *arch;
    /* number of token ids of each vocabulary, including ids that have no token */
    int32_t source_vocab_size, target_vocab_size;
    /* ids in the target vocabulary: the decoder's first input, end of sequence, and padding, which is never output */
    int32_t decoder_start, eos, pad;
    /* token that every output begins with, unless its target language sets another one; -1 (the initial value): none */
    int32_t forced_bos;
    /* number of target ids that have a token: ids from here on have none. Set by seq_open() */
    int32_t n_target_tokens;
    const char *eos_file, *forced_bos_file; /* names of the files that set eos and forced_bos, for messages */
    int32_t config_positions;               /* number of positions in the model's configuration */
    /* maximum tokens of an input: config_positions, or more if the architecture does not limit positions */
    int32_t max_input_length;
    int32_t max_positions; /* hard limit on the actions of an output, which requests cannot exceed */
    int32_t max_length;    /* default limit on the actions of an output */
    uint64_t *legal;       /* [target ids / 64, rounded up] bit set of the target ids that may be output */
    /* [n_bad_words] token sequences that no output may contain; see rill_domain_info.forbidden */
    rill_sequence *bad_words;
    int32_t n_bad_words;
    /* [target ids, width] weights of the output layer; RILL_NONE with a shortlist. The top-k selection adds the bias */
    rill_matrix output_weight;
    rill_constant output_bias; /* [target ids] bias of the output layer */
    /* with a shortlist: handle of the vocabulary subsets, which hold the output layer's rows for the input in each slot */
    rill_vocab_subset vocab_subset;
    rill_tokenizer *tokenizer; /* tokenizer; after loading only the first net has one */
    char description[240];
} seq_net;

/* Inputs of the graph `encode`. A column has one element per input sentence, or per token. */
typedef struct seq_encoder_columns {
    rill_graph graph;
    rill_index_space tokens;
    rill_column slot;               /* slot of each row: where the encoder's output for this input is stored */
    rill_column token_id, position; /* per input token: source id, and position in its input, from 0 */
} seq_encoder_columns;

/* Inputs of the graphs `step` (new decoder states) and `align` (their attention again). A column has one element per hypothesis. */
typedef struct seq_decoder_columns {
    rill_graph graph;
    rill_column node, slot, depth;
    rill_column token_id; /* the decoder's input: the hypothesis's last token, or the start token */
    rill_path path;       /* for nets whose states read all ancestors: the path from each hypothesis to the root */
    rill_column parent;   /* state id of the parent hypothesis, -1 for an empty one; not in `align` */
    /* parent columns for nets that read the parent's state, not in `align`; see rill_rows_parents() */
    rill_column parent_or_self, root_slot;
    int align_only; /* 1: compute only cross-attention, for alignments, and write no state */
} seq_decoder_columns;

/* The states that a net reads to compute a new state: those of all ancestors (PATH), or only the parent's (PARENT). */
typedef enum seq_state_need { SEQ_NEEDS_PATH, SEQ_NEEDS_PARENT } seq_state_need;

/* An architecture. All members are required unless marked optional. */
struct seq_arch {
    size_t net_size; /* size of the architecture's net struct in bytes */
    seq_state_need state_need;
    /* 1: outputs have alignments, and so the states of all their prefixes stay in memory; 0: no alignments */
    int has_alignment;
    /* Read the configuration of a directory, without weights. Sets the tokenizer's files and kind in `text`; text->tokenized: inputs are
     * tokens. Memory: net->model->arena. */
    rill_status (*configure)(seq_net *net, const char *directory, rill_tokenizer_files *text);
    /* (optional) Find or check the configuration's special tokens. Called when the vocabularies are open. Returns the same statuses as
     * configure(). */
    rill_status (*find_special_tokens)(seq_net *net, const char *directory);
    /* Read the weights into the network and declare tables. Must call seq_set_output_layer() once. The caller closes the loader. */
    rill_status (*load)(seq_net *net, rill_loader *loader);
    /* Append the net's operations to a graph: encode() those of the encoder, step() those of one decoder step. */
    void (*encode)(const seq_net *net, const seq_encoder_columns *reader);
    void (*step)(const seq_net *net, const seq_decoder_columns *writer);
    /* Return a view of the output layer's input, [rows, width], computed from the rows' states. */
    rill_view (*decoder_output)(const seq_net *net, rill_graph graph, rill_column node, rill_column slot);
    /* (optional) Compute data of positions from..to - 1 for a runner, e.g. sinusoids. Lower positions exist already. */
    rill_status (*prepare_positions)(seq_runner *runner, const seq_net *net, size_t from, size_t to);
    /* (optional) Append the first net's default search options to `out`; see rill_domain.recommend. */
    rill_status (*recommend)(const seq_net *net, const char *directory, rill_text *out);
    /* the architecture's name in the plural, for messages about ensembles, e.g. "transformers" */
    const char *plural_name;
};

/* Find the architecture of a model directory. Returns the same statuses as seq_arch.configure. */
typedef rill_status (*seq_choose_arch_fn)(rill_context *ctx, const char *directory, const seq_arch **out);

/* Allocate net->legal for target_vocab_size ids, all of them legal; for configure(). RILL_OK · RILL_ERR_MEMORY */
rill_status seq_alloc_legal(seq_net *net);

/* Set the output layer: rows [actions, width], bias [actions]. `bias` is borrowed; `rows` are packed, or borrowed with a shortlist, which
 * packs each input's subset. */
void seq_set_output_layer(seq_net *net, const float *rows, size_t width, const float *bias);

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* The encoder; a decoder step; the output layer with top-k; cross-attention alone. seq_build_graphs() declares the order of their input
 * columns. */
typedef struct seq_graphs {
    rill_graph encode, step, score, align;
} seq_graphs;

struct seq_model {
    rill_context *ctx;  /* context for open and close */
    const char *domain; /* name of the domain, for messages */
    seq_choose_arch_fn choose_arch;
    /* 1: the new states of some net read the states of all ancestors (needs_path), or of the parent only (needs_parent) */
    int needs_path, needs_parent;
    rill_state_need state_need;
    rill_arena arena; /* memory that the network borrows, and other memory of fixed size */
    rill_device *device;
    rill_network *network;
    seq_graphs graphs;
    rill_weight_type weights; /* weight type of linear layers and the output layer; other weights are fp32 */
    int takes_raw_text;       /* 1: inputs are text, from which invisible characters are removed */
    int raw_logits;           /* 1: a token's score is its logit, without softmax */
    /* source language for rill_sentences_split(): the value of the option source-lang, or else the name of the model's directory */
    char source_language[40];
    seq_net *net[RILL_MIX_MODELS];
    size_t n_nets;
    seq_shortlist *shortlist; /* the model's shortlist; NULL: it has none, and outputs may use all tokens */
    /* bit set of the target ids that may be output, as the first net has it */
    const uint64_t *legal;
    /* limits of the model: each is the minimum over its nets */
    int32_t config_positions, max_input_length, max_positions, max_length;
    char description[240];
    rill_text hf_settings; /* search options of the model's Hugging Face configuration; empty: unknown */
};

/* Options of every sequence-to-sequence model (rill_domain.options): weights, shortlist, scores, languages. */
extern const rill_option seq_options[];

/* Callbacks for a rill_domain. Its open() calls seq_open() with the domain's name, and `choose`, which finds a directory's architecture.
 * Ensembles may mix architectures. seq_field() requires seq_arch.has_alignment. */
rill_status seq_open(const char *domain, seq_choose_arch_fn choose, rill_context *ctx, const rill_open_options *options,
                     void **model, rill_domain_info *info);
void seq_close(void *model);
rill_status seq_start(const void *model, rill_context *ctx, int threads, void **runner);
void seq_stop(void *runner);
rill_status seq_reserve(void *self, int32_t nodes, int32_t slots);
rill_status seq_encode(void *self, int32_t n, rill_input *inputs);
rill_status seq_step(void *self, const rill_rows *rows);
rill_status seq_score(void *self, const rill_rows *rows, const rill_score_request *req, rill_score_result *out);
rill_status seq_collect(void *self, int32_t group);
rill_status seq_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out);
rill_status seq_field(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out);
rill_status seq_action_name(void *model, int32_t action, rill_text *out);
int32_t seq_find_action(void *model, const char *text, size_t length);
int32_t seq_unknown_action(void *model);
rill_status seq_tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action,
                         int32_t capacity, int32_t *n);
rill_status seq_split(void *model, rill_context *ctx, int always, const char *text, size_t length, rill_part *part,
                      int32_t capacity, int32_t *n, size_t *head);
rill_status seq_recommend(void *model, const char *like, rill_text *out);
int32_t seq_first_action(void *model, rill_context *ctx, const char *input, size_t length);

/* Members common to the rill_domain tables of all sequence-to-sequence domains. */
#define SEQ_DOMAIN_CALLBACKS                                                                                         \
    RILL_RUNNER_CALLBACKS, .close = seq_close, .start = seq_start, .stop = seq_stop, .reserve = seq_reserve,         \
                           .encode = seq_encode, .step = seq_step, .score = seq_score, .collect = seq_collect,       \
                           .finalize = seq_finalize, .action_name = seq_action_name, .find_action = seq_find_action, \
                           .unknown_action = seq_unknown_action, .tokenize = seq_tokenize,                           \
                           .first_action = seq_first_action, .recommend = seq_recommend, .options = seq_options,     \
                           .split = seq_split

/* --- a runner ----------------------------------------------------------------------------------------------------- */

/* An input that is being encoded. Its token ids are seq_runner.ids[offset .. offset + length - 1]. */
typedef struct seq_pending_input {
    rill_input *input;
    int32_t length; /* number of tokens, including special tokens and the language token; 0: the input is empty */
    size_t offset;
} seq_pending_input;

/* The vocabulary subset of one input: the target ids to which a shortlist restricts its outputs. Zero-initialise. */
typedef struct seq_vocab_subset {
    int32_t n;
    int32_t *ids; /* [n] target ids, ascending */
    uint64_t *bits;
} seq_vocab_subset;

struct seq_runner {
    rill_session *session; /* first member, read by rill_runner_drop() */
    const seq_model *model;
    rill_context *ctx;
    rill_arena arena;                  /* memory of the growing arrays below */
    int32_t *root_node;                /* [slots] state id of each input's empty hypothesis */
    rill_output_prefix *output_prefix; /* [slots] how outputs of the input in each slot begin */
    /* number of positions for which seq_prepare_positions() has prepared all nets */
    size_t positions_ready;
    seq_pending_input *pending; /* inputs of the current encode() call */
    int32_t *ids;
    size_t ids_capacity;
    char *clean_text;              /* text of the input being tokenized, after invisible characters were removed */
    seq_vocab_subset vocab_subset; /* vocabulary subset of the current input, with a shortlist */
    int32_t *column;               /* the input columns of one call that the engine does not fill */
    /* For each of the two micro-batches that may be scored concurrently (rill_rows.group): the pending request, its
     * result and its rows. */
    const rill_score_request *request[2];
    rill_score_result *result[2];
    rill_rows rows[2];
    int32_t *alignment_column; /* memory of the arrays of a seq_alignment */
    float *alignment_weights;
};

/* Compute what the nets need for positions 0 .. count - 1 (seq_arch.prepare_positions), unless that has been done
 * before. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_prepare_positions(seq_runner *r, size_t count);

/* The cross-attention weights of an output's actions, computed by the first net. */
typedef struct seq_alignment {
    size_t n_actions, n_tokens;
    /* [actions] the state from which each action was chosen: node, last action (RILL_ACTION_START for a root node), input's slot, depth */
    int32_t *node, *action, *slot, *depth;
    int32_t *best_tokens; /* [actions] index of the input token with the largest weight */
    float *weights;       /* [actions, tokens] attention weights */
} seq_alignment;

/* Compute the attention weights of an alignment (`weights`) from the hypothesis's states. Returns as rill_session_run(). */
rill_status seq_run_alignment(seq_runner *r, const seq_alignment *alignment);

/* --- internal functions ------------------------------------------------------------------------------------------- */

/* Build the graphs of all nets. rill_network_finish() reports failures. */
void seq_build_graphs(seq_model *m);

/* Open the shortlist of an option "FILE[,FIRST[,BEST]]". *out: closed by the caller, also after a failure.
 *   RILL_OK · RILL_ERR_OPTION (no file named) · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and
 *   line) · RILL_ERR_MEMORY */
rill_status seq_shortlist_open(seq_shortlist **out, const seq_net *net, const char *option);
void seq_shortlist_close(seq_shortlist *shortlist); /* closing NULL does nothing */

/* Compute the vocabulary subset of an input: ids[length] are its source ids, length > 0. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_vocab_subset_make(const seq_shortlist *shortlist, rill_arena *arena, const int32_t *ids, int32_t length,
                                  seq_vocab_subset *list);

/* Return an upper bound on the vocabulary subset of an input with `pieces` tokens. */
size_t seq_vocab_subset_max(const seq_shortlist *shortlist, size_t pieces);
