/* Counters of the server, for Prometheus. Any thread. */
#ifndef CLI_SERVE_METRICS_H
#define CLI_SERVE_METRICS_H

#include "service.h"

/* Count an answer: its HTTP status, and seconds from the request's first byte to the answer's. */
void metrics_request(unsigned code, double seconds);
/* All counters in the text format 0.0.4; the caller frees it. NULL: out of memory. */
char *metrics_text(service *const *services, int n);

#endif
