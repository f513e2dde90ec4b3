/* module.h: a device other than the processor, as a module brings it that is loaded at run time.
 *
 * Plans are built and checked here for all devices, and streams keep their slots here; the module keeps what must lie on its device
 * and runs programs. It is built together with this library, from these same headers.
 *
 * Rows of tables (dev_rows_of.rows) are then the device's memory, which the host must not touch. */
#ifndef RILL_DEVICE_MODULE_H
#define RILL_DEVICE_MODULE_H

#include "stream.h"

typedef struct dev_module {
    size_t sizes; /* DEV_MODULE_SIZES of the headers that it was built with */

    /* The device that `name` means: "cuda", "cuda:1". Sets device->own and device->name.
     *   RILL_OK · RILL_ERR_OPTION (there is none: why) · RILL_ERR_MEMORY */
    rill_status (*open)(rill_device *device, const char *name);
    void (*close)(rill_device *device);

    /* Weights [n, k], row i at w + i * stride, to the device, as matrix number `at`. Failures as the plan's.
     * Constants go down when the plan is finished. */
    void (*matrix)(rill_plan *plan, size_t at, const float *w, size_t stride);
    rill_status (*finish)(rill_plan *plan);
    void (*plan_close)(rill_plan *plan); /* plan->own may be NULL */
    /* Add what runs take at most beside tables: see rill_plan_bytes. */
    void (*add_sizes)(const rill_plan *plan, rill_plan_bytes *bytes);

    rill_status (*stream_open)(rill_stream *stream); /* sets stream->own */
    void (*stream_close)(rill_stream *stream);       /* stream->own may be NULL */
    /* Rows of table number `at`, or of `above` behind the last: room for `rows`; what is there stays. */
    rill_status (*grow)(rill_stream *stream, size_t at, size_t rows);
    rill_status (*write)(rill_stream *stream, size_t at, size_t first, size_t n, const float *rows);
    rill_status (*read)(const rill_stream *stream, size_t at, size_t first, size_t n, float *rows);
    /* The list of a slot is now what the stream says; n 0: there is none. */
    rill_status (*list)(rill_stream *stream, size_t at, int32_t slot);

    /* May answer later, where the arguments say so: RILL_AGAIN. */
    rill_status (*run)(rill_stream *stream, const dev_program *program, const rill_run_arguments *arguments);
    rill_status (*collect)(rill_stream *stream, int32_t group);
    int32_t (*group_rows)(const rill_device *device);
} dev_module;

/* Changes when a struct that both sides read gets another size. Modules of another version of rill have another name. */
#define DEV_MODULE_SIZES                                                                                            \
    (1 * sizeof(dev_module) + 3 * sizeof(struct rill_device) + 5 * sizeof(struct rill_plan) +                       \
     7 * sizeof(struct rill_stream) + 9 * sizeof(dev_constant) + 11 * sizeof(dev_matrix) + 13 * sizeof(dev_table) + \
     15 * sizeof(dev_list) + 17 * sizeof(dev_program) + 19 * sizeof(dev_space) + 21 * sizeof(dev_column) +          \
     23 * sizeof(dev_value) + 25 * sizeof(dev_buffer) + 27 * sizeof(dev_index) + 29 * sizeof(dev_path) +            \
     31 * sizeof(dev_op) + 33 * sizeof(dev_rows_of) + 35 * sizeof(dev_slot_list) + 37 * sizeof(dev_lists_of) +      \
     39 * sizeof(dev_layout) + 41 * sizeof(rill_selection) + 43 * sizeof(rill_run_arguments))

/* What a module exports: its table. */
typedef const dev_module *(*dev_module_fn)(void);
#define DEV_MODULE_NAME "rill_device_module"

#endif
