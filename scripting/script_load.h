/* script_load.h: creates scripts without running them, for tests. Not installed. */
#ifndef RILL_SCRIPTING_SCRIPT_LOAD_H
#define RILL_SCRIPTING_SCRIPT_LOAD_H

#include "state/state.h"

/* Create a script with all modules of scripting/ open, without running a file. */
rill_status script_create(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options);

#endif
