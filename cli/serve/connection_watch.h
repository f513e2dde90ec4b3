/* Whose client has gone, and whose takes too long to say what it wants.
 *
 * libmicrohttpd does not look at a connection while its request is being decoded, nor does it bound the time in which a request has to
 * arrive. A thread here does both: a client that closes (or ends what it sends) while it waits has its request given up, and a
 * connection on which no request was complete in time is shut down. Any thread. */
#ifndef CLI_SERVE_CONNECTION_WATCH_H
#define CLI_SERVE_CONNECTION_WATCH_H

typedef struct watch watch;

/* timeout: seconds in which a request has to arrive, those of a connection's idling among them. gone: called on the watching thread with
 * what watch_wait() was given, once. *out: closed by the caller. 0: it cannot be had. */
int watch_open(watch **out, double timeout, void (*gone)(void *what));
void watch_close(watch *w); /* NULL is allowed */

/* A connection begins; ends. `fd`: its socket. */
void watch_begin(watch *w, int fd);
void watch_end(watch *w, int fd);
/* Where `most` connections are open, shut one down, so that there is room for another: of the address that has most of them the one that
 * has waited longest for its request; not `fd`, which has just come, and none whose request is being answered while others idle. */
void watch_limit(watch *w, int fd, int max_connections);
/* Its answer is being sent, and `what` is looked at no more. */
void watch_answering(watch *w, int fd);
/* Its request is complete, and answered with what `what` stands for; no longer. Once watch_stop_wait() has returned, `gone` is not called
 * for it and no call of it is going on. */
void watch_wait(watch *w, int fd, void *what);
void watch_stop_wait(watch *w, int fd);

#endif
