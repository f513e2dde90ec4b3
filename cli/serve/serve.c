/* rill serve: models behind HTTP.
 *
 * Each model is opened by a command line of its own, the same but for the model's name, so that all that `rill decode` takes of models
 * and searches is taken here.
 *
 * Divisions: options · the token · taking over · the command. */
#include "serve.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "head.h"
#include "interrupt.h"
#include "rill/file.h"
#include "server.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

enum {
    TAKE_HOST = 1,
    TAKE_PORT,
    TAKE_TOKEN,
    TAKE_WAITING,
    TAKE_INPUTS,
    TAKE_BYTES,
    TAKE_CONNECTIONS,
    TAKE_TIMEOUT,
    TAKE_DRAIN,
    TAKE_CACHE,
    TAKE_WIDTH,
    TAKE_ORIGIN,
    TAKE_REQUEST
};

static const cli_option server_options_rows[] = {
    {"host", 0, "H", "the address to listen at: a name, a number, or * for all (default 127.0.0.1: this machine alone)",
     .id = TAKE_HOST},
    {"port", 'p', "P", "the port; 0: any that is free (default 8190)", .id = TAKE_PORT},
    {"token-file", 0, "FILE", "clients have to show the first line of this file: \"Authorization: Bearer LINE\"",
     .id = TAKE_TOKEN},
    {"max-waiting", 0, "N",
     "inputs that wait for each model; a request that would make them more is refused with 503 (default 10000)",
     .id = TAKE_WAITING},
    {"max-inputs", 0, "N", "inputs of a request (default 1000)", .id = TAKE_INPUTS},
    {"max-body", 0, "KB", "size of a request (default 1024)", .id = TAKE_BYTES},
    {"max-width", 0, "N",
     "most that a request's k, n-best, max-candidates, min-width, stop-after, sample and groups may come to (default "
     "1000)",
     .id = TAKE_WIDTH},
    {"max-request", 0, "MB",
     "memory that a request's settings may have its search take, by an estimate, states excepted (default 512)",
     .id = TAKE_REQUEST},
    {"cache", 0, "MB",
     "answers that are kept for each model, so that what is asked again is not decoded again; 0: none (default 64)",
     .id = TAKE_CACHE},
    {"max-connections", 0, "N",
     "connections at a time; where all are taken, those of the address with most that idle longest make room (default 1000)",
     .id = TAKE_CONNECTIONS},
    {"request-timeout", 0, "S", "seconds in which a request has to arrive, and its answer to be fetched (default 30)",
     .id = TAKE_TIMEOUT},
    {"allow-origin", 0, "ORIGIN",
     "web pages that may ask, and read the answers: https://example.org; repeated; * for all (default: the server's own)",
     .id = TAKE_ORIGIN},
    {"drain", 0, "S", "seconds for what was accepted, when the server is asked to stop (default 30)", .id = TAKE_DRAIN},
    {.name = NULL},
};

/* The line is read once for each model. */
static int take_origin(serve_options *o, const char *value)
{
    if (!head_is_origin(value))
        return cli_fail("--allow-origin: \"%s\": expected SCHEME://HOST or SCHEME://HOST:PORT, or *", value);
    for (int i = 0; i < o->pages.n; i++)
        if (!strcmp(o->pages.origin[i], value)) return CLI_OK;
    if (o->pages.n == SERVE_ORIGINS_MAX) return cli_fail("--allow-origin: at most %d", SERVE_ORIGINS_MAX);
    o->pages.origin[o->pages.n++] = value;
    return CLI_OK;
}

