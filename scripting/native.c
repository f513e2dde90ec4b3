/* rill.ffi: functions of shared objects. */
#include "internal.h"

void script_open_ffi(lua_State *L)
{
    (void)L;
}
