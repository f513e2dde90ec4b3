/* rill serve: serve models over HTTP. Each model of the command line is opened as if it were the only one. */
#include <poll.h>
#include <unistd.h>

#include "http_server.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Whether a text is the origin of a web page, such as "https://example.org", or "*". */
static int is_origin(const char *text)
{
    const char *host = strstr(text, "://");
    if (!strcmp(text, "*") || !strcmp(text, "null")) return 1;
    if (!host || host == text || !host[3]) return 0;
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || (c >= host + 3 && strchr("/?#@\\", *c))) return 0;
    return 1;
}

static int take_origin(void *command, const cli_option *option, const char *value)
{
    serve_options *o = &((service *)command)->options;
    (void)option;
    if (!is_origin(value))
        return cli_fail("--allow-origin: \"%s\": expected SCHEME://HOST or SCHEME://HOST:PORT, or *", value);
    for (int i = 0; i < o->n_origins; i++)
        if (!strcmp(o->origins[i], value)) return CLI_OK;
    if (o->n_origins == SERVE_ORIGINS_MAX) return cli_fail("--allow-origin: at most %d", SERVE_ORIGINS_MAX);
    o->origins[o->n_origins++] = value;
    return CLI_OK;
}

#define STORED(field) .member = offsetof(service, options.field)
#define NUMBER(field, of_type, least, most) STORED(field), .type = of_type, .min = least, .max = most
static const cli_option server_rows[] = {
    {"host", 0, "HOST", "address to listen on: a name, a number, or * for all (default 127.0.0.1: only this machine)",
     STORED(host)},
    {"port", 'p', "P", "port to listen on (default 8190); 0: any free port", NUMBER(port, CLI_INT, 0, 65535)},
    {"api-key-file", 0, "FILE",
     "file whose first line clients must send as a key; in the header \"Authorization: Bearer KEY\"",
     STORED(api_key_path), .aliases = "token-file"},
    {"queue-size", 0, "N",
     "maximum number of queued inputs of each model (default 10000); larger requests are refused with 503",
     NUMBER(queue_size, CLI_INT, 1, 1 << 28), .aliases = "max-waiting"},
    {"max-inputs", 0, "N", "maximum number of inputs of a request (default 1000)",
     NUMBER(max_inputs, CLI_INT, 1, 1 << 24)},
    {"max-body-size", 0, "SIZE", "maximum size of a request's body, as in 500K or 2M (default 1M)",
     NUMBER(max_body_bytes, CLI_SIZE, 1, INT64_C(1) << 30)},
    {"max-body", 0, "KB", "", .refused = "use --max-body-size SIZE, a number of bytes as in 1M"},
    {"max-beam-size", 0, "N",
     "maximum beam-size of a request; also of its n-best, max-children, min-width, stop-after, num-samples and "
     "beam-groups (default 1000)",
     NUMBER(max_beam_size, CLI_INT, 1, 65536), .aliases = "max-width"},
    {"max-request", 0, "SIZE",
     "maximum estimated memory of a request's search, without states, as in 1G (default 512M)",
     NUMBER(request_bytes, CLI_SIZE, 1 << 20, INT64_C(1) << 40)},
    {"cache-size", 0, "SIZE", "size of each model's cache of results, as in 64M (default 64M); 0: none",
     NUMBER(cache_bytes, CLI_SIZE, 0, INT64_C(1) << 40)},
    {"cache", 0, "MB", "", .refused = "use --cache-size SIZE, a number of bytes as in 64M"},
    {"max-connections", 0, "N",
     "maximum number of connections (default 1000); when all are in use, the longest idle ones of the address with "
     "most connections are closed; if all wait for responses, GET requests alone are answered",
     NUMBER(max_connections, CLI_INT, 1, 1 << 20)},
    {"request-timeout", 0, "S", "seconds within which a request must arrive and its response be read (default 30)",
     NUMBER(request_timeout, CLI_INT, 1, 86400)},
    {"allow-origin", 0, "ORIGIN",
     "origin whose web pages may send requests, as https://example.org; may be repeated; * for all (default: the "
     "server's own)",
     .take = take_origin, .is_repeatable = 1},
    {"openapi", 0, "", "print the description of all paths, GET /openapi.json's, and stop; without a model",
     STORED(prints_openapi)},
    {"shutdown-timeout", 0, "S", "seconds to finish accepted requests when the server stops (default 30)",
     NUMBER(shutdown_timeout, CLI_INT, 0, 86400), .aliases = "drain"},
    {.name = NULL},
};

