/* seq2seq.h: common part of all sequence-to-sequence models over subword tokens: text, ensembles, shortlists, lengths,
 * alignments, and input columns.
 *
 * An architecture is a table of functions, seq_arch: how to read a net's files, and which operations encode an input,
 * compute a decoder state and compute the output layer's input from it. A domain puts the functions below into its own
 * table (rill/domain.h) and calls seq_open().
 *
 * A model, one net or an ensemble, is const once open: any number of runners, one thread each, share it. Runners own
 * all mutable data: the session with its tables, columns and texts.
 * Stability: internal to rill. */
#ifndef RILL_SEQ2SEQ_H
#define RILL_SEQ2SEQ_H

#include "arena.h"
#include "rill/carve.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "tokenizer.h"
#include "try.h"

typedef struct seq_model seq_model;
typedef struct seq_runner seq_runner;
typedef struct seq_shortlist seq_shortlist;
typedef struct seq_arch seq_arch;

/* --- nets --------------------------------------------------------------------------------------------------------- */

/* One net, alone or of an ensemble. First member of an architecture's struct; zeroed except for members marked as set
 * by open. */
typedef struct seq_net {
    rill_context *ctx; /* set by open, as are the next two */
    seq_model *model;
    const seq_arch *arch;
    int32_t source_vocab_size, target_vocab_size; /* symbols of the source, and of the target */
    /* Target symbols: start of the decoder input, end of an output, padding (never an output). */
    int32_t decoder_start, eos, pad;
    int32_t forced_bos; /* first action of every output, unless the language sets it; -1: none. Initially -1 */
    /* Source symbols before and after an input; -1: none. Set by open */
    int32_t source_bos, source_eos;
    int32_t n_target_tokens;  /* target symbols with a token: those below. Set by open */
    const char *eos_file;     /* the file that defined eos, for messages */
    int32_t config_positions; /* positions in the configuration */
    int32_t max_input_length; /* maximum tokens of an input: config_positions, or more if positions are unlimited */
    int32_t max_positions;    /* maximum actions of an output, also on request */
    int32_t max_length;       /* default for max_positions */
    uint64_t *legal;          /* [actions / 64 rounded up] bits: target symbols that may be output */
    rill_sequence *bad_words; /* [n_forbidden] of target symbols (bad words): see rill_domain_info */
    int32_t n_bad_words;
    rill_matrix output_weight; /* actions x width, RILL_NONE with a shortlist; its bias is added in the selection */
    rill_constant output_bias; /* [actions] */
    rill_vocab_subset vocab_subset; /* with a shortlist: the output layer's rows for each input */
    rill_tokenizer *tokenizer;      /* freed after loading, except the first net's */
    char description[240];
} seq_net;

/* Columns of the graph `encode`: a row is an input, its units are tokens. */
typedef struct seq_encoder_columns {
    rill_graph graph;
    rill_index_space tokens;
    rill_column slot;               /* input slot of each row */
    rill_column token_id, position; /* per token: the net's own symbols; 0, 1, ... in each input */
} seq_encoder_columns;

/* Columns of `step`, and of `watch`, which re-reads existing states. Rows are nodes. */
typedef struct seq_decoder_columns {
    rill_graph graph;
    rill_column node, slot, depth;
    rill_column token_id; /* the action that led to the node; decoder start for a first node */
    rill_path path;       /* for states that read all ancestors: the path from the node to the root */
    rill_column parent;   /* parent state of a row, -1 for a first node; not used by `watch` */
    rill_column parent_or_self,
        root_slot; /* if states read parents, not for `watch`: the parent, or itself for a first node; its slot for a first node, else -1 */
    int align_only; /* compute only cross-attention, for alignments; write no state */
} seq_decoder_columns;

/* States that a new one reads. */
typedef enum seq_state_need { SEQ_NEEDS_PATH, SEQ_NEEDS_PARENT } seq_state_need;

