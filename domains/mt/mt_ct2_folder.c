/* Files beside CTranslate2's model.bin: special tokens, vocabularies, tokenizer. Source: models/sequence_to_sequence.cc for special tokens
 * in model.bin before version 6. */
#include <math.h>
#include <string.h>

#include "config_json.h"
#include "mt.h"
#include "tensor_file.h"

static const char CONFIG_FILE[] = "config.json", MODEL_FILE[] = "model.bin";

/* --- the configuration -------------------------------------------------------------------------------------------- */

enum { FIRST_WITH_CONFIG = 6 /* first version of model.bin with a config.json */, TOKEN_BYTES = 200 };

/* Append the member `key` of a JSON object. Its value is the token in the variable `name`, a list of bytes, or else `fallback`. */
static rill_status append_token(rill_text *json, rill_tensor_file *tensors, const char *key, const char *name,
                                const char *fallback)
{
    char token[TOKEN_BYTES + 1];
    tensor_entry *e = tensor_find_entry(tensors, tensors->count, name);
    if (e == NULL) return rill_text_printf(json, ", \"%s\": \"%s\"", key, fallback);
    const size_t n = e->tensor.end - e->tensor.begin;
    if (strcmp(e->tensor.dtype, "I8") != 0 || e->tensor.rank != 1 || n < 1 || n > TOKEN_BYTES)
        return TENSOR_FAIL(tensors, tensors->part, name, "expected a token of 1 to %d bytes", (int)TOKEN_BYTES);
    TRY(tensor_part_read(tensors->part, e->tensor.begin, n, token));
    token[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)token[i] < ' ' || token[i] == '"' || token[i] == '\\')
            return TENSOR_FAIL(tensors, tensors->part, name,
                               "expected a token without quotes, backslashes and control characters");
    return rill_text_printf(json, ", \"%s\": \"%s\"", key, token);
}

static rill_status append_flag(rill_text *json, rill_tensor_file *tensors, const char *key, const char *name)
{
    double value;
    TRY(rill_ct2_number(tensors, name, 0, 1, 0, &value));
    return rill_text_printf(json, ", \"%s\": %s", key, value != 0 ? "true" : "false");
}

/* Append decoder_start_token: the begin token or the end token. Models whose users give the first token have no such key. */
static rill_status append_start(rill_text *json, rill_tensor_file *tensors)
{
    double of_user, begins;
    TRY(rill_ct2_number(tensors, "user_decoder_start_tokens", 0, 1, 0, &of_user));
    TRY(rill_ct2_number(tensors, "with_target_bos", 0, 1, 1, &begins));
    if (of_user != 0) return RILL_OK;
    return append_token(json, tensors, "decoder_start_token", begins != 0 ? "bos_token" : "eos_token",
                        begins != 0 ? "<s>" : "</s>");
}

static rill_status write_old_config(rill_text *json, rill_tensor_file *tensors)
{
    TRY(rill_text_printf(json, "{\"quantization_type\": null"));
    TRY(append_token(json, tensors, "unk_token", "unk_token", "<unk>"));
    TRY(append_token(json, tensors, "bos_token", "bos_token", "<s>"));
    TRY(append_token(json, tensors, "eos_token", "eos_token", "</s>"));
    TRY(append_flag(json, tensors, "add_source_bos", "with_source_bos"));
    TRY(append_flag(json, tensors, "add_source_eos", "with_source_eos"));
    TRY(append_start(json, tensors));
    return rill_text_append(json, "}", 1);
}

rill_status mt_ct2_read_old_config(mt_net *net, rill_tensor_file *tensors)
{
    SCOPED(rill_text_clear) rill_text json = {.ctx = net->seq.ctx};
    if (tensors->ct2_version >= FIRST_WITH_CONFIG) return RILL_OK;
    TRY(write_old_config(&json, tensors));
    return rill_arena_copy(&net->seq.model->arena, json.data, json.length, MODEL_FILE, &net->ct2_config);
}

/* Call `read` with config.json or, for a model.bin before version 6, with the configuration made from it. */
static rill_status use_config(const mt_net *net, const char *directory, rill_config_fn read, void *user)
{
    rill_context *ctx = net->seq.ctx;
    SCOPED(rill_text_clear) rill_text path = {.ctx = ctx};
    SCOPED(rill_config_drop) rill_config *config = NULL;
    if (net->ct2_config == NULL) return rill_config_read(ctx, directory, CONFIG_FILE, read, user, NULL);
    TRY(rill_path_join(&path, directory, MODEL_FILE));
    TRY(rill_config_parse(&config, ctx, path.data, net->ct2_config, strlen(net->ct2_config)));
    return read(user, config);
}

/* Returns the first of two file names that exists in the directory; NULL if neither exists. */
static const char *first_file(const char *directory, const char *a, const char *b)
{
    return rill_directory_has_file(directory, a) ? a : rill_directory_has_file(directory, b) ? b : NULL;
}

/* --- special tokens ----------------------------------------------------------------------------------------------- */

