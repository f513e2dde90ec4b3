/* config_json.h: a model's config.json, asked for values of a stated type.
 *
 * Order of use: rill_config_open() (or _parse()), any number of getters, rill_config_close().
 * A key is a path of member names joined by dots: "hidden_size", "rill.domain". Members nobody asks for are ignored, so one
 * file can serve rill and other programs, but for those that are rill's alone (rill_config_warn_unknown()); a member given twice is
 * refused. A member that is null counts as absent.
 * Every error names the file, the key and what was expected; errors of syntax name the line.
 * Memory: the parser behind it (jansson) uses malloc() for the document; everything else comes from the context.
 * One thread at a time. Stability: internal to rill. */
#ifndef RILL_COMMON_CONFIG_JSON_H
#define RILL_COMMON_CONFIG_JSON_H

#include "rill/context.h"

typedef struct rill_config rill_config;

/* Read the file at `path`, which must hold one object.
 *   out: on success a configuration the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (not JSON, not an object) · RILL_ERR_MEMORY */
rill_status rill_config_open(rill_config **out, rill_context *ctx, const char *path);

/* The same for bytes in memory; `name` stands for the path in errors and is copied. */
rill_status rill_config_parse(rill_config **out, rill_context *ctx, const char *name, const char *bytes, size_t length);

void rill_config_close(rill_config *config); /* NULL is allowed */

/* Open the file `name` of a model's directory, let `read` look at it, close it.
 *   found  *found says whether there is such a file, and without one `read` is not called; NULL: there must be one
 *   RILL_OK · as rill_config_open() · what `read` returns */
typedef rill_status (*rill_config_fn)(void *user, const rill_config *config);
rill_status rill_config_read(rill_context *ctx, const char *directory, const char *name, rill_config_fn read,
                             void *user, int *found);

/* What errors call the file. */
const char *rill_config_name(const rill_config *config);

/* A value that must be there. Integers must lie in low..high; texts may be empty.
 *   *out   set on success; texts are borrowed until the configuration is closed
 *   RILL_OK · RILL_ERR_FORMAT (absent, another type, out of range) */
rill_status rill_config_int(const rill_config *config, const char *key, int64_t low, int64_t high, int64_t *out);
rill_status rill_config_string(const rill_config *config, const char *key, const char **out);

/* A value that may be absent: then *out = fallback. Another type or range is an error all the same. */
rill_status rill_config_int_or(const rill_config *config, const char *key, int64_t low, int64_t high, int64_t fallback,
                               int64_t *out);
rill_status rill_config_number_or(const rill_config *config, const char *key, double low, double high, double fallback,
                                  double *out);
rill_status rill_config_string_or(const rill_config *config, const char *key, const char *fallback, const char **out);
rill_status rill_config_bool_or(const rill_config *config, const char *key, int fallback, int *out);

/* *out = whether there is such a member, which must be an object.
 *   RILL_OK · RILL_ERR_FORMAT (it is something else) */
rill_status rill_config_has_object(const rill_config *config, const char *key, int *out);

/* A text out of an array of `count` texts, *out = NULL when there is no such member; borrowed as above.
 *   RILL_OK · RILL_ERR_FORMAT (not an array, another length, not a text) */
rill_status rill_config_array_string(const rill_config *config, const char *key, size_t index, size_t count,
                                     const char **out);

/* Call `take` with each list of integers in a list, and with each integer in it as a list of one: value [n], n >= 1, valid
 * during the call.
 *   RILL_OK (also without such a member) · RILL_ERR_FORMAT (not a list of these) · RILL_ERR_MEMORY · what `take` returns */
typedef rill_status (*rill_config_list_fn)(void *user, const int64_t *value, size_t n);
rill_status rill_config_each_list(const rill_config *config, const char *key, rill_config_list_fn take, void *user);

/* Whether the file says anything at `key` but null, false, the number `nothing` or what is empty: asked of keys that nobody
 * heeds. */
int rill_config_is_set(const rill_config *config, const char *key, double neutral);

/* Name in a warning each member of the object at `key` that is none of the `n` in `heeded`, with the one of these that may be meant.
 * Nothing to do where there is no such object. */
void rill_config_warn_unknown(const rill_config *config, const char *key, const char *const *known, size_t n);

/* The file must say `expected` at `key` or nothing at all: "model_type", "rill.domain".
 *   RILL_OK · RILL_ERR_FORMAT (both texts are in the error) */
rill_status rill_config_expect(const rill_config *config, const char *key, const char *expected);

#endif
