/* What computes, in words for titles of tables and pictures. */
#ifndef CLI_HARDWARE_H
#define CLI_HARDWARE_H

#include "session.h"

enum { CLI_HARDWARE_MAX = 384 };

/* The device of an open model, or else the processor's name, with threads and workers: "AMD EPYC 9B14, 1 thread". */
const char *cli_hardware(const cli_session *session, char out[CLI_HARDWARE_MAX]);

#endif
