/* seq2seq.h: what any model that reads pieces and writes pieces has, whatever its architecture: text, ensembles, shortlists, lengths,
 * alignments, and the columns of its calls.
 *
 * An architecture is a table, seq_arch: how a net's files are read, and which operations encode an input, make a state and make of a
 * state what the output layer multiplies. A domain puts the functions below into its own table (rill/domain.h) and calls seq_open().
 *
 * A model is what open makes, one net or an ensemble of them, and is const from then on: any number of runners, each with a thread of
 * its own, use it at once. What a run changes is the runner's: its stream with the tables, its columns and texts.
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

/* One net of an ensemble, or alone. An architecture's own struct begins with one; it is zeroed but for what is said of open. */
typedef struct seq_net {
    rill_context *ctx; /* open's, as are the next two */
    seq_model *model;
    const seq_arch *arch;
    int32_t source_vocab_size, target_vocab_size; /* symbols of the source, and of the target */
    /* Of target symbols: what the decoder starts from, what ends an output, what is never one. */
    int32_t decoder_start, eos, pad;
    int32_t
        forced_bos; /* what the first action of any output must be, unless its language says it; -1: none. Given as -1 */
    /* Of source symbols: what begins an input and what ends it; -1: nothing. Found by open */
    int32_t source_bos, source_eos;
    int32_t n_target_tokens;  /* target symbols that have one: those below. Found by open */
    const char *eos_file;     /* the file that said what the end is, for messages */
    int32_t config_positions; /* positions by the configuration */
    int32_t max_input_length; /* most pieces of an input: the same, but more where any number will do */
    int32_t max_positions;    /* most actions of an output, whatever is asked for */
    int32_t max_length;       /* the same, where nothing is asked for */
    uint64_t *legal;          /* [actions / 64 rounded up] bits: target symbols that may be chosen */
    rill_sequence *bad_words; /* [n_forbidden] of target symbols: see rill_domain_info */
    int32_t n_bad_words;
    rill_matrix output_weight;      /* actions x width, RILL_NONE with a shortlist; its bias is added in selection */
    rill_constant output_bias;      /* [actions] */
    rill_vocab_subset vocab_subset; /* with a shortlist: each input's part of the output layer */
    rill_tokenizer *tokenizer;      /* of all but the first only while it is loaded */
    char description[240];
} seq_net;

/* What a net adds to the program `encode`: the units of a row, which is an input, are its pieces. */
typedef struct seq_encoder_columns {
    rill_graph graph;
    rill_index_space tokens;
    rill_column slot;               /* of rows */
    rill_column token_id, position; /* of pieces: the net's own symbols; 0, 1, ... in each input */
} seq_encoder_columns;

/* What it adds to `step`, and to `watch`, which looks at states that are there. Rows are nodes. */
typedef struct seq_decoder_columns {
    rill_graph graph;
    rill_column node, slot, depth;
    rill_column token_id; /* the action that led to the node; of a first node net->start */
    rill_path path;       /* where paths are read: from the node to the root */
    rill_column parent;   /* not to `watch`: the state that this one is made of, -1 for a first node */
    rill_column parent_or_self,
        root_slot; /* where parents are read, not to `watch`: the parent, itself for a first node; its slot if it is one, else -1 */
    int align_only; /* write nothing, end with attention to the input, and watch that */
} seq_decoder_columns;

/* Of which states a new one is made. */
typedef enum seq_state_need { SEQ_NEEDS_PATH, SEQ_NEEDS_PARENT } seq_state_need;

