/* Arrays: views over the engine's memory and vectors of the script's own. */
#include "internal.h"

void script_open_arrays(lua_State *L)
{
    (void)L;
}
