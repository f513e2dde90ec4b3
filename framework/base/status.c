/* Names of status codes. */
#include "rill/status.h"

const char *rill_status_name(rill_status status)
{
    switch (status) {
    case RILL_AGAIN: return "RILL_AGAIN";
    case RILL_END_OF_INPUT: return "RILL_END_OF_INPUT";
    case RILL_EMPTY: return "RILL_EMPTY";
    case RILL_OK: return "RILL_OK";
    case RILL_ERR_MEMORY: return "RILL_ERR_MEMORY";
    case RILL_ERR_ARGUMENT: return "RILL_ERR_ARGUMENT";
    case RILL_ERR_OPTION: return "RILL_ERR_OPTION";
    case RILL_ERR_NOT_FOUND: return "RILL_ERR_NOT_FOUND";
    case RILL_ERR_IO: return "RILL_ERR_IO";
    case RILL_ERR_FORMAT: return "RILL_ERR_FORMAT";
    case RILL_ERR_ABI: return "RILL_ERR_ABI";
    case RILL_ERR_INPUT: return "RILL_ERR_INPUT";
    case RILL_ERR_NO_HYPOTHESIS: return "RILL_ERR_NO_HYPOTHESIS";
    case RILL_ERR_PLUGIN: return "RILL_ERR_PLUGIN";
    case RILL_ERR_STOPPED: return "RILL_ERR_STOPPED";
    case RILL_ERR_CHECK: return "RILL_ERR_CHECK";
    case RILL_ERR_CANCELLED: return "RILL_ERR_CANCELLED";
    case RILL_ERR_DEADLINE: return "RILL_ERR_DEADLINE";
    case RILL_ERR_DEVICE: return "RILL_ERR_DEVICE";
    }
    return "unknown status";
}
