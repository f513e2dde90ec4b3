/* Detect clients that have disconnected, and clients that send their requests too slowly.
 *
 * libmicrohttpd does not poll a connection while its request is decoded, and does not limit the time for sending a request. A thread
 * does both here. If a client closes its connection, or its sending side, while it waits for a response, the request is cancelled. A
 * connection whose request is not complete in time is shut down. Any thread. */
#ifndef CLI_SERVE_CONNECTION_WATCH_H
#define CLI_SERVE_CONNECTION_WATCH_H

typedef struct watch watch;

/* Start the thread.
 *   timeout: seconds for a request to arrive, including idle time of the connection
 *   gone: called once on the watching thread, with the argument of watch_wait()
 *   *out: closed by the caller
 * Returns 0 on failure. */
int watch_open(watch **out, double timeout, void (*gone)(void *what));
void watch_close(watch *w); /* NULL is allowed */

/* Begin, or end, watching a connection. `fd`: its socket. */
void watch_begin(watch *w, int fd);
void watch_end(watch *w, int fd);
/* If max_connections are open, shut one down. Prefers the address with the most connections, and the connection that has waited
 * longest for its request. Never drops `fd`, which is new. A connection with a request in work is dropped only if no other one is
 * idle. */
void watch_limit(watch *w, int fd, int max_connections);
/* A response is being sent: stop calling `gone` for this connection. */
void watch_answering(watch *w, int fd);
/* Call gone(what) if the client disconnects, until watch_stop_wait(). After watch_stop_wait() has returned, no call of `gone` for it
 * is running or will follow. */
void watch_wait(watch *w, int fd, void *what);
void watch_stop_wait(watch *w, int fd);

#endif
