/* Connections; see server.h.
 *
 * An exchange is one request and its answer. It is made when the request's head has come and freed when the answer is sent or the
 * connection gone. While its job is decoded the connection is suspended; whoever finishes the job resumes it, under the job's lock, so that
 * it cannot be resumed before it is suspended.
 * Locks: watch, service, job, in this order.
 *
 * Divisions: answers · waiting · streams · requests · what the library calls · life. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"
#include "cli.h"
#include "form.h"
#include "head.h"
#include "libre.h"
#include "metrics.h"
#include "parts.h"
#include "result.h"
#include "watch.h"

struct server {
    server_options options;
    api api;
    struct MHD_Daemon *daemon;
    watch *watch;
    char address[128];
    pthread_mutex_t lock; /* of what follows, and of the token */
    pthread_cond_t quiet;
    models *models;         /* of requests that come */
    int busy;               /* exchanges whose request is here */
    int quiesced, listened; /* then, the socket that nobody listens at any more */
};

typedef struct exchange {
    server *of;
    struct MHD_Connection *connection;
    const api_route *route;
    api_request request;
    json_t *parsed;
    char *body; /* [used] */
    size_t used, room;
    double since;
    api_answer refused; /* of code != 0: as soon as the body is here, which is not kept */
    int fd, counted, suspended, watched, answered, streams, form;
    int closes; /* the connection ends with the answer */
} exchange;

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Pages of an allowed origin may read the answer (fetch.spec.whatwg.org, 3.3). */
static void add_origin(const exchange *x, struct MHD_Response *response)
{
    const char *origin = head_allowed(x->connection, &x->of->options.pages);
    if (!origin) return;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(response, "Access-Control-Expose-Headers", "Retry-After");
    MHD_add_response_header(response, "Vary", "Origin");
}

/* A browser asks before it sends a page's request. */
static api_answer allow_page(void)
{
    return (api_answer){.code = 204, .text = strdup(""), .type = "text/plain", .is_preflight = 1};
}

static void drop_answer(api_answer *a)
{
    json_decref(a->json);
    free(a->text);
    *a = (api_answer){.code = 0};
}

