/* Adds the added tokens of a transformers directory to the vocabularies of a Marian or FSMT model; see tokenizer.h.
 *
 * Source: transformers' tokenization_python.py. Texts are split at added tokens first, special tokens such as </s>
 * included, and what is between them is split into subword tokens.
 * Added tokens share the ids of both sides: a target vocabulary of its own gets the same ids, or the directory is refused. */
#include <string.h>

#include "domain_base.h"
#include "family.h"
#include "segmenters.h"
#include "tokenizer.h"

/* Name of a special token: the key of tokenizer_config.json, and the name without that key. */
typedef struct special_name {
    const char *key, *fallback;
} special_name;

/* Add the special tokens of the tokenizer class, if the vocabulary has them. Only FSMT has <s>. */
static rill_status add_specials(const rill_tokenizer_config *config, int has_begin, rill_token_set *tokens)
{
    static const special_name names[] = {{"eos_token", "</s>"},
                                         {"unk_token", "<unk>"},
                                         {"pad_token", "<pad>"},
                                         {"sep_token", "</s>"},
                                         {"bos_token", "<s>"}};
    for (size_t i = 0; i < sizeof names / sizeof *names - !has_begin; i++) {
        const char *own = rill_tokenizer_config_string(config, names[i].key),
                   *name = own != NULL ? own : names[i].fallback;
        if (rill_token_set_find(tokens, name, strlen(name)) >= 0)
            TRY(rill_token_set_add(tokens, name, strlen(name), -1, RILL_TOKEN_SPECIAL));
    }
    return RILL_OK;
}

/* Add those of the source's added tokens that its vocabulary file lacks, which has `first` tokens, to the target's
 * vocabulary. */
static rill_status add_to_target(rill_tokenizer *t, const rill_tokenizer_files *files, int32_t first)
{
    rill_token_set tokens = {
        .arena.ctx = t->ctx, .name = files->target, .vocabulary = t->target, .limit = files->target_vocab_size};
    rill_status status = RILL_OK;
    for (size_t i = 0; status == RILL_OK && i < t->added->n_added; i++) {
        const rill_added_token *a = &t->added->added[i];
        if (a->id >= first) status = rill_token_set_add(&tokens, a->text.data, a->text.length, a->id, a->flags);
    }
    rill_arena_clear(&tokens.arena);
    return status;
}

static rill_status add_all(rill_tokenizer *t, const rill_tokenizer_config *config, const rill_tokenizer_files *files)
{
    const int32_t first = rill_vocabulary_count(t->source);
    *t->added = (rill_token_set){
        .arena.ctx = t->ctx, .name = files->source, .vocabulary = t->source, .limit = files->source_vocab_size};
    TRY(add_specials(config, files->kind == RILL_TOKENIZER_MOSES_BPE, t->added));
    TRY(rill_tokenizer_config_add_tokens(config, t->added));
    TRY(rill_tokenizer_config_add_special(config, t->added));
    if (t->target != t->source) TRY(add_to_target(t, files, first));
    rill_token_set_finish(t->added);
    return rill_config_bool_or(config->config, "clean_up_tokenization_spaces", 0, &t->clean_up_spaces);
}

rill_status rill_added_tokens_open(rill_tokenizer *t, const rill_tokenizer_files *files)
{
    rill_tokenizer_config config;
    TRY(rill_struct_alloc(t->ctx, &t->added, sizeof *t->added, "added tokens"));
    rill_status status = rill_tokenizer_config_open(&config, t->ctx, files->directory, 0);
    if (status == RILL_OK) status = add_all(t, &config, files);
    rill_tokenizer_config_close(&config);
    return status;
}

void rill_added_tokens_close(rill_tokenizer *t)
{
    if (t->added == NULL) return;
    rill_arena_clear(&t->added->arena);
    rill_free(t->ctx, t->added, sizeof *t->added);
}
