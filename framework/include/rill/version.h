/* Versions of the API and of the plugin ABI.
 *
 * RILL_ABI_VERSION is stored in a plugin's tables, and grows when their layout changes incompatibly. Optional members are appended
 * without a new version: `struct_size` tells which ones a plugin has.
 *
 * Structs grow only at the end. struct_size is the size of the caller's struct; missing members get defaults (rill_copy_struct()). A newer
 * header's struct is refused with RILL_ERR_ABI. Arrays of the library's structs are read by functions, never indexed.
 * Stability: the names in this header never change. */
#ifndef RILL_VERSION_H
#define RILL_VERSION_H

#define RILL_VERSION_MAJOR 0
#define RILL_VERSION_MINOR 1
#define RILL_VERSION_PATCH 0
#define RILL_VERSION_STRING RILL_VERSION_TEXT(RILL_VERSION_MAJOR, RILL_VERSION_MINOR, RILL_VERSION_PATCH)
#define RILL_VERSION_TEXT(major, minor, patch) \
    RILL_VERSION_QUOTE(major) "." RILL_VERSION_QUOTE(minor) "." RILL_VERSION_QUOTE(patch)
#define RILL_VERSION_QUOTE(number) #number

#define RILL_ABI_VERSION 4u

#if defined(__cplusplus)
#define RILL_C_BEGIN extern "C" {
#define RILL_C_END }
#else
#define RILL_C_BEGIN
#define RILL_C_END
#endif

/* Exported function; all other symbols are hidden. */
#define RILL_API __attribute__((visibility("default")))

#endif