static int set_defaults(void *command)
{
    ((service *)command)->options = (serve_options){.host = "127.0.0.1",
                                                    .port = 8190,
                                                    .queue_size = 10000,
                                                    .max_inputs = 1000,
                                                    .max_body_bytes = 1 << 20,
                                                    .max_connections = 1000,
                                                    .request_timeout = 30,
                                                    .shutdown_timeout = 30,
                                                    .cache_bytes = 64 << 20,
                                                    .max_beam_size = 1000,
                                                    .request_bytes = 512 << 20};
    return CLI_OK;
}

/* --- models in service -------------------------------------------------------------------------------------------- */

typedef struct serve {
    serve_options options; /* server options, taken from the first model; those of all models are equal */
    int argc;
    char **argv;
    /* current: models for new requests; draining: list of the models of earlier configurations, which finish their requests */
    models *current, *draining;
    char *token; /* API key that requests must have; NULL: none is required */
    server *server;
    double retry_time; /* time at which the next attempt to open a failed model begins */
} serve;

static int start_models(models *all)
{
    for (int m = 0; m < all->n; m++) TRY(service_start(all->service[m]));
    return CLI_OK;
}

static void end_models(models *all, int now)
{
    for (int m = 0; m < all->n; m++) service_end(all->service[m], now);
}

/* Free a set of models; NULL is allowed. Services that no other set has are closed, after service_end(service, now). */
static void drop_models(models *all, int now)
{
    for (int m = 0; all && m < MODELS_MAX; m++) {
        service *s = all->service[m];
        if (!s || --s->n_sets > 0) continue;
        service_end(s, now);
        service_close(s);
    }
    free(all);
}

/* Open all models of the command line.
 *   old: NULL, or the set to replace, which then shares its working services
 *   *out: freed by drop_models(), NULL on failure; *helped: help was printed */
static int open_models(models **out, const serve *s, models *old, int starts, int *helped)
{
    models *all = calloc(1, sizeof *all);
    int code = all ? CLI_OK : cli_fail_memory("the models");
    if (all) all->n = old ? old->n : 1;
    for (int m = 0; code == CLI_OK && m < all->n && !*helped; m++) {
        if (old && !service_failure(old->service[m])[0])
            all->service[m] = old->service[m];
        else
            code = service_open(&all->service[m], &cli_serve, m, s->argc, s->argv, &all->n, helped);
        if (all->service[m]) all->service[m]->n_sets++;
    }
    if (code == CLI_OK && starts && !*helped) code = start_models(all);
    *out = code == CLI_OK && !*helped ? all : NULL;
    if (!*out) drop_models(all, 1);
    return code;
}

/* --- API key ------------------------------------------------------------------------------------------------------ */

/* Read the API key from the first line of a file; the caller frees it. */
static int read_token(const char *path, char **out)
{
    SCOPED(cli_context_close) rill_context *ctx = NULL;
    *out = NULL;
    if (!path) return CLI_OK;
    if (rill_context_create(&ctx, NULL) < 0) return cli_fail_memory("the token");
    SCOPED(rill_text_clear) rill_text text = {.ctx = ctx};
    TRY(cli_exit_code(ctx, rill_file_read(&text, path, 4096)));
    text.data[strcspn(text.data, "\r\n")] = '\0';
    if (!text.data[0]) return cli_fail("%s: expected the token in the first line", path);
    *out = strdup(text.data);
    return *out ? CLI_OK : cli_fail_memory("the token");
}

/* --- reloading models --------------------------------------------------------------------------------------------- */

/* Drop old sets of models that no request uses. */
static void drop_idle(serve *s)
{
    for (models **link = &s->draining, *m; (m = *link);) {
        if (m->n_users > 0) {
            link = &m->next;
        } else {
            *link = m->next;
            drop_models(m, 0);
        }
    }
}