/* An architecture. All but what is said to be optional is there. */
struct seq_arch {
    size_t net_size; /* of its struct */
    seq_state_need state_need;
    int has_alignment; /* `watch` can be built: outputs have alignments, for which states stay on the path */
    /* Read the directory's configuration: all of the net that is there before weights are, and what its text is made of; the kind of
     * codec is that of a text that has yet to be cut, though text->tokenized says whether it is. Memory is that of net->model->blocks. */
    rill_status (*configure)(seq_net *net, const char *directory, rill_tokenizer_files *text);
    /* (optional) The vocabularies are open: find the target symbols that the configuration has by their pieces, or check what they are
     * of. As configure() */
    rill_status (*find_special_tokens)(seq_net *net, const char *directory);
    /* Read the weights into the plan, and make tables; seq_set_output_layer() is called once. */
    rill_status (*load)(seq_net *net, const char *directory);
    void (*encode)(const seq_net *net, const seq_encoder_columns *reader);
    void (*step)(const seq_net *net, const seq_decoder_columns *writer);
    /* What the output layer multiplies, [rows, width]. */
    rill_view (*decoder_output)(const seq_net *net, rill_graph graph, rill_column node, rill_column slot);
    /* (optional) The runner is about to use positions below `to`; those below `from` have been asked for before. */
    rill_status (*prepare_positions)(seq_runner *runner, const seq_net *net, size_t from, size_t to);
    /* (optional) Settings of the first net's makers, appended to `out`: see rill_domain.recommend. */
    rill_status (*recommend)(const seq_net *net, const char *directory, rill_text *out);
    const char *plural_name; /* "transformers": what an ensemble is made of */
};

/* What a directory holds. RILL_OK · as seq_arch.configure */
typedef rill_status (*seq_choose_arch_fn)(rill_context *ctx, const char *directory, const seq_arch **out);

/* The output layer, [actions, width]: packed, or with a shortlist kept as it is, each input taking the rows that it needs. `rows` and
 * `bias` [actions] are the plan's to keep then, and bias always. */
void seq_set_output_layer(seq_net *net, const float *rows, size_t width, const float *bias);

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* What runs: columns are in the order in which seq_build_graphs() declares them. */
typedef struct seq_graphs {
    rill_graph encode, step, score, align;
} seq_graphs;

struct seq_model {
    rill_context *ctx;  /* open's and close's */
    const char *domain; /* its name, for messages */
    seq_choose_arch_fn choose_arch;
    int needs_path, needs_parent; /* what the nets read */
    rill_state_need state_need;
    rill_arena arena; /* everything of fixed size below, and what the plan borrows */
    rill_device *device;
    rill_network *network;
    seq_graphs graphs;
    rill_weight_type weights; /* how linear layers and the output layer are kept; all else is fp32 */
    int takes_raw_text;       /* inputs are no pieces: what is not seen in them goes */
    int raw_logits;           /* scores are logits as they are: no normaliser */
    char source_language
        [40]; /* of inputs, as rill_sentences_split() takes it: what source-lang says, or the folder's name */
    seq_net *net[RILL_MIX_MODELS];
    size_t n_nets;
    seq_shortlist *shortlist;                                              /* NULL: all symbols may be chosen */
    const uint64_t *legal;                                                 /* the first net's */
    int32_t config_positions, max_input_length, max_positions, max_length; /* the least of the nets' */
    char description[240];
    rill_text hf_settings; /* settings for decoding as the makers' library does; empty: not known */
};

/* What any such model can be told (rill_domain.options): weights, shortlist, scores, languages. */
extern const rill_option seq_options[];

/* Of a domain's table: rill_domain.open with the domain's name and its architectures, of which an ensemble may have several, and the
 * rest as it stands there. seq_field needs kind.watches. */
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

/* What every such domain's table has; its name, summary and open() are its own. */
#define SEQ_DOMAIN_CALLBACKS                                                                                     \
    .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_domain), .close = seq_close, .start = seq_start, \
    .stop = seq_stop, .reserve = seq_reserve, .encode = seq_encode, .step = seq_step, .score = seq_score,        \
    .collect = seq_collect, .finalize = seq_finalize, .drop = rill_runner_drop, .action_name = seq_action_name,  \
    .find_action = seq_find_action, .unknown_action = seq_unknown_action, .tokenize = seq_tokenize,              \
    .first_action = seq_first_action, .recommend = seq_recommend, .features = RILL_TAKES_ENSEMBLES,              \
    .profile = rill_runner_profile, .profile_row = rill_runner_profile_row, .limits = rill_runner_limits,        \
    .options = seq_options, .split = seq_split

/* --- a runner ----------------------------------------------------------------------------------------------------- */

/* An input on its way into a slot: its pieces are ids[offset .. offset + length - 1]. */
typedef struct seq_pending_input {
    rill_input *input;
    int32_t length; /* pieces, the end and symbols of languages counted; 0: the input is empty */
    size_t offset;
} seq_pending_input;

