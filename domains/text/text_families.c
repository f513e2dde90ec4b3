/* The table of model families and their tokenizers, and the choice of a row for a model directory. */
#include "family.h"

#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "domain_base.h"
#include "tokenizer.h"

/* --- languages ---------------------------------------------------------------------------------------------------- */

/* Names of languages, in order of their tokens' ids, for directories whose files do not list them. */

/* Languages of FLORES-200, in the order of NLLB's vocabulary. */
static const char NLLB[] =
    "ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab ars_Arab "
    "ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl "
    "bem_Latn ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn "
    "cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn "
    "est_Latn eus_Latn ewe_Latn fao_Latn pes_Arab fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn "
    "gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn "
    "ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab "
    "kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn "
    "kon_Latn kor_Hang kmr_Latn lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn "
    "lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn mkd_Cyrl plt_Latn mlt_Latn "
    "mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn "
    "nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab quy_Latn "
    "ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn smo_Latn "
    "sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn "
    "szl_Latn tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn "
    "tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn "
    "vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zul_Latn";

/* Languages of mBART-25. */
static const char MBART_25[] =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP "
    "nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN";

/* Languages of mBART-50: the languages of mBART-25, then the additional ones. */
static const char MBART_50[] =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP "
    "nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN "
    "mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI";

/* Languages of M2M100. */
static const char M2M[] =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
    "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl "
    "ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";

/* --- the table ---------------------------------------------------------------------------------------------------- */

#define T5_ROW(type)                                                                                               \
    {                                                                                                              \
        .model_type = type, .tokenizer = "T5Tokenizer", .spm_file = "spiece.model", .numbering = RILL_NUMBERS_SPM, \
        .language_form = RILL_LANGUAGES_TAGS, .prefix = RILL_EXTRA_TARGET_LANGUAGE                                 \
    }

/* Of several rows with the same model_type, the first is used for directories that name no tokenizer class. */
static const rill_family family_table[] = {
    {.model_type = "m2m_100",
     .tokenizer = "NllbTokenizer",
     .spm_file = "sentencepiece.bpe.model",
     .numbering = RILL_NUMBERS_FAIRSEQ,
     .language_form = RILL_LANGUAGES_FLORES,
     .prefix = RILL_EXTRA_SOURCE_LANGUAGE,
     .target = RILL_TARGET_FORCED_BOS,
     .languages = NLLB,
     .begin = "<s>",
     .mask = "<mask>"},
    {.model_type = "m2m_100",
     .tokenizer = "M2M100Tokenizer",
     .spm_file = "sentencepiece.bpe.model",
     .numbering = RILL_NUMBERS_VOCAB_JSON,
     .language_form = RILL_LANGUAGES_M2M,
     .prefix = RILL_EXTRA_SOURCE_LANGUAGE,
     .target = RILL_TARGET_FORCED_BOS,
     .languages = M2M,
     .begin = "<s>"},
    {.model_type = "m2m_100",
     .tokenizer = "SMALL100Tokenizer",
     .spm_file = "sentencepiece.bpe.model",
     .numbering = RILL_NUMBERS_VOCAB_JSON,
     .language_form = RILL_LANGUAGES_M2M,
     .prefix = RILL_EXTRA_TARGET_LANGUAGE,
     .languages = M2M,
     .begin = "<s>"},
    {.model_type = "mbart",
     .tokenizer = "MBartTokenizer",
     .spm_file = "sentencepiece.bpe.model",
     .numbering = RILL_NUMBERS_FAIRSEQ,
     .language_form = RILL_LANGUAGES_MBART,
     .suffix = RILL_EXTRA_SOURCE_LANGUAGE,
     .target = RILL_TARGET_DECODER_START,
     .languages = MBART_25,
     .begin = "<s>",
     .mask = "<mask>"},
    {.model_type = "mbart",
     .tokenizer = "MBart50Tokenizer",
     .spm_file = "sentencepiece.bpe.model",
     .numbering = RILL_NUMBERS_FAIRSEQ,
     .language_form = RILL_LANGUAGES_MBART,
     .prefix = RILL_EXTRA_SOURCE_LANGUAGE,
     .target = RILL_TARGET_FORCED_BOS,
     .languages = MBART_50,
     .begin = "<s>",
     .mask = "<mask>"},
    {.model_type = "bart",
     .tokenizer = "BartTokenizer",
     .numbering = RILL_NUMBERS_BYTES,
     .prefix = RILL_EXTRA_BOS,
     .begin = "<s>",
     .mask = "<mask>"},
    {.model_type = "pegasus",
     .tokenizer = "PegasusTokenizer",
     .spm_file = "spiece.model",
     .numbering = RILL_NUMBERS_PEGASUS,
     .mask = "<mask_2>"},
    T5_ROW("t5"),
    {.model_type = "t5", /* CodeT5 */
     .tokenizer = "BartTokenizer",
     .numbering = RILL_NUMBERS_BYTES,
     .prefix = RILL_EXTRA_BOS,
     .begin = "<s>",
     .mask = "<mask>"},
    {.model_type = "t5", .tokenizer = "ByT5Tokenizer", .numbering = RILL_NUMBERS_RAW_BYTES},
    T5_ROW("mt5"),
    T5_ROW("umt5"),
};
enum { N_FAMILIES = sizeof family_table / sizeof *family_table };

