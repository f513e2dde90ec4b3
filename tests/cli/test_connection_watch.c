/* Watching connections (cli/serve/connection_watch.c): a disconnected client is reported once, for the connection
 * and request that were watched, and never for another connection that reuses the descriptor. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http_server.h"

/* Replaces the watching thread's epoll_wait(), so that the test can hold events back and release them. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
    int holds, held, calls; /* whether to hold events back; whether an event is held back; number of calls */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

int epoll_wait(int epoll, struct epoll_event *events, int max_events, int timeout)
{
    pthread_mutex_lock(&gate.lock);
    gate.calls++;
    pthread_cond_broadcast(&gate.news);
    pthread_mutex_unlock(&gate.lock);
    const int n = epoll_pwait(epoll, events, max_events, timeout, NULL);
    pthread_mutex_lock(&gate.lock);
    if (gate.holds && n > 0) {
        gate.held = 1;
        pthread_cond_broadcast(&gate.news);
        while (gate.holds) pthread_cond_wait(&gate.news, &gate.lock);
        gate.held = 0;
    }
    pthread_mutex_unlock(&gate.lock);
    return n;
}

static void hold_events(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.holds = 1;
    pthread_mutex_unlock(&gate.lock);
}

static void wait_until_held(void)
{
    pthread_mutex_lock(&gate.lock);
    while (!gate.held) pthread_cond_wait(&gate.news, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* Release the events that were held back, and return when the watching thread has handled them. */
static void release_events(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.holds = 0;
    pthread_cond_broadcast(&gate.news);
    for (const int old_calls = gate.calls; gate.calls == old_calls;) pthread_cond_wait(&gate.news, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* A client, with the number of reports that it has disconnected. */
typedef struct client {
    int gone;
} client;

static void note(void *what)
{
    pthread_mutex_lock(&gate.lock);
    ((client *)what)->gone++;
    pthread_cond_broadcast(&gate.news);
    pthread_mutex_unlock(&gate.lock);
}

static int times(client *c)
{
    pthread_mutex_lock(&gate.lock);
    const int n = c->gone;
    pthread_mutex_unlock(&gate.lock);
    return n;
}

static void wait_until_gone(client *c)
{
    pthread_mutex_lock(&gate.lock);
    while (!c->gone) pthread_cond_wait(&gate.news, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* Connect a pair of sockets. If fd >= 0, the server's end gets this descriptor. */
static void connect_pair(int end[2], int fd)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
    if (fd < 0) return;
    assert_int_equal(dup2(end[0], fd), fd);
    if (end[0] != fd) close(end[0]);
    end[0] = fd;
}

static void tells_who_has_gone(void **state)
{
    client first = {0}, second = {0};
    int one[2], two[2];
    watch *w;
    (void)state;
    assert_int_equal(watch_open(&w, 100, note), 1);
    connect_pair(one, -1);
    connect_pair(two, -1);
    watch_begin(w, one[0]);
    watch_begin(w, two[0]);
    watch_wait(w, one[0], &first);
    watch_wait(w, two[0], &second);
    close(two[1]);
    wait_until_gone(&second);
    assert_int_equal(times(&first), 0);
    shutdown(one[1], SHUT_WR);
    wait_until_gone(&first);
    watch_stop_wait(w, one[0]);
    /* The connection's next request is watched again, and the disconnected client is reported again. */
    first.gone = 0;
    watch_wait(w, one[0], &first);
    wait_until_gone(&first);
    watch_close(w);
    assert_int_equal(first.gone, 1);
    assert_int_equal(second.gone, 1);
    close(one[0]);
    close(one[1]);
    close(two[0]);
}

/* While the event of a disconnected client is pending, its connection ends and another connection gets the
 * descriptor. */
static void stale_event_of_a_reused_descriptor(void **state)
{
    client gone = {0}, stays = {0};
    int end[2], again[2];
    watch *w;
    (void)state;
    assert_int_equal(watch_open(&w, 100, note), 1);
    connect_pair(end, -1);
    watch_begin(w, end[0]);
    watch_wait(w, end[0], &gone);
    hold_events();
    close(end[1]);
    wait_until_held();
    watch_stop_wait(w, end[0]);
    watch_end(w, end[0]);
    close(end[0]);
    connect_pair(again, end[0]);
    watch_begin(w, again[0]);
    watch_wait(w, again[0], &stays);
    release_events();
    assert_int_equal(times(&stays), 0);
    assert_int_equal(times(&gone), 0); /* the request is not watched any more */
    close(again[1]);
    wait_until_gone(&stays);
    watch_close(w);
    close(again[0]);
}

/* The event of a disconnected client arrives after the request was answered, before the next one: it is not
 * reported. */
static void event_after_the_answer(void **state)
{
    client first = {0};
    int end[2];
    watch *w;
    (void)state;
    assert_int_equal(watch_open(&w, 100, note), 1);
    connect_pair(end, -1);
    watch_begin(w, end[0]);
    watch_wait(w, end[0], &first);
    hold_events();
    close(end[1]);
    wait_until_held();
    watch_stop_wait(w, end[0]);
    watch_begin(w, end[0]);
    release_events();
    assert_int_equal(times(&first), 0);
    watch_end(w, end[0]);
    watch_close(w);
    close(end[0]);
}

static int is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) < 0;
}

/* When all slots are taken, the connection that has been idle for longest is shut down; a busy one only if none is
 * idle. */
static void idle_connections_are_closed(void **state)
{
    enum { N = 5 };
    client busy = {0};
    int end[N][2];
    watch *w;
    (void)state;
    assert_int_equal(watch_open(&w, 100, note), 1);
    for (int i = 0; i < N; i++) {
        connect_pair(end[i], -1);
        watch_begin(w, end[i][0]);
        usleep(2000);
    }
    watch_wait(w, end[0][0], &busy);
    watch_answering(w, end[1][0]);
    usleep(2000);
    /* starts the time of the next request: now this connection was idle for the shortest time */
    watch_begin(w, end[2][0]);
    assert_true(watch_limit(w, end[4][0], N + 1));
    for (int i = 0; i < N; i++) assert_true(is_open(end[i][1]));
    static const int order[] = {3, 2, 1};
    for (int turn = 0; turn < 3; turn++) {
        watch_limit(w, end[4][0], N - turn);
        watch_limit(w, end[4][0], N - turn); /* shuts down no other: a slot is free already */
        for (int i = 0; i < N; i++) {
            int is_gone = 0;
            for (int i_gone = 0; i_gone <= turn; i_gone++) is_gone |= order[i_gone] == i;
            assert_int_equal(is_open(end[i][1]), !is_gone);
        }
    }
    assert_false(watch_limit(w, end[4][0], 1)); /* two are left, the busy one and the new one, which is refused */
    assert_true(watch_limit(w, end[4][0], 2));
    assert_true(is_open(end[0][1]) && is_open(end[4][1]));
    watch_end(w, end[3][0]); /* a connection that was shut down is counted until watch_end() */
    watch_end(w, end[2][0]);
    watch_end(w, end[1][0]);
    watch_stop_wait(w, end[0][0]);
    watch_limit(w, end[4][0], 3);
    assert_true(is_open(end[0][1]));
    watch_limit(w, end[4][0], 2);
    assert_false(is_open(end[0][1]));
    assert_int_equal(times(&busy), 0);
    watch_close(w);
    for (int i = 0; i < N; i++) {
        close(end[i][0]);
        close(end[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_who_has_gone),
        cmocka_unit_test(stale_event_of_a_reused_descriptor),
        cmocka_unit_test(event_after_the_answer),
        cmocka_unit_test(idle_connections_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
