/* Making and destroying a script's state; internal.h has what every file needs. */
#ifndef RILL_SCRIPTING_STATE_H
#define RILL_SCRIPTING_STATE_H

#include "internal.h"

/* A state with its libraries open and nothing run. */
rill_status script_create(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options);
void script_destroy(rill_script *s);

/* sandbox.c: open what scripts may reach, and the table `rill`. Protected function. */
int script_open_libraries(lua_State *L);

#endif