/* --- choosing a row ----------------------------------------------------------------------------------------------- */

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

/* The tokenizer class that a model directory names. */
typedef struct class_reader {
    char name[80];
    const char *file; /* the file that names it; NULL: none */
} class_reader;

/* Store the file's tokenizer class, unless one is stored: without "Fast", and with one name for classes that read the same files.
 * Generic classes are ignored: they identify no family. */
static void keep_class(class_reader *r, const char *name, const char *file)
{
    static const char *const same[][2] = {{"RobertaTokenizer", "BartTokenizer"}, {"MT5Tokenizer", "T5Tokenizer"}};
    static const char *const any[] = {"PreTrainedTokenizer", "TokenizersBackend", "PreTrainedTokenizerFast"};
    if (name == NULL || r->file != NULL) return;
    const size_t length = strlen(name);
    const int fast = length > 4 && strcmp(name + length - 4, "Fast") == 0;
    if (RILL_NAME_INDEX(name, any) >= 0) return;
    r->file = file;
    snprintf(r->name, sizeof r->name, "%.*s", (int)(fast ? length - 4 : length), name);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(r->name, same[i][0]) == 0) snprintf(r->name, sizeof r->name, "%s", same[i][1]);
}

static rill_status read_config_class(void *r, const rill_config *config)
{
    const char *name;
    TRY(rill_config_string_or(config, "tokenizer_class", NULL, &name));
    keep_class(r, name, "config.json");
    return RILL_OK;
}

/* Read the tokenizer class from tokenizer_config.json or config.json. */
static rill_status read_class(rill_context *ctx, const char *directory, class_reader *out)
{
    rill_tokenizer_config config;
    int found;
    out->file = NULL;
    rill_status status = rill_tokenizer_config_open(&config, ctx, directory, 0);
    if (status == RILL_OK)
        keep_class(out, rill_tokenizer_config_string(&config, "tokenizer_class"), "tokenizer_config.json");
    rill_tokenizer_config_close(&config);
    if (status != RILL_OK || out->file != NULL) return status;
    return rill_config_read(ctx, directory, "config.json", read_config_class, out, &found);
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
    if (model_type == NULL && r.file == NULL) return RILL_OK;
    /* Without a tokenizer class the type's first row counts. m2m_100 with vocab.json is M2M100, not NLLB. */
    const int m2m = r.file == NULL && strcmp(model_type, "m2m_100") == 0 &&
                    rill_directory_has_file(directory, "vocab.json");
    const char *class = r.file != NULL ? r.name : m2m ? "M2M100Tokenizer" : NULL;
    const rill_family *family = find_family_row(model_type, class);
    if (family == NULL && model_type == NULL) return RILL_OK;
    if (family == NULL && r.file != NULL) return refuse_class(ctx, directory, r.file, model_type, r.name);
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
