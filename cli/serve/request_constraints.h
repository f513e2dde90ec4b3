/* Constraints and glossaries of requests. Threads: the server's thread. */
#ifndef CLI_SERVE_REQUEST_CONSTRAINTS_H
#define CLI_SERVE_REQUEST_CONSTRAINTS_H

#include "api.h"

/* Parse "constraints" and "glossary" into the job's inputs. "constraints" is a line as in rill/constraints.h, or a list with one line
 * or null for each input. "glossary" is {TERM: TEXT}: outputs of an input that contains TERM must contain TEXT. 0: *refused is set. */
int request_constraints_read(const api_request *request, api_answer *refused);

#endif
