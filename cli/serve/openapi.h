/* The description of the API, OpenAPI 3.0: openapi.json, and the settings from the option table. */
#ifndef CLI_SERVE_OPENAPI_H
#define CLI_SERVE_OPENAPI_H

#include <jansson.h>

json_t *openapi_document(void); /* the caller's to free; NULL: out of memory */

#endif
