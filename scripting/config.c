/* A run described by a Lua table. */
#include "internal.h"

void script_open_config(lua_State *L)
{
    (void)L;
}