static void take_over(serve *s, models *next)
{
    server_set_models(s->server, next, s->token);
    s->current->next = s->draining;
    s->draining = s->current;
    s->current = next;
}

/* Read the models and the API key again. On failure, the server continues with the present ones. */
static void reload(serve *s)
{
    models *next = NULL;
    char *token = NULL;
    int helped = 0;
    cli_message("reloading the models");
    if (read_token(s->options.api_key_path, &token) != CLI_OK || open_models(&next, s, NULL, 1, &helped) != CLI_OK) {
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

/* Open the models again whose run has failed. If that fails, try again some seconds later. */
static void reopen(serve *s)
{
    enum { RETRY_SECONDS = 10 };
    models *next;
    int helped = 0;
    if (!has_failed(s) || cli_now() < s->retry_time) return;
    if (open_models(&next, s, s->current, 1, &helped) != CLI_OK) {
        s->retry_time = cli_now() + RETRY_SECONDS;
        return;
    }
    take_over(s, next);
    cli_message("the failed model is open again");
}

static void wait_for_end(serve *s)
{
    struct pollfd wanted = {.fd = cli_interrupt_descriptor(), .events = POLLIN};
    const int terminal = isatty(STDIN_FILENO) ? STDIN_FILENO : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
    const int ignores_hup = cli_interrupt_reload_on_hup();
    while (!cli_interrupted()) {
        poll(&wanted, 1, 1000);
        if (cli_interrupt_take_hup()) {
            /* A SIGHUP that came because the terminal was closed ends the server, unless nohup was used. */
            if (!ignores_hup && terminal >= 0 && !isatty(terminal)) return;
            reload(s);
        }
        reopen(s);
        drop_idle(s);
    }
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int run(serve *s)
{
    const serve_options *o = &s->options;
    int code = read_token(o->api_key_path, &s->token), n_unanswered = 0;
    cli_interrupt_catch();
    if (code == CLI_OK) code = start_models(s->current);
    if (code == CLI_OK) code = server_open(&s->server, o, s->current, s->token);
    if (code == CLI_OK) {
        for (int m = 0; m < s->current->n; m++)
            cli_message("%s: at %s", s->current->service[m]->name, server_address(s->server));
        wait_for_end(s);
        cli_message("stopping after the accepted requests; a second Ctrl-C stops at once");
        n_unanswered = server_drain(s->server, o->shutdown_timeout);
        if (n_unanswered > 0)
            cli_message("%d request%s not answered in %d seconds", n_unanswered, n_unanswered == 1 ? " was" : "s were",
                        o->shutdown_timeout);
    }
    end_models(s->current, n_unanswered > 0);
    for (models *m = s->draining; m; m = m->next) end_models(m, n_unanswered > 0);
    /* Give the error responses some time to be sent, for the requests that were not answered in time. */
    if (n_unanswered > 0) server_drain(s->server, 2);
    server_close(s->server);
    return code == CLI_OK && (n_unanswered > 0 || has_failed(s)) ? CLI_FAILED : code;
}

static int main_of_serve(int argc, char **argv)
{
    int helped = 0;
    serve s = {.argc = argc, .argv = argv};
    json_object_seed(0);
    int code = open_models(&s.current, &s, NULL, 0, &helped);
    if (code == CLI_OK && !helped) {
        s.options = s.current->service[0]->options;
        code = s.options.prints_openapi ? api_print_description(s.current->service[0]->session.ctx) : run(&s);
    }
    for (models *m = s.draining, *next; m; m = next) {
        next = m->next;
        drop_models(m, 1);
    }
    drop_models(s.current, 1);
    free(s.token);
    return code;
}

const cli_command cli_serve = {
    .name = "serve",
    .summary = "answer requests over HTTP",
    .usage = "rill serve -m [NAME=]DIR [-m [NAME=]DIR ...] [options]",
    .groups = {{"Model", cli_model_options},
               {"Server", server_rows},
               {"Outputs", .rows = CLI_ROWS_OUTPUTS},
               CLI_SEARCH_GROUPS},
    .main_options =
        "model threads host port api-key-file queue-size max-beam-size request-timeout cache-size device beam-size batch-size n-best",
    .size = sizeof(service),
    .start = set_defaults,
    .main = main_of_serve,
};
