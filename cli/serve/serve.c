/* rill serve: serve models over HTTP.
 *
 * Each model is opened with the command line, in which -m names only this model. So all model and search options of `rill decode`
 * work.
 *
 * Divisions: options · API key · reloading · the command. */
#include "serve.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "request_head.h"
#include "rill/file.h"
#include "server.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

enum {
    TAKE_HOST = 1,
    TAKE_PORT,
    TAKE_KEY,
    TAKE_QUEUE,
    TAKE_INPUTS,
    TAKE_BODY,
    TAKE_CONNECTIONS,
    TAKE_TIMEOUT,
    TAKE_SHUTDOWN,
    TAKE_CACHE,
    TAKE_BEAM_SIZE,
    TAKE_ORIGIN,
    TAKE_REQUEST
};

static const cli_option server_options_rows[] = {
    {"host", 0, "HOST", "address to listen on: a name, a number, or * for all (default 127.0.0.1: only this machine)",
     .id = TAKE_HOST},
    {"port", 'p', "P", "port to listen on (default 8190); 0: any free port", .id = TAKE_PORT},
    {"api-key-file", 0, "FILE",
     "file whose first line clients must send as a key; in the header \"Authorization: "
     "Bearer KEY\"",
     .id = TAKE_KEY, .aliases = "token-file"},
    {"queue-size", 0, "N",
     "maximum number of queued inputs of each model (default 10000); larger requests are refused with 503",
     .id = TAKE_QUEUE, .aliases = "max-waiting"},
    {"max-inputs", 0, "N", "maximum number of inputs of a request (default 1000)", .id = TAKE_INPUTS},
    {"max-body-size", 0, "SIZE", "maximum size of a request's body, as in 500K or 2M (default 1M)", .id = TAKE_BODY},
    {"max-body", 0, "KB", "", .refused = "use --max-body-size SIZE, a number of bytes as in 1M"},
    {"max-beam-size", 0, "N",
     "maximum beam-size of a request; also of its n-best, max-children, min-width, stop-after, num-samples and "
     "beam-groups (default 1000)",
     .id = TAKE_BEAM_SIZE, .aliases = "max-width"},
    {"max-request", 0, "SIZE",
     "maximum estimated memory of a request's search, without states, as in 1G (default 512M)", .id = TAKE_REQUEST},
    {"cache-size", 0, "SIZE", "size of each model's cache of results, as in 64M (default 64M); 0: none",
     .id = TAKE_CACHE},
    {"cache", 0, "MB", "", .refused = "use --cache-size SIZE, a number of bytes as in 64M"},
    {"max-connections", 0, "N",
     "maximum number of connections (default 1000); when all are in use, the longest idle ones of the address with "
     "most connections are closed",
     .id = TAKE_CONNECTIONS},
    {"request-timeout", 0, "S", "seconds within which a request must arrive and its response be read (default 30)",
     .id = TAKE_TIMEOUT},
    {"allow-origin", 0, "ORIGIN",
     "origin whose web pages may send requests, as https://example.org; may be repeated; * for all (default: the "
     "server's own)",
     .id = TAKE_ORIGIN, .is_repeatable = 1},
    {"shutdown-timeout", 0, "S", "seconds to finish accepted requests when the server stops (default 30)",
     .id = TAKE_SHUTDOWN, .aliases = "drain"},
    {.name = NULL},
};

/* The command line is parsed once for each model, so an origin may be known already. */
static int take_origin(serve_options *o, const char *value)
{
    if (!head_is_origin(value))
        return cli_fail("--allow-origin: \"%s\": expected SCHEME://HOST or SCHEME://HOST:PORT, or *", value);
    for (int i = 0; i < o->pages.n_origins; i++)
        if (!strcmp(o->pages.origins[i], value)) return CLI_OK;
    if (o->pages.n_origins == SERVE_ORIGINS_MAX) return cli_fail("--allow-origin: at most %d", SERVE_ORIGINS_MAX);
    o->pages.origins[o->pages.n_origins++] = value;
    return CLI_OK;
}

