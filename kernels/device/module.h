/* module.h: a device other than the processor, as a module brings it that is loaded at run time.
 *
 * Plans are built and checked here for all devices, and streams keep their slots here; the module keeps what must lie on its device
 * and runs programs. It is built together with this library, from these same headers.
 *
 * Rows of tables (dev_table_rows.rows) are then the device's memory, which the host must not touch. */
#ifndef RILL_DEVICE_MODULE_H
#define RILL_DEVICE_MODULE_H

#include "session.h"

typedef struct dev_module {
    size_t sizes; /* DEV_MODULE_SIZES of the headers that it was built with */

    /* The device that `name` means: "cuda", "cuda:1". Sets device->own and device->name.
     *   RILL_OK · RILL_ERR_OPTION (there is none: why) · RILL_ERR_MEMORY */
    rill_status (*open)(rill_device *device, const char *name);
    void (*close)(rill_device *device);

    /* Weights [n, k], row i at w + i * stride, to the device, as matrix number `at`. Failures as the plan's.
     * Constants go down when the plan is finished. */
    void (*add_matrix)(rill_network *network, size_t idx, const float *w, size_t stride);
    rill_status (*finish)(rill_network *network);
    void (*network_close)(rill_network *network); /* plan->own may be NULL */
    /* Add what runs take at most beside tables: see rill_network_bytes. */
    void (*add_sizes)(const rill_network *network, rill_network_bytes *bytes);

    rill_status (*session_open)(rill_session *session); /* sets stream->own */
    void (*session_close)(rill_session *session);       /* stream->own may be NULL */
    /* Rows of table number `at`, or of `above` behind the last: room for `rows`; what is there stays. */
    rill_status (*grow)(rill_session *session, size_t idx, size_t rows);
    rill_status (*write)(rill_session *session, size_t idx, size_t first, size_t n, const float *rows);
    rill_status (*read)(const rill_session *session, size_t idx, size_t first, size_t n, float *rows);
    /* The list of a slot is now what the stream says; n 0: there is none. */
    rill_status (*set_subset)(rill_session *session, size_t idx, int32_t slot);

    /* May answer later, where the arguments say so: RILL_AGAIN. */
    rill_status (*run)(rill_session *session, const dev_graph *graph, const rill_run_arguments *arguments);
    rill_status (*collect)(rill_session *session, int32_t group);
    int32_t (*group_rows)(const rill_device *device);
} dev_module;

/* Changes when a struct that both sides read gets another size. Modules of another version of rill have another name. */
#define DEV_MODULE_SIZES                                                                                               \
    (1 * sizeof(dev_module) + 3 * sizeof(struct rill_device) + 5 * sizeof(struct rill_network) +                       \
     7 * sizeof(struct rill_session) + 9 * sizeof(dev_constant) + 11 * sizeof(dev_matrix) + 13 * sizeof(dev_table) +   \
     15 * sizeof(dev_vocab_subset) + 17 * sizeof(dev_graph) + 19 * sizeof(dev_index_space) + 21 * sizeof(dev_column) + \
     23 * sizeof(dev_tensor) + 25 * sizeof(dev_buffer) + 27 * sizeof(dev_index) + 29 * sizeof(dev_path) +              \
     31 * sizeof(dev_op) + 33 * sizeof(dev_table_rows) + 35 * sizeof(dev_slot_subset) +                                \
     37 * sizeof(dev_slot_subsets) + 39 * sizeof(dev_layout) + 41 * sizeof(rill_selection) +                           \
     43 * sizeof(rill_run_arguments))

/* What a module exports: its table. */
typedef const dev_module *(*dev_module_fn)(void);
#define DEV_MODULE_NAME "rill_device_module"

#endif
