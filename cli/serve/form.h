/* Parsing of form bodies: application/x-www-form-urlencoded. */
#ifndef CLI_SERVE_FORM_H
#define CLI_SERVE_FORM_H

#include <jansson.h>

/* Parse a form to {NAME: TEXT}; a repeated name gets a list of texts. NULL: malformed, not UTF-8, or out of memory. */
json_t *form_read(const char *body, size_t length);

#endif
