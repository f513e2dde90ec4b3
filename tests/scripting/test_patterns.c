/* Patterns against the Lua library's matcher: random patterns and subjects give the same results, captures and
 * errors. */
#include <stdio.h>
#include <string.h>

#include "state/state.h"
#include "support/dice.h"
#include "support/harness.h"

/* Makes one text from the results of find, match, gmatch and gsub on s and p. */
static const char probe[] =
    "local out = {}\n"
    "local function say(...)\n"
    "  local t = table.pack(...)\n"
    "  for i = 1, t.n do t[i] = tostring(t[i]) end\n"
    "  out[#out + 1] = table.concat(t, ',')\n"
    "end\n"
    "say(pcall(string.find, s, p)) say(pcall(string.find, s, p, 2)) say(pcall(string.find, s, p, -2))\n"
    "say(pcall(string.find, s, p, 1, true)) say(pcall(string.match, s, p)) say(pcall(string.match, s, p, 3))\n"
    "say(pcall(string.gsub, s, p, '<%0>')) say(pcall(string.gsub, s, p, '%1%%', 2)) say(pcall(string.gsub, s, p, '%2'))\n"
    "say(pcall(string.gsub, s, p, function(a, b) return (b or a) end)) say(pcall(string.gsub, s, p, {a = 'A', b = 7, ab = false}))\n"
    "say(pcall(function()\n"
    "  local n = 0\n"
    "  for a, b in s:gmatch(p) do say(a, b) n = n + 1 if n > 50 then break end end\n"
    "end))\n"
    "say(pcall(function() for a in s:gmatch(p, 2) do say(a) end end))\n"
    "return table.concat(out, '\\n')\n";

/* Append a text as a Lua string literal. */
static void add_literal(char *out, size_t size, const char *name, const char *text, size_t length)
{
    size_t used = strlen(out);
    used += (size_t)snprintf(out + used, size - used, "local %s = '", name);
    for (size_t i = 0; i < length; i++)
        used += (size_t)snprintf(out + used, size - used, "\\%03d", (unsigned char)text[i]);
    snprintf(out + used, size - used, "'\n");
}

static size_t draw_text(dice *d, char *out, int32_t longest)
{
    static const char letters[] = "aabbcab1 (x)]%-.";
    size_t n = (size_t)dice_range(d, 0, longest);
    for (size_t i = 0; i < n; i++) out[i] = dice_chance(d, 2) ? '\0' : letters[dice_range(d, 0, sizeof letters - 2)];
    return n;
}

static size_t draw_pattern(dice *d, char *out)
{
    static const char *const parts[] = {
        "a", "b", "ab", ".",  "%a",   "%d",     "%s",     "%W", "[ab]", "[^a]", "[a-b1]", "[%a1]", "[]]", "[^]]", "(",
        ")", "(", ")",  "()", "%b()", "%f[%a]", "%f[^a]", "%1", "%2",   "$",    "^",      "%",     "[",   "-",    "*",
        "+", "?", "*",  "-",  "?",    "+",      "%%",     "%z", "%A",   "x",    "[a-]",   "[%",    "]"};
    size_t n = 0;
    for (int32_t i = dice_range(d, 0, 8); i > 0; i--) {
        const char *part = parts[dice_range(d, 0, sizeof parts / sizeof *parts - 1)];
        memcpy(out + n, part, strlen(part));
        n += strlen(part);
    }
    return n;
}

static void expect_same(lua_State *library, rill_context *ctx, const char *text)
{
    rill_script *script;
    assert_int_equal(luaL_loadbuffer(library, text, strlen(text), "=probe"), LUA_OK);
    assert_int_equal(lua_pcall(library, 0, 1, 0), LUA_OK);
    rill_status status = rill_script_load_text(&script, ctx, "probe", text, strlen(text), NULL);
    if (status < 0) fail_msg("%s\n%s", rill_error(ctx), text);
    lua_rawgeti(script->L, LUA_REGISTRYINDEX, script->result);
    const char *ours = lua_tostring(script->L, -1), *theirs = lua_tostring(library, -1);
    if (strcmp(ours, theirs) != 0) fail_msg("%s\n--- the library's:\n%s\n--- ours:\n%s", text, theirs, ours);
    lua_pop(library, 1);
}

