/* The options of `rill serve`. */
#include "serve.h"

#include <stddef.h>
#include <string.h>

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

/* Whether a text is an origin, or "*". */
static int is_origin(const char *text)
{
    const char *host = strstr(text, "://");
    if (!strcmp(text, "*") || !strcmp(text, "null")) return 1;
    if (!host || host == text || !host[3]) return 0;
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || (c >= host + 3 && strchr("/?#@\\", *c))) return 0;
    return 1;
}

/* The command line is parsed once for each model, so an origin may be known already. */
static int take_origin(serve_options *o, const char *value)
{
    if (!is_origin(value))
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
