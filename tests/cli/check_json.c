/* check_json [--lines] FILE [PATH...]: check that the file (with --lines: each of its lines) parses as JSON, and print
 * the values at the paths.
 *
 * A path is "seconds.total" or "items.0". The value at a path is printed on a line of its own; with --lines, once per
 * line of the file that has the path. The exit code is 1 if something does not parse, or if a path is found nowhere.
 * For the shell tests, which cannot rely on another JSON reader. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *follow(const json_t *value, const char *path)
{
    char key[128];
    while (value && *path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        value = json_is_array(value) ? json_array_get(value, (size_t)strtoul(key, NULL, 10))
                                     : json_object_get(value, key);
        path += length + (path[length] == '.');
    }
    return value;
}

static int print_paths(const json_t *root, char **paths, int n, int *found)
{
    for (int i = 0; i < n; i++) {
        const json_t *value = follow(root, paths[i]);
        if (!value) continue;
        found[i]++;
        if (json_is_string(value)) {
            printf("%s\n", json_string_value(value));
            continue;
        }
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        if (!text) return 0;
        printf("%s\n", text);
        free(text);
    }
    return 1;
}

static int check(json_t *root, const json_error_t *error, const char *file, int line, char **paths, int n, int *found)
{
    if (!root) fprintf(stderr, "%s:%d: %s\n", file, line + error->line, error->text);
    int good = root && print_paths(root, paths, n, found);
    json_decref(root);
    return good;
}

static int check_lines(const char *file, char **paths, int n, int *found)
{
    char *line = NULL;
    size_t capacity = 0;
    int good = 1, number = 0;
    json_error_t error;
    FILE *stream = fopen(file, "r");
    if (!stream) return 0;
    while (good && getline(&line, &capacity, stream) >= 0)
        good = check(json_loads(line, JSON_REJECT_DUPLICATES, &error), &error, file, number++, paths, n, found);
    free(line);
    fclose(stream);
    return good;
}

int main(int argc, char **argv)
{
    int by_line = argc > 1 && !strcmp(argv[1], "--lines"), first = 1 + by_line, found[64] = {0};
    if (argc <= first || argc - first > 64) return 2;
    const char *file = argv[first];
    char **paths = argv + first + 1;
    int n = argc - first - 1;
    json_error_t error;
    int good = by_line ? check_lines(file, paths, n, found)
                       : check(json_load_file(file, JSON_REJECT_DUPLICATES, &error), &error, file, 0, paths, n, found);
    for (int i = 0; i < n && good; i++)
        if (!found[i]) {
            fprintf(stderr, "%s: nothing at \"%s\"\n", file, paths[i]);
            good = 0;
        }
    return good ? 0 : 1;
}
