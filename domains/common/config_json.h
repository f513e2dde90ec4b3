/* config_json.h: typed access to a model's config.json.
 *
 * Order of use: rill_config_open() (or _parse()), any number of getters, rill_config_close().
 * A key is a path of member names joined by dots: "hidden_size", "rill.domain". Unknown members are ignored, so that
 * rill and other programs can share the file; only in the object "rill" they cause a warning
 * (rill_config_warn_unknown()). Duplicate members are an error. A member that is null counts as absent.
 * Every error names the file, the key and what was expected; syntax errors name the line.
 * Memory: the parser (jansson) uses malloc() for the document; everything else comes from the context.
 * One thread at a time.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_CONFIG_JSON_H
#define RILL_COMMON_CONFIG_JSON_H

#include "rill/context.h"

/* Parse JSON; an object with a duplicate member is an error. If an integer has more than 64 bits, all numbers become
 * reals: "model_max_length" of tokenizers is often 10^30. `name` is the file's name in error messages.
 * rill_json_read() reads the file at `path` instead of bytes. The caller frees *out with json_decref().
 *   RILL_OK · RILL_ERR_FORMAT (FILE:LINE: why); rill_json_read() also the statuses of rill_file_read() */
struct json_t;
rill_status rill_json_parse(rill_context *ctx, const char *name, const char *bytes, size_t length, struct json_t **out);
rill_status rill_json_read(rill_context *ctx, const char *path, struct json_t **out);

/* Return the value of a JSON number that is integral: an integer, or a real such as 3.0 or 1e6. Return `otherwise` for any other value. */
int64_t rill_json_integer(const struct json_t *value, int64_t otherwise);

typedef struct rill_config rill_config;

/* Read the file at `path`, which must hold one object.
 *   out: on success a configuration the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (not JSON, not an object) · RILL_ERR_MEMORY */
rill_status rill_config_open(rill_config **out, rill_context *ctx, const char *path);

/* Read a configuration from bytes in memory, otherwise as rill_config_open(); `name` stands for the path in errors and is copied. */
rill_status rill_config_parse(rill_config **out, rill_context *ctx, const char *name, const char *bytes, size_t length);

void rill_config_close(rill_config *config); /* closes the configuration; NULL is allowed */

/* Open the file `name` of a model directory, call `read` with its configuration, and close it.
 *   found  *found is set to 1 if the file exists; to 0 if not, and then `read` is not called. NULL: the file is required
 *   RILL_OK · a status of rill_config_open() · the status that `read` returns */
typedef rill_status (*rill_config_fn)(void *user, const rill_config *config);
rill_status rill_config_read(rill_context *ctx, const char *directory, const char *name, rill_config_fn read,
                             void *user, int *found);

/* Return the object that the file holds; NULL for NULL. Getters of values that need not be set accept NULL, in which nothing is
 * set. */
struct json_t *rill_config_root(const rill_config *config);

/* Return the configuration file's name, as error messages show it. */
const char *rill_config_name(const rill_config *config);

/* Record the error "FILE: KEY: ", followed by what is wrong with the key's value. Returns RILL_ERR_FORMAT. */
rill_status rill_config_fail(const rill_config *config, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Read the value of a key that must be set: an integer in low..high, or a string, which may be empty.
 *   *out   set on success; strings are borrowed until the configuration is closed
 *   RILL_OK · RILL_ERR_FORMAT (absent, another type, out of range) */
rill_status rill_config_int(const rill_config *config, const char *key, int32_t low, int32_t high, int32_t *out);
rill_status rill_config_size(const rill_config *config, const char *key, int32_t low, int32_t high, size_t *out);
rill_status rill_config_string(const rill_config *config, const char *key, const char **out);

/* Read the value of a key that need not be set; *out = fallback if it is absent. A value of another type, or out of range, is still an
 * error. */
rill_status rill_config_int_or(const rill_config *config, const char *key, int32_t low, int32_t high, int32_t fallback,
                               int32_t *out);
/* Like rill_config_int_or(), but a list of one integer is allowed too, e.g. "eos_token_id": [2]. */
rill_status rill_config_id_or(const rill_config *config, const char *key, int32_t low, int32_t high, int32_t fallback,
                              int32_t *out);
rill_status rill_config_size_or(const rill_config *config, const char *key, int32_t low, int32_t high, size_t fallback,
                                size_t *out);
rill_status rill_config_number_or(const rill_config *config, const char *key, double low, double high, double fallback,
                                  double *out);
rill_status rill_config_string_or(const rill_config *config, const char *key, const char *fallback, const char **out);
rill_status rill_config_bool_or(const rill_config *config, const char *key, int fallback, int *out);

/* Fail unless the value of `key` is an object or absent. RILL_OK · RILL_ERR_FORMAT (another type) */
rill_status rill_config_expect_object(const rill_config *config, const char *key);

/* Read string number `index` of an array. The array must have `count` strings. If the key is absent, *out = NULL. The string is borrowed
 * until the configuration is closed.
 *   RILL_OK · RILL_ERR_FORMAT (not an array, another length, not a string) */
rill_status rill_config_array_string(const rill_config *config, const char *key, size_t index, size_t count,
                                     const char **out);

/* Read an array whose elements are integers or arrays of integers, e.g. eos_token_id or bad_words_ids. `take` is called
 * for each element; an integer is passed as an array of one. value [n], n >= 1, is valid during the call.
 *   RILL_OK (also if the key is absent) · RILL_ERR_FORMAT (not such an array) · RILL_ERR_MEMORY · the status of `take` */
typedef rill_status (*rill_config_list_fn)(void *user, const int64_t *value, size_t n);
rill_status rill_config_each_list(const rill_config *config, const char *key, rill_config_list_fn take, void *user);

/* Return 1 if `key` is set to a value that has an effect: not null, false, the number `neutral`, or an empty string,
 * array or object. Used for keys that rill does not support. */
int rill_config_is_set(const rill_config *config, const char *key, double neutral);

/* Warn about each member of the object at `key` whose name is not one of the `n` names in `known`, and suggest the most
 * similar one. Does nothing if the object is absent. */
void rill_config_warn_unknown(const rill_config *config, const char *key, const char *const *known, size_t n);

/* Fail unless the value of `key`, e.g. "model_type" or "rill.domain", is the string `expected` or absent.
 *   RILL_OK · RILL_ERR_FORMAT (the message has the expected and the found value) */
rill_status rill_config_expect(const rill_config *config, const char *key, const char *expected);

#endif
