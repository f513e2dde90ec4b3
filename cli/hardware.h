/* Name of the hardware, for the titles of tables and charts. */
#ifndef CLI_HARDWARE_H
#define CLI_HARDWARE_H

#include "session.h"

enum { CLI_HARDWARE_MAX = 384 };

/* The device of the open model, or the processor's name, with threads and workers: "AMD EPYC 9B14, 1 thread". Returns `out`. */
const char *cli_hardware(const cli_session *session, char out[CLI_HARDWARE_MAX]);

#endif