/* An architecture. All members are required unless marked optional. */
struct seq_arch {
    size_t net_size; /* bytes of the architecture's net struct */
    seq_state_need state_need;
    int has_alignment; /* `watch` can be built: outputs have alignments; states must stay along the path */
    /* Read the directory's configuration into the net, except for weights, and describe its tokenizer's files. The kind
     * is the one for raw text; text->tokenized says whether inputs are tokens. Memory comes from net->model->arena. */
    rill_status (*configure)(seq_net *net, const char *directory, rill_tokenizer_files *text);
    /* (optional) Called when the vocabularies are open: find the configuration's special tokens, or check them. As
     * configure() */
    rill_status (*find_special_tokens)(seq_net *net, const char *directory);
    /* Read the weights into the network, and declare tables; calls seq_set_output_layer() once. */
    rill_status (*load)(seq_net *net, const char *directory);
    void (*encode)(const seq_net *net, const seq_encoder_columns *reader);
    void (*step)(const seq_net *net, const seq_decoder_columns *writer);
    /* Input of the output layer, [rows, width]. */
    rill_view (*decoder_output)(const seq_net *net, rill_graph graph, rill_column node, rill_column slot);
    /* (optional) The runner will use positions below `to`; those below `from` are prepared. */
    rill_status (*prepare_positions)(seq_runner *runner, const seq_net *net, size_t from, size_t to);
    /* (optional) Default search options of the first net, appended to `out`: see rill_domain.recommend. */
    rill_status (*recommend)(const seq_net *net, const char *directory, rill_text *out);
    const char *plural_name; /* "transformers": for messages about ensembles */
};

/* Find the architecture of a directory. RILL_OK · as seq_arch.configure */
typedef rill_status (*seq_choose_arch_fn)(rill_context *ctx, const char *directory, const seq_arch **out);

/* Set the output layer, [actions, width]: packed, or with a shortlist unpacked, from which each input takes the rows it
 * needs. The network then keeps `rows`, and in any case `bias` [actions]. */
void seq_set_output_layer(seq_net *net, const float *rows, size_t width, const float *bias);

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* The graphs; columns in the order in which seq_build_graphs() declares them. */
typedef struct seq_graphs {
    rill_graph encode, step, score, align;
} seq_graphs;

struct seq_model {
    rill_context *ctx;  /* context for open and close */
    const char *domain; /* name of the domain, for messages */
    seq_choose_arch_fn choose_arch;
    int needs_path, needs_parent; /* what the network's states read: all ancestors; the parent */
    rill_state_need state_need;
    rill_arena arena; /* memory of fixed size, and memory borrowed by the network */
    rill_device *device;
    rill_network *network;
    seq_graphs graphs;
    rill_weight_type weights; /* type of linear layers and the output layer; everything else is fp32 */
    int takes_raw_text;       /* inputs are text: invisible characters are removed */
    int raw_logits;           /* scores are unnormalised logits */
    char source_language
        [40]; /* source language for rill_sentences_split(): the option source-lang, or the directory's name */
    seq_net *net[RILL_MIX_MODELS];
    size_t n_nets;
    seq_shortlist *shortlist;                                              /* NULL: all symbols may be chosen */
    const uint64_t *legal;                                                 /* the first net's */
    int32_t config_positions, max_input_length, max_positions, max_length; /* minimum over the nets */
    char description[240];
    rill_text hf_settings; /* search defaults of the original library; empty: unknown */
};

/* Options of every such model (rill_domain.options): weights, shortlist, scores, languages. */
extern const rill_option seq_options[];

/* rill_domain.open, with the domain's name and its architectures (an ensemble may mix several), and the other
 * callbacks. seq_field needs has_alignment. */
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

/* Callbacks common to all such domains; name, summary and open() differ. */
#define SEQ_DOMAIN_CALLBACKS                                                                                     \
    .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_domain), .close = seq_close, .start = seq_start, \
    .stop = seq_stop, .reserve = seq_reserve, .encode = seq_encode, .step = seq_step, .score = seq_score,        \
    .collect = seq_collect, .finalize = seq_finalize, .drop = rill_runner_drop, .action_name = seq_action_name,  \
    .find_action = seq_find_action, .unknown_action = seq_unknown_action, .tokenize = seq_tokenize,              \
    .first_action = seq_first_action, .recommend = seq_recommend, .features = RILL_TAKES_ENSEMBLES,              \
    .profile = rill_runner_profile, .profile_row = rill_runner_profile_row, .limits = rill_runner_limits,        \
    .options = seq_options, .split = seq_split

/* --- a runner ----------------------------------------------------------------------------------------------------- */

