/* Domains written in Lua. */
#include "internal.h"

void script_open_domains(lua_State *L)
{
    (void)L;
}
