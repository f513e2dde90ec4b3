/* script_load.h: scripts with all modules, for tests. Not installed. */
#ifndef RILL_SCRIPTING_SCRIPT_LOAD_H
#define RILL_SCRIPTING_SCRIPT_LOAD_H

#include "state/state.h"

/* Make a script with all modules open, without running it. */
rill_status script_create(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options);

#endif
