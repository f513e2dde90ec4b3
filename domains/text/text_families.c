/* The table of model families and their tokenizers, and the choice of a row for a model directory. */
#include "family.h"

#include <stdio.h>
#include <string.h>

#include "config_json.h"

/* --- languages ---------------------------------------------------------------------------------------------------- */

static const rill_embedded_file lists[] = {
#include "language_lists.h"
};

rill_slice rill_family_languages(const rill_family *family)
{
    for (size_t i = 0; family->languages != NULL && i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i].name, family->languages) == 0) return (rill_slice){lists[i].text, lists[i].length};
    return (rill_slice){"", 0};
}

/* --- table of model families -------------------------------------------------------------------------------------- */

static const char SPM_BPE[] = "sentencepiece.bpe.model";

#define T5_ROW(type)                                                                                            \
    {                                                                                                           \
        type, "T5Tokenizer", "spiece.model", RILL_NUMBERS_SPM, RILL_LANGUAGES_TAGS, RILL_EXTRA_TARGET_LANGUAGE, \
            RILL_EXTRA_NONE, RILL_TARGET_UNUSED, NULL, NULL, NULL                                               \
    }
#define BYTE_LEVEL_ROW(type)                                                                                   \
    {                                                                                                          \
        type, "BartTokenizer", NULL, RILL_NUMBERS_BYTES, RILL_LANGUAGES_NONE, RILL_EXTRA_BOS, RILL_EXTRA_NONE, \
            RILL_TARGET_UNUSED, NULL, "<s>", "<mask>"                                                          \
    }

/* Of several rows with the same model_type, the first is used for directories that name no tokenizer class. */
static const rill_family family_table[] = {
    {"m2m_100", "NllbTokenizer", SPM_BPE, RILL_NUMBERS_FAIRSEQ, RILL_LANGUAGES_FLORES, RILL_EXTRA_SOURCE_LANGUAGE,
     RILL_EXTRA_NONE, RILL_TARGET_FORCED_BOS, "nllb.txt", "<s>", "<mask>"},
    {"m2m_100", "M2M100Tokenizer", SPM_BPE, RILL_NUMBERS_VOCAB_JSON, RILL_LANGUAGES_M2M, RILL_EXTRA_SOURCE_LANGUAGE,
     RILL_EXTRA_NONE, RILL_TARGET_FORCED_BOS, "m2m100.txt", "<s>", NULL},
    {"m2m_100", "SMALL100Tokenizer", SPM_BPE, RILL_NUMBERS_VOCAB_JSON, RILL_LANGUAGES_M2M, RILL_EXTRA_TARGET_LANGUAGE,
     RILL_EXTRA_NONE, RILL_TARGET_UNUSED, "m2m100.txt", "<s>", NULL},
    {"mbart", "MBartTokenizer", SPM_BPE, RILL_NUMBERS_FAIRSEQ, RILL_LANGUAGES_MBART, RILL_EXTRA_NONE,
     RILL_EXTRA_SOURCE_LANGUAGE, RILL_TARGET_DECODER_START, "mbart25.txt", "<s>", "<mask>"},
    {"mbart", "MBart50Tokenizer", SPM_BPE, RILL_NUMBERS_FAIRSEQ, RILL_LANGUAGES_MBART, RILL_EXTRA_SOURCE_LANGUAGE,
     RILL_EXTRA_NONE, RILL_TARGET_FORCED_BOS, "mbart50.txt", "<s>", "<mask>"},
    BYTE_LEVEL_ROW("bart"),
    {"pegasus", "PegasusTokenizer", "spiece.model", RILL_NUMBERS_PEGASUS, RILL_LANGUAGES_NONE, RILL_EXTRA_NONE,
     RILL_EXTRA_NONE, RILL_TARGET_UNUSED, NULL, NULL, "<mask_2>"},
    T5_ROW("t5"),
    BYTE_LEVEL_ROW("t5"), /* CodeT5 */
    {.model_type = "t5", .tokenizer = "ByT5Tokenizer", .numbering = RILL_NUMBERS_RAW_BYTES},
    T5_ROW("mt5"),
    T5_ROW("umt5"),
};
enum { N_FAMILIES = sizeof family_table / sizeof *family_table };

