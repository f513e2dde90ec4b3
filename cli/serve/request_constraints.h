/* What a request wants of its outputs beside settings: constraints, and a glossary. Threads: the server's one. */
#ifndef CLI_SERVE_REQUEST_CONSTRAINTS_H
#define CLI_SERVE_REQUEST_CONSTRAINTS_H

#include "api.h"

/* Read "constraints" (a line as rill/constraints.h has it, or a list with one or null for each input) and "glossary" ({TERM: TEXT}: an
 * input that contains TERM has TEXT required of its outputs) into the job's inputs. 0: refused. */
int request_constraints_read(const api_request *request, api_answer *refused);

#endif
