/* Typed access to a model's config.json.
 *
 * Invariant: `root` is an object without duplicate members. Only this file, folder.c, safetensors.c and ../text use jansson. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "domain_base.h"
#include "rill/file.h"

struct rill_config {
    rill_context *ctx;
    json_t *root;
    size_t bytes; /* size of this struct and of the name that follows it */
    char name[];
};

/* --- parsing the configuration ------------------------------------------------------------------------------------ */

rill_status rill_json_parse(rill_context *ctx, const char *name, const char *bytes, size_t length, json_t **out)
{
    json_error_t error, ignored;
    *out = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
    if (*out == NULL && json_error_code(&error) == json_error_numeric_overflow)
        *out = json_loadb(bytes, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &ignored);
    return *out != NULL ? RILL_OK : rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: %s", name, error.line, error.text);
}

rill_status rill_json_read(rill_context *ctx, const char *path, json_t **out)
{
    SCOPED(rill_text_clear) rill_text text = {.ctx = ctx};
    TRY(rill_file_read(&text, path, RILL_FILE_TEXT_MAX));
    return rill_json_parse(ctx, path, text.data, text.length, out);
}

static rill_status make_config(rill_config **out, rill_context *ctx, const char *name, json_t *root)
{
    const size_t size = sizeof(rill_config) + strlen(name) + 1;
    if (!json_is_object(root))
        return rill_fail(ctx, RILL_ERR_FORMAT, "%s: expected an object, found another kind of value", name);
    TRY(rill_struct_alloc(ctx, out, size, name));
    (*out)->ctx = ctx;
    (*out)->root = json_incref(root);
    (*out)->bytes = size;
    memcpy((*out)->name, name, strlen(name) + 1);
    return RILL_OK;
}

rill_status rill_config_parse(rill_config **out, rill_context *ctx, const char *name, const char *bytes, size_t length)
{
    json_auto_t *root = NULL;
    *out = NULL;
    TRY(rill_json_parse(ctx, name, bytes, length, &root));
    return make_config(out, ctx, name, root);
}

rill_status rill_config_open(rill_config **out, rill_context *ctx, const char *path)
{
    json_auto_t *root = NULL;
    *out = NULL;
    TRY(rill_json_read(ctx, path, &root));
    return make_config(out, ctx, path, root);
}

void rill_config_close(rill_config *config)
{
    if (config == NULL) return;
    json_decref(config->root);
    rill_free(config->ctx, config, config->bytes);
}

rill_status rill_config_read(rill_context *ctx, const char *directory, const char *name, rill_config_fn read,
                             void *user, int *found)
{
    SCOPED(rill_text_clear) rill_text path = {.ctx = ctx};
    SCOPED(rill_config_drop) rill_config *config = NULL;
    TRY(rill_path_join(&path, directory, name));
    const rill_status status = rill_config_open(&config, ctx, path.data);
    if (found != NULL) *found = status != RILL_ERR_NOT_FOUND;
    if (status == RILL_OK) return read(user, config);
    if (found == NULL || *found) return status;
    rill_error_clear(ctx);
    return RILL_OK;
}

json_t *rill_config_root(const rill_config *config)
{
    return config != NULL ? config->root : NULL;
}

const char *rill_config_name(const rill_config *config)
{
    return config->name;
}

/* --- finding members ---------------------------------------------------------------------------------------------- */

enum { NAME_BYTES = 64 }; /* maximum bytes of a key with its NUL; every key is a constant in rill's code */

static json_t *get_member(json_t *object, const char *name, size_t length)
{
    char copy[NAME_BYTES];
    if (length >= sizeof copy) return NULL;
    memcpy(copy, name, length);
    copy[length] = '\0';
    return json_object_get(object, copy);
}

/* Returns NULL if the value is absent or null, or if a parent is no object, as in {"rill": 3}. */
static json_t *find_value(const rill_config *config, const char *key)
{
    json_t *value = rill_config_root(config);
    while (value != NULL) {
        size_t length = strcspn(key, ".");
        value = get_member(value, key, length);
        if (key[length] == '\0') break;
        key += length + 1;
    }
    return json_is_null(value) ? NULL : value;
}

