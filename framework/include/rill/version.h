/* Versions of the programming interface and of the plugin binary interface.
 *
 * RILL_VERSION names a release. RILL_ABI_VERSION is stored in a plugin's tables and grows when a table's layout changes incompatibly.
 * Optional members are appended without a change: `struct_size` tells which members a plugin has.
 *
 * Structs grow only at the end. A program's structs store their size in struct_size. Members that an older program lacks take their
 * defaults (rill_copy_struct()). A struct of a newer header is refused with RILL_ERR_ABI. The library's own structs are reached by
 * pointers and functions, never by an index into an array.
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

/* Marks the functions that librill exports; all other symbols are hidden. */
#define RILL_API __attribute__((visibility("default")))

#endif
