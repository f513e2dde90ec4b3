/* Recognises model directories of other programs by their file names; see unsupported_format.h.
 *
 * Invariant: no file is opened. A directory that cannot be listed counts as empty. */
#include "unsupported_format.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Write the alphabetically first file name that matches `pattern` to `out`, and return 1; return 0 if no file matches. The
 * alphabetical order makes the result independent of the order of readdir(). */
static int find_matching_file(const char *directory, const char *pattern, char *out, size_t size)
{
    int found = 0;
    DIR *folder = opendir(directory);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (fnmatch(pattern, entry->d_name, 0) != 0 || (found && strcmp(entry->d_name, out) > 0)) continue;
        snprintf(out, size, "%s", entry->d_name);
        found = 1;
    }
    if (folder != NULL) closedir(folder);
    return found;
}

rill_status rill_unsupported_format_fail(rill_context *ctx, const char *directory)
{
    char name[256], other[256];
    if (find_matching_file(directory, "pytorch_model.bin", name, sizeof name) ||
        find_matching_file(directory, "pytorch_model.bin.index.json", name, sizeof name))
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "%s/%s: model.safetensors is missing: make it with rill convert bin %s --out %s", directory,
                         name, directory, directory);
    if (find_matching_file(directory, "*.npz", name, sizeof name))
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "%s/%s: this is a Marian model: convert it with rill convert marian %s --out NEW", directory,
                         name, directory);
    if (find_matching_file(directory, "dict.*.txt", name, sizeof name) &&
        find_matching_file(directory, "*.pt", other, sizeof other))
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "%s/%s: this is a fairseq model: convert it with rill convert fairseq %s/%s --out NEW",
                         directory, other, directory, other);
    if (find_matching_file(directory, "*.gguf", name, sizeof name))
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "%s/%s: this is a GGUF file of llama.cpp: expected the Hugging Face folder of the model, with "
                         "config.json and model.safetensors",
                         directory, name);
    return RILL_OK;
}

rill_status rill_unsupported_type_fail(rill_context *ctx, const char *directory, const char *type)
{
    /* Prefixes of common model_types of decoder-only language models; "llama" also matches "llama4". */
    static const char *const open_ended[] = {"llama",     "mistral", "mixtral",  "ministral", "gpt",    "qwen",
                                             "gemma",     "phi",     "falcon",   "opt",       "bloom",  "mpt",
                                             "deepseek",  "olmo",    "stablelm", "granite",   "cohere", "command",
                                             "starcoder", "mamba",   "smollm",   "exaone",    "glm"};
    for (size_t i = 0; i < sizeof open_ended / sizeof *open_ended; i++)
        if (strncmp(type, open_ended[i], strlen(open_ended[i])) == 0)
            return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                             "%s/config.json: model_type \"%s\" is a decoder-only language model: the built-in "
                             "domains decode encoder-decoder models; you can write a domain "
                             "(docs/guides/write-a-domain.md) and name it with the option domain",
                             directory, type);
    return RILL_OK;
}
