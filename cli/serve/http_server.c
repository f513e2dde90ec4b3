/* Connections; see http_server.h.
 *
 * An exchange is one request and its response. Its connection is suspended until the job is done, and resumed under the job's lock.
 * Lock order: watch, service, job. */
#include "http_server.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

/* Number of connections accepted above --max-connections. They may ask for the server's state while all other connections wait for
 * responses. */
enum { SPARE_CONNECTIONS = 16 };

/* Maximum size of a request's head in bytes. libmicrohttpd reserves twice as much, and rejects larger heads with an HTML page. */
enum { MAX_HEAD_BYTES = 32 << 10 };

struct server {
    serve_options options;
    atomic_int is_draining;
    struct MHD_Daemon *daemon;
    watch *watch;
    char address[128];
    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t became_idle;
    const char *token; /* the API key; NULL: none is required */
    models *models;    /* models for new requests */
    int n_busy;        /* number of exchanges whose request has arrived completely */
    int listen_fd;     /* the listening socket, after the library has stopped accepting connections; before that -1 */
};

typedef struct exchange {
    server *server;
    struct MHD_Connection *connection;
    const api_route *route;
    /* The response may be known before the body has arrived. It is then sent after the body, which is discarded. */
    api_request request;
    json_t *parsed;
    char *body; /* [body_length] bytes of the body that have arrived */
    size_t body_length, body_capacity;
    double start_time;
    int fd, is_counted, is_suspended, is_answered, is_streaming;
    enum { FORM_NONE, FORM_URLENCODED, FORM_MULTIPART } form; /* format of the body; FORM_NONE: JSON */
    int lacks_key;                                            /* the head has no API key; the body may have one */
    /* the connection is one of those above --max-connections */
    int is_spare;
    int closes_connection; /* 1: close the connection after the response */
} exchange;

/* --- responses ---------------------------------------------------------------------------------------------------- */

/* Allow pages of an allowed origin to read the response (fetch.spec.whatwg.org, 3.3). */
static void add_origin(const exchange *x, struct MHD_Response *response)
{
    const char *origin = head_allowed_origin(x->connection, &x->server->options);
    if (!origin) return;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(response, "Access-Control-Expose-Headers", "Retry-After");
    MHD_add_response_header(response, "Vary", "Origin");
}

static enum MHD_Result send_answer(exchange *x)
{
    if (x->route && x->route->is_libretranslate) libre_error(&x->request.answer);
    const api_answer a = x->request.answer;
    x->request.answer = (api_answer){.code = 0};
    char *text = a.json ? cli_result_line(a.json) : a.text;
    const char *type = a.json ? "application/json" : a.type;
    char seconds[16];
    json_decref(a.json);
    if (!text) return MHD_NO;
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    snprintf(seconds, sizeof seconds, "%d", a.retry_after);
    MHD_add_response_header(response, "Content-Type", type);
    if (!strncmp(type, "text/html", 9))
        MHD_add_response_header(
            response, "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
            "frame-ancestors 'none'");
    if (a.is_preflight) {
        MHD_add_response_header(response, "Access-Control-Allow-Methods", x->route->method);
        MHD_add_response_header(response, "Access-Control-Allow-Headers", "Authorization, Content-Type");
        MHD_add_response_header(response, "Access-Control-Max-Age", "600");
    }
    add_origin(x, response);
    if (a.retry_after) MHD_add_response_header(response, "Retry-After", seconds);
    if (a.allowed_methods) MHD_add_response_header(response, "Allow", a.allowed_methods);
    if (a.code == 401) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (x->server->is_draining || x->closes_connection || x->is_spare || a.code == 408 || a.code == 413)
        MHD_add_response_header(response, "Connection", "close");
    enum MHD_Result queued = MHD_queue_response(x->connection, a.code, response);
    MHD_destroy_response(response);
    x->is_answered = 1;
    watch_answering(x->server->watch, x->fd);
    metrics_request(a.code, cli_now() - x->start_time);
    return queued;
}

/* --- waiting for a job -------------------------------------------------------------------------------------------- */

/* Resume the exchange's connection, because the job is done. Called on any thread, with the job's lock held. */
static void resume_exchange(void *user)
{
    exchange *x = user;
    if (!x->is_suspended) return;
    x->is_suspended = 0;
    MHD_resume_connection(x->connection);
}

