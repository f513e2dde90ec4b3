/* The description of the API, OpenAPI 3.0: openapi.json, and the settings from the option tables, those of the models' domains too. */
#ifndef CLI_SERVE_OPENAPI_H
#define CLI_SERVE_OPENAPI_H

#include <jansson.h>

#include "models.h"

json_t *openapi_document(const models *m); /* the caller's to free; NULL: out of memory */

#endif
