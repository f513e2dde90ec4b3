/* Bodies of forms: application/x-www-form-urlencoded. */
#ifndef CLI_SERVE_FORM_H
#define CLI_SERVE_FORM_H

#include <jansson.h>

/* {NAME: TEXT}; a name that comes again has a list of its texts. NULL: it is none, is not UTF-8, or there is no memory. */
json_t *form_read(const char *body, size_t length);

#endif
