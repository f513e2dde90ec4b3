/* Typed access to a model's config.json: open, call getters, close. A key is a path of names: "hidden_size", "rill.domain".
 *
 * Unknown members are ignored. A null member counts as absent. Threads: one at a time. */
#pragma once

#include "rill/context.h"

/* Parse JSON, or read it from a file. Duplicate members are errors. If an integer exceeds 64 bits, all numbers become reals
 * ("model_max_length" is often 10^30).
 *   name   the file's name in errors
 *   out    freed by the caller with json_decref()
 *   RILL_OK · RILL_ERR_FORMAT (FILE:LINE: why) · for a file also the statuses of rill_file_read() */
struct json_t;
rill_status rill_json_parse(rill_context *ctx, const char *name, const char *bytes, size_t length, struct json_t **out);
rill_status rill_json_read(rill_context *ctx, const char *path, struct json_t **out);

/* Returns the value of an integral number, e.g. 3, 3.0 or 1e6; else `otherwise`. */
int64_t rill_json_integer(const struct json_t *value, int64_t otherwise);

typedef struct rill_config rill_config;

/* Read a file with one JSON object. *out: closed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (not JSON, not an object) · RILL_ERR_MEMORY */
rill_status rill_config_open(rill_config **out, rill_context *ctx, const char *path);

/* As rill_config_open(), from bytes in memory. `name` stands for the path in errors and is copied. */
rill_status rill_config_parse(rill_config **out, rill_context *ctx, const char *name, const char *bytes, size_t length);

void rill_config_close(rill_config *config);              /* closes the configuration; NULL is allowed */
static inline void rill_config_drop(rill_config **config) /* close function for SCOPED() */
{
    rill_config_close(*config);
}

/* Call `read` with the configuration in a model directory's file `name`.
 *   found  *found: whether the file exists; if not, `read` is not called. NULL: the file is required
 *   RILL_OK · a status of rill_config_open() · the status of `read` */
typedef rill_status (*rill_config_fn)(void *user, const rill_config *config);
rill_status rill_config_read(rill_context *ctx, const char *directory, const char *name, rill_config_fn read,
                             void *user, int *found);

/* Returns the file's object; NULL if `config` is NULL. Getters of optional values accept a NULL configuration, which has no values. */
struct json_t *rill_config_root(const rill_config *config);

/* Returns the configuration file's name, as error messages show it. */
const char *rill_config_name(const rill_config *config);

/* Record the error "FILE: KEY: ", followed by what is wrong with the key's value. Returns RILL_ERR_FORMAT. */
rill_status rill_config_fail(const rill_config *config, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Read a required value: an integer in low..high, or a string, perhaps empty. Strings are valid until the configuration is closed.
 *   RILL_OK · RILL_ERR_FORMAT (absent, another type, out of range) */
rill_status rill_config_int(const rill_config *config, const char *key, int32_t low, int32_t high, int32_t *out);
rill_status rill_config_size(const rill_config *config, const char *key, int32_t low, int32_t high, size_t *out);
rill_status rill_config_string(const rill_config *config, const char *key, const char **out);

/* Read an optional value: *out = fallback if the key is absent. Statuses as for required values. */
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

/* Read string `index` of an array of `count` strings, valid until close. *out: NULL if the key is absent.
 *   RILL_OK · RILL_ERR_FORMAT (not an array, another length, not a string) */
rill_status rill_config_array_string(const rill_config *config, const char *key, size_t index, size_t count,
                                     const char **out);

/* Call `take` for each element of an array. An element is an array of integers, e.g. in bad_words_ids, or a single integer, for which n =
 * 1.
 *   RILL_OK (also if the key is absent) · RILL_ERR_FORMAT (not such an array) · RILL_ERR_MEMORY · the status of `take` */
typedef rill_status (*rill_config_list_fn)(void *user, const int64_t *value, size_t n);
rill_status rill_config_each_list(const rill_config *config, const char *key, rill_config_list_fn take, void *user);

/* Returns 1 if the value of an unsupported key has an effect. An absent key, null, false, `neutral` and empty values have none. */
int rill_config_is_set(const rill_config *config, const char *key, double neutral);

/* Warn about members of the object at `key` that are not in known[0..n), and suggest the most similar name. */
void rill_config_warn_unknown(const rill_config *config, const char *key, const char *const *known, size_t n);

/* Fail unless `key` is absent or has the string `expected`.
 *   RILL_OK · RILL_ERR_FORMAT (the message has the expected and the found value) */
rill_status rill_config_expect(const rill_config *config, const char *key, const char *expected);
