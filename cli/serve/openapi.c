/* The OpenAPI description; see openapi.h. */
#include "openapi.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"
#include "rill/rill.h"

static const struct {
    const char *name, *text;
    size_t length;
} embedded[] = {
#include "openapi_json.h"
};

/* The JSON schema of an option. */
static json_t *option_schema(const rill_option *row)
{
    const char *type = row->type == RILL_OPTION_INT || row->type == RILL_OPTION_BYTES ? "integer"
                       : row->type == RILL_OPTION_REAL                                ? "number"
                       : row->type == RILL_OPTION_SWITCH                              ? "boolean"
                                                                                      : "string";
    json_t *schema = json_pack("{s:s, s:s}", "type", type, "description", row->help);
    if (row->type == RILL_OPTION_REAL) {
        json_object_del(schema, "type");
        json_object_set_new(schema, "oneOf",
                            json_pack("[{s:s}, {s:s, s:s}]", "type", "number", "type", "string", "description",
                                      "\"inf\", or a fraction such as \"1/2\""));
    }
    if (row->type == RILL_OPTION_INT) {
        json_object_set_new(schema, "minimum", json_integer((json_int_t)row->min));
        json_object_set_new(schema, "maximum", json_integer((json_int_t)fmin(row->max, 2147483647)));
    }
    if (row->type == RILL_OPTION_WORD) {
        json_t *words = json_array();
        for (const char *word = row->argument; *word;) {
            const size_t length = strcspn(word, "|");
            json_array_append_new(words, json_stringn(word, length));
            word += length + (word[length] == '|');
        }
        json_object_set_new(schema, "enum", words);
    }
    return schema;
}

/* Describe an option under its name as an identifier. Requests may spell it with "-", or use an alias. */
static void add_option(json_t *options, const rill_option *row)
{
    char name[RILL_OPTION_MAX];
    snprintf(name, sizeof name, "%s", row->name);
    for (char *dash = name; (dash = strchr(dash, '-'));) *dash = '_';
    json_object_set_new(options, name, option_schema(row));
}

json_t *openapi_document(const models *m)
{
    json_t *document = json_loadb(embedded[0].text, embedded[0].length, 0, NULL);
    json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
    json_t *options = json_object_get(json_object_get(schemas, "Options"), "properties");
    for (const rill_option *row = rill_setting_table(); options && row->name; row++)
        if (row->kind != RILL_OPTION_SCHEDULE && rill_setting_is_per_request(row)) add_option(options, row);
    for (int i = 0; i < m->n; i++) {
        const rill_option *row = rill_domain_input_rows(rill_model_domain(service_model(m->service[i])));
        for (; row && row->name; row++) add_option(options, row);
    }
    json_object_set_new(json_object_get(document, "info"), "version", json_string(RILL_VERSION_STRING));
    return document;
}
