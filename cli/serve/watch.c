/* Watching connections; see watch.h. */
#include "watch.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli.h"

typedef struct watched {
    int open;            /* it is a connection's */
    uint8_t crowd;       /* of the address that it comes from */
    int answers;         /* which is sent an answer */
    int dropped;         /* which has been shut down to make room */
    void *what;          /* NULL: nothing is asked for yet */
    uint32_t generation; /* of what: its number among all that was watched for */
    double since;        /* its request has to come from then on */
} watched;

struct watch {
    pthread_mutex_t lock;
    pthread_t thread;
    int epoll, wake;
    double timeout;
    void (*gone)(void *what);
    watched *at;          /* [room] by descriptor */
    int room, n, dropped; /* (connections; of them, those that are shut down) */
    uint32_t generation;  /* the last that was given */
    int crowd[256];       /* connections by address: addresses with the same hash are one */
};

enum { EVENTS = 64, LOOK_MS = 500 };

static uint8_t crowd_of(int fd)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    if (getpeername(fd, (struct sockaddr *)&from, &size)) return 0;
    const void *address = NULL;
    if (from.ss_family == AF_INET) address = &((struct sockaddr_in *)(void *)&from)->sin_addr;
    if (from.ss_family == AF_INET6) address = &((struct sockaddr_in6 *)(void *)&from)->sin6_addr;
    uint32_t hash = 2166136261; /* FNV-1a */
    for (size_t i = 0; address && i < (from.ss_family == AF_INET ? 4 : 16); i++)
        hash = (hash ^ ((const uint8_t *)address)[i]) * 16777619;
    return (uint8_t)(hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24);
}

/* What an event carries. Generations begin at 1, so the descriptor that ends the thread has none. */
static uint64_t name_of(int fd, uint32_t generation)
{
    return (uint64_t)generation << 32 | (uint32_t)fd;
}

/* An event may have been on its way while its connection ended and another one took the descriptor: it says nothing of that one. */
static void *what_of(const watch *w, uint64_t name)
{
    const int fd = (int)(uint32_t)name;
    const int is_there = fd < w->room && w->at[fd].open && w->at[fd].generation == (uint32_t)(name >> 32);
    return is_there ? w->at[fd].what : NULL;
}

static void sweep(watch *w)
{
    const double now = cli_now();
    for (int fd = 0; fd < w->room; fd++)
        if (w->at[fd].open && !w->at[fd].what && now - w->at[fd].since > w->timeout) shutdown(fd, SHUT_RDWR);
}

/* Whether rather this connection makes room than that one: an address has many others; no answer is being fetched; it has waited longer. */
static int comes_before(const watch *w, const watched *a, const watched *b)
{
    const int crowd = w->crowd[a->crowd], other = w->crowd[b->crowd];
    if (crowd != other) return crowd > other;
    return a->answers != b->answers ? a->answers < b->answers : a->since < b->since;
}

/* The connection that makes room; -1: all are busy. */
static int find_idlest(const watch *w, int but)
{
    int found = -1;
    for (int fd = 0; fd < w->room; fd++) {
        const watched *a = &w->at[fd];
        if (!a->open || a->what || a->dropped || fd == but) continue;
        if (found < 0 || comes_before(w, a, &w->at[found])) found = fd;
    }
    return found;
}

/* The lock is held while `gone` is called, so that watch_leave() waits for it. */
static void *look(void *user)
{
    watch *w = user;
    struct epoll_event events[EVENTS];
    for (;;) {
        const int n = epoll_wait(w->epoll, events, EVENTS, LOOK_MS);
        pthread_mutex_lock(&w->lock);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == name_of(w->wake, 0)) {
                pthread_mutex_unlock(&w->lock);
                return NULL;
            }
            void *what = what_of(w, events[i].data.u64);
            if (what) w->gone(what);
        }
        sweep(w);
        pthread_mutex_unlock(&w->lock);
    }
}

int watch_open(watch **out, double timeout, void (*gone)(void *what))
{
    watch *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w) return 0;
    *w = (watch){
        .epoll = epoll_create1(EPOLL_CLOEXEC), .wake = eventfd(0, EFD_CLOEXEC), .timeout = timeout, .gone = gone};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = name_of(w->wake, 0)};
    if (w->epoll >= 0 && w->wake >= 0 && !epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake, &event) &&
        !pthread_mutex_init(&w->lock, NULL) && !pthread_create(&w->thread, NULL, look, w)) {
        *out = w;
        return 1;
    }
    if (w->epoll >= 0) close(w->epoll);
    if (w->wake >= 0) close(w->wake);
    free(w);
    return 0;
}

void watch_close(watch *w)
{
    const unsigned long long one = 1;
    if (!w) return;
    (void)!write(w->wake, &one, sizeof one);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    close(w->epoll);
    close(w->wake);
    free(w->at);
    free(w);
}

static int make_room(watch *w, int fd)
{
    if (fd < w->room) return 1;
    const int room = 2 * fd + 64;
    watched *more = realloc(w->at, (size_t)room * sizeof *more);
    if (!more) return 0;
    for (int i = w->room; i < room; i++) more[i] = (watched){0};
    w->at = more;
    w->room = room;
    return 1;
}

void watch_begin(watch *w, int fd)
{
    pthread_mutex_lock(&w->lock);
    if (make_room(w, fd)) {
        const int again = w->at[fd].open; /* for the next request */
        const uint8_t crowd = again ? w->at[fd].crowd : crowd_of(fd);
        w->n += !again;
        w->crowd[crowd] += !again;
        w->at[fd] = (watched){.open = 1, .crowd = crowd, .dropped = again && w->at[fd].dropped, .since = cli_now()};
    }
    pthread_mutex_unlock(&w->lock);
}

void watch_end(watch *w, int fd)
{
    pthread_mutex_lock(&w->lock);
    if (fd < w->room && w->at[fd].open) {
        w->n--;
        w->crowd[w->at[fd].crowd]--;
        w->dropped -= w->at[fd].dropped;
        w->at[fd].open = 0;
    }
    pthread_mutex_unlock(&w->lock);
}

void watch_make_room(watch *w, int fd, int most)
{
    pthread_mutex_lock(&w->lock);
    const int idlest = w->n - w->dropped >= most ? find_idlest(w, fd) : -1;
    if (idlest >= 0) {
        w->at[idlest].dropped = 1;
        w->dropped++;
        shutdown(idlest, SHUT_RDWR);
    }
    pthread_mutex_unlock(&w->lock);
}

void watch_answer(watch *w, int fd)
{
    pthread_mutex_lock(&w->lock);
    if (fd < w->room && w->at[fd].open) {
        w->at[fd].answers = 1;
        w->at[fd].since = cli_now();
    }
    pthread_mutex_unlock(&w->lock);
}

void watch_for(watch *w, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT};
    pthread_mutex_lock(&w->lock);
    if (fd < w->room && w->at[fd].open) {
        if (++w->generation == 0) w->generation = 1;
        w->at[fd].what = what;
        w->at[fd].generation = w->generation;
        event.data.u64 = name_of(fd, w->generation);
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
    }
    pthread_mutex_unlock(&w->lock);
}

void watch_leave(watch *w, int fd)
{
    pthread_mutex_lock(&w->lock);
    if (fd < w->room && w->at[fd].what) {
        epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, NULL);
        w->at[fd].what = NULL;
        w->at[fd].since = cli_now();
    }
    pthread_mutex_unlock(&w->lock);
}