/* Cancel the request of a client that has disconnected. Called on the thread that watches connections. */
static void client_gone(void *user)
{
    exchange *x = user;
    service_cancel(x->request.service, x->request.job);
}

/* Connect the exchange with its job. Except for streams, suspends the exchange until the job is done. Returns 0 if it is not suspended. */
static int wait_for_job(exchange *x)
{
    job *j = x->request.job;
    watch_wait(x->server->watch, x->fd, x);
    LOCK_SCOPE(&j->lock);
    const int waits = j->n_done < j->n && !j->is_stream;
    j->notify = resume_exchange;
    j->notify_user = x;
    x->is_suspended = waits;
    if (waits) MHD_suspend_connection(x->connection);
    return waits;
}

static enum MHD_Result continue_exchange(exchange *x)
{
    for (;;) {
        if (wait_for_job(x)) return MHD_YES;
        watch_stop_wait(x->server->watch, x->fd);
        if (!x->route->end(&x->request)) return send_answer(x);
    }
}

/* --- server-sent events ------------------------------------------------------------------------------------------- */

/* Copy the next bytes of a stream of events, or suspend the connection until there are some. */
static ssize_t next_bytes(void *user, uint64_t stream_pos, char *out, size_t max_bytes)
{
    exchange *x = user;
    job *j = x->request.job;
    (void)stream_pos;
    LOCK_SCOPE(&j->lock);
    size_t n = job_take_events(j, out, max_bytes);
    const int over = n == 0 && j->n_done == j->n;
    if (n == 0 && !over) {
        x->is_suspended = 1;
        MHD_suspend_connection(x->connection);
    }
    return over ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static enum MHD_Result start_stream(exchange *x)
{
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 << 10, next_bytes, x, NULL);
    if (!response) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    add_origin(x, response);
    x->is_answered = x->is_streaming = 1;
    wait_for_job(x);
    enum MHD_Result queued = MHD_queue_response(x->connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

/* --- receiving requests ------------------------------------------------------------------------------------------- */

/* Whether the client sent the API key. Constant time, so that the time reveals no part of the key. */
static int same_token(const char *client_token, const char *token)
{
    const size_t n = strlen(client_token), m = strlen(token);
    unsigned char differs = n != m;
    for (size_t i = 0; i < n; i++) differs |= (unsigned char)client_token[i] ^ (unsigned char)token[m > 0 ? i % m : 0];
    return !differs;
}

/* Whether the request must be refused for its key. client_token: the key of the request; NULL: it has none. */
static int is_wrong_key(const exchange *x, const char *client_token)
{
    server *s = x->server;
    if (x->route->needs_no_token) return 0;
    LOCK_SCOPE(&s->lock);
    return s->token && !(client_token && same_token(client_token, s->token));
}

static int refuse_key(exchange *x)
{
    return api_refuse(&x->request, 401, "unauthorized",
                      "expected the server's API key, as \"Authorization: Bearer KEY\"%s",
                      x->route->is_libretranslate ? " or \"api_key\"" : "");
}

/* Check the API key in the head. LibreTranslate's clients send it in the query, or in the body, which has not arrived yet. */
static int check_key(exchange *x)
{
    static const char scheme[] = "Bearer ";
    const char *field = head_value(x->connection, MHD_HTTP_HEADER_AUTHORIZATION), *key = NULL;
    if (field && !strncasecmp(field, scheme, sizeof scheme - 1)) key = field + sizeof scheme - 1;
    if (!field && x->route->is_libretranslate)
        key = MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, "api_key");
    if (!is_wrong_key(x, key)) return 1;
    x->lacks_key = !field && !key && x->route->is_libretranslate;
    return x->lacks_key ? 1 : refuse_key(x);
}

/* Set the route of a method and a path. Returns the method that the path takes; NULL: the path is unknown. */
static const char *find_route(exchange *x, const char *method, const char *path)
{
    const api_route *r = api_routes;
    while (r->method && strcmp(r->path, path)) r++;
    if (!r->method) return NULL;
    if (!strcmp(r->method, strcmp(method, "HEAD") ? method : "GET")) x->route = r;
    if (!strcmp(method, "OPTIONS") && head_allowed_origin(x->connection, &x->server->options)) x->route = r;
    return r->method;
}

/* Refuse an unknown path or method, or answer the preflight request of a browser. */
static int check_route(exchange *x, const char *method, const char *path, const char *path_method)
{
    api_request *r = &x->request;
    if (x->route && !strcmp(method, "OPTIONS")) {
        r->answer = (api_answer){.code = 204, .text = strdup(""), .type = "text/plain", .is_preflight = 1};
        return 0;
    }
    if (x->route) return 1;
    if (!path_method)
        return api_refuse(r, 404, "not-found", "unknown path %s: GET /openapi.json lists the paths", path);
    api_refuse(r, 405, "bad-method", "%s does not take %s", path, method);
    r->answer.allowed_methods = strcmp(path_method, "GET") ? path_method : "GET, HEAD";
    return 0;
}

/* The maximum size of the request's body; lower for a request without API key, because anybody can send such bodies. */
static int64_t max_body_bytes(const exchange *x)
{
    enum { KEYLESS_BYTES = 128 << 10 };
    const int64_t most = x->server->options.max_body_bytes;
    return x->lacks_key && most > KEYLESS_BYTES ? KEYLESS_BYTES : most;
}

static int refuse_large(exchange *x)
{
    return api_refuse(&x->request, 413, "too-large", "the maximum size of a request's body is %lld bytes%s",
                      (long long)max_body_bytes(x),
                      x->lacks_key ? " without the API key in the head or the query" : "");
}

/* Check the type of a body. A form may contain JSON, as curl sends it. A browser's form may not, because any page can send forms. */
static int check_type(exchange *x)
{
    const char *type = head_value(x->connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    const int is_page = head_value(x->connection, MHD_HTTP_HEADER_ORIGIN) != NULL;
    if (head_has_type(x->connection, "application/x-www-form-urlencoded")) x->form = FORM_URLENCODED;
    if (head_has_type(x->connection, "multipart/form-data")) x->form = FORM_MULTIPART;
    if (head_has_type(x->connection, "application/json")) return 1;
    if (x->route->is_libretranslate && (x->form || !type)) return 1;
    if (x->form != FORM_MULTIPART && (x->form || !type) && !is_page) return 1;
    return api_refuse(&x->request, 415, "bad-type", "expected a body of application/json, found \"%s\"",
                      type ? type : "");
}

/* Refuse all requests but GET on connections above --max-connections. */
static int check_place(exchange *x)
{
    if (!x->is_spare || !strcmp(x->route->method, "GET")) return 1;
    return api_refuse_for_now(&x->request, "busy",
                              "all %d connections of the server (--max-connections) are in use: try again",
                              x->server->options.max_connections);
}

static int check_head_size(exchange *x)
{
    const size_t n = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
    if (n <= MAX_HEAD_BYTES) return 1;
    x->closes_connection = 1;
    return api_refuse(&x->request, 431, "too-large", "the maximum size of a request's head is %d bytes",
                      (int)MAX_HEAD_BYTES);
}

/* Check a request before its body arrives. Returns 0 if the request already has its response. */
static int check_head(exchange *x, const char *method, const char *path, const char *version)
{
    api_request *r = &x->request;
    x->closes_connection = !head_check_framing(r, x->connection, version);
    if (x->closes_connection || !check_head_size(x)) return 0;
    const char *path_method = find_route(x, method, path);
    if (!head_check_source(r, x->connection, &x->server->options) || !check_route(x, method, path, path_method))
        return 0;
    if (!check_key(x) || !check_place(x)) return 0;
    const char *length = head_value(x->connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length && strtoll(length, NULL, 10) > max_body_bytes(x)) return refuse_large(x);
    if (strcmp(x->route->method, "POST") != 0) return 1;
    if (!x->server->is_draining) return check_type(x);
    return api_refuse_for_now(r, "stopping", "the server is stopping and accepts no requests");
}

/* Append bytes to the request's body. Returns 0 if the body is too large, or out of memory. */
static int take_bytes(exchange *x, const char *bytes, size_t n)
{
    if (x->body_length + n > (size_t)max_body_bytes(x)) return 0;
    if (!cli_grow(&x->body, &x->body_capacity, x->body_length + n + 1, 1)) return 0;
    memcpy(x->body + x->body_length, bytes, n);
    x->body_length += n;
    x->body[x->body_length] = '\0';
    return 1;
}

/* Parse the form in the body, and the query of the URL, into one object. */
static json_t *read_form(exchange *x)
{
    json_t *form = json_object();
    int fine = form && form_add_query(form, x->connection);
    if (fine && x->form == FORM_URLENCODED) fine = form_add_urlencoded(form, x->body, x->body_length);
    if (fine && x->form == FORM_MULTIPART)
        fine = form_add_multipart(form, x->connection, x->body ? x->body : "", x->body_length);
    if (fine) return form;
    json_decref(form);
    return NULL;
}

static int parse_body(exchange *x)
{
    api_request *r = &x->request;
    const char *body = x->body ? x->body : "";
    json_error_t error;
    if (x->form == FORM_URLENCODED && body[strspn(body, " \t\r\n")] == '{') x->form = FORM_NONE;
    if (x->route->is_libretranslate && x->body_length == 0) x->form = FORM_URLENCODED;
    if (x->form && !x->route->is_libretranslate)
        return api_refuse(r, 415, "bad-type", "expected a body of application/json, found a form");
    x->parsed = x->form ? read_form(x)
                        : json_loadb(body, x->body_length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!x->parsed && x->form)
        return api_refuse(r, 400, "bad-form", "expected %s in UTF-8",
                          x->form == FORM_MULTIPART ? "the complete parts of multipart/form-data, each with a name,"
                                                    : "NAME=VALUE&NAME=VALUE");
    if (!x->parsed)
        return api_refuse(r, 400, "bad-json", "line %d, column %d: %s", error.line, error.column, error.text);
    return json_is_object(x->parsed) ? 1 : api_refuse(r, 400, "bad-json", "expected an object");
}

static int begin_request(exchange *x)
{
    api_request *r = &x->request;
    if (!strcmp(x->route->method, "POST") && !parse_body(x)) return 0;
    if (x->lacks_key && is_wrong_key(x, request_text(x->parsed, "api_key"))) return refuse_key(x);
    free(x->body);
    x->body = NULL;
    r->body = x->parsed;
    r->is_draining = x->server->is_draining;
    const int waits = x->route->begin(r);
    /* Free the parsed body: it may be large, and decoding takes long. */
    json_decref(x->parsed);
    x->parsed = NULL;
    r->body = NULL;
    return waits;
}

/* --- libmicrohttpd callbacks -------------------------------------------------------------------------------------- */

static int connection_fd(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static exchange *open_exchange(server *s, struct MHD_Connection *connection)
{
    exchange *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    *x = (exchange){.server = s, .connection = connection, .start_time = cli_now(), .fd = connection_fd(connection)};
    x->is_spare = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context != NULL;
    LOCK_SCOPE(&s->lock);
    s->models->n_users++;
    x->request.models = s->models;
    x->request.max_inputs = s->options.max_inputs;
    return x;
}

/* Whether the client sends a body without waiting for "100 Continue". To most such clients an early response looks like a broken
 * connection. */
static int sends_body(struct MHD_Connection *connection)
{
    const char *length = head_value(connection, MHD_HTTP_HEADER_CONTENT_LENGTH),
               *expect = head_value(connection, MHD_HTTP_HEADER_EXPECT);
    const int is_chunked = head_value(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
    return !expect && (is_chunked || (length && strtoll(length, NULL, 10) > 0));
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *bytes, size_t *n, void **state)
{
    exchange *x = *state;
    if (!x) {
        *state = x = open_exchange(user, connection);
        if (!x) return MHD_NO;
        if (check_head(x, method, path, version)) return MHD_YES;
        return x->closes_connection || !sends_body(connection) ? send_answer(x) : MHD_YES;
    }
    if (x->request.job && !x->is_answered) return continue_exchange(x);
    if (*n > 0) {
        /* The body is read to its end before the response is sent. Bytes beyond the size limit are discarded. */
        if (!x->is_answered && !x->request.answer.code && !take_bytes(x, bytes, *n)) refuse_large(x);
        *n = 0;
        return MHD_YES;
    }
    if (x->is_answered) return MHD_YES;
    pthread_mutex_lock(&x->server->lock);
    x->server->n_busy += !x->is_counted;
    x->is_counted = 1;
    pthread_mutex_unlock(&x->server->lock);
    if (x->request.answer.code || !begin_request(x)) return send_answer(x);
    return x->request.job->is_stream ? start_stream(x) : continue_exchange(x);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    server *s = user;
    exchange *x = *state;
    (void)connection;
    (void)why;
    if (!x) return;
    *state = NULL;
    watch_stop_wait(s->watch, x->fd);
    watch_begin(s->watch, x->fd); /* start the time limit of the connection's next request */
    job *j = x->request.job;
    if (x->is_streaming) metrics_request(200, cli_now() - x->start_time);
    if (j) {
        pthread_mutex_lock(&j->lock);
        j->notify = NULL;
        const int is_done = j->n_done == j->n;
        pthread_mutex_unlock(&j->lock);
        if (!is_done) service_cancel(x->request.service, j);
    }
    models *used = x->request.models;
    request_clear(&x->request);
    json_decref(x->parsed);
    free(x->body);
    LOCK_SCOPE(&s->lock);
    used->n_users--;
    s->n_busy -= x->is_counted;
    free(x);
    pthread_cond_signal(&s->became_idle);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    server *s = user;
    const int fd = connection_fd(connection);
    if (what != MHD_CONNECTION_NOTIFY_STARTED) {
        watch_end(s->watch, fd);
        return;
    }
    watch_begin(s->watch, fd);
    if (!watch_limit(s->watch, fd, s->options.max_connections)) *state = s;
}

/* --- starting and stopping ---------------------------------------------------------------------------------------- */

static int open_listener(const serve_options *o, char address[128])
{
    char port[16], host[64];
    struct addrinfo *found, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const int all = !strcmp(o->host, "*"), on = 1;
    snprintf(port, sizeof port, "%d", o->port);
    const int failed = getaddrinfo(all ? NULL : o->host, port, &hints, &found);
    if (failed) {
        cli_message("--host: %s: %s", o->host, gai_strerror(failed));
        return -1;
    }
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    const int bad = fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 1024) ||
                    getsockname(fd, (struct sockaddr *)&bound, &size) ||
                    getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port,
                                NI_NUMERICHOST | NI_NUMERICSERV);
    const int error = errno, six = found->ai_family == AF_INET6;
    freeaddrinfo(found);
    if (bad) {
        cli_message("%s:%s: %s", o->host, port, strerror(error));
        if (fd >= 0) close(fd);
        return -1;
    }
    snprintf(address, 128, six ? "http://[%s]:%s" : "http://%s:%s", host, port);
    return fd;
}

/* Unescape a path, or a name or value of a query. A text with %00, where its C string would end, stays as it was sent. */
static size_t unescape(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user, (void)connection;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static int fail_start(int error)
{
    if (error == EAGAIN) return service_fail_thread("the server");
    return cli_fail("cannot start the server: %s", strerror(error));
}

static int start_daemon(server *s)
{
    /* without MHD_USE_ERROR_LOG, since the library's messages are about mistakes of clients */
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    const int fd = open_listener(&s->options, s->address);
    if (fd < 0) return CLI_FAILED;
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->options.max_connections + SPARE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)s->options.request_timeout, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(2 * MAX_HEAD_BYTES),
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_END);
    if (s->daemon) return CLI_OK;
    const int error = errno;
    close(fd);
    return fail_start(error);
}

int server_open(server **out, const serve_options *options, models *now, const char *token)
{
    server *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || pthread_mutex_init(&s->lock, NULL) || pthread_cond_init(&s->became_idle, NULL)) {
        free(s);
        return cli_fail_memory("the server");
    }
    s->options = *options;
    s->models = now;
    s->token = token;
    s->listen_fd = -1;
    int code = watch_open(&s->watch, options->request_timeout, client_gone) ? start_daemon(s) : fail_start(errno);
    if (code == CLI_OK)
        *out = s;
    else
        server_close(s);
    return code;
}

void server_set_models(server *s, models *next, const char *token)
{
    LOCK_SCOPE(&s->lock);
    s->models = next;
    s->token = token;
}

const char *server_address(const server *s)
{
    return s->address;
}

int server_drain(server *s, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    if (!atomic_exchange(&s->is_draining, 1)) {
        /* The library refuses new connections from here on, but its thread may use the socket until the daemon is stopped. */
        s->listen_fd = MHD_quiesce_daemon(s->daemon);
        if (s->listen_fd >= 0) shutdown(s->listen_fd, SHUT_RDWR);
    }
    LOCK_SCOPE(&s->lock);
    while (s->n_busy > 0 && pthread_cond_timedwait(&s->became_idle, &s->lock, &until) == 0) continue;
    return s->n_busy;
}

void server_close(server *s)
{
    if (!s) return;
    if (s->daemon) MHD_stop_daemon(s->daemon);
    if (s->listen_fd >= 0) close(s->listen_fd);
    watch_close(s->watch);
    pthread_cond_destroy(&s->became_idle);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
