/* Policies written in Lua. */
#include "internal.h"

void script_open_policies(lua_State *L)
{
    (void)L;
}