/* --- choosing a family -------------------------------------------------------------------------------------------- */

/* The first row of this model_type and of this tokenizer, each unless it is NULL; NULL: there is none. */
static const rill_family *find_family_row(const char *model_type, const char *tokenizer)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if ((model_type == NULL || strcmp(family_table[i].model_type, model_type) == 0) &&
            (tokenizer == NULL || strcmp(family_table[i].tokenizer, tokenizer) == 0))
            return &family_table[i];
    return NULL;
}

int rill_family_exists(const char *model_type)
{
    return find_family_row(model_type, NULL) != NULL;
}

/* The tokenizer class that a model directory names; "": none. */
typedef struct class_reader {
    char name[80];
    const char *file; /* the file that names it */
} class_reader;

/* Store the tokenizer class without "Fast", with one name for classes that read the same files. Generic classes are ignored. */
static rill_status read_config_class(void *user, const rill_config *config)
{
    static const char *const same[][2] = {{"RobertaTokenizer", "BartTokenizer"}, {"MT5Tokenizer", "T5Tokenizer"}};
    static const char *const any[] = {"PreTrainedTokenizer", "TokenizersBackend", "PreTrainedTokenizerFast"};
    class_reader *r = user;
    const char *name;
    TRY(rill_config_string_or(config, "tokenizer_class", "", &name));
    const size_t length = strlen(name);
    const int fast = length > 4 && strcmp(name + length - 4, "Fast") == 0;
    if (RILL_NAME_INDEX(name, any) >= 0) return RILL_OK;
    snprintf(r->name, sizeof r->name, "%.*s", (int)(fast ? length - 4 : length), name);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(r->name, same[i][0]) == 0) snprintf(r->name, sizeof r->name, "%s", same[i][1]);
    return RILL_OK;
}

/* Read the tokenizer class from tokenizer_config.json or config.json. */
static rill_status read_class(rill_context *ctx, const char *directory, class_reader *out)
{
    static const char *const files[] = {"tokenizer_config.json", "config.json"};
    int found;
    *out = (class_reader){.name = ""};
    for (size_t i = 0; i < 2 && out->name[0] == '\0'; i++) {
        out->file = files[i];
        TRY(rill_config_read(ctx, directory, files[i], read_config_class, out, &found));
    }
    return RILL_OK;
}

static rill_status refuse_class(rill_context *ctx, const char *directory, const char *file, const char *model_type,
                                const char *found)
{
    char known[200] = "";
    for (size_t i = 0, used = 0; i < N_FAMILIES && used < sizeof known; i++)
        if (strcmp(family_table[i].model_type, model_type) == 0)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? " or " : "",
                                     family_table[i].tokenizer);
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s/%s: tokenizer_class: of a model of type %s %s is read, found \"%.60s\"",
                     directory, file, model_type, known, found);
}

rill_status rill_family_files(rill_context *ctx, const char *model_type, const char *directory,
                              rill_tokenizer_files *out)
{
    class_reader r;
    TRY(read_class(ctx, directory, &r));
    const int named = r.name[0] != '\0';
    if (model_type == NULL && !named) return RILL_OK;
    /* Without a tokenizer class the type's first row counts. m2m_100 with vocab.json is M2M100, not NLLB. */
    const int m2m = !named && strcmp(model_type, "m2m_100") == 0 && rill_directory_has_file(directory, "vocab.json");
    const char *class = named ? r.name : m2m ? "M2M100Tokenizer" : NULL;
    const rill_family *family = find_family_row(model_type, class);
    if (family == NULL && model_type == NULL) return RILL_OK;
    if (family == NULL && named) return refuse_class(ctx, directory, r.file, model_type, r.name);
    if (family == NULL)
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: no tokenizer is known for models of type \"%.40s\"", directory,
                         model_type);
    out->kind = RILL_TOKENIZER_FAMILY;
    out->family = family;
    out->directory = directory;
    const char *without_spm = family->numbering == RILL_NUMBERS_RAW_BYTES ? "tokenizer_config.json" : "vocab.json";
    out->source = out->target = family->spm_file != NULL ? family->spm_file : without_spm;
    out->target_vocab_key = "vocab_size";
    return RILL_OK;
}
