/* config_json.h: typed access to a model's config.json.
 *
 * Order of use: rill_config_open() (or _parse()), any number of getters, rill_config_close().
 * A key is a path of member names joined by dots: "hidden_size", "rill.domain". Unknown members are ignored, so one
 * file can serve rill and other programs; rill's own section warns about them (rill_config_warn_unknown()). Duplicate
 * members are refused. A null member counts as absent.
 * Every error names the file, the key and what was expected; syntax errors name the line.
 * Memory: the parser (jansson) uses malloc() for the document; everything else comes from the context.
 * One thread at a time. Stability: internal to rill. */
#ifndef RILL_COMMON_CONFIG_JSON_H
#define RILL_COMMON_CONFIG_JSON_H

#include "rill/context.h"

typedef struct rill_config rill_config;

/* Read the file at `path`, which must hold one object.
 *   out: on success a configuration the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (not JSON, not an object) · RILL_ERR_MEMORY */
rill_status rill_config_open(rill_config **out, rill_context *ctx, const char *path);

/* Read a configuration from bytes in memory, otherwise as rill_config_open(); `name` stands for the path in errors and is copied. */
rill_status rill_config_parse(rill_config **out, rill_context *ctx, const char *name, const char *bytes, size_t length);

void rill_config_close(rill_config *config); /* NULL is allowed */

/* Open the file `name` of a model directory, call `read` with it, close it.
 *   found  *found is set to whether the file exists; if not, `read` is not called. NULL: the file is required
 *   RILL_OK · as rill_config_open() · what `read` returns */
typedef rill_status (*rill_config_fn)(void *user, const rill_config *config);
rill_status rill_config_read(rill_context *ctx, const char *directory, const char *name, rill_config_fn read,
                             void *user, int *found);

/* Name of the file in errors. */
const char *rill_config_name(const rill_config *config);

/* A required value. Integers must be in low..high; texts may be empty.
 *   *out   set on success; texts are borrowed until the configuration is closed
 *   RILL_OK · RILL_ERR_FORMAT (absent, another type, out of range) */
rill_status rill_config_int(const rill_config *config, const char *key, int64_t low, int64_t high, int64_t *out);
rill_status rill_config_string(const rill_config *config, const char *key, const char **out);

/* An optional value: *out = fallback if absent. Another type or range is still an error. */
rill_status rill_config_int_or(const rill_config *config, const char *key, int64_t low, int64_t high, int64_t fallback,
                               int64_t *out);
rill_status rill_config_number_or(const rill_config *config, const char *key, double low, double high, double fallback,
                                  double *out);
rill_status rill_config_string_or(const rill_config *config, const char *key, const char *fallback, const char **out);
rill_status rill_config_bool_or(const rill_config *config, const char *key, int fallback, int *out);

/* *out = whether the member exists; it must be an object.
 *   RILL_OK · RILL_ERR_FORMAT (another type) */
rill_status rill_config_has_object(const rill_config *config, const char *key, int *out);

/* A text of an array of `count` texts, *out = NULL if there is no such member; borrowed as above.
 *   RILL_OK · RILL_ERR_FORMAT (not an array, another length, not a text) */
rill_status rill_config_array_string(const rill_config *config, const char *key, size_t index, size_t count,
                                     const char **out);

/* Call `take` with each list of integers in a list, and with each integer in it as a list of one: value [n], n >= 1, valid
 * during the call.
 *   RILL_OK (also without such a member) · RILL_ERR_FORMAT (not a list of these) · RILL_ERR_MEMORY · what `take` returns */
typedef rill_status (*rill_config_list_fn)(void *user, const int64_t *value, size_t n);
rill_status rill_config_each_list(const rill_config *config, const char *key, rill_config_list_fn take, void *user);

/* Whether `key` has a value other than null, false, the number `neutral` or empty: for keys that rill does not support. */
int rill_config_is_set(const rill_config *config, const char *key, double neutral);

/* Warn about each member of the object at `key` that is not among the `n` in `known`, with the nearest known name. Does
 * nothing if the object is absent. */
void rill_config_warn_unknown(const rill_config *config, const char *key, const char *const *known, size_t n);

/* Require `expected` at `key`, or an absent key: "model_type", "rill.domain".
 *   RILL_OK · RILL_ERR_FORMAT (both texts are in the error) */
rill_status rill_config_expect(const rill_config *config, const char *key, const char *expected);

#endif