/* Set *out to the id of the token that config.json has at `key`. */
static rill_status find_token_id(const rill_config *config, const char *key, const rill_vocabulary *in, int32_t *out)
{
    const char *token;
    TRY(rill_config_string(config, key, &token));
    *out = rill_vocabulary_id(in, token, strlen(token));
    if (*out >= 0) return RILL_OK;
    return rill_config_fail(config, key, "\"%.60s\" is not in the vocabulary", token);
}

static rill_status read_special_tokens(void *user, const rill_config *config)
{
    seq_net *s = user;
    const rill_vocabulary *target = s->tokenizer->target;
    TRY(rill_config_expect(config, "unk_token", "<unk>"));
    TRY(find_token_id(config, "eos_token", target, &s->eos));
    if (s->decoder_start >= 0) return RILL_OK; /* set by read_tables(): a start token with a zero embedding */
    if (s->tokenizer->languages != NULL && !rill_config_is_set(config, "decoder_start_token", NAN)) {
        s->decoder_start = s->eos; /* replaced by each output's language token */
        return RILL_OK;
    }
    if (!rill_config_is_set(config, "decoder_start_token", NAN))
        return rill_config_fail(
            config, "decoder_start_token",
            "expected a token: for a model whose outputs start with a language token, write that one");
    return find_token_id(config, "decoder_start_token", target, &s->decoder_start);
}

/* Check that the tokenizer's files give each token the same id as the model's own list. */
static rill_status check_listed_vocabulary(const seq_net *s, const char *directory)
{
    const rill_vocabulary *own = s->tokenizer->target;
    SCOPED(rill_vocabulary_drop) rill_vocabulary *file_vocab = NULL;
    SCOPED(rill_text_clear) rill_text path = {.ctx = s->ctx};
    const char *name = first_file(directory, "shared_vocabulary.json", "shared_vocabulary.txt");
    TRY(rill_path_join(&path, directory, name != NULL ? name : "shared_vocabulary.json"));
    TRY(rill_vocabulary_open(&file_vocab, s->ctx, path.data, s->source_vocab_size));
    const int32_t n = rill_vocabulary_count(file_vocab), m = rill_vocabulary_count(own);
    for (int32_t i = 0; i < n && i < m; i++) {
        const char *x = rill_vocabulary_token(file_vocab, i, NULL), *y = rill_vocabulary_token(own, i, NULL);
        if (strcmp(x, y) != 0)
            return rill_fail(s->ctx, RILL_ERR_FORMAT,
                             "%s: token %d is \"%.60s\", but \"%.60s\" in the tokenizer in the same folder", path.data,
                             i, x, y);
    }
    return RILL_OK;
}

rill_status mt_ct2_find_special_tokens(seq_net *seq, const char *directory)
{
    if (seq->tokenizer->family != NULL) TRY(check_listed_vocabulary(seq, directory));
    return use_config((const mt_net *)seq, directory, read_special_tokens, seq);
}

/* --- config.json's other keys ------------------------------------------------------------------------------------- */

/* Argument of read_config(): what config.json sets. */
typedef struct ct2_folder {
    mt_net *net;
    rill_tokenizer_files *files;
} ct2_folder;

/* Copy the token that config.json has at `key` to the model's memory; NULL if the key is absent. */
static rill_status copy_token(const seq_net *s, const rill_config *config, const char *key, const char **out)
{
    const char *token;
    *out = NULL;
    TRY(rill_config_string_or(config, key, NULL, &token));
    return token != NULL ? rill_arena_copy(&s->model->arena, token, strlen(token), key, out) : RILL_OK;
}

/* Returns 1 if outputs start with the begin token, as in OpenNMT and EOLE; only other models get eos after text input. */
static int starts_with_bos(const rill_config *config)
{
    const char *start = NULL, *bos = NULL;
    if (rill_config_string_or(config, "decoder_start_token", NULL, &start) != RILL_OK) return 0;
    if (rill_config_string_or(config, "bos_token", NULL, &bos) != RILL_OK) return 0;
    return start != NULL && bos != NULL && strcmp(start, bos) == 0;
}

/* Read add_source_bos and add_source_eos: special tokens of inputs. Text input also gets eos, unless outputs start with the begin token. */
static rill_status read_config(void *user, const rill_config *config)
{
    const ct2_folder *f = user;
    mt_settings *set = &f->net->settings;
    double eps;
    int begins, ends;
    rill_config_warn_unknown(config, "rill", (const char *const[]){"domain", "example", "options"}, 3);
    TRY(rill_config_number_or(config, "layer_norm_epsilon", 0, 1, (double)set->eps, &eps));
    TRY(rill_config_bool_or(config, "add_source_bos", 0, &begins));
    TRY(rill_config_bool_or(config, "add_source_eos", 0, &ends));
    if (begins) TRY(copy_token(&f->net->seq, config, "bos_token", &f->files->source_bos));
    TRY(copy_token(&f->net->seq, config, "eos_token", &f->files->source_eos));
    f->files->no_source_eos = !ends;
    f->files->no_text_eos = !ends && starts_with_bos(config);
    set->eps = (float)eps;
    if (!rill_config_is_set(config, "quantization_type", 0)) return RILL_OK;
    return rill_config_fail(config, "quantization_type", "weights of less than 8 bits are not supported");
}