/* An input being encoded: its tokens are ids[offset .. offset + length - 1]. */
typedef struct seq_pending_input {
    rill_input *input;
    int32_t length; /* tokens, with end and language symbols; 0: empty input */
    size_t offset;
} seq_pending_input;

/* Vocabulary subset (shortlist) of an input. Zero-initialise. */
typedef struct seq_vocab_subset {
    int32_t n;
    int32_t *ids; /* [n] ascending */
    uint64_t *bits;
    size_t ids_capacity, bits_capacity;
} seq_vocab_subset;

struct seq_runner {
    rill_session *session; /* first member: see rill_runner_drop() */
    const seq_model *model;
    rill_context *ctx;
    int32_t *root_node; /* [slots] the item's first node */
    size_t root_capacity;
    rill_output_prefix *output_prefix; /* [slots] how the item's outputs begin */
    size_t output_prefix_capacity;
    size_t positions_ready;     /* positions prepared so far, in all nets */
    seq_pending_input *pending; /* the inputs of an encode() call */
    size_t pending_capacity;
    int32_t *ids;
    size_t ids_capacity;
    char *clean_text; /* text of the current input, without invisible characters */
    size_t clean_text_capacity;
    seq_vocab_subset vocab_subset; /* with a shortlist: the subset for the current input */
    char *scratch;                 /* columns of one call, see carve.h */
    size_t scratch_capacity;
    const rill_score_request *request[2]; /* asynchronous score request of each group */
    rill_score_result *result[2];
    rill_rows rows[2]; /* their rows */
    char *alignment;   /* arrays of one alignment, see carve.h */
    size_t alignment_capacity;
};

/* Grow the scratch to c->used bytes and rewind *c to its start. */
static inline rill_status seq_carve_reserve(seq_runner *r, rill_carver *c)
{
    return rill_carve_reserve(r->ctx, &r->scratch, &r->scratch_capacity, c);
}

/* Prepare positions below `count` in all nets. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_prepare_positions(seq_runner *r, size_t count);

/* Cross-attention of existing states: how much the action that led to each, in the first net's symbols, attends to each
 * token of its input. Arrays of [n]; share [n, ld], ld >= the longest input. */
typedef struct seq_attention {
    int32_t n;
    const int32_t *node, *slot, *depth, *action;
    float *weights;
    size_t stride;
} seq_attention;

rill_status seq_run_alignment(seq_runner *r, const seq_attention *watched);

/* --- between the files of this folder ----------------------------------------------------------------------------- */

/* Check that `other`, loaded from `directory`, can decode together with `first`, loaded from `home`: same vocabularies
 * and special symbols.
 *   RILL_OK · RILL_ERR_FORMAT (names the file and the first entry that differs) */
rill_status seq_check_compatible(const seq_net *first, const char *home, const seq_net *other, const char *directory);

/* Combine the nets' limits, lengths and state needs, and describe the model. */
void seq_combine_limits(seq_model *m);

/* Build the graphs of all nets; failures are kept by the network. */
void seq_build_graphs(seq_model *m);

/* Remove characters that carry no meaning and spoil subword tokens, such as soft hyphens, and replace foreign line
 * separators by spaces. *text and *length may then refer to the copy, which the caller frees. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_clean_text(rill_context *ctx, const char **text, size_t *length, char **copy, size_t *capacity);

/* Read the shortlist `option`, "FILE[,FIRST[,BEST]]", for the net's vocabularies.
 *   *out: closed by the caller, after a failure too
 *   RILL_OK · RILL_ERR_OPTION (no file named) · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and
 *   line) · RILL_ERR_MEMORY */
rill_status seq_shortlist_open(seq_shortlist **out, const seq_net *net, const char *option);
void seq_shortlist_close(seq_shortlist *shortlist); /* NULL is allowed */

/* Make the subset of an input of `length` > 0 tokens. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_vocab_subset_make(const seq_shortlist *shortlist, rill_context *ctx, const int32_t *ids, int32_t length,
                                  seq_vocab_subset *list);
void seq_vocab_subset_clear(seq_vocab_subset *list, rill_context *ctx);

/* Upper bound on the subset's size for an input of so many tokens; linear in them. */
size_t seq_vocab_subset_max(const seq_shortlist *shortlist, size_t pieces);

#endif
