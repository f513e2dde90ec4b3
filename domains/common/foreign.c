/* Folders of models in the forms of other programs, told by the names of their files; see foreign.h.
 *
 * Invariant: nothing is opened, and a folder that cannot be listed holds nothing. */
#include "foreign.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* The first name that fits in alphabetical order, which is the same wherever the folder is copied to; `out` else unchanged. */
static int holds(const char *directory, const char *pattern, char *out, size_t size)
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

rill_status rill_foreign_fail(rill_context *ctx, const char *directory)
{
    char name[256], other[256];
    if (holds(directory, "pytorch_model.bin", name, sizeof name) ||
        holds(directory, "pytorch_model.bin.index.json", name, sizeof name))
        return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                         "%s/%s: expected model.safetensors beside it: tools/convert_mt.py bin %s --out %s makes it",
                         directory, name, directory, directory);
    if (holds(directory, "*.npz", name, sizeof name))
        return rill_fail(
            ctx, RILL_ERR_NOT_FOUND,
            "%s/%s: this is Marian's form: tools/convert_mt.py marian %s --out NEW makes a folder of it that is read",
            directory, name, directory);
    if (holds(directory, "dict.*.txt", name, sizeof name) && holds(directory, "*.pt", other, sizeof other))
        return rill_fail(
            ctx, RILL_ERR_NOT_FOUND,
            "%s/%s: this is fairseq's form: tools/convert_mt.py fairseq %s/%s --out NEW makes a folder of it that is read",
            directory, other, directory, other);
    return RILL_OK;
}
