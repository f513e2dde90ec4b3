/* What scripts can reach: an allow-list of the standard library, and the table `rill`. */
#include "internal.h"
#include "state.h"

int script_open_libraries(lua_State *L)
{
    luaL_openlibs(L); /* to be replaced by the allow-list */
    lua_newtable(L);
    script_open_arrays(L);
    script_open_heuristics(L);
    script_open_scorers(L);
    script_open_policies(L);
    script_open_domains(L);
    script_open_config(L);
    if (script_of(L)->options.unsafe) script_open_ffi(L);
    lua_setglobal(L, "rill");
    return 0;
}
