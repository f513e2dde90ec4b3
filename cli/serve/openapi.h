/* The OpenAPI 3.0 description: openapi.json, completed with options from the option tables and from the models' domains. */
#ifndef CLI_SERVE_OPENAPI_H
#define CLI_SERVE_OPENAPI_H

#include <jansson.h>

#include "models.h"

json_t *openapi_document(const models *m); /* freed by the caller; NULL: out of memory */

#endif
