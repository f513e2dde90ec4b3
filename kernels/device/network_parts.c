/* What all code that builds a network uses: the failure that the network keeps, and its arrays of parts, which grow. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"

int32_t dev_network_fail(rill_network *network, rill_status status, const char *format, ...)
{
    va_list arguments;
    if (network->status != RILL_OK) return -1;
    network->status = status;
    va_start(arguments, format);
    vsnprintf(network->message, sizeof network->message, format, arguments);
    va_end(arguments);
    return -1;
}

void dev_build_fail(const dev_builder *b, const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (b->op != NULL)
        dev_network_fail(b->network, RILL_ERR_ARGUMENT, "graph %s, operation %zu (%s): %s", b->graph->name,
                         b->graph->n_ops, b->operation, what);
    else
        dev_network_fail(b->network, RILL_ERR_ARGUMENT, "graph %s: %s: %s", b->graph->name, b->operation, what);
}

int32_t dev_network_append(rill_network *network, void **array, size_t *count, size_t *capacity, size_t size)
{
    if (network->status != RILL_OK) return -1;
    if (network->finished)
        return dev_network_fail(network, RILL_ERR_ARGUMENT, "the network is finished: nothing can be added");
    if (*count >= INT32_MAX - 1) return dev_network_fail(network, RILL_ERR_ARGUMENT, "the network has too many parts");
    if (rill_grow(network->ctx, array, capacity, *count + 1, size, "a network") != RILL_OK)
        return dev_network_fail(network, RILL_ERR_MEMORY, "%s", rill_error(network->ctx));
    memset((char *)*array + *count * size, 0, size);
    *count += 1;
    return (int32_t)*count;
}
