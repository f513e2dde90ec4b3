/* The set of served models; see models.h. */
#include "models.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Value of -m in any of its forms; NULL: another option. *uses: number of words. */
static const char *model_argument(char **argv, int argc, int arg_index, int *uses)
{
    static const char *const starts[] = {"--model=", "-m"};
    *uses = 2;
    if (!strcmp(argv[arg_index], "-m") || !strcmp(argv[arg_index], "--model"))
        return arg_index + 1 < argc ? argv[arg_index + 1] : NULL;
    *uses = 1;
    for (int i = 0; i < 2; i++)
        if (!strncmp(argv[arg_index], starts[i], strlen(starts[i]))) return argv[arg_index] + strlen(starts[i]);
    return NULL;
}

/* Name of a model: the last component of its directory, or NAME in NAME=DIR. */
static char *model_name(const char **model)
{
    const char *equals = strchr(*model, '='), *slash = strchr(*model, '/');
    if (equals && equals > *model && (!slash || equals < slash)) {
        char *name = strndup(*model, (size_t)(equals - *model));
        *model = equals + 1;
        return name;
    }
    size_t end = strlen(*model);
    while (end > 1 && (*model)[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && (*model)[begin - 1] != '/') begin--;
    return strndup(*model + begin, end - begin);
}

static int find_models(models *all, int argc, char **argv)
{
    all->line = calloc((size_t)argc + 3, sizeof *all->line);
    if (!all->line) return cli_fail_memory("the command line");
    all->line[all->n_line++] = argv[0];
    for (int i = 1, uses; i < argc; i++) {
        const char *model = model_argument(argv, argc, i, &uses);
        if (!model) {
            all->line[all->n_line++] = argv[i];
            continue;
        }
        i += uses - 1;
        if (all->n == MODELS_MAX) return cli_fail("--model: at most %d", MODELS_MAX);
        all->name[all->n] = model_name(&model);
        all->model[all->n++] = model;
        for (int m = 0; m + 1 < all->n; m++)
            if (!strcmp(all->name[m], all->name[all->n - 1]))
                return cli_fail("two models have the name \"%s\": set another with -m NAME=DIR", all->name[m]);
    }
    return CLI_OK;
}

static int open_one(models *all, int m, serve_options *options, int *helped)
{
    char option[] = "-m";
    int n = all->n_line;
    if (all->n > 0) {
        all->line[n++] = option;
        all->line[n++] = (char *)(size_t)all->model[m];
    }
    return service_open(&all->service[m], all->name[m], options, n, all->line, helped);
}

static int open_models(models *all, serve_options *options, int *helped)
{
    int code = CLI_OK;
    for (int m = 0; (m == 0 || m < all->n) && code == CLI_OK && !*helped; m++) code = open_one(all, m, options, helped);
    return code;
}

int models_open(models **out, serve_options *options, int argc, char **argv, int *helped)
{
    models *all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all) return cli_fail_memory("the models");
    int code = find_models(all, argc, argv);
    if (code == CLI_OK) code = open_models(all, options, helped);
    if (code == CLI_OK && !*helped)
        *out = all;
    else
        models_close(all);
    return code;
}

int models_start(models *all)
{
    int code = CLI_OK;
    for (int m = 0; m < all->n && code == CLI_OK; m++) code = service_start(all->service[m]);
    return code;
}

/* Copy a set without its services. Words of the command line are borrowed. NULL: out of memory. */
static models *copy_names(const models *old)
{
    models *all = calloc(1, sizeof *all);
    if (!all) return NULL;
    all->line = calloc((size_t)old->n_line + 2, sizeof *all->line);
    all->n = old->n;
    all->n_line = old->n_line;
    int fine = all->line != NULL;
    if (fine) memcpy(all->line, old->line, (size_t)old->n_line * sizeof *all->line);
    for (int m = 0; m < old->n && fine; m++) {
        all->model[m] = old->model[m];
        all->name[m] = strdup(old->name[m]);
        fine = all->name[m] != NULL;
    }
    if (fine) return all;
    models_close(all);
    return NULL;
}

int models_reopen_failed(models **out, models *old, serve_options *options)
{
    models *all = copy_names(old);
    int code = all ? CLI_OK : cli_fail_memory("the models"), helped = 0;
    *out = NULL;
    for (int m = 0; m < old->n && code == CLI_OK; m++) {
        if (!service_failure(old->service[m])[0]) continue;
        code = open_one(all, m, options, &helped);
        if (code == CLI_OK) code = service_start(all->service[m]);
    }
    if (code != CLI_OK) {
        if (all) models_end(all, 1);
        models_close(all);
        return code;
    }
    for (int m = 0; m < old->n; m++) {
        if (all->service[m]) continue;
        all->service[m] = old->service[m];
        free(all->name[m]);
        all->name[m] = old->name[m]; /* the service refers to this string */
        old->is_taken_over[m] = 1;
    }
    *out = all;
    return CLI_OK;
}

void models_end(models *all, int now)
{
    for (int m = 0; m < all->n; m++)
        if (all->service[m] && !all->is_taken_over[m]) service_end(all->service[m], now);
}

void models_close(models *all)
{
    if (!all) return;
    for (int m = 0; m < MODELS_MAX; m++) {
        if (all->is_taken_over[m]) continue;
        service_close(all->service[m]);
        free(all->name[m]);
    }
    free(all->line);
    free(all);
}