static void random_patterns_agree(void **state)
{
    (void)state;
    lua_State *library = luaL_newstate();
    luaL_openlibs(library);
    uint64_t seed = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(3000); i++) {
        dice d = dice_seeded(seed + (uint64_t)i);
        char subject[32], pattern[64], text[4096] = "";
        size_t length = draw_text(&d, subject, 16), pattern_length = draw_pattern(&d, pattern);
        add_literal(text, sizeof text, "s", subject, length);
        add_literal(text, sizeof text, "p", pattern, pattern_length);
        memcpy(text + strlen(text), probe, sizeof probe);
        rill_context *ctx = harness_context(NULL);
        expect_same(library, ctx, text);
        rill_context_destroy(ctx);
    }
    lua_close(library);
}

/* Cases that are longer than random texts. */
static void known_patterns_agree(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"key = value # comment", "^(%w+)%s*=%s*(%w+)"},
        {"THE (quick) fox", "%((%a+)%)"},
        {"  trim me  ", "^%s*(.-)%s*$"},
        {"f(a(b)c)d", "%b()"},
        {"THE (quick) fox", "%f[%a]%a+%f[%A]"},
        {"hello hello", "(%w+) %1"},
        {"2026-11-20", "(%d+)-(%d+)-(%d+)"},
        {"", ""},
        {"abc", "()"},
        {"a,b,,c", "([^,]*)"},
    };
    lua_State *library = luaL_newstate();
    luaL_openlibs(library);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096] = "";
        add_literal(text, sizeof text, "s", cases[i][0], strlen(cases[i][0]));
        add_literal(text, sizeof text, "p", cases[i][1], strlen(cases[i][1]));
        memcpy(text + strlen(text), probe, sizeof probe);
        rill_context *ctx = harness_context(NULL);
        expect_same(library, ctx, text);
        rill_context_destroy(ctx);
    }
    lua_close(library);
}