/* --- error messages ----------------------------------------------------------------------------------------------- */

/* Describe a JSON value for error messages ("expected ..., found ..."). */
static const char *describe_json(const json_t *value, char *buffer, size_t size)
{
    if (value == NULL) return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return "null";
    case JSON_INTEGER: snprintf(buffer, size, "%lld", (long long)json_integer_value(value)); break;
    case JSON_REAL: rill_print(buffer, size, "%g", json_real_value(value)); break;
    case JSON_STRING: snprintf(buffer, size, "\"%.40s\"", json_string_value(value)); break;
    }
    return buffer;
}

rill_status rill_config_fail(const rill_config *config, const char *key, const char *format, ...)
{
    char why[1000];
    va_list arguments;
    va_start(arguments, format);
    rill_print_message_list(why, sizeof why, format, arguments);
    va_end(arguments);
    return rill_fail(config->ctx, RILL_ERR_FORMAT, "%s: %s: %s", config->name, key, why);
}

static rill_status fail_value(const rill_config *config, const char *key, const char *expected, const json_t *found)
{
    char text[64];
    return rill_config_fail(config, key, "expected %s, found %s", expected, describe_json(found, text, sizeof text));
}

/* --- reading typed values ----------------------------------------------------------------------------------------- */

int64_t rill_json_integer(const json_t *value, int64_t otherwise)
{
    const double real = json_is_real(value) ? json_real_value(value) : 0.5;
    if (json_is_integer(value)) return json_integer_value(value);
    return real > -1e15 && real < 1e15 && (double)(int64_t)real == real ? (int64_t)real : otherwise;
}

static rill_status check_integer(const rill_config *config, const char *key, const json_t *value, int64_t low,
                                 int64_t high, int64_t *out)
{
    *out = rill_json_integer(value, low - 1);
    if (*out >= low && *out <= high) return RILL_OK;
    char expected[80];
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)low, (long long)high);
    return fail_value(config, key, expected, value);
}

rill_status rill_config_int(const rill_config *config, const char *key, int32_t low, int32_t high, int32_t *out)
{
    int64_t value;
    TRY(check_integer(config, key, find_value(config, key), low, high, &value));
    *out = (int32_t)value;
    return RILL_OK;
}

rill_status rill_config_int_or(const rill_config *config, const char *key, int32_t low, int32_t high, int32_t fallback,
                               int32_t *out)
{
    *out = fallback;
    return find_value(config, key) == NULL ? RILL_OK : rill_config_int(config, key, low, high, out);
}

rill_status rill_config_id_or(const rill_config *config, const char *key, int32_t low, int32_t high, int32_t fallback,
                              int32_t *out)
{
    const json_t *value = find_value(config, key);
    int64_t id = fallback;
    if (json_array_size(value) == 1) value = json_array_get(value, 0);
    if (value != NULL) TRY(check_integer(config, key, value, low, high, &id));
    *out = (int32_t)id;
    return RILL_OK;
}

rill_status rill_config_size(const rill_config *config, const char *key, int32_t low, int32_t high, size_t *out)
{
    int64_t value;
    TRY(check_integer(config, key, find_value(config, key), low, high, &value));
    *out = (size_t)value;
    return RILL_OK;
}

rill_status rill_config_size_or(const rill_config *config, const char *key, int32_t low, int32_t high, size_t fallback,
                                size_t *out)
{
    *out = fallback;
    return find_value(config, key) == NULL ? RILL_OK : rill_config_size(config, key, low, high, out);
}

rill_status rill_config_number_or(const rill_config *config, const char *key, double low, double high, double fallback,
                                  double *out)
{
    const json_t *value = find_value(config, key);
    double number = json_number_value(value);
    *out = fallback;
    if (value == NULL) return RILL_OK;
    if (!json_is_number(value) || !(number >= low && number <= high)) {
        char expected[80];
        rill_print(expected, sizeof expected, "a number from %g to %g", low, high);
        return fail_value(config, key, expected, value);
    }
    *out = number;
    return RILL_OK;
}

