/* Devices: assign workers to devices. A domain opens a model on one device; with several devices the model is opened on each. */
#ifndef RILL_DEVICES_H
#define RILL_DEVICES_H

#include "internal.h"
#include "rill/domain.h"

enum { DEVICES_MAX = 64, DEVICE_NAME_MAX = 48 };

typedef struct devices {
    int32_t n; /* number of entries of the list, at least 1 */
    struct {
        char name[DEVICE_NAME_MAX];
        int32_t first; /* index of the first entry with the same device */
    } entry[DEVICES_MAX];
    /* Copy of the options for opening a model; devices_options() sets its device. `values`, its domain options, is allocated from the
     * context. */
    rill_open_options open;
    rill_pair *values;
} devices;

/* Parse the option `device`, "cuda:0,cuda:1". Without a comma the list has one entry, and the options are unchanged.
 *   RILL_OK · RILL_ERR_OPTION (an empty entry, several kinds, too many) · RILL_ERR_ABI · RILL_ERR_MEMORY */
rill_status devices_read(devices *out, rill_context *ctx, const rill_open_options *open);
void devices_clear(devices *list, rill_context *ctx);
/* Return the options for opening a model on the entry's device; valid until the next call. */
const rill_open_options *devices_options(devices *list, int32_t entry);

#endif
