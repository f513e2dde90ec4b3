/* Scorers written in Lua. */
#include "internal.h"

void script_open_scorers(lua_State *L)
{
    (void)L;
}
