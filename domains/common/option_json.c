/* Converts JSON values to option values; rill/folder.h declares the function. */
#include <jansson.h>

#include "rill/folder.h"

rill_status rill_option_json_text(rill_context *ctx, const rill_option *option, const json_t *value,
                                  char buffer[RILL_OPTION_MAX], const char **text)
{
    rill_value v = {.kind = RILL_VALUE_NULL};
    switch (json_typeof(value)) {
    case JSON_NULL: break;
    case JSON_TRUE:
    case JSON_FALSE: v = (rill_value){.kind = RILL_VALUE_BOOLEAN, .integer = json_is_true(value)}; break;
    case JSON_INTEGER: v = (rill_value){.kind = RILL_VALUE_INTEGER, .integer = json_integer_value(value)}; break;
    case JSON_REAL: v = (rill_value){.kind = RILL_VALUE_REAL, .real = json_real_value(value)}; break;
    case JSON_STRING:
        v = (rill_value){
            .kind = RILL_VALUE_TEXT, .text = json_string_value(value), .length = json_string_length(value)};
        break;
    case JSON_ARRAY: v = (rill_value){.kind = RILL_VALUE_OTHER, .text = "a list"}; break;
    case JSON_OBJECT: v = (rill_value){.kind = RILL_VALUE_OTHER, .text = "an object"}; break;
    }
    return rill_option_text(ctx, option, &v, buffer, text);
}
