/* Versions of the programming interface and of the plugin binary interface.
 *
 * RILL_VERSION names a release. RILL_ABI_VERSION is stored in a plugin's tables: it grows when a table changes incompatibly. Appending an
 * optional member to a table does not change it; from `struct_size` the engine knows which members a plugin has.
 *
 * Structs that a caller makes carry their size too. Options may come from an older header: missing members take their defaults.
 * rill_settings and rill_engine_setup of another size are refused with RILL_ERR_ABI, since the second contains the first and rill writes
 * to both. Stability: the names in this header never change. */
#ifndef RILL_VERSION_H
#define RILL_VERSION_H

#define RILL_VERSION_MAJOR 0
#define RILL_VERSION_MINOR 1
#define RILL_VERSION_PATCH 0
#define RILL_VERSION_STRING "0.1.0"

#define RILL_ABI_VERSION 3u

#if defined(__cplusplus)
#define RILL_C_BEGIN extern "C" {
#define RILL_C_END }
#else
#define RILL_C_BEGIN
#define RILL_C_END
#endif

/* Marks what librill exports; everything else is hidden. */
#define RILL_API __attribute__((visibility("default")))

#endif