int serve_take(serve_options *o, const cli_option *option, const char *value)
{
    switch (option->id) {
    case TAKE_HOST: o->pages.host = value; return CLI_OK;
    case TAKE_TOKEN: o->token_path = value; return CLI_OK;
    case TAKE_PORT: return cli_whole("--port", value, 0, 65535, &o->port);
    case TAKE_WAITING: return cli_whole("--max-waiting", value, 1, 1 << 28, &o->most_waiting);
    case TAKE_INPUTS: return cli_whole("--max-inputs", value, 1, 1 << 24, &o->most_inputs);
    case TAKE_BYTES: return cli_whole("--max-body", value, 1, 1 << 20, &o->most_kilobytes);
    case TAKE_CONNECTIONS: return cli_whole("--max-connections", value, 1, 1 << 20, &o->most_connections);
    case TAKE_WIDTH: return cli_whole("--max-width", value, 1, 65536, &o->most_width);
    case TAKE_REQUEST: return cli_whole("--max-request", value, 1, 1 << 20, &o->request_megabytes);
    case TAKE_CACHE: return cli_whole("--cache", value, 0, 1 << 20, &o->cache_megabytes);
    case TAKE_TIMEOUT: return cli_whole("--request-timeout", value, 1, 86400, &o->request_timeout);
    case TAKE_ORIGIN: return take_origin(o, value);
    case TAKE_DRAIN: return cli_whole("--drain", value, 0, 86400, &o->drain);
    default: return CLI_OK;
    }
}

int serve_parse(cli_session *session, int (*take)(void *user, const cli_option *option, const char *value), void *user,
                int argc, char **argv, int *helped)
{
    const cli_group groups[] = {
        {"Model", cli_model_options},
        {"Server", server_options_rows},
        {"Outputs", session->rows.outputs},
        CLI_ROW_GROUPS(*session),
        {NULL, NULL},
    };
    const cli_syntax syntax = {
        "rill serve -m [NAME=]DIR [-m [NAME=]DIR ...] [options]",
        "Answer requests over HTTP: POST /v1/decode with {\"input\": TEXT} or {\"inputs\":\n"
        "[TEXT, ...]}, and in \"settings\" what `rill decode` takes as options of the\n"
        "search. Inputs join the running batch at any timestep; no answer depends on\n"
        "what is decoded beside it. Models have the names of their directories, or NAME;\n"
        "those called FROM-TO, like de-en, answer LibreTranslate's POST /translate too.\n"
        "GET /openapi.json describes all paths.\n"
        "\n"
        "The server listens at this machine's own address alone. Others are for a\n"
        "network that is trusted, or behind a proxy that does TLS; --token-file asks\n"
        "clients for a word.\n"
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
        "    -d '{\"inputs\": [\"ein hund .\"], \"settings\": {\"k\": 10, \"n-best\": 3}}'\n",
        take,
        NULL,
        user,
    };
    return cli_session_parse(session, &syntax, argc, argv, helped);
}

/* --- the token ---------------------------------------------------------------------------------------------------- */

typedef struct serve {
    serve_options options;
    int argc;
    char **argv;
    models *now, *old; /* those that answer; those that answer what they have taken */
    char *token;       /* NULL: none is asked for */
    server *server;
    double rests_until; /* no model that failed is opened before */
} serve;

/* The first line of the file, the caller's to free. */
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

/* --- taking over -------------------------------------------------------------------------------------------------- */

/* Models whose last request is answered go, the oldest first: later ones may have taken some of theirs over. */
static void close_idle(serve *s)
{
    for (;;) {
        models **at = &s->old;
        while (*at && (*at)->next) at = &(*at)->next;
        models *m = *at;
        if (!m || server_users(s->server, m) > 0) return;
        *at = NULL;
        models_end(m, 0);
        models_close(m);
    }
}

static void take_over(serve *s, models *next)
{
    server_switch(s->server, next, s->token);
    s->now->next = s->old;
    s->old = s->now;
    s->now = next;
}

