/* Runs a fuzz target without a fuzzing engine. It replays corpora as ordinary tests, helps to debug a crash, and makes
 * a short run of reproducible random inputs.
 *
 * usage: fuzz_NAME [--mutate N] FILE|FOLDER...
 * First all files are replayed, then N mutations of files drawn from them.
 * `--mutate N@SEED` draws other mutations. If a mutation crashes the process, it is left in the file that
 * RILL_FUZZ_LEAVE names. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "support/dice.h"
#include "support/share.h"

enum { LARGEST = 1 << 20, MAX_SEEDS = 4096 };

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

/* The contents of the files read. */
static bytes seeds[MAX_SEEDS];
static size_t n_seeds;

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Run the target on a copy of exactly this size, so that the address sanitizer detects a read beyond the end. */
static void run_exactly(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL) abort();
    if (size > 0) memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(LARGEST);
    if (file == NULL || data == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        if (file != NULL) fclose(file);
        free(data);
        return -1;
    }
    size_t size = fread(data, 1, LARGEST, file);
    int bad = ferror(file);
    fclose(file);
    if (!bad) run_exactly(data, size);
    if (!bad && n_seeds < MAX_SEEDS)
        seeds[n_seeds++] = (bytes){data, size};
    else
        free(data);
    return bad ? -1 : 1;
}

/* Return how many files were replayed, or -1. */
static int replay(const char *path)
{
    char inside[4096];
    int n = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) return replay_file(path);
    for (struct dirent *entry = readdir(folder); entry != NULL && n >= 0; entry = readdir(folder)) {
        if (entry->d_name[0] == '.') continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        n = replay_file(inside) < 0 ? -1 : n + 1;
    }
    closedir(folder);
    return n;
}

/* --- mutations ---------------------------------------------------------------------------------------------------- */

/* Make one change: write a byte, copy, remove or insert a run of bytes, or cut off the rest. */
static size_t mutate(dice *d, uint8_t *data, size_t size)
{
    size_t offset = (size_t)dice_range(d, 0, (int32_t)size), length = (size_t)dice_range(d, 1, 16);
    size_t from = (size_t)dice_range(d, 0, (int32_t)size);
    if (length > size - offset) length = size - offset;
    if (size < LARGEST / 2 && dice_chance(d, 25)) { /* insert random bytes */
        size_t more = (size_t)dice_range(d, 1, 16);
        memmove(data + offset + more, data + offset, size - offset);
        for (size_t i = 0; i < more; i++) data[offset + i] = (uint8_t)dice_range(d, 0, 255);
        return size + more;
    }
    switch (dice_range(d, 0, 4)) {
    case 0:
        if (offset < size) data[offset] = (uint8_t)dice_range(d, 0, 255);
        return size;
    case 1:
        if (offset < size) data[offset] ^= (uint8_t)(1 << dice_range(d, 0, 7));
        return size;
    case 2:
        if (length > size - from) length = size - from;
        memmove(data + offset, data + from, length);
        return size;
    case 3: memmove(data + offset, data + offset + length, size - offset - length); return size - length;
    default: return dice_chance(d, 20) ? offset : size;
    }
}

static void save_input(const uint8_t *data, size_t size)
{
    const char *path = getenv("RILL_FUZZ_LEAVE");
    FILE *file = path != NULL ? fopen(path, "wb") : NULL;
    if (file == NULL) return;
    fwrite(data, 1, size, file);
    fclose(file);
}

static void run_mutations(long n, uint64_t seed)
{
    uint8_t *data = malloc(LARGEST);
    if (data == NULL) abort();
    for (long i = 0; i < n; i++) {
        dice d = dice_seeded(dice_mix(seed, (uint64_t)i));
        const bytes *from = &seeds[dice_range(&d, 0, (int32_t)n_seeds - 1)];
        size_t size = from->size;
        if (size > 0) memcpy(data, from->data, size);
        for (int32_t change = dice_range(&d, 1, 8); change > 0; change--) size = mutate(&d, data, size);
        save_input(data, size);
        run_exactly(data, size);
    }
    free(data);
}

int main(int argc, char **argv)
{
    int total = 0, first = 1;
    long mutations = 0;
    unsigned long long seed = 1;
    if (argc > 2 && strcmp(argv[1], "--mutate") == 0) {
        if (sscanf(argv[2], "%ld@%llu", &mutations, &seed) < 1) return 2;
        mutations = (long)test_share(mutations);
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        int n = replay(argv[i]);
        if (n < 0) return 1;
        total += n;
    }
    if (n_seeds > 0) run_mutations(mutations, seed);
    for (size_t i = 0; i < n_seeds; i++) free(seeds[i].data);
    printf("%d inputs replayed, %ld mutations\n", total, total > 0 ? mutations : 0);
    return total > 0 ? 0 : 1;
}