rill_status mt_ct2_read_config(mt_net *net, const char *directory, rill_tokenizer_files *text)
{
    ct2_folder f = {net, text};
    net->seq.eos_file = net->ct2_config != NULL ? MODEL_FILE : CONFIG_FILE;
    return use_config(net, directory, read_config, &f);
}

/* --- the tokenizer ------------------------------------------------------------------------------------------------ */

/* Name the vocabulary files of the directory: one file for both sides, or one for each side. */
static void name_vocabularies(const char *directory, rill_tokenizer_files *text)
{
    text->kind = RILL_TOKENIZER_WHITESPACE;
    text->language_is_token = 1;
    text->target_vocab_key = "the decoder's embedding";
    text->source = first_file(directory, "shared_vocabulary.json", "shared_vocabulary.txt");
    text->target_optional = text->source != NULL;
    if (text->source != NULL) return;
    text->source = first_file(directory, "source_vocabulary.json", "source_vocabulary.txt");
    text->target = first_file(directory, "target_vocabulary.json", "target_vocabulary.txt");
    /* names for the error about a missing file */
    if (text->source == NULL) text->source = "shared_vocabulary.json";
    if (text->target == NULL) text->target = "target_vocabulary.json";
}

/* Returns 1 if the first byte is a SentencePiece model's (a protobuf tag). BPE codes are text, perhaps with the same file name. */
static int is_spm(rill_context *ctx, const char *directory, const char *name)
{
    SCOPED(rill_text_clear) rill_text path = {.ctx = ctx};
    rill_file file;
    char first = 0;
    if (rill_path_join(&path, directory, name) == RILL_OK &&
        rill_file_open(&file, ctx, path.data, RILL_FILE_REGULAR) == RILL_OK) {
        if (file.size > 0 && rill_file_get(&file, 0, 1, &first) != RILL_OK) first = 0;
        rill_file_close(&file);
    }
    rill_error_clear(ctx);
    return first == '\n';
}

/* Names that converters and packages give their SentencePiece models. Argos packages have theirs in the parent
 * directory. */
static const struct {
    /* file names of the two SentencePiece models; target NULL: the source model serves both sides */
    const char *source, *target;
} spm_files[] = {
    {"spiece.model", NULL}, {"sentencepiece.bpe.model", NULL}, {"sentencepiece.model", NULL},
    {"spm.model", NULL},    {"source.model", "target.model"},  {"../sentencepiece.model", NULL},
};

static int find_spm(rill_context *ctx, const char *directory, rill_tokenizer_files *text)
{
    for (size_t i = 0; i < sizeof spm_files / sizeof *spm_files; i++) {
        const char *source = spm_files[i].source, *target = spm_files[i].target;
        /* without a package's metadata.json, this file of the parent directory may belong to another model */
        if (source[0] == '.' && !rill_directory_has_file(directory, "../metadata.json")) continue;
        if (!is_spm(ctx, directory, source) || (target != NULL && !is_spm(ctx, directory, target))) continue;
        text->spm = source;
        text->target_spm = target;
        return 1;
    }
    return 0;
}

/* An Argos package has either sentencepiece.model or bpe.model. */
static int find_argos_codes(const char *directory, rill_tokenizer_files *text)
{
    static const char *const names[][2] = {{"bpe.model", "metadata.json"}, {"../bpe.model", "../metadata.json"}};
    for (size_t i = 0; i < 2; i++) {
        if (!rill_directory_has_file(directory, names[i][0]) || !rill_directory_has_file(directory, names[i][1]))
            continue;
        text->codes = names[i][0];
        return 1;
    }
    return 0;
}

/* Warn if the directory has no tokenizer: text would be read as tokens, without an error. */
rill_status mt_ct2_name_tokenizer(const seq_net *net, const char *directory, rill_tokenizer_files *text)
{
    name_vocabularies(directory, text);
    /* A model with a padding token gets no <unk>: its last row belongs to the start token (read_tables() of mt_ct2.c). */
    text->adds_unknown = net->pad < 0;
    if (text->tokenized) return RILL_OK;
    const int is_marian = rill_directory_has_file(directory, "source.spm");
    if (!is_marian) TRY(rill_family_files(net->ctx, NULL, directory, text));
    if (text->kind == RILL_TOKENIZER_FAMILY) return RILL_OK;
    if (is_marian || find_spm(net->ctx, directory, text)) {
        text->kind = RILL_TOKENIZER_SENTENCEPIECE;
        return RILL_OK;
    }
    if (find_argos_codes(directory, text)) {
        text->kind = RILL_TOKENIZER_MOSES_BPE;
        return RILL_OK;
    }
    rill_log(
        net->ctx, RILL_LOG_WARNING,
        "%s: there is no tokenizer, so inputs must be the model's tokens, separated by spaces, and outputs are: for "
        "texts, copy the model's SentencePiece files to source.spm and target.spm there; for tokens, set tokenized",
        directory);
    return RILL_OK;
}