/* The symbols that outputs of an input are made of. Zero-initialise. */
typedef struct seq_vocab_subset {
    int32_t n;
    int32_t *ids; /* [n] ascending */
    uint64_t *bits;
    size_t ids_capacity, bits_capacity;
} seq_vocab_subset;

struct seq_runner {
    rill_session *session; /* the first: see rill_runner_drop() */
    const seq_model *model;
    rill_context *ctx;
    int32_t *root_node; /* [slots] the item's first node */
    size_t root_capacity;
    rill_output_prefix *output_prefix; /* [slots] how the item's outputs begin */
    size_t output_prefix_capacity;
    size_t positions_ready;     /* positions asked for so far, in all nets */
    seq_pending_input *pending; /* the inputs of an encode() call */
    size_t pending_capacity;
    int32_t *ids;
    size_t ids_capacity;
    char *clean_text; /* the text of the input at work, without what is not seen */
    size_t clean_text_capacity;
    seq_vocab_subset vocab_subset; /* with a shortlist: of the input at work */
    char *scratch;                 /* columns of one call, see carve.h */
    size_t scratch_capacity;
    const rill_score_request *request[2]; /* of each group's score call that may be late */
    rill_score_result *result[2];
    rill_rows rows[2]; /* whose these are */
    char *alignment;   /* arrays of one alignment, see carve.h */
    size_t alignment_capacity;
};

/* Room for c->used bytes of scratch; then *c is at the start of the buffer. */
static inline rill_status seq_carve_reserve(seq_runner *r, rill_carver *c)
{
    return rill_carve_reserve(r->ctx, &r->scratch, &r->scratch_capacity, c);
}

/* Have the nets make what they need for positions below `count`. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_prepare_positions(seq_runner *r, size_t count);

/* States that are there, looked at once more: how much the action that led to each, of the first net's symbols, attends to each
 * piece of its input. Arrays of [n]; share [n, ld], ld at least the most pieces. */
typedef struct seq_attention {
    int32_t n;
    const int32_t *node, *slot, *depth, *action;
    float *weights;
    size_t stride;
} seq_attention;

rill_status seq_run_alignment(seq_runner *r, const seq_attention *watched);

/* --- between the files of this folder ----------------------------------------------------------------------------- */

/* Whether `other`, loaded from `directory`, can decode together with `first`, that of `home`: what it makes and reads is the same.
 *   RILL_OK · RILL_ERR_FORMAT (names the file and the first entry that differs) */
rill_status seq_check_compatible(const seq_net *first, const char *home, const seq_net *other, const char *directory);

/* Fill in what all nets can do, the lengths, what they read, and what they are. */
void seq_combine_limits(seq_model *m);

/* The programs of all nets; failures are the plan's. */
void seq_build_graphs(seq_model *m);

/* Leave out the characters of a text that mean nothing to a translator and spoil words, as soft hyphens, and have spaces where it ends
 * lines, as other programs write them: *text and *length may then be
 * those of the copy, which is the caller's to drop. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_clean_text(rill_context *ctx, const char **text, size_t *length, char **copy, size_t *capacity);

/* Read what `option`, "FILE[,FIRST[,BEST]]", names, for the vocabularies of the net.
 *   *out: to be closed by the caller, after a failure too
 *   RILL_OK · RILL_ERR_OPTION (no file is named) · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file and
 *   line) · RILL_ERR_MEMORY */
rill_status seq_shortlist_open(seq_shortlist **out, const seq_net *net, const char *option);
void seq_shortlist_close(seq_shortlist *shortlist); /* NULL is allowed */

/* Make the list of an input of `length` > 0 pieces. RILL_OK · RILL_ERR_MEMORY */
rill_status seq_vocab_subset_make(const seq_shortlist *shortlist, rill_context *ctx, const int32_t *ids, int32_t length,
                                  seq_vocab_subset *list);
void seq_vocab_subset_clear(seq_vocab_subset *list, rill_context *ctx);

/* The most symbols that the list of an input of so many pieces has; grows evenly with these. */
size_t seq_vocab_subset_max(const seq_shortlist *shortlist, size_t pieces);

#endif
