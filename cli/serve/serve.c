/* rill serve: serve models over HTTP.
 *
 * Each model is opened with the command line, in which -m names only this model. So all model and search options of `rill decode`
 * work.
 *
 * Divisions: options · API key · reloading · the command. */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "rill/file.h"
#include "server.h"

/* --- API key ------------------------------------------------------------------------------------------------------ */

typedef struct serve {
    serve_options options;
    int argc;
    char **argv;
    models *current, *draining; /* the set for new requests; old sets that finish their requests */
    char *token;                /* NULL: no API key is required */
    server *server;
    double retry_time; /* time of the next attempt to open a failed model */
} serve;

/* Read the first line of the file; the caller frees it. */
static int read_token(const char *path, char **out)
{
    rill_context *ctx;
    *out = NULL;
    if (!path) return CLI_OK;
    if (rill_context_create(&ctx, NULL) < 0) return cli_fail_memory("the token");
    rill_text text = {.ctx = ctx};
    int code = rill_file_read(&text, path, 4096) < 0 ? cli_fail_context(ctx) : CLI_OK;
    if (code == CLI_OK) {
        text.data[strcspn(text.data, "\r\n")] = '\0';
        code = text.data[0] ? CLI_OK : cli_fail("%s: expected the token in the first line", path);
    }
    if (code == CLI_OK) *out = strdup(text.data);
    if (code == CLI_OK && !*out) code = cli_fail_memory("the token");
    rill_text_clear(&text);
    rill_context_destroy(ctx);
    return code;
}

/* --- reloading ---------------------------------------------------------------------------------------------------- */

/* Close old sets without requests, the oldest first, because a newer set may have taken over services of an older one. */
static void close_idle(serve *s)
{
    for (;;) {
        models **last_link = &s->draining;
        while (*last_link && (*last_link)->next) last_link = &(*last_link)->next;
        models *m = *last_link;
        if (!m || server_n_users(s->server, m) > 0) return;
        *last_link = NULL;
        models_end(m, 0);
        models_close(m);
    }
}

static void take_over(serve *s, models *next)
{
    server_set_models(s->server, next, s->token);
    s->current->next = s->draining;
    s->draining = s->current;
    s->current = next;
}

/* Read models and API key again. On failure the old ones continue. */
static void reload(serve *s)
{
    serve_options options = s->options; /* the command line's server options are unchanged */
    models *next = NULL;
    char *token = NULL;
    int helped = 0;
    cli_message("reloading the models");
    int code = read_token(s->options.api_key_path, &token);
    if (code == CLI_OK) code = models_open(&next, &options, s->argc, s->argv, &helped);
    if (code == CLI_OK) code = models_start(next);
    if (code != CLI_OK) {
        if (next) models_end(next, 1);
        models_close(next);
        free(token);
        cli_message("the previous models stay in use");
        return;
    }
    char *old_token = s->token;
    s->token = token;
    take_over(s, next);
    free(old_token);
    cli_message("the models are reloaded");
}

static int has_failed(const serve *s)
{
    for (int m = 0; m < s->current->n; m++)
        if (service_failure(s->current->service[m])[0]) return 1;
    return 0;
}

/* Open models again whose run has failed. After a failure, retry some seconds later. */
static void reopen(serve *s)
{
    enum { RETRY_SECONDS = 10 };
    serve_options options = s->options;
    models *next;
    if (!has_failed(s) || cli_now() < s->retry_time) return;
    if (models_reopen_failed(&next, s->current, &options) != CLI_OK) {
        s->retry_time = cli_now() + RETRY_SECONDS;
        return;
    }
    take_over(s, next);
    cli_message("the failed model is open again");
}

/* A standard stream that is a terminal; -1: none. */
static int find_terminal(void)
{
    return isatty(STDIN_FILENO) ? STDIN_FILENO : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
}

static void wait_for_end(serve *s)
{
    struct pollfd wanted = {.fd = cli_interrupt_descriptor(), .events = POLLIN};
    const int ignores_hup = cli_interrupt_reload_on_hup(), terminal = ignores_hup ? -1 : find_terminal();
    while (!cli_interrupted()) {
        poll(&wanted, 1, 1000);
        if (cli_interrupt_take_hup()) {
            /* SIGHUP after the terminal was closed ends the server, unless nohup was used. */
            if (terminal >= 0 && !isatty(terminal)) return;
            reload(s);
        }
        reopen(s);
        close_idle(s);
    }
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int run(serve *s)
{
    const serve_options *o = &s->options;
    int code = read_token(o->api_key_path, &s->token), n_unanswered = 0;
    const server_options options = {.port = o->port,
                                    .token = s->token,
                                    .max_connections = o->max_connections,
                                    .max_inputs = o->max_inputs,
                                    .max_body_bytes = o->max_body_bytes,
                                    .request_timeout = o->request_timeout,
                                    .pages = o->pages};
    cli_interrupt_catch();
    if (code == CLI_OK) code = models_start(s->current);
    if (code == CLI_OK) code = server_open(&s->server, &options, s->current);
    if (code == CLI_OK) {
        for (int m = 0; m < s->current->n; m++)
            cli_message("%s: at %s", s->current->name[m], server_address(s->server));
        wait_for_end(s);
        cli_message("stopping after the accepted requests; a second Ctrl-C stops at once");
        n_unanswered = server_drain(s->server, o->shutdown_timeout);
        if (n_unanswered > 0)
            cli_message("%d request%s not answered in %d seconds", n_unanswered, n_unanswered == 1 ? " was" : "s were",
                        o->shutdown_timeout);
    }
    models_end(s->current, n_unanswered > 0);
    for (models *m = s->draining; m; m = m->next) models_end(m, n_unanswered > 0);
    /* Send the error responses of requests that ran out of time. */
    if (n_unanswered > 0) server_drain(s->server, 2);
    server_close(s->server);
    return code == CLI_OK && (n_unanswered > 0 || has_failed(s)) ? CLI_FAILED : code;
}

int cli_serve(int argc, char **argv)
{
    int helped = 0;
    serve s = {.options = {.pages = {.host = "127.0.0.1"},
                           .port = 8190,
                           .queue_size = 10000,
                           .max_inputs = 1000,
                           .max_body_bytes = 1 << 20,
                           .max_connections = 1000,
                           .request_timeout = 30,
                           .shutdown_timeout = 30,
                           .cache_bytes = 64 << 20,
                           .max_beam_size = 1000,
                           .request_bytes = 512 << 20},
               .argc = argc,
               .argv = argv};
    json_object_seed(0);
    int code = models_open(&s.current, &s.options, argc, argv, &helped);
    if (code == CLI_OK && !helped) code = run(&s);
    while (s.draining) {
        models *next = s.draining->next;
        models_close(s.draining);
        s.draining = next;
    }
    models_close(s.current);
    free(s.token);
    return code;
}

/* --- models ------------------------------------------------------------------------------------------------------------ */

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