int serve_take_option(serve_options *o, rill_context *ctx, const cli_option *option, const char *value)
{
    switch (option->id) {
    case TAKE_HOST: o->pages.host = value; return CLI_OK;
    case TAKE_KEY: o->api_key_path = value; return CLI_OK;
    case TAKE_PORT: return cli_parse_int("--port", value, 0, 65535, &o->port);
    case TAKE_QUEUE: return cli_parse_int("--queue-size", value, 1, 1 << 28, &o->queue_size);
    case TAKE_INPUTS: return cli_parse_int("--max-inputs", value, 1, 1 << 24, &o->max_inputs);
    case TAKE_BODY: return cli_parse_size(ctx, "max-body-size", value, 1, INT64_C(1) << 30, &o->max_body_bytes);
    case TAKE_CONNECTIONS: return cli_parse_int("--max-connections", value, 1, 1 << 20, &o->max_connections);
    case TAKE_BEAM_SIZE: return cli_parse_int("--max-beam-size", value, 1, 65536, &o->max_beam_size);
    case TAKE_REQUEST: return cli_parse_size(ctx, "max-request", value, 1 << 20, INT64_C(1) << 40, &o->request_bytes);
    case TAKE_CACHE: return cli_parse_size(ctx, "cache-size", value, 0, INT64_C(1) << 40, &o->cache_bytes);
    case TAKE_TIMEOUT: return cli_parse_int("--request-timeout", value, 1, 86400, &o->request_timeout);
    case TAKE_ORIGIN: return take_origin(o, value);
    case TAKE_SHUTDOWN: return cli_parse_int("--shutdown-timeout", value, 0, 86400, &o->shutdown_timeout);
    default: return CLI_OK;
    }
}

int serve_parse(cli_session *session, int (*take)(void *user, const cli_option *option, const char *value), void *user,
                int argc, char **argv, int *helped)
{
    const cli_group groups[] = {
        {"Model", cli_model_options},
        {"Server", server_options_rows},
        {"Outputs", session->rows.output_options},
        CLI_OPTION_ROW_GROUPS(*session),
        {NULL, NULL},
    };
    const cli_syntax syntax = {
        "rill serve -m [NAME=]DIR [-m [NAME=]DIR ...] [options]",
        "Answer requests over HTTP: POST /v1/decode with {\"input\": TEXT} or {\"inputs\":\n"
        "[TEXT, ...]}, and in \"options\" what `rill decode` takes as options of the\n"
        "search. Inputs join the running batch at any timestep; no answer depends on\n"
        "what is decoded beside it. Models have the names of their directories, or NAME;\n"
        "those called FROM-TO, like de-en, answer LibreTranslate's POST /translate too.\n"
        "GET /openapi.json describes all paths.\n"
        "\n"
        "The server listens at this machine's own address alone. Others are for a\n"
        "network that is trusted, or behind a proxy that does TLS; --api-key-file asks\n"
        "clients for a key.\n"
        "\n"
        "SIGTERM and Ctrl-C have what was accepted answered, and nothing more taken.",
        groups,
        "Exit code: 0 asked to stop, and all that was accepted is answered; 1 wrong\n"
        "usage, the server could not start, or something was left unanswered.\n"
        "\n"
        "Examples:\n"
        "  rill serve -m examples/models/de-en\n"
        "  rill serve -m de-en=models/first -m en-fr=models/second --port 8080\n"
        "  curl -s localhost:8190/v1/decode -d '{\"input\": \"ein hund .\"}'\n"
        "  curl -s localhost:8190/v1/decode \\\n"
        "    -d '{\"inputs\": [\"ein hund .\"], \"options\": {\"beam_size\": 10, \"n_best\": 3}}'\n",
        take,
        NULL,
        user,
        "model threads host port api-key-file queue-size max-beam-size request-timeout cache-size device beam-size batch-size n-best",
    };
    return cli_session_parse(session, &syntax, argc, argv, helped);
}

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
