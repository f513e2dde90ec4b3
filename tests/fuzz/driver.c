/* Runs a fuzz target on files, without any fuzzing engine: how corpora are replayed as ordinary tests, and how a crash is
 * looked at. Arguments are files or folders of files. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "target.h"

enum { LARGEST = 1 << 20 };

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
    if (!bad) {
        /* An exact copy, so that the address sanitizer sees a read behind the end. */
        uint8_t *exact = malloc(size > 0 ? size : 1);
        for (size_t i = 0; exact != NULL && i < size; i++) exact[i] = data[i];
        if (exact != NULL) LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    free(data);
    return bad ? -1 : 1;
}

/* Returns how many files were replayed, or -1. */
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

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int n = replay(argv[i]);
        if (n < 0) return 1;
        total += n;
    }
    printf("%d inputs replayed\n", total);
    return total > 0 ? 0 : 1;
}
