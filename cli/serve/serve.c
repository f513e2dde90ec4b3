/* rill serve: models behind HTTP.
 *
 * Each model is opened by a command line of its own, the same but for the model's name, so that all that `rill decode` takes of models
 * and searches is taken here.
 *
 * Divisions: options · models · the token · the command. */
#include "serve.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    TAKE_PATIENCE,
    TAKE_DRAIN
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
    {"max-connections", 0, "N", "connections at a time (default 1000)", .id = TAKE_CONNECTIONS},
    {"patience", 0, "S", "seconds in which a request has to arrive, and its answer to be fetched (default 30)",
     .id = TAKE_PATIENCE},
    {"drain", 0, "S", "seconds for what was accepted, when the server is asked to stop (default 30)", .id = TAKE_DRAIN},
    {.name = NULL},
};

int serve_take(serve_options *o, const cli_option *option, const char *value)
{
    switch (option->id) {
    case TAKE_HOST: o->host = value; return CLI_OK;
    case TAKE_TOKEN: o->token_path = value; return CLI_OK;
    case TAKE_PORT: return cli_whole("--port", value, 0, 65535, &o->port);
    case TAKE_WAITING: return cli_whole("--max-waiting", value, 1, 1 << 28, &o->most_waiting);
    case TAKE_INPUTS: return cli_whole("--max-inputs", value, 1, 1 << 24, &o->most_inputs);
    case TAKE_BYTES: return cli_whole("--max-body", value, 1, 1 << 20, &o->most_kilobytes);
    case TAKE_CONNECTIONS: return cli_whole("--max-connections", value, 1, 1 << 20, &o->most_connections);
    case TAKE_PATIENCE: return cli_whole("--patience", value, 1, 86400, &o->patience);
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

/* --- models ------------------------------------------------------------------------------------------------------- */

enum { MODELS_MAX = 64 };

typedef struct serve {
    serve_options options;
    const char *model[MODELS_MAX]; /* as on the command line */
    char *name[MODELS_MAX];
    service *service[MODELS_MAX];
    int n;
    char **line; /* [n_line + 1] the command line without its models, with places for one */
    int n_line;
    rill_text token;
    server *server;
} serve;

/* The value of -m in any of its forms; NULL: it is none. *uses: how many words it takes. */
static const char *model_of(char **argv, int argc, int at, int *uses)
{
    static const char *const starts[] = {"--model=", "-m"};
    *uses = 2;
    if (!strcmp(argv[at], "-m") || !strcmp(argv[at], "--model")) return at + 1 < argc ? argv[at + 1] : NULL;
    *uses = 1;
    for (int i = 0; i < 2; i++)
        if (!strncmp(argv[at], starts[i], strlen(starts[i]))) return argv[at] + strlen(starts[i]);
    return NULL;
}

/* DIR's last part, or NAME. */
static char *name_of(const char **model)
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

static int find_models(serve *s, int argc, char **argv)
{
    s->line = calloc((size_t)argc + 3, sizeof *s->line);
    if (!s->line) return cli_fail_memory("the command line");
    s->line[s->n_line++] = argv[0];
    for (int i = 1, uses; i < argc; i++) {
        const char *model = model_of(argv, argc, i, &uses);
        if (!model) {
            s->line[s->n_line++] = argv[i];
            continue;
        }
        i += uses - 1;
        if (s->n == MODELS_MAX) return cli_fail("--model: at most %d", MODELS_MAX);
        s->name[s->n] = name_of(&model);
        s->model[s->n++] = model;
        for (int m = 0; m + 1 < s->n; m++)
            if (!strcmp(s->name[m], s->name[s->n - 1]))
                return cli_fail("two models are called \"%s\": -m NAME=DIR gives one another name", s->name[m]);
    }
    return CLI_OK;
}

static int open_models(serve *s, int *helped)
{
    char option[] = "-m";
    int code = CLI_OK;
    for (int m = 0; (m == 0 || m < s->n) && code == CLI_OK && !*helped; m++) {
        int n = s->n_line;
        if (s->n > 0) {
            s->line[n++] = option;
            s->line[n++] = (char *)(size_t)s->model[m];
        }
        code = service_open(&s->service[m], s->name[m], &s->options, n, s->line, helped);
    }
    return code;
}

/* --- the token ---------------------------------------------------------------------------------------------------- */

static int read_token(serve *s, rill_context *ctx)
{
    const char *path = s->options.token_path;
    s->token = (rill_text){.ctx = ctx};
    if (!path) return CLI_OK;
    if (rill_file_read(&s->token, path, 4096) < 0) return cli_fail_context(ctx);
    s->token.data[strcspn(s->token.data, "\r\n")] = '\0';
    return s->token.data[0] ? CLI_OK : cli_fail("%s: expected the token in the first line", path);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static void wait_for_signal(void)
{
    struct pollfd wanted = {.fd = cli_interrupt_descriptor(), .events = POLLIN};
    while (!cli_interrupted()) poll(&wanted, 1, 1000);
}

static int run(serve *s)
{
    const serve_options *o = &s->options;
    int code = read_token(s, service_context(s->service[0])), left = 0;
    const server_options options = {.host = o->host,
                                    .port = o->port,
                                    .token = s->token.data,
                                    .most_connections = o->most_connections,
                                    .most_inputs = o->most_inputs,
                                    .most_bytes = (int64_t)o->most_kilobytes << 10,
                                    .patience = o->patience};
    cli_interrupt_heed();
    for (int m = 0; m < s->n && code == CLI_OK; m++) code = service_start(s->service[m]);
    if (code == CLI_OK) code = server_open(&s->server, &options, s->service, s->n);
    if (code == CLI_OK) {
        for (int m = 0; m < s->n; m++) cli_say("%s: at %s", s->name[m], server_address(s->server));
        wait_for_signal();
        cli_say("stopping: what was accepted is answered");
        left = server_drain(s->server, o->drain);
        if (left > 0) cli_say("%d request%s not answered in %d seconds", left, left == 1 ? " was" : "s were", o->drain);
    }
    for (int m = 0; m < s->n; m++) service_end(s->service[m], left > 0);
    /* Those whose time is over are told so. */
    if (left > 0) server_drain(s->server, 2);
    server_close(s->server);
    rill_text_clear(&s->token);
    return code == CLI_OK && left > 0 ? CLI_FAILED : code;
}

int cli_serve(int argc, char **argv)
{
    int helped = 0;
    serve *s = calloc(1, sizeof *s);
    if (!s) return cli_fail_memory("the command");
    s->options = (serve_options){.host = "127.0.0.1",
                                 .port = 8190,
                                 .most_waiting = 10000,
                                 .most_inputs = 1000,
                                 .most_kilobytes = 1024,
                                 .most_connections = 1000,
                                 .patience = 30,
                                 .drain = 30};
    json_object_seed(0);
    int code = find_models(s, argc, argv);
    if (code == CLI_OK) code = open_models(s, &helped);
    if (code == CLI_OK && !helped) code = run(s);
    for (int m = 0; m < MODELS_MAX; m++) {
        service_close(s->service[m]);
        free(s->name[m]);
    }
    free(s->line);
    free(s);
    return code;
}
