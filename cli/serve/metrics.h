/* Server metrics for Prometheus. Any thread. */
#ifndef CLI_SERVE_METRICS_H
#define CLI_SERVE_METRICS_H

#include "service.h"

/* Count a response: its HTTP status, and the seconds from the first byte of the request to the first byte of the response. */
void metrics_request(unsigned code, double seconds);
/* All metrics in text format 0.0.4; the caller frees the text. NULL: out of memory. */
char *metrics_text(service *const *services, int n);

#endif
