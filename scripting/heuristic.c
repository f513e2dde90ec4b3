/* Heuristics written in Lua. */
#include "internal.h"

void script_open_heuristics(lua_State *L)
{
    (void)L;
}