/* The answer's body is given over. */
static enum MHD_Result answer(exchange *x, api_answer a)
{
    if (x->route && x->route->libre) a = libre_error(a);
    char *text = a.json ? result_text(a.json) : a.text;
    const char *type = a.json ? "application/json" : a.type;
    char seconds[16];
    json_decref(a.json);
    if (!text) return MHD_NO;
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    snprintf(seconds, sizeof seconds, "%d", a.retry);
    MHD_add_response_header(response, "Content-Type", type);
    if (!strncmp(type, "text/html", 9))
        MHD_add_response_header(
            response, "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'");
    if (a.is_preflight) {
        MHD_add_response_header(response, "Access-Control-Allow-Methods", x->route->method);
        MHD_add_response_header(response, "Access-Control-Allow-Headers", "Authorization, Content-Type");
        MHD_add_response_header(response, "Access-Control-Max-Age", "600");
    }
    add_origin(x, response);
    if (a.retry) MHD_add_response_header(response, "Retry-After", seconds);
    if (a.allow) MHD_add_response_header(response, "Allow", a.allow);
    if (a.code == 401) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (x->of->api.draining || x->closes || a.code == 408 || a.code == 413)
        MHD_add_response_header(response, "Connection", "close");
    enum MHD_Result queued = MHD_queue_response(x->connection, a.code, response);
    MHD_destroy_response(response);
    x->answered = 1;
    watch_answer(x->of->watch, x->fd);
    metrics_request(a.code, cli_now() - x->since);
    return queued;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/* The job is done; under its lock, on whatever thread. */
static void wake(void *user)
{
    exchange *x = user;
    if (!x->suspended) return;
    x->suspended = 0;
    MHD_resume_connection(x->connection);
}

/* The client has gone; on the watching thread. */
static void client_gone(void *user)
{
    exchange *x = user;
    service_cancel(x->request.to, x->request.job);
}

static void stop_watching(exchange *x)
{
    if (x->watched) watch_leave(x->of->watch, x->fd);
    x->watched = 0;
}

/* Go on when the job is done. 0: it is done already. */
static int wait_for_job(exchange *x)
{
    job *j = x->request.job;
    watch_for(x->of->watch, x->fd, x);
    x->watched = 1;
    pthread_mutex_lock(&j->lock);
    const int waits = j->done < j->n;
    j->told = wake;
    j->user = x;
    x->suspended = waits;
    if (waits) MHD_suspend_connection(x->connection);
    pthread_mutex_unlock(&j->lock);
    return waits;
}

static enum MHD_Result go_on(exchange *x)
{
    for (;;) {
        if (wait_for_job(x)) return MHD_YES;
        stop_watching(x);
        api_answer a = x->route->end(&x->of->api, &x->request);
        if (a.code) return answer(x, a);
    }
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* The next bytes of a stream; the connection is suspended while there are none. */
static ssize_t next_bytes(void *user, uint64_t at, char *out, size_t most)
{
    exchange *x = user;
    job *j = x->request.job;
    (void)at;
    pthread_mutex_lock(&j->lock);
    size_t n = job_take_events(j, out, most);
    const int over = n == 0 && j->done == j->n;
    if (n == 0 && !over) {
        x->suspended = 1;
        MHD_suspend_connection(x->connection);
    }
    pthread_mutex_unlock(&j->lock);
    return over ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static enum MHD_Result stream(exchange *x)
{
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 << 10, next_bytes, x, NULL);
    job *j = x->request.job;
    if (!response) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    add_origin(x, response);
    watch_for(x->of->watch, x->fd, x);
    x->watched = x->answered = x->streams = 1;
    pthread_mutex_lock(&j->lock);
    j->user = x;
    j->told = wake;
    pthread_mutex_unlock(&j->lock);
    enum MHD_Result queued = MHD_queue_response(x->connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* In a time that does not tell how much of it is right. */
static int same_token(const char *given, const char *token)
{
    const size_t n = strlen(given), m = strlen(token);
    unsigned char differs = n != m;
    for (size_t i = 0; i < n; i++) differs |= (unsigned char)given[i] ^ (unsigned char)token[m > 0 ? i % m : 0];
    return !differs;
}

static int is_authorised(const exchange *x)
{
    static const char scheme[] = "Bearer ";
    server *s = x->of;
    const char *given = head_value(x->connection, MHD_HTTP_HEADER_AUTHORIZATION);
    const int is_bearer = given && !strncasecmp(given, scheme, sizeof scheme - 1);
    pthread_mutex_lock(&s->lock);
    const char *token = s->options.token;
    const int fine = !token || x->route->open || (is_bearer && same_token(given + sizeof scheme - 1, token));
    pthread_mutex_unlock(&s->lock);
    return fine;
}

static api_answer find_route(exchange *x, const char *method, const char *path)
{
    const int head = !strcmp(method, "HEAD");
    const int preflight = !strcmp(method, "OPTIONS") && head_allowed(x->connection, &x->of->options.pages);
    const char *there = NULL;
    for (const api_route *r = api_routes; r->method; r++) {
        if (strcmp(r->path, path) != 0) continue;
        there = r->method;
        if (preflight) x->route = r;
        if (preflight) return allow_page();
        if (!strcmp(r->method, head ? "GET" : method)) {
            x->route = r;
            return (api_answer){.code = 0};
        }
    }
    api_answer refused = there ? api_refuse(405, "bad-method", "%s does not take %s", path, method)
                               : api_refuse(404, "not-found",
                                            "there is no %s here: GET /openapi.json tells what there is", path);
    refused.allow = there && !strcmp(there, "GET") ? "GET, HEAD" : there;
    return refused;
}

static api_answer refuse_large(const exchange *x)
{
    return api_refuse(413, "too-large", "a request's body may have %lld bytes", (long long)x->of->options.most_bytes);
}

/* A body's type. curl says of whatever it sends that it is a form: what begins as JSON is JSON, unless a browser sent it, whose pages may
 * send forms to anybody. */
static api_answer check_type(exchange *x)
{
    const char *type = head_value(x->connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    const int is_page = head_value(x->connection, MHD_HTTP_HEADER_ORIGIN) != NULL;
    x->form = head_has_type(x->connection, "application/x-www-form-urlencoded");
    if (head_has_type(x->connection, "application/json")) return (api_answer){.code = 0};
    if (x->form ? x->route->libre || !is_page : !type && !is_page) return (api_answer){.code = 0};
    return api_refuse(415, "bad-type", "expected a body of application/json, found \"%s\"", type ? type : "");
}

/* Before its body comes. */
static api_answer check_head(exchange *x, const char *method, const char *path, const char *version)
{
    api_answer refused;
    if (!head_check_framing(x->connection, version, &refused)) {
        x->closes = 1;
        return refused;
    }
    api_answer elsewhere = find_route(x, method, path);
    if (!head_check_source(x->connection, &x->of->options.pages, &refused)) {
        drop_answer(&elsewhere);
        return refused;
    }
    if (elsewhere.code) return elsewhere;
    if (!is_authorised(x))
        return api_refuse(401, "unauthorized", "expected the server's token, as \"Authorization: Bearer TOKEN\"");
    const char *length = head_value(x->connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length && strtoll(length, NULL, 10) > x->of->options.most_bytes) return refuse_large(x);
    if (strcmp(x->route->method, "POST") != 0) return (api_answer){.code = 0};
    if (x->of->api.draining) {
        refused = api_refuse(503, "stopping", "the server takes no more requests");
        refused.retry = 1;
        return refused;
    }
    return check_type(x);
}

/* 0: it is more than may be, or there is no memory. */
static int take_bytes(exchange *x, const char *bytes, size_t n)
{
    if (x->used + n > (size_t)x->of->options.most_bytes) return 0;
    if (x->used + n + 1 > x->room) {
        const size_t room = 2 * (x->used + n) + 1;
        char *more = realloc(x->body, room);
        if (!more) return 0;
        x->body = more;
        x->room = room;
    }
    memcpy(x->body + x->used, bytes, n);
    x->used += n;
    x->body[x->used] = '\0';
    return 1;
}

static api_answer begin(exchange *x)
{
    json_error_t error;
    if (!strcmp(x->route->method, "POST")) {
        if (x->used > 0 && x->body[strspn(x->body, " \t\r\n")] == '{') x->form = 0;
        if (x->form && !x->route->libre)
            return api_refuse(415, "bad-type", "expected a body of application/json, found a form");
        x->parsed = x->form
                        ? form_read(x->body, x->used)
                        : json_loadb(x->body ? x->body : "", x->used, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        if (!x->parsed && x->form) return api_refuse(400, "bad-form", "expected NAME=VALUE&NAME=VALUE in UTF-8");
        if (!x->parsed)
            return api_refuse(400, "bad-json", "line %d, column %d: %s", error.line, error.column, error.text);
        if (!json_is_object(x->parsed)) return api_refuse(400, "bad-json", "expected an object");
        x->request.body = x->parsed;
    }
    free(x->body);
    x->body = NULL;
    api_answer a = x->route->begin(&x->of->api, &x->request);
    /* It may be large in memory, and the answer is far off. */
    json_decref(x->parsed);
    x->parsed = NULL;
    x->request.body = NULL;
    return a;
}

/* --- what the library calls --------------------------------------------------------------------------------------- */

static int socket_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static exchange *open_exchange(server *s, struct MHD_Connection *connection)
{
    exchange *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    *x = (exchange){.of = s, .connection = connection, .since = cli_now(), .fd = socket_of(connection)};
    pthread_mutex_lock(&s->lock);
    s->models->users++;
    x->request.models = s->models;
    pthread_mutex_unlock(&s->lock);
    return x;
}

/* Whether a body comes in any case: a client that is answered before it has sent all is told so by most systems as a broken connection. */
static int sends_body(struct MHD_Connection *connection)
{
    const char *length = head_value(connection, MHD_HTTP_HEADER_CONTENT_LENGTH),
               *expect = head_value(connection, MHD_HTTP_HEADER_EXPECT);
    const int is_chunked = head_value(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
    return !expect && (is_chunked || (length && strtoll(length, NULL, 10) > 0));
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *bytes, size_t *n, void **state)
{
    exchange *x = *state;
    if (!x) {
        *state = x = open_exchange(user, connection);
        if (!x) return MHD_NO;
        const api_answer refused = check_head(x, method, path, version);
        if (!refused.code) return MHD_YES;
        if (x->closes || !sends_body(connection)) return answer(x, refused);
        x->refused = refused;
        return MHD_YES;
    }
    if (x->request.job && !x->answered) return go_on(x);
    if (*n > 0) {
        /* No answer is possible before the body's end; what is too much of it is not kept. */
        if (!x->answered && !x->refused.code && !take_bytes(x, bytes, *n)) x->refused = refuse_large(x);
        *n = 0;
        return MHD_YES;
    }
    if (x->answered) return MHD_YES;
    pthread_mutex_lock(&x->of->lock);
    x->of->busy += !x->counted;
    x->counted = 1;
    pthread_mutex_unlock(&x->of->lock);
    const api_answer a = x->refused.code ? x->refused : begin(x);
    x->refused = (api_answer){.code = 0};
    return a.code ? answer(x, a) : x->request.job->stream ? stream(x) : go_on(x);
}

static void completed(void *user, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why)
{
    server *s = user;
    exchange *x = *state;
    (void)connection;
    (void)why;
    if (!x) return;
    *state = NULL;
    stop_watching(x);
    watch_begin(s->watch, x->fd); /* the next request's time begins */
    job *j = x->request.job;
    if (x->streams) metrics_request(200, cli_now() - x->since);
    if (j) {
        pthread_mutex_lock(&j->lock);
        j->told = NULL;
        pthread_mutex_unlock(&j->lock);
        if (!job_is_done(j)) service_cancel(x->request.to, j);
        job_release(j);
    }
    parts_clear(&x->request);
    json_decref(x->parsed);
    drop_answer(&x->refused);
    free(x->body);
    pthread_mutex_lock(&s->lock);
    x->request.models->users--;
    s->busy -= x->counted;
    free(x);
    pthread_cond_signal(&s->quiet);
    pthread_mutex_unlock(&s->lock);
}

static void connected(void *user, struct MHD_Connection *connection, void **state,
                      enum MHD_ConnectionNotificationCode what)
{
    server *s = user;
    const int fd = socket_of(connection);
    (void)state;
    if (what != MHD_CONNECTION_NOTIFY_STARTED) {
        watch_end(s->watch, fd);
        return;
    }
    watch_begin(s->watch, fd);
    watch_make_room(s->watch, fd, s->options.most_connections);
}

/* What the library has to say of clients' mistakes is theirs; it is not logged. */
static void say_nothing(void *user, const char *format, va_list arguments)
{
    (void)user;
    (void)format;
    (void)arguments;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static int make_socket(const server_options *o, char address[128])
{
    char port[16], host[64];
    struct addrinfo *found, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const int all = !strcmp(o->pages.host, "*"), on = 1;
    snprintf(port, sizeof port, "%d", o->port);
    const int failed = getaddrinfo(all ? NULL : o->pages.host, port, &hints, &found);
    if (failed) {
        cli_say("--host: %s: %s", o->pages.host, gai_strerror(failed));
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
        cli_say("%s:%s: %s", o->pages.host, port, strerror(error));
        if (fd >= 0) close(fd);
        return -1;
    }
    snprintf(address, 128, six ? "http://[%s]:%s" : "http://%s:%s", host, port);
    return fd;
}

static int start(server *s)
{
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    const int fd = make_socket(&s->options, s->address);
    if (fd < 0) return CLI_FAILED;
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_NOTIFY_CONNECTION, connected, s,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)s->options.most_connections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)s->options.request_timeout, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(32 << 10), MHD_OPTION_END);
    if (s->daemon) return CLI_OK;
    close(fd);
    return cli_fail("%s: the server cannot be started (%s)", s->address, strerror(errno));
}

int server_open(server **out, const server_options *options, models *now)
{
    server *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || pthread_mutex_init(&s->lock, NULL) || pthread_cond_init(&s->quiet, NULL)) {
        free(s);
        return cli_fail_memory("the server");
    }
    s->options = *options;
    s->models = now;
    s->api = (api){.most_inputs = options->most_inputs};
    int code = watch_open(&s->watch, options->request_timeout, client_gone) ? start(s) : cli_fail_memory("the server");
    if (code == CLI_OK)
        *out = s;
    else
        server_close(s);
    return code;
}

void server_switch(server *s, models *next, const char *token)
{
    pthread_mutex_lock(&s->lock);
    s->models = next;
    s->options.token = token;
    pthread_mutex_unlock(&s->lock);
}

int server_users(server *s, const models *m)
{
    pthread_mutex_lock(&s->lock);
    const int n = m->users;
    pthread_mutex_unlock(&s->lock);
    return n;
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
    atomic_store(&s->api.draining, 1);
    if (!s->quiesced) {
        /* The library's thread may look at it until it ends. */
        s->listened = MHD_quiesce_daemon(s->daemon);
        if (s->listened >= 0) shutdown(s->listened, SHUT_RDWR);
        s->quiesced = 1;
    }
    pthread_mutex_lock(&s->lock);
    while (s->busy > 0 && pthread_cond_timedwait(&s->quiet, &s->lock, &until) == 0) continue;
    const int left = s->busy;
    pthread_mutex_unlock(&s->lock);
    return left;
}

void server_close(server *s)
{
    if (!s) return;
    if (s->daemon) MHD_stop_daemon(s->daemon);
    if (s->quiesced && s->listened >= 0) close(s->listened);
    watch_close(s->watch);
    pthread_cond_destroy(&s->quiet);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
