/* Checks of request heads; see http_server.h. */
#include "http_server.h"

#include <arpa/inet.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- header fields ------------------------------------------------------------------------------------------------ */

const char *head_value(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

int head_has_type(struct MHD_Connection *connection, const char *type)
{
    const char *found = head_value(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    const size_t n = strlen(type);
    return found && !strncasecmp(found, type, n) && strchr("; \t", found[n]);
}

/* How often a request has each header field that determines the request's end or source. libmicrohttpd returns only the first of several
 * equal fields. */
typedef struct fields {
    int length, encoding, host, origin;
    int bad_name, folded;
} fields;

/* Whether `name` is `field` with more text. libmicrohttpd 0.9 appends a folded value (RFC 9112, 5.2) to the name: Content-Length62. */
static int is_folded(const char *name, const char *field)
{
    const size_t n = strlen(field);
    return !strncasecmp(name, field, n) && name[n] != '\0';
}

static enum MHD_Result count_field(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    static const char others[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    fields *f = user;
    (void)kind;
    (void)value;
    f->length += !strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH);
    f->encoding += !strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    f->host += !strcasecmp(name, MHD_HTTP_HEADER_HOST);
    f->origin += !strcasecmp(name, MHD_HTTP_HEADER_ORIGIN);
    f->bad_name |= !name[0] || name[strspn(name, others)] != '\0';
    f->folded |= is_folded(name, MHD_HTTP_HEADER_CONTENT_LENGTH) || is_folded(name, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    return MHD_YES;
}

static fields count_fields(struct MHD_Connection *connection)
{
    fields found = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_field, &found);
    return found;
}

/* --- framing of the body ------------------------------------------------------------------------------------------ */

#define REFUSE_HEAD(...) api_refuse(r, 400, "bad-head", __VA_ARGS__)

int head_check_framing(api_request *r, struct MHD_Connection *connection, const char *version)
{
    const fields f = count_fields(connection);
    const char *length = head_value(connection, MHD_HTTP_HEADER_CONTENT_LENGTH),
               *encoding = head_value(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    const int is_old = !strcmp(version, MHD_HTTP_VERSION_1_0);
    if (f.bad_name) return REFUSE_HEAD("the name of a header has an invalid character");
    if (f.folded) return REFUSE_HEAD("a header is folded, or its name resembles Content-Length or Transfer-Encoding");
    if (f.length > 1) return REFUSE_HEAD("%d Content-Length headers: expected one", f.length);
    if (f.encoding > 1) return REFUSE_HEAD("%d Transfer-Encoding headers: expected one", f.encoding);
    if (f.length && f.encoding) return REFUSE_HEAD("both Content-Length and Transfer-Encoding: expected one of them");
    if (f.length && (!length[0] || length[strspn(length, "0123456789")]))
        return REFUSE_HEAD("Content-Length: expected a number of bytes");
    if (f.encoding && is_old) return REFUSE_HEAD("Transfer-Encoding in HTTP/1.0: expected Content-Length");
    if (f.encoding && strcasecmp(encoding, "chunked") != 0)
        return api_refuse(r, 501, "bad-encoding", "Transfer-Encoding: expected \"chunked\" alone");
    if (f.host > 1) return REFUSE_HEAD("%d Host headers: expected one", f.host);
    if (!f.host && !is_old) return REFUSE_HEAD("no Host header: HTTP/1.1 requires one");
    return 1;
}

/* --- where a request comes from ----------------------------------------------------------------------------------- */

static int is_loopback(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    if (a->ss_family != AF_INET6) return 0;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static int comes_by_loopback(struct MHD_Connection *connection)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    const int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    return !getsockname(fd, (struct sockaddr *)&own, &size) && is_loopback(&own);
}

/* Extract a host name or address without port, brackets and trailing dot. 0: malformed or too long. */
static int host_name(const char *host, char out[256])
{
    const int six = host[0] == '[';
    const size_t n = six ? strcspn(host + 1, "]") : strcspn(host, ":");
    const char *rest = host + n + (six ? 2 : 0);
    if (n == 0 || n > 255 || (six && host[1 + n] != ']')) return 0;
    if (*rest && (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")])) return 0;
    snprintf(out, 256, "%.*s", (int)n, host + six);
    if (!six && n > 1 && out[n - 1] == '.') out[n - 1] = '\0';
    return 1;
}

static int is_loopback_address(const char *name)
{
    struct sockaddr_storage a = {.ss_family = AF_INET};
    if (inet_pton(AF_INET, name, &((struct sockaddr_in *)(void *)&a)->sin_addr) == 1) return is_loopback(&a);
    a.ss_family = AF_INET6;
    return inet_pton(AF_INET6, name, &((struct sockaddr_in6 *)(void *)&a)->sin6_addr) == 1 && is_loopback(&a);
}

static int is_this_machine(const char *host, const serve_options *options)
{
    static const char local[] = ".localhost";
    char name[256], own[256];
    if (!host_name(host, name)) return 0;
    const size_t n = strlen(name), m = sizeof local - 1;
    if (!strcasecmp(name, "localhost") || (n > m && !strcasecmp(name + n - m, local))) return 1;
    if (!strcasecmp(name, options->host) || is_loopback_address(name)) return 1;
    own[sizeof own - 1] = '\0';
    return !gethostname(own, sizeof own - 1) && !strcasecmp(name, own);
}

static const char *after_scheme(const char *origin)
{
    const char *host = strstr(origin, "://");
    return host ? host + 3 : "";
}

/* Whether an Origin header names this server by the host that the client used, `host`. */
static int is_own_origin(const char *origin, const char *host)
{
    const int is_web = !strncasecmp(origin, "http://", 7) || !strncasecmp(origin, "https://", 8);
    return host && is_web && !strcasecmp(after_scheme(origin), host);
}

/* Whether the options list `value`: the value of an Origin header, or, if is_host, of a Host header. A proxy may pass on the Host that
 * clients use. "*" lists all. */
static int is_listed(const char *value, int is_host, const serve_options *options)
{
    for (int i = 0; i < options->n_origins; i++) {
        const char *listed = options->origins[i];
        if (!strcmp(listed, "*") || !strcasecmp(is_host ? after_scheme(listed) : listed, value)) return 1;
    }
    return 0;
}

const char *head_allowed_origin(struct MHD_Connection *connection, const serve_options *options)
{
    const char *origin = head_value(connection, MHD_HTTP_HEADER_ORIGIN);
    return origin && is_listed(origin, 0, options) ? origin : NULL;
}

int head_check_source(api_request *r, struct MHD_Connection *connection, const serve_options *options)
{
    const char *host = head_value(connection, MHD_HTTP_HEADER_HOST),
               *origin = head_value(connection, MHD_HTTP_HEADER_ORIGIN);
    if (host && comes_by_loopback(connection) && !is_this_machine(host, options) && !is_listed(host, 1, options))
        return api_refuse(r, 403, "bad-host",
                          "Host: \"%.200s\" is not this machine: add the host of your proxy with --allow-origin", host);
    if (origin &&
        (count_fields(connection).origin > 1 || (!is_own_origin(origin, host) && !is_listed(origin, 0, options))))
        return api_refuse(r, 403, "bad-origin",
                          "pages of \"%.200s\" may not send requests to this server: --allow-origin permits an origin",
                          origin);
    return 1;
}
