/* Watching connections; see http_server.h. */
#include "http_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct watched_connection {
    int is_open;          /* 1: the descriptor of this index is a watched connection */
    uint8_t address_hash; /* hash of the client's address */
    int is_answering;     /* 1: the response to this connection is being sent */
    int is_dropped;       /* 1: the connection was shut down to make room for a new one */
    void *waiting;        /* argument of on_gone while a request is decoded; NULL: no request is decoded */
    uint32_t generation;  /* number of the current wait for a response, to recognise events of an earlier wait */
    double wait_start;    /* time from which the client has `timeout` seconds to send its request */
} watched_connection;

struct watch {
    pthread_mutex_t lock;
    pthread_t thread;
    int epoll, wake_fd;
    double timeout;
    void (*on_gone)(void *what);
    watched_connection *connections; /* [capacity] connections, indexed by descriptor */
    int capacity, n_open, n_dropped; /* n_open: number of connections; n_dropped: how many of them were shut down */
    uint32_t last_generation;        /* last value used for watched_connection.generation */
    int n_by_address[256];           /* number of connections by the hash of their client's address */
};

enum { EVENTS = 64, POLL_MS = 500 };

static uint8_t hash_address(int fd)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    if (getpeername(fd, (struct sockaddr *)&from, &size)) return 0;
    const void *address = NULL;
    if (from.ss_family == AF_INET) address = &((struct sockaddr_in *)(void *)&from)->sin_addr;
    if (from.ss_family == AF_INET6) address = &((struct sockaddr_in6 *)(void *)&from)->sin6_addr;
    uint32_t hash = 2166136261; /* the hash function is FNV-1a */
    for (size_t i = 0; address && i < (from.ss_family == AF_INET ? 4 : 16); i++)
        hash = (hash ^ ((const uint8_t *)address)[i]) * 16777619;
    return (uint8_t)(hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24);
}

/* Key of an epoll event. Generations begin at 1; the descriptor that ends the thread has generation 0. */
static uint64_t event_key(int fd, uint32_t generation)
{
    return (uint64_t)generation << 32 | (uint32_t)fd;
}

/* Return the watched connection of a descriptor; NULL: the descriptor is none. */
static watched_connection *find_connection(const watch *w, int fd)
{
    return fd < w->capacity && w->connections[fd].is_open ? &w->connections[fd] : NULL;
}

/* Return the argument of on_gone of an event. NULL: another connection now has the descriptor. */
static void *event_target(const watch *w, uint64_t name)
{
    const watched_connection *c = find_connection(w, (int)(uint32_t)name);
    return c && c->generation == (uint32_t)(name >> 32) ? c->waiting : NULL;
}

static void drop_expired(watch *w)
{
    const double now = cli_now();
    for (int fd = 0; fd < w->capacity; fd++)
        if (w->connections[fd].is_open && !w->connections[fd].waiting &&
            now - w->connections[fd].wait_start > w->timeout)
            shutdown(fd, SHUT_RDWR);
}

/* Whether to drop connection `a` rather than `b`. Order: crowded address, no response being sent, longer wait. */
static int is_dropped_before(const watch *w, const watched_connection *a, const watched_connection *b)
{
    const int crowd = w->n_by_address[a->address_hash], other = w->n_by_address[b->address_hash];
    if (crowd != other) return crowd > other;
    return a->is_answering != b->is_answering ? a->is_answering < b->is_answering : a->wait_start < b->wait_start;
}

/* Return the descriptor of the connection to drop; -1: requests of all connections are being decoded. */
static int find_longest_idle(const watch *w, int except_fd)
{
    int found = -1;
    for (int fd = 0; fd < w->capacity; fd++) {
        const watched_connection *a = &w->connections[fd];
        if (!a->is_open || a->waiting || a->is_dropped || fd == except_fd) continue;
        if (found < 0 || is_dropped_before(w, a, &w->connections[found])) found = fd;
    }
    return found;
}