rill_status rill_config_string(const rill_config *config, const char *key, const char **out)
{
    const json_t *value = find_value(config, key);
    if (!json_is_string(value)) return fail_value(config, key, "a text", value);
    *out = json_string_value(value);
    return RILL_OK;
}

rill_status rill_config_string_or(const rill_config *config, const char *key, const char *fallback, const char **out)
{
    *out = fallback;
    return find_value(config, key) == NULL ? RILL_OK : rill_config_string(config, key, out);
}

rill_status rill_config_bool_or(const rill_config *config, const char *key, int fallback, int *out)
{
    const json_t *value = find_value(config, key);
    *out = fallback;
    if (value == NULL) return RILL_OK;
    if (!json_is_boolean(value)) return fail_value(config, key, "true or false", value);
    *out = json_is_true(value);
    return RILL_OK;
}

rill_status rill_config_expect_object(const rill_config *config, const char *key)
{
    const json_t *value = find_value(config, key);
    return value == NULL || json_is_object(value) ? RILL_OK : fail_value(config, key, "an object", value);
}

rill_status rill_config_array_string(const rill_config *config, const char *key, size_t index, size_t count,
                                     const char **out)
{
    const json_t *value = find_value(config, key);
    *out = NULL;
    if (value == NULL) return RILL_OK;
    if (json_is_array(value) && json_array_size(value) == count) *out = json_string_value(json_array_get(value, index));
    if (*out != NULL) return RILL_OK;
    char expected[40];
    snprintf(expected, sizeof expected, "an array of %zu texts", count);
    return fail_value(config, key, expected, value);
}

/* Call `take` once with the integers of an array. A single integer is passed as an array of one element. */
static rill_status call_with_list(const rill_config *config, const char *key, const json_t *list,
                                  rill_config_list_fn take, void *user)
{
    const size_t n = json_is_array(list) ? json_array_size(list) : 1;
    if (n == 0) return fail_value(config, key, "a list of integers in each list", list);
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = config->ctx};
    int64_t *value;
    TRY(rill_arena_alloc(&arena, &value, n, sizeof *value, key));
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(list) ? json_array_get(list, i) : list;
        value[i] = rill_json_integer(one, INT64_MIN);
        if (value[i] == INT64_MIN) return fail_value(config, key, "a list of integers", one);
    }
    return take(user, value, n);
}

rill_status rill_config_each_list(const rill_config *config, const char *key, rill_config_list_fn take, void *user)
{
    const json_t *list = find_value(config, key);
    if (list != NULL && !json_is_array(list)) return fail_value(config, key, "a list of integers", list);
    for (size_t i = 0; i < json_array_size(list); i++)
        TRY(call_with_list(config, key, json_array_get(list, i), take, user));
    return RILL_OK;
}

int rill_config_is_set(const rill_config *config, const char *key, double neutral)
{
    const json_t *value = find_value(config, key);
    if (value == NULL || json_is_false(value)) return 0;
    if (json_is_number(value)) return json_number_value(value) != neutral;
    if (json_is_string(value)) return json_string_length(value) > 0;
    return json_is_true(value) || json_array_size(value) > 0 || json_object_size(value) > 0;
}

void rill_config_warn_unknown(const rill_config *config, const char *key, const char *const *known, size_t n)
{
    const char *name;
    json_t *value, *object = find_value(config, key);
    json_object_foreach(object, name, value)
    {
        size_t i = 0;
        while (i < n && strcmp(known[i], name) != 0) i++;
        if (i < n) continue;
        const char *near = rill_nearest(name, known, n);
        rill_log(config->ctx, RILL_LOG_WARNING, "%s: \"%s\" under \"%s\" is not read%s%s%s", config->name, name, key,
                 near != NULL ? ": did you mean \"" : ": this kind of model has no such key", near != NULL ? near : "",
                 near != NULL ? "\"?" : "");
    }
}

rill_status rill_config_expect(const rill_config *config, const char *key, const char *expected)
{
    const json_t *value = find_value(config, key);
    if (value == NULL) return RILL_OK;
    if (json_is_string(value) && strcmp(json_string_value(value), expected) == 0) return RILL_OK;
    char text[80];
    snprintf(text, sizeof text, "\"%s\"", expected);
    return fail_value(config, key, text, value);
}
