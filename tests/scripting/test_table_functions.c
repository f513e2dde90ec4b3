/* Functions on lists against those of the Lua library: results, changes to the arguments, the order of metamethod
 * calls, and messages. */
#include <stdio.h>
#include <string.h>

#include "state/state.h"
#include "support/harness.h"

/* Defines run(): a line for each call. Lists are plain, have metamethods that record calls, or report a false length.
 * All pairs of functions and kinds of arguments are tried. */
static const char text[] =
    "local lines = {}\n"
    "local noted\n"
    "local function show(x)\n"
    "  local kind = math.type(x) or type(x)\n"
    "  if kind == 'table' or kind == 'function' or kind == 'userdata' then return kind end\n"
    "  return kind .. ' ' .. tostring(x)\n"
    "end\n"
    "local function noting(list, length)\n"
    "  return setmetatable({}, {\n"
    "    __index = function(_, k) noted = noted .. ' get ' .. tostring(k) return list[k] end,\n"
    "    __newindex = function(_, k, v) noted = noted .. ' set ' .. tostring(k) .. '=' .. show(v) list[k] = v end,\n"
    "    __len = function() noted = noted .. ' len' return length or #list end })\n"
    "end\n"
    "local lists = {\n"
    "  function() return {} end, function() return {'a'} end, function() return {'a', 'b', 'c', 'd'} end,\n"
    "  function() return {3, 1, 2.5, -7, 3} end, function() return {'x', {}, 'y'} end, function() return {'10', 9, 'b'} end,\n"
    "  function() return noting({'p', 'q', 'r'}) end, function() return noting({'p'}, 3) end,\n"
    "  function() return noting({5, 4, 3}, 0) end, function() return noting({}, 'two') end,\n"
    "  function() return setmetatable({}, {__index = {'i', 'j'}}) end, function() return 'text' end, function() return 7 end,\n"
    "  function() return nil end,\n"
    "}\n"
    "local values = {nil, 0, 1, 2, 3, 5, -1, 2.0, 1.5, '2', 'x', {}, math.maxinteger, math.mininteger, true,\n"
    "  function(a, b) return tostring(a) > tostring(b) end}\n"
    "local n = 16\n"
    "local function try(name, list, ...)\n"
    "  noted = ''\n"
    "  local found = table.pack(pcall(table[name], list, ...))\n"
    "  local line = {name}\n"
    "  for i = 1, found.n do line[#line + 1] = show(found[i]) end\n"
    "  if type(list) == 'table' then for i = -1, 7 do line[#line + 1] = show(rawget(list, i)) end end\n"
    "  line[#line + 1] = noted\n"
    "  local whole = ''\n"
    "  for i = 1, #line do whole = whole .. '|' .. line[i] end\n"
    "  whole = whole:gsub('0x%x+', 'ADDRESS'):gsub('argument #%d', 'argument') -- which one changed within 5.4\n"
    "  lines[#lines + 1] = whole\n"
    "end\n"
    "local names = {'concat', 'insert', 'move', 'remove', 'sort', 'unpack'}\n"
    "for _, name in ipairs(names) do\n"
    "  pcall(function() noted = '' lines[#lines + 1] = select(2, pcall(table[name])) end)\n"
    "  for at, make in ipairs(lists) do\n"
    "    try(name, make())\n"
    "    for i = 1, n do\n"
    "      try(name, make(), values[i])\n"
    "      for j = 1, n do\n"
    "        local huge = false\n"
    "        for _, x in ipairs{values[i] or 0, values[j] or 0} do\n"
    "          if math.type(x) == 'integer' and (x > 9 or x < -9) then huge = name == 'concat' or name == 'move' end\n"
    "        end\n"
    "        if not huge then\n"
    "          try(name, make(), values[i], values[j])\n"
    "          try(name, make(), ', ', values[i], values[j])\n"
    "          if name == 'move' and at % 5 == 1 then\n"
    "            for k = 1, n do\n"
    "              try(name, make(), values[i], values[j], values[k])\n"
    "              try(name, make(), values[i], values[j], values[k], lists[k % #lists + 1]())\n"
    "            end\n"
    "          end\n"
    "        end\n"
    "      end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "return lines\n";

/* Open a plain Lua state, to compare with a script's. */
static lua_State *plain_state(void)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    assert_int_equal(luaL_loadbuffer(L, text, sizeof text - 1, "=lists"), LUA_OK);
    if (lua_pcall(L, 0, 1, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
    return L;
}

static void as_the_library_does(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    const rill_script_options options = {.struct_size = sizeof options, .instructions = -1};
    rill_script *script;
    lua_State *L = plain_state();
    if (rill_script_load_text(&script, ctx, "lists", text, sizeof text - 1, &options) < 0)
        fail_msg("%s", rill_error(ctx));
    lua_rawgeti(script->L, LUA_REGISTRYINDEX, script->result);
    lua_Unsigned n = lua_rawlen(L, -1);
    assert_true(n > 10000);
    assert_int_equal(lua_rawlen(script->L, -1), n);
    for (lua_Unsigned i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        lua_rawgeti(script->L, -1, (lua_Integer)i);
        if (strcmp(lua_tostring(L, -1), lua_tostring(script->L, -1)) != 0)
            fail_msg("line %llu\n%s\n%s", (unsigned long long)i, lua_tostring(L, -1), lua_tostring(script->L, -1));
        lua_pop(L, 1);
        lua_pop(script->L, 1);
    }
    lua_close(L);
    rill_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_library_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
