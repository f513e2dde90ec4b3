/* tokenizer.h: a model's text: bytes to the numbers of pieces, and numbers back to bytes.
 *
 * Any architecture that reads and writes pieces opens one from its model's directory and says which files hold its vocabularies and
 * what makes pieces: SentencePiece, or Moses' tokeniser with byte pair encoding (moses_bpe.h). These only segment; numbers come from
 * the vocabulary, where a piece that is not there is <unk> (transformers' models for translation share that division). For
 * SentencePiece a first word of the form >>xx<< names the target language of a multilingual model and is a piece by itself.
 * A family (text_families.h) has rules of its own, for numbers and for languages.
 * Any number of threads may use one at once, each with a context of its own. Stability: internal to rill. */
#ifndef RILL_TEXT_TOKENIZER_H
#define RILL_TEXT_TOKENIZER_H

#include "text_words.h"
#include "vocabulary.h"

typedef struct rill_tokenizer rill_tokenizer;

typedef enum rill_tokenizer_kind {
    RILL_TOKENIZER_WHITESPACE,    /* pieces come and go between blanks: no other file is read */
    RILL_TOKENIZER_SENTENCEPIECE, /* source.spm and target.spm */
    RILL_TOKENIZER_MOSES_BPE,     /* what moses_bpe.h needs */
    RILL_TOKENIZER_FAMILY,        /* what the family needs: text_families.h */
} rill_tokenizer_kind;

typedef struct rill_family rill_family;

typedef struct rill_tokenizer_files {
    rill_tokenizer_kind kind;
    const char *directory;
    const char *source, *target; /* names of the vocabularies' files: JSON, or .txt with a token a line */
    int target_optional;         /* target may be absent or NULL: the source's symbols are then the target's too */
    int32_t source_vocab_size, target_vocab_size; /* most tokens of the vocabularies */
    const char *target_vocab_key;                 /* of the configuration, where it says the latter */
    int32_t eos; /* of target symbols, what ends an output; an input's is the one of its name, or the same */
    /* Of source pieces: what begins an input, NULL: nothing; what ends it, NULL: as `end` says; and whether inputs that are pieces have
     * it among them, where their model wants it. */
    const char *source_bos, *source_eos;
    int no_source_eos;
    int language_is_token; /* the language of outputs is a piece by its name, which they begin with */
    const char *spm; /* of SENTENCEPIECE, the file that cuts and joins both sides; NULL: source.spm and target.spm */
    /* Of a FAMILY, whose source and target are one vocabulary. */
    const rill_family *family;
    int tokenized; /* pieces come and go between blanks */
    /* Of the configuration: what the decoder starts from and what the first action must be, -1: not said. */
    int32_t decoder_start, forced_bos;
    /* The languages of inputs and outputs by their names, NULL: as the folder says; and whether each input begins with columns of its
     * own: SOURCE TAB TARGET TAB TEXT, where an empty one says nothing. */
    const char *source_language, *target_language;
    int language_columns;
} rill_tokenizer_files;

/* How the output of an input begins. */
typedef struct rill_output_prefix {
    int32_t decoder_start; /* what the decoder reads first, -1: what it always reads */
    int32_t forced_bos;    /* what the first action must be, -1: what the configuration says */
} rill_output_prefix;

/* Where the numbers of an input go. */
typedef struct rill_ids {
    rill_context *ctx;
    int32_t **ids;           /* grown as needed */
    size_t *capacity, n_ids; /* numbers are appended behind `used` */
} rill_ids;

/* Read the vocabularies, and the files that the kind names.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_tokenizer_open(rill_tokenizer **out, rill_context *ctx, const rill_tokenizer_files *files);

void rill_tokenizer_close(rill_tokenizer *text); /* NULL is allowed */

/* Append the numbers of an input's pieces, with the symbols that stand before and behind them, the end among them; nothing where there
 * are no pieces. Memory is that of out->ctx, which has what is recorded; and so below.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8, a language the model does not know) · RILL_ERR_MEMORY */
rill_status rill_tokenizer_encode(const rill_tokenizer *text, const char *bytes, size_t length, rill_ids *out,
                                  rill_output_prefix *opening);

/* How the output of that input begins, without reading more of it; bytes NULL: of an input that does not say it itself.
 *   RILL_OK · RILL_ERR_INPUT (recorded in ctx: a language the model does not know, or that nobody said) */
rill_status rill_tokenizer_output_prefix(const rill_tokenizer *text, rill_context *ctx, const char *bytes,
                                         size_t length, rill_output_prefix *opening);

/* Whether inputs can be read: of a multilingual model, whether languages are known or inputs say them themselves. A codec whose
 * inputs cannot be read has names and writes texts all the same.
 *   RILL_OK · RILL_ERR_OPTION (recorded in ctx: says what to give) */
rill_status rill_tokenizer_check_languages(const rill_tokenizer *text, rill_context *ctx);

/* The names of the languages that a multilingual model knows, a NULL behind them; NULL for any other model. Borrowed. */
const char *const *rill_tokenizer_languages(const rill_tokenizer *text);

/* Append the text of n actions; text has nothing in the place of <unk> and other special symbols, those of languages among them; pieces
 * keep them.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (SentencePiece refused) */
rill_status rill_tokenizer_decode(const rill_tokenizer *text, size_t n, const int32_t *action, rill_text *out);

/* The pieces that would write a text, each given to fn in order; they need not be in the vocabulary. `ctx` is the
 * caller's.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8) · RILL_ERR_MEMORY · what fn returned */
rill_status rill_tokenizer_split(const rill_tokenizer *text, rill_context *ctx, const char *bytes, size_t length,
                                 rill_word_fn fn, void *user);

/* Whether an input is a text for translation, which may be read sentence by sentence: 1 if so, -1: no input of this model is (it
 * summarises, its inputs are pieces), 0: others are. *head: the bytes that say how it is to be read, as a tag or columns of languages, and
 * belong before every sentence. */
int rill_tokenizer_is_translation(const rill_tokenizer *text, const char *bytes, size_t length, size_t *head);

/* What stands before an input and behind it: source symbols, -1 for none. */
int32_t rill_tokenizer_source_bos(const rill_tokenizer *text);
int32_t rill_tokenizer_source_eos(const rill_tokenizer *text);

/* Whether the vocabulary is the family's own. */
int rill_tokenizer_is_family(const rill_tokenizer *text);

/* The action that stands for what has none; -1: there is none. */
int32_t rill_tokenizer_unk(const rill_tokenizer *text);

/* The vocabularies; one and the same when source and target share theirs. Target
 * symbols at or above the latter's count have no piece. Borrowed. */
const rill_vocabulary *rill_tokenizer_source_vocab(const rill_tokenizer *text);
const rill_vocabulary *rill_tokenizer_target_vocab(const rill_tokenizer *text);

#endif