/* The thread that watches connections. It holds the lock during on_gone(), so that watch_stop_wait() waits until on_gone() has returned. */
static void *watch_loop(void *user)
{
    watch *w = user;
    struct epoll_event events[EVENTS];
    for (;;) {
        const int n = epoll_wait(w->epoll, events, EVENTS, POLL_MS);
        LOCK_SCOPE(&w->lock);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == event_key(w->wake_fd, 0)) return NULL;
            void *what = event_target(w, events[i].data.u64);
            if (what) w->on_gone(what);
        }
        drop_expired(w);
    }
}

int watch_open(watch **out, double timeout, void (*gone)(void *what))
{
    watch *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w) return 0;
    *w = (watch){
        .epoll = epoll_create1(EPOLL_CLOEXEC), .wake_fd = eventfd(0, EFD_CLOEXEC), .timeout = timeout, .on_gone = gone};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = event_key(w->wake_fd, 0)};
    int error = 0;
    if (w->epoll >= 0 && w->wake_fd >= 0 && !epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake_fd, &event) &&
        !(error = pthread_mutex_init(&w->lock, NULL)) && !(error = pthread_create(&w->thread, NULL, watch_loop, w))) {
        *out = w;
        return 1;
    }
    if (!error) error = errno;
    if (w->epoll >= 0) close(w->epoll);
    if (w->wake_fd >= 0) close(w->wake_fd);
    free(w);
    errno = error;
    return 0;
}

void watch_close(watch *w)
{
    const unsigned long long one = 1;
    if (!w) return;
    (void)!write(w->wake_fd, &one, sizeof one);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    close(w->epoll);
    close(w->wake_fd);
    free(w->connections);
    free(w);
}

static int reserve_fd(watch *w, int fd)
{
    if (fd < w->capacity) return 1;
    const int capacity = 2 * fd + 64;
    watched_connection *more = realloc(w->connections, (size_t)capacity * sizeof *more);
    if (!more) return 0;
    for (int i = w->capacity; i < capacity; i++) more[i] = (watched_connection){0};
    w->connections = more;
    w->capacity = capacity;
    return 1;
}

void watch_begin(watch *w, int fd)
{
    LOCK_SCOPE(&w->lock);
    if (reserve_fd(w, fd)) {
        /* 1: the connection has had a request before and now waits for the next one */
        const int again = w->connections[fd].is_open;
        const uint8_t crowd = again ? w->connections[fd].address_hash : hash_address(fd);
        w->n_open += !again;
        w->n_by_address[crowd] += !again;
        w->connections[fd] = (watched_connection){.is_open = 1,
                                                  .address_hash = crowd,
                                                  .is_dropped = again && w->connections[fd].is_dropped,
                                                  .wait_start = cli_now()};
    }
}

void watch_end(watch *w, int fd)
{
    LOCK_SCOPE(&w->lock);
    watched_connection *c = find_connection(w, fd);
    if (c) {
        w->n_open--;
        w->n_by_address[c->address_hash]--;
        w->n_dropped -= c->is_dropped;
        c->is_open = 0;
    }
}

int watch_limit(watch *w, int fd, int max_connections)
{
    LOCK_SCOPE(&w->lock);
    const int idlest = w->n_open - w->n_dropped >= max_connections ? find_longest_idle(w, fd) : -1;
    if (idlest >= 0) {
        w->connections[idlest].is_dropped = 1;
        w->n_dropped++;
        shutdown(idlest, SHUT_RDWR);
    }
    return w->n_open - w->n_dropped <= max_connections;
}

void watch_answering(watch *w, int fd)
{
    LOCK_SCOPE(&w->lock);
    watched_connection *c = find_connection(w, fd);
    if (c) c->is_answering = 1;
    if (c) c->wait_start = cli_now();
}

void watch_wait(watch *w, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT};
    LOCK_SCOPE(&w->lock);
    watched_connection *c = find_connection(w, fd);
    if (c) {
        if (++w->last_generation == 0) w->last_generation = 1;
        c->waiting = what;
        c->generation = w->last_generation;
        event.data.u64 = event_key(fd, c->generation);
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

void watch_stop_wait(watch *w, int fd)
{
    LOCK_SCOPE(&w->lock);
    watched_connection *c = fd < w->capacity ? &w->connections[fd] : NULL;
    if (c && c->waiting) {
        epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, NULL);
        c->waiting = NULL;
        c->wait_start = cli_now();
    }
}