/* Read models and token again. Where that fails, what is there goes on. */
static void reload(serve *s)
{
    serve_options options = s->options; /* those of the line are the same */
    models *next = NULL;
    char *token = NULL;
    int helped = 0;
    cli_say("reading the models again");
    int code = read_token(s->options.token_path, &token);
    if (code == CLI_OK) code = models_open(&next, &options, s->argc, s->argv, &helped);
    if (code == CLI_OK) code = models_start(next);
    if (code != CLI_OK) {
        if (next) models_end(next, 1);
        models_close(next);
        free(token);
        cli_say("the models are those of before");
        return;
    }
    char *before = s->token;
    s->token = token;
    take_over(s, next);
    free(before);
    cli_say("the models are new");
}

static int has_failed(const serve *s)
{
    for (int m = 0; m < s->now->n; m++)
        if (service_failure(s->now->service[m])[0]) return 1;
    return 0;
}

/* A model whose run has failed is opened again; where that fails, too, some time later. */
static void reopen(serve *s)
{
    enum { REST = 10 };
    serve_options options = s->options;
    models *next;
    if (!has_failed(s) || cli_now() < s->rests_until) return;
    if (models_open_failed(&next, s->now, &options) != CLI_OK) {
        s->rests_until = cli_now() + REST;
        return;
    }
    take_over(s, next);
    cli_say("what had failed is open again");
}

/* One of ours that is a terminal; -1: none is. */
static int terminal_of(void)
{
    return isatty(STDIN_FILENO) ? STDIN_FILENO : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
}

static void wait_for_end(serve *s)
{
    struct pollfd wanted = {.fd = cli_interrupt_descriptor(), .events = POLLIN};
    const int stays = cli_interrupt_reloads(), terminal = stays ? -1 : terminal_of();
    while (!cli_interrupted()) {
        poll(&wanted, 1, 1000);
        if (cli_interrupt_hung_up()) {
            /* A terminal that is gone has its programs end, where nobody asked for the contrary (nohup). */
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
    int code = read_token(o->token_path, &s->token), left = 0;
    const server_options options = {.port = o->port,
                                    .token = s->token,
                                    .most_connections = o->most_connections,
                                    .most_inputs = o->most_inputs,
                                    .most_bytes = (int64_t)o->most_kilobytes << 10,
                                    .request_timeout = o->request_timeout,
                                    .pages = o->pages};
    cli_interrupt_heed();
    if (code == CLI_OK) code = models_start(s->now);
    if (code == CLI_OK) code = server_open(&s->server, &options, s->now);
    if (code == CLI_OK) {
        for (int m = 0; m < s->now->n; m++) cli_say("%s: at %s", s->now->name[m], server_address(s->server));
        wait_for_end(s);
        cli_say("stopping: what was accepted is answered");
        left = server_drain(s->server, o->drain);
        if (left > 0) cli_say("%d request%s not answered in %d seconds", left, left == 1 ? " was" : "s were", o->drain);
    }
    models_end(s->now, left > 0);
    for (models *m = s->old; m; m = m->next) models_end(m, left > 0);
    /* Those whose time is over are told so. */
    if (left > 0) server_drain(s->server, 2);
    server_close(s->server);
    return code == CLI_OK && (left > 0 || has_failed(s)) ? CLI_FAILED : code;
}

int cli_serve(int argc, char **argv)
{
    int helped = 0;
    serve s = {.options = {.pages = {.host = "127.0.0.1"},
                           .port = 8190,
                           .most_waiting = 10000,
                           .most_inputs = 1000,
                           .most_kilobytes = 1024,
                           .most_connections = 1000,
                           .request_timeout = 30,
                           .drain = 30,
                           .cache_megabytes = 64,
                           .most_width = 1000,
                           .request_megabytes = 512},
               .argc = argc,
               .argv = argv};
    json_object_seed(0);
    int code = models_open(&s.now, &s.options, argc, argv, &helped);
    if (code == CLI_OK && !helped) code = run(&s);
    while (s.old) {
        models *next = s.old->next;
        models_close(s.old);
        s.old = next;
    }
    models_close(s.now);
    free(s.token);
    return code;
}
