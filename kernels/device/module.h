/* module.h: interface of a device module (e.g. CUDA), a shared object loaded at run time.
 *
 * This library builds and checks networks and manages the slots of sessions for all devices; the module owns device
 * memory and runs graphs. A module is built together with this library, from the same headers.
 *
 * With a module, table rows (dev_table_rows.rows) are device memory, which the host must not touch. */
#ifndef RILL_DEVICE_MODULE_H
#define RILL_DEVICE_MODULE_H

#include "session.h"

typedef struct dev_module {
    size_t sizes; /* DEV_MODULE_SIZES of the headers the module was built with */

    /* Open the device `name`: "cuda", "cuda:1". Sets device->module_data and device->name.
     *   RILL_OK · RILL_ERR_OPTION (no such device; says why) · RILL_ERR_MEMORY */
    rill_status (*open)(rill_device *device, const char *name);
    void (*close)(rill_device *device);

    /* Upload weights [n, k], row i at w + i * stride, as matrix number `idx`. The network records failures.
     * finish() uploads the constants. */
    void (*add_matrix)(rill_network *network, size_t idx, const float *w, size_t stride);
    rill_status (*finish)(rill_network *network);
    void (*network_close)(rill_network *network); /* network->module_data may be NULL */
    /* Add the largest working memory of a run, tables excluded: see rill_network_bytes. */
    void (*add_sizes)(const rill_network *network, rill_network_bytes *bytes);

    rill_status (*session_open)(rill_session *session); /* sets session->module_data */
    void (*session_close)(rill_session *session);       /* session->module_data may be NULL */
    /* Reserve `rows` rows in table number `idx`, or in the node parents if `idx` is the number of tables. Contents are
     * kept. */
    rill_status (*grow)(rill_session *session, size_t idx, size_t rows);
    rill_status (*write)(rill_session *session, size_t idx, size_t first, size_t n, const float *rows);
    rill_status (*read)(const rill_session *session, size_t idx, size_t first, size_t n, float *rows);
    /* A slot's vocabulary subset has changed: upload session->subset[idx].slot[slot]; its n is 0 if there is none. */
    rill_status (*set_subset)(rill_session *session, size_t idx, int32_t slot);

    /* Run a graph. Returns RILL_AGAIN if results arrive asynchronously, which the arguments must allow. */
    rill_status (*run)(rill_session *session, const dev_graph *graph, const rill_run_arguments *arguments);
    rill_status (*collect)(rill_session *session, int32_t group);
    int32_t (*group_rows)(const rill_device *device);
} dev_module;

/* This number changes when a struct shared with modules changes its size. A module's file name contains rill's version. */
#define DEV_MODULE_SIZES                                                                                               \
    (1 * sizeof(dev_module) + 3 * sizeof(struct rill_device) + 5 * sizeof(struct rill_network) +                       \
     7 * sizeof(struct rill_session) + 9 * sizeof(dev_constant) + 11 * sizeof(dev_matrix) + 13 * sizeof(dev_table) +   \
     15 * sizeof(dev_vocab_subset) + 17 * sizeof(dev_graph) + 19 * sizeof(dev_index_space) + 21 * sizeof(dev_column) + \
     23 * sizeof(dev_tensor) + 25 * sizeof(dev_buffer) + 27 * sizeof(dev_index) + 29 * sizeof(dev_path) +              \
     31 * sizeof(dev_op) + 33 * sizeof(dev_table_rows) + 35 * sizeof(dev_slot_subset) +                                \
     37 * sizeof(dev_slot_subsets) + 39 * sizeof(dev_layout) + 41 * sizeof(rill_selection) +                           \
     43 * sizeof(rill_run_arguments))

/* The symbol that a module exports: a function that returns the module's table. */
typedef const dev_module *(*dev_module_fn)(void);
#define DEV_MODULE_NAME "rill_device_module"

#endif