/* Every character against every class, edge cases of sets, arguments, replacements, and counts. */
static const char *const edges[] = {
    "for i = 0, 255 do for c = 0, 255 do\n"
    "  if not ('bf%0123456789'):find(string.char(i), 1, true) then\n"
    "    say(i, c, string.char(c):find('^%' .. string.char(i) .. '$'), string.char(c):find('[^%' .. string.char(i) .. ']'))\n"
    "  end\n"
    "end end\n",
    "for _, p in ipairs{'[a-%z]', '[!-%%]', '[]-a]', '[^]-a]', '[a-]', '[-a]', '[^-a]', '[%a-z]', '[+--]', '[z-a]', '[^^]', '[a^]',\n"
    "    '[%]]', '[[]', '[%', '[^', '[a%', '[]', '[^]', '[]]', '[a-]]', '[\\0-\\31]', '[\\128-\\255]', '[^\\0]', '[a-c-e]'} do\n"
    "  for c = 0, 255 do say(p, c, pcall(string.find, string.char(c) .. ']', p)) end\n"
    "end\n",
    "for _, i in ipairs{math.mininteger, -5, -4, -3, -1, 0, 1, 3, 4, 5, math.maxinteger} do\n"
    "  for _, p in ipairs{'', 'b', '()', '^', '^b', '$', '[', '%f[%w]', 'c%f[^%w]', '.-'} do\n"
    "    say(i, p, pcall(string.find, 'abc', p, i)) say(pcall(string.find, 'abc', p, i, true)) say(pcall(string.match, 'abc', p, i))\n"
    "    say(pcall(string.gsub, 'abc', p, '<%0>', i))\n"
    "    say(pcall(function() for a in ('abc'):gmatch(p, i) do say(a) end end))\n"
    "  end\n"
    "end\n",
    "for _, r in ipairs{'%', 'x%', '%x', '%0%9', '%1%1', '%%%', '%%1', '', 7, 2.5, {}, {a = 1}, {a = true}, {a = {}}, {a = ''},\n"
    "    {a = false}, string.upper, string.len, error, next, function() end, function(...) return select('#', ...) end} do\n"
    "  for _, p in ipairs{'a', '(a)', '()a', '(a)()', '(a', 'x', '^a', '(a)(', ''} do say(p, pcall(string.gsub, 'banana', p, r)) end\n"
    "end\n"
    "say(pcall(string.gsub, 'aaa', 'a', 'b', -1)) say(pcall(string.gsub, 'aaa', 'a', 'b', '2')) say(pcall(string.gsub, 12, 1, 3.5))\n"
    "say(pcall(string.find, 12, 2)) say(pcall(string.match, 12, '.$')) say(('x'):gsub('x', setmetatable({}, {__index = rawlen})))\n",
    "for _, n in ipairs{8, 9, 31, 32, 33} do\n"
    "  say(pcall(string.find, ('x'):rep(n), ('(x)'):rep(n))) say(pcall(string.find, 'x', ('('):rep(n)))\n"
    "  say(pcall(string.find, 'x', ('()'):rep(n)))\n"
    "  say(pcall(string.match, 'xyxy', ('('):rep(n) .. 'x' .. (')'):rep(n) .. 'y%' .. math.min(n, 9)))\n"
    "end\n"
    "for n = 1, 190 do say(('x'):rep(n):find(('x?'):rep(n) .. 'x')) say(('x'):rep(100):find('^' .. ('.-'):rep(n % 3) .. '.*x$')) end\n"
    "local walk = ('ab'):gmatch('') for _ = 1, 5 do say(walk()) end\n"
    "local text = ('0123456789'):rep(300) say(text:find('(.+)%1')) say(text:find('901', 500)) say(text:find(text .. '0', 1, true))\n"
    "say(text:gsub('5', text)) say(text:gsub('(%d)(%d)', '%2%1')) say(text:gsub('', '-')) say((text .. 'x'):find(text .. 'x', 1, true))\n",
};

static void edges_agree(void **state)
{
    (void)state;
    static const char prologue[] = "local out = {}\n"
                                   "local function say(...)\n"
                                   "  local t = table.pack(...)\n"
                                   "  for i = 1, t.n do t[i] = type(t[i]) .. tostring(t[i]) end\n"
                                   "  out[#out + 1] = table.concat(t, ',')\n"
                                   "end\n";
    lua_State *library = luaL_newstate();
    luaL_openlibs(library);
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        char text[4096];
        int length = snprintf(text, sizeof text, "%s%sreturn table.concat(out, '\\n')\n", prologue, edges[i]);
        assert_in_range(length, 1, sizeof text - 1);
        rill_context *ctx = harness_context(NULL);
        expect_same(library, ctx, text);
        rill_context_destroy(ctx);
    }
    lua_close(library);
}

/* Long patterns are accepted. The library refuses them, because its matcher recurses for each choice. */
static void patterns_may_be_long(void **state)
{
    (void)state;
    static const char text[] = "local s = ('a'):rep(5000)\n"
                               "assert(s:find(('a?'):rep(5000)) == 1)\n"
                               "assert(select(2, s:find(('a?'):rep(4999))) == 4999)\n"
                               "assert(select(2, s:find(('a-'):rep(5000) .. 'aa')) == 2)\n"
                               "assert(s:match(('a?'):rep(300) .. '(a-)$') == ('a'):rep(4700))\n"
                               "assert(s:gsub(('a?'):rep(2500), 'c') == 'cc')\n"
                               "return true";
    rill_script *script;
    rill_context *ctx = harness_context(NULL);
    rill_script_options options = {.struct_size = sizeof options, .instructions = 2000000000};
    if (rill_script_load_text(&script, ctx, "long", text, sizeof text - 1, &options) < 0)
        fail_msg("%s", rill_error(ctx));
    rill_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_patterns_agree),
        cmocka_unit_test(known_patterns_agree),
        cmocka_unit_test(edges_agree),
        cmocka_unit_test(patterns_may_be_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
