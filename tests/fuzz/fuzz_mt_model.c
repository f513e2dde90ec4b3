/* Bytes to a translation model's directory: the part before the first NUL is config.json, the part before the next
 * generation_config.json, and the rest model.safetensors; the vocabulary is always the same. A second NUL at once means
 * that there is no generation_config.json.
 *
 * Whatever the bytes: no crash, no memory left over, no more memory than the configuration's sizes allow with the tensors
 * at hand; a failure says something. A model that opens reads a line, and scores a node of it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mt.h"
#include "target.h"

/* A hundred megabytes are all there is. */
static void *allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    size_t *used = user;
    void *fresh = NULL;
    if (new_size > ((size_t)100 << 20) - *used) return NULL;
    if (new_size > 0 && posix_memalign(&fresh, 64, new_size) != 0) return NULL;
    if (fresh != NULL && block != NULL) memcpy(fresh, block, old_size < new_size ? old_size : new_size);
    *used += new_size;
    *used -= old_size;
    free(block);
    return fresh;
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t length)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    require(file != NULL);
    require(fwrite(bytes, 1, length, file) == length);
    require(fclose(file) == 0);
}

static const char *const names[] = {"config.json", "generation_config.json", "model.safetensors",
                                    "vocab.json",  "vocab-src.json",         "vocab-tgt.json"};
static const char vocabulary[] = "{\"</s>\": 0, \"<unk>\": 1, \"<pad>\": 2, \"a\": 3}";

static void write_folder(const char *folder, const char *bytes, size_t size)
{
    for (size_t i = 0; i < 3; i++) {
        size_t length = i < 2 ? cut(bytes, size) : size;
        if (i != 1 || length > 0) write_file(folder, names[i], bytes, length);
        bytes += length + (length < size);
        size -= length + (length < size);
    }
    for (size_t i = 3; i < 6; i++) write_file(folder, names[i], vocabulary, sizeof vocabulary - 1);
}

static void remove_folder(const char *folder)
{
    char path[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    require(rmdir(folder) == 0);
}

static void use_model(void *self, const rill_domain_info *info)
{
    const rill_domain *domain = &rill_mt_domain;
    rill_input input = {.text = "a a b", .length = 5};
    int32_t node = 0, parent = -1, action = -1, slot = 0, depth = 0, count = 0, chosen;
    float logp;
    uint8_t ends = RILL_ENDS_BY_ACTION;
    rill_rows rows = {1, 0, &node, &parent, &parent, &action, &slot, &depth, 0};
    rill_choices out = {.stride = 1, .count = &count, .action = &chosen, .logp = &logp, .ends = &ends};
    if (domain->reserve(self, 1, 1) != RILL_OK || domain->encode(self, 1, &input) != RILL_OK || input.status < 0)
        return;
    if (domain->step(self, &rows) != RILL_OK) return;
    require(domain->score(self, &rows, &(rill_ask){.most = 1}, &out) == RILL_OK);
    require(count <= 1 && (count == 0 || (chosen >= 0 && chosen < info->actions)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t used = 0;
    rill_context *ctx;
    const rill_context_options with = {.struct_size = sizeof with, .allocate = allocate, .allocate_user = &used};
    char folder[] = "/tmp/rill-fuzz-XXXXXX";
    if (rill_context_create(&ctx, &with) != RILL_OK) return 0;
    require(mkdtemp(folder) != NULL);
    write_folder(folder, (const char *)data, size);
    void *model = NULL, *runner = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    if (rill_mt_domain.open(&rill_mt_domain, ctx, &options, &model, &info) == RILL_OK) {
        if (rill_mt_domain.start(model, ctx, 1, &runner) == RILL_OK) use_model(runner, &info);
        rill_mt_domain.stop(runner);
        rill_mt_domain.close(model);
    } else {
        require(model == NULL && rill_error(ctx)[0] != '\0');
    }
    remove_folder(folder);
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    require(used == 0);
    return 0;
}
