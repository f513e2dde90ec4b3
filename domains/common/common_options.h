/* common_options.h: options of rill_model_open() common to all domains that load a model directory.
 *
 * Stability: internal to rill. */
#ifndef RILL_COMMON_OPTIONS_H
#define RILL_COMMON_OPTIONS_H

#include "rill/device.h"
#include "rill/domain.h"

/* Options for the table rill_domain.options. `words`: the allowed data types, e.g. "f32|bf16|f16|int8". */
#define RILL_WEIGHTS_OPTION(words)                                                                                     \
    {                                                                                                                  \
        "weights", words, "f32", "number type of the weights in memory", RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, 0, 0, \
            "compute-type quantization"                                                                                \
    }
/* An option for the table rill_domain.input_options. Its default for all inputs of a model is rill_open_options.tokenized. */
#define RILL_TOKENIZED_OPTION                                                                                      \
    {                                                                                                              \
        "tokenized", "", "", "inputs are tokens separated by spaces, in the model's own form", RILL_OPTION_SWITCH, \
            RILL_OPTION_MODEL, 0, 0, 1, NULL                                                                       \
    }
#define RILL_DEVICE_OPTIONS                                                                                         \
    {"device",                                                                                                      \
     "NAME",                                                                                                        \
     "cpu",                                                                                                         \
     "where the model runs: cpu, cuda (a GPU) or auto; cuda:NUMBER is one GPU of several, cuda:0,cuda:1 are two "   \
     "that decode in parallel, auto is a GPU if one can be used, else cpu",                                         \
     RILL_OPTION_TEXT,                                                                                              \
     RILL_OPTION_MODEL,                                                                                             \
     0,                                                                                                             \
     0,                                                                                                             \
     0,                                                                                                             \
     NULL},                                                                                                         \
    {                                                                                                               \
        "fast", "", "",                                                                                             \
            "on a GPU, use cuBLASLt's fastest matrix products, tf32 for f32: results may then depend on the batch", \
            RILL_OPTION_SWITCH, RILL_OPTION_MODEL, 0, 0, 0, NULL                                                    \
    }

/* Check that the options name a path and have no domain arguments: none of the domains that call this takes any.
 *   RILL_OK · RILL_ERR_OPTION (the message names `domain`) */
rill_status rill_options_check(rill_context *ctx, const char *domain, const rill_open_options *options);

/* Open the device that the option `device` names, with the options `fast` and `weights`.
 *   RILL_OK · RILL_ERR_OPTION (the message names `domain`) · RILL_ERR_MEMORY */
rill_status rill_options_device(rill_context *ctx, const char *domain, const rill_open_options *options,
                                rill_device **out);

/* Append ", on DEVICE" to a model's description, in an array of `size` bytes, unless the device is the CPU. */
void rill_options_describe(const rill_device *device, char *description, size_t size);

#endif
