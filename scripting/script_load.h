/* Scripts as a whole, for their own tests. Not installed. */
#ifndef RILL_SCRIPTING_SCRIPT_LOAD_H
#define RILL_SCRIPTING_SCRIPT_LOAD_H

#include "state/state.h"

/* A script with all its parts open and nothing run. */
rill_status script_create(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options);

#endif
