/* rill.ffi: values of every type to C and back, refused values, and Lua functions as C function pointers. */
#include "native_fixture.h"

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static void integers(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "local widths = {i8 = {'int8', -128, 127}, i16 = {'short', -32768, 32767}, i32 = {'int', -2^31, 2^31 - 1},\n"
        "  u8 = {'uint8', 0, 255}, u16 = {'uint16', 0, 65535}, u32 = {'uint32', 0, 2^32 - 1},\n"
        "  i64 = {'int64', math.mininteger, math.maxinteger}}\n"
        "for name, w in pairs(widths) do\n"
        "  local f = bind('echo_' .. name, w[1] .. '(' .. w[1] .. ')')\n"
        "  local cut = bind('cut_' .. name, w[1] .. '(int64)')\n"
        "  for _, x in ipairs{w[2], w[3], 0, 1, 77, w[2] < 0 and -1 or 2, w[2] < 0 and -100 or 100} do\n"
        "    assert(f(x) == x, name .. ' ' .. x)\n"
        "    assert(math.type(f(x)) == 'integer')\n"
        "    if name ~= 'i64' then\n" /* bits above the width of the result's type are ignored */
        "      local low, high = math.tointeger(w[2]), math.tointeger(w[3])\n"
        "      local stray = (math.tointeger(x) & (high - low)) | (0x5a5a << 48) | ((high - low + 1) * 3)\n"
        "      assert(cut(stray) == x, name .. ' cut ' .. x)\n"
        "    end\n"
        "  end\n"
        "  for _, x in ipairs{w[2] - 1.0, w[3] + 1.0, 1.5, 0/0, 1/0, -1/0, '1', true, {}} do\n"
        "    if name ~= 'i64' or x ~= w[2] - 1.0 then refused('argument 1 (', f, x) end\n"
        "  end\n"
        "  refused('argument 1 (', f, nil)\n"
        "end\n"
        "refused('echo_i8: argument 1 (int8): a whole number from -128 to 127 was expected, not 300', "
        "  bind('echo_i8', 'int8(int8)'), 300)\n"
        "refused('was expected, not string', bind('echo_i8', 'int8(int8)'), '3')\n");
}

/* Numbers of uint64 from 2^63 on are floats in Lua. */
static void unsigned_64(void **state)
{
    (void)state;
    run_native(NATIVE_PRELUDE "local f = bind('echo_u64', 'uint64(uint64)')\n"
                              "for _, x in ipairs{0, 1, 2^53, math.maxinteger, 2^63, 2^63 + 2048, 2^64 - 2048} do\n"
                              "  assert(f(x) == x)\n"
                              "end\n"
                              "assert(math.type(f(math.maxinteger)) == 'integer' and math.type(f(2^63)) == 'float')\n"
                              "local minus = bind('cut_u64', 'uint64(int64)')\n"
                              "assert(minus(-1) == 2^64)\n" /* the float nearest to 2^64 - 1 */
                              "for _, x in ipairs{-1, -1.0, 2^64, 1.5, 0/0, 1/0, -1/0, '1'} do\n"
                              "  refused('a whole number from 0 to 18446744073709551615', f, x)\n"
                              "end\n");
}

static void floats_and_booleans(void **state)
{
    (void)state;
    run_native(NATIVE_PRELUDE "local d, f = bind('echo_double', 'double(double)'), bind('echo_float', 'float(float)')\n"
                              "for _, x in ipairs{0, -0.5, 1/3, 2^60, 1/0, -1/0, 5e-324} do assert(d(x) == x) end\n"
                              "assert(d(0/0) ~= d(0/0) and f(0/0) ~= f(0/0))\n"
                              "for _, x in ipairs{0, -0.5, 2^-140, 2^127, 1/0, -1/0} do assert(f(x) == x) end\n"
                              "assert(f(1/3) ~= 1/3 and math.abs(f(1/3) - 1/3) < 1e-7 and math.type(d(3)) == 'float')\n"
                              "refused('a number that a float can hold', f, 1e39)\n"
                              "refused('argument 1 (double): a number was expected, not string', d, '1')\n"
                              "local b, cut = bind('echo_bool', 'bool(bool)'), bind('cut_bool', 'bool(uint64)')\n"
                              "assert(b(true) == true and b(false) == false)\n"
                              "assert(cut(256) == true and cut(0) == false)\n"
                              "refused('true or false was expected, not nil', b, nil)\n"
                              "refused('true or false', b, 1)\n"
                              "assert(select('#', bind('nothing', 'void()')()) == 0)\n");
}

static void many_arguments(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "local weigh = bind('weigh', 'double(int8, float, double, int64, float, uint16, double, bool, float,"
        " double, uint8, double, float, int16, double, uint32, double, int32, double, uint64)')\n"
        "local x = {-1, 2.5, -3.25, -2^40, 0.5, 65535, 7, true, -9, 10.5, 255, 12, 13.5, -32768, 15, 2^32 - 1, 17,"
        " -2^31, 19, 2^63}\n"
        "local sum = 0\n"
        "for i, value in ipairs(x) do sum = sum + i * (value == true and 1 or value) end\n"
        "assert(weigh(table.unpack(x)) == sum)\n"
        "local many = bind('many', 'int(int, int, int, int, int, int, int, int, int, int, int, int)')\n"
        "assert(many(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12) == 1 - 4 + 9 - 16 + 25 - 36 + 49 - 64 + 81 - 100"
        " + 121 - 144)\n"
        "refused('many: 11 arguments given, 12 expected by int32(int32, ', many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)\n"
        "refused('many: 13 arguments given', many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)\n"
        "refused('argument 12 (int32)', many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1.5)\n");
}

/* --- texts, pointers, arrays -------------------------------------------------------------------------------------- */

static void texts_and_pointers(void **state)
{
    (void)state;
    run_native(NATIVE_PRELUDE
               "local longer = bind('longer', 'string(const char*, string)')\n"
               "local long = ('x'):rep(100000)\n"
               "assert(longer('ab', 'abc') == 'abc' and longer('', '') == '' and longer('y', long) == long)\n"
               "assert(longer(nil, 'a') == nil and longer('a', nil) == nil)\n"
               "refused('a string without a NUL was expected', longer, 'a', 'b\\0c')\n"
               "refused('argument 2 (string): a string or nil was expected, not 3', longer, 'a', 3)\n"
               "local keep, look = bind('keep', 'void*(double)'), bind('look', 'double(const void*)')\n"
               "local p = keep(2.5)\n"
               "assert(type(p) == 'userdata' and look(p) == 2.5 and look(nil) == -1 and keep(-1) == nil)\n"
               "refused('nil, a pointer that a function returned, or a callback was expected, not string', look, 'p')\n"
               "refused('not userdata', look, lib)\n");
}

static void arrays(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "local sum, scale = bind('sum_doubles', 'double(const double*, size_t)'),"
        " bind('scale', 'void(double*, size_t, double)')\n"
        "local a = rill.array{1, 2, 3.5}\n"
        "scale(a, #a, -2)\n"
        "assert(a[1] == -2 and a[3] == -7 and sum(a, #a) == -13 and sum(a, 2) == -6)\n"
        "local all = bind('sum_all', 'double(const float*, const int*, const int64_t*, const unsigned char*)')\n"
        "local f, i = rill.ffi.array('float', {0.5, 0.25}), rill.ffi.array('int32', {-1, 2})\n"
        "local l, b = rill.ffi.array('int64', {3, 2^40}), rill.ffi.array('uint8', rill.array{4, 255})\n"
        "assert(all(f, i, l, b) == 0.5 + 2.5 - 100 + 2000 + 3e4 + 1e5 * 2^40 + 4e6 + 255e7)\n"
        "assert(#rill.ffi.array('int64', 7) == 7 and rill.ffi.array('int64', 7)[7] == 0)\n"
        "assert(#rill.ffi.array('double', {}) == 0)\n"
        "refused('rill.ffi.array: argument 2 (uint8): a whole number from 0 to 255 was expected, not 256', rill.ffi.array,"
        " 'uint8', {1, 256})\n"
        "refused('argument 2 (int32)', rill.ffi.array, 'int32', {1, 'x'})\n"
        "refused('invalid option', rill.ffi.array, 'int16', 3)\n"
        "refused('a length of at least 0', rill.ffi.array, 'int32', -1)\n"
        "refused('array', sum, i, 2)\n" /* an array of another type */
        "refused('array', all, a, i, l, b)\n"
        "refused('argument 1 (double*): an array was expected, not table', sum, {1, 2}, 2)\n"
        "refused('argument 1 (double*): an array was expected, not nil', sum, nil, 2)\n");
}

/* --- binding ------------------------------------------------------------------------------------------------------ */

static void opening_and_binding(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "refused('rill.ffi.open: ', rill.ffi.open, './no-such-library.so')\n"
        "refused('no-such-library.so', rill.ffi.open, './no-such-library.so')\n"
        "refused(\"(and not found in the script's directory)\", rill.ffi.open, 'no-such-library.so')\n"
        "refused('it is a device', rill.ffi.open, '/dev/null')\n"
        "refused('shared object expected', rill.ffi.open, '')\n"
        "refused('shared object expected', rill.ffi.open, 'a\\0b')\n"
        "refused('string expected', rill.ffi.open)\n"
        "refused('native_functions', bind, 'no_such_function', 'void()')\n"
        "refused('has no function \"no_such_function\"', bind, 'no_such_function', 'void()')\n"
        "refused('signature \"void(candidates, double)\", column 6: candidates must be passed as a pointer', bind, 'keep_near',"
        " 'void(candidates, double)')\n"
        "refused('name of a function', bind, '', 'void()')\n"
        "refused('name of a function', bind, ('x'):rep(200), 'void()')\n"
        "local a, b = bind('echo_i8', 'int8(int8)'), bind('echo_i8', 'signed char(int8_t)')\n"
        "assert(a(-3) == -3 and b(-3) == -3 and a ~= b)\n"
        "assert(tostring(a):find('function echo_i8 of ', 1, true) and tostring(a):find('int8(int8)', 1, true))\n"
        "assert(tostring(lib):find('library ', 1, true) == 1)\n"
        "assert(rill.ffi.open('libm.so.6'):bind('cos', 'double(double)')(0) == 1)\n"
        "refused('rill.ffi.library', lib.bind, {}, 'x', 'void()')\n"
        "refused('rill.ffi.function', a.with, lib, 3)\n"
        "assert(type(getmetatable(a)) == 'string')\n");
}

/* Bound functions stay valid when nothing refers to their library any more, and copies when nothing refers to the
 * original. */
static void fixed_arguments(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "local many = bind('many', 'int(int, int, int, int, int, int, int, int, int, int, int, int)')\n"
        "local last = many:with(9, -10, 11, -12)\n"
        "assert(last(1, -2, 3, -4, 5, -6, 7, -8) == many(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12))\n"
        "local all = last:with(3, -4, 5, -6, 7, -8):with(1, -2)\n"
        "assert(all() == many(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12) and all:with()() == all())\n"
        "refused('many: 9 arguments given, 8 expected', last, 1, 2, 3, 4, 5, 6, 7, 8, 9)\n"
        "refused('whose last arguments are fixed', last, 1)\n"
        "refused('many:with: 13 arguments given, but only 12 are not fixed yet', many.with, many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,"
        " 12, 13)\n"
        "refused('argument 12 (int32)', many.with, many, 1.5)\n"
        "local longer = bind('longer', 'string(string, string)'):with(('long '):rep(3)):with('sh' .. 'ort')\n"
        "local sum = bind('sum_doubles', 'double(double*, size_t)'):with(rill.array{1, 2, 4}, 3)\n"
        "refused('argument 1 is valid during one call of the engine only', lib.bind(lib, 'candidates', 'int(candidates*)').with,"
        " lib:bind('candidates', 'int(candidates*)'), 1)\n"
        "many, last, all, lib = nil\n"
        "for i = 1, 20 do local fresh = {} for j = 1, 20000 do fresh[j] = ('%015d'):format(j) end end\n" /* makes the collector run */
        "assert(longer() == ('long '):rep(3) and sum() == 7)\n");
}

static void sandboxed(void **state)
{
    (void)state;
    static const char text[] =
        "for _, f in ipairs{function() return rill.ffi.open('x.so') end, function() rill.ffi.open = 1 end,\n"
        "    function() return rill.ffi() end, function() for _ in pairs(rill.ffi) do end end} do\n"
        "  local good, message = pcall(f)\n"
        "  assert(not good and message:find('--unsafe-scripts', 1, true), message)\n"
        "end";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    if (rill_script_load_text(&script, ctx, "test.lua", text, sizeof text - 1, NULL) != RILL_OK)
        fail_msg("%s", rill_error(ctx));
    rill_context_destroy(ctx);
}

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

static void callbacks(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "local function through(name, type)\n"
        "  local seen\n"
        "  local f = rill.ffi.callback(type .. '(' .. type .. ')', function(x) seen = x return x end)\n"
        "  local call = bind('through_' .. name, type .. '(void*, ' .. type .. ')')\n"
        "  return function(x) local back = call(f, x) assert(seen == x and back == x, type) end\n"
        "end\n"
        "for name, w in pairs{i8 = {'int8', -128, 127, -1}, i16 = {'int16', -32768, 32767, -2},\n"
        "    i32 = {'int32', -2^31, 2^31 - 1, -3}, i64 = {'int64', math.mininteger, math.maxinteger, -4},\n"
        "    u8 = {'uint8', 0, 255, 128}, u16 = {'uint16', 0, 65535, 32768}, u32 = {'uint32', 0, 2^32 - 1, 2^31},\n"
        "    u64 = {'uint64', 0, 2^63, 5}, float = {'float', -0.5, 2^100, 3}, double = {'double', -1/3, 1e300, 3},\n"
        "    bool = {'bool', true, false}, pointer = {'void*', bind('keep', 'void*(double)')(1)}} do\n"
        "  local check = through(name, w[1])\n"
        "  for i = 2, #w do check(w[i]) end\n"
        "end\n"
        "through('pointer', 'void*')(nil)\n"
        "local call = bind('through_string', 'int(void*, string)')\n"
        "local length = rill.ffi.callback('int(string)', function(text) return text and #text or -1 end)\n"
        "assert(call(length, 'four') == 4 and call(length, nil) == -1)\n"
        "local mixed = rill.ffi.callback('int(int8, float, double, string, uint64, int16, double, bool, int32,"
        " uint8)', function(...)\n"
        "  local x = table.pack(...)\n"
        "  for i, y in ipairs{-1, 0.5, 2.25, 'three', 4, -5, 6.5, true, -7, 255} do assert(x[i] == y, i) end\n"
        "  return x.n\n"
        "end)\n"
        "assert(bind('through_mixed', 'int(void*)')(mixed) == 10)\n"
        "assert(bind('through_double', 'double(void*, double)'):with(2.5)(rill.ffi.callback('double(double)',"
        " function(x) return x * x end)) == 6.25)\n"
        "local plus, double = {}, bind('through_double', 'double(void*, double)')\n"
        "for i = 1, 100 do plus[i] = rill.ffi.callback('double(double)', function(x) return x + i end) end\n"
        "for i = 1, 100 do assert(double(plus[i], 0.5) == i + 0.5) end\n");
}

/* The C library's qsort calls back with pointers to elements, which Lua sees as arrays of one. */
static void sorting(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "local kept\n"
        "local descending = rill.ffi.callback('int(const double*, const double*)', function(a, b)\n"
        "  kept = a\n"
        "  assert(#a == 1)\n"
        "  return a[1] > b[1] and -1 or a[1] < b[1] and 1 or 0\n"
        "end)\n"
        "local values = rill.array{3, -1, 4, 1, -5, 9, 2, 6}\n"
        "for _, sort in ipairs{bind('sort', 'void(double*, size_t, void*)'),\n"
        "    function(x, n, f) rill.ffi.open('libc.so.6'):bind('qsort', 'void(double*, size_t, size_t, void*)')"
        "(x, n, 8, f) end} do\n"
        "  local x = values:copy()\n"
        "  sort(x, #x, descending)\n"
        "  assert(table.concat(x:table(), ' ') == table.concat({9.0, 6.0, 4.0, 3.0, 2.0, 1.0, -1.0, -5.0}, ' '))\n"
        "end\n"
        "refused('', function() return kept[1] end)\n" /* the pointer was valid during its call only */
        "local writing = rill.ffi.callback('int(double*, double*)', function(a, b) a[1] = 7 return 0 end)\n"
        "local pair = rill.array{1, 2}\n"
        "bind('sort', 'void(double*, size_t, void*)')(pair, 2, writing)\n"
        "assert(pair[1] == 7 or pair[2] == 7)\n"
        "local reading = rill.ffi.callback('int(const double*, double*)', function(a, b) a[1] = 7 return 0 end)\n"
        "refused('', bind('sort', 'void(double*, size_t, void*)'), pair, 2, reading)\n");
}

/* An error in a callback is raised when the native function has returned. Callbacks until then do nothing. */
static void failing_callbacks(void **state)
{
    (void)state;
    run_native(
        NATIVE_PRELUDE
        "local count = bind('count_calls', 'int(void*, int)')\n"
        "local calls = 0\n"
        "local failing = rill.ffi.callback('int(int)', function(i)\n"
        "  calls = calls + 1\n"
        "  if i == 3 then error('at three') end\n"
        "  return 1\n"
        "end)\n"
        "assert(count(failing, 2) == 2 and calls == 2)\n"
        "refused('at three', count, failing, 10)\n"
        "assert(calls == 6, calls)\n"
        "assert(count(failing, 3) == 3)\n" /* later calls work again */
        "local late = rill.ffi.callback('int(const double*, const double*)',"
        " function() calls = calls + 1 error'once' end)\n"
        "local x = rill.array{1, 2, 3, 4, 5, 6, 7, 8}\n"
        "calls = 0\n"
        "refused('once', bind('sort', 'void(double*, size_t, void*)'), x, 8, late)\n"
        "assert(calls == 1 and x[8] == 8)\n"
        "local call = bind('through_i8', 'int8(void*, int8)')\n"
        "refused('callback: the result (int8): a whole number from -128 to 127 was expected, not 128', call,"
        " rill.ffi.callback('int8(int8)', function(x) return 128 end), 3)\n"
        "refused('not nil', call, rill.ffi.callback('int8(int8)', function(x) end), 3)\n"
        "refused('nothing to say', call, rill.ffi.callback('int8(int8)', function(x)"
        " error(setmetatable({}, {__tostring = function() return 'nothing to say' end})) end), 3)\n"
        "bind('note', 'void(void*)')(failing)\n"
        /* callbacks within callbacks, and in coroutines */
        "local inner = rill.ffi.callback('int8(int8)', function(x) if x == 5 then error'five' end return x + 1 end)\n"
        "local outer = rill.ffi.callback('int8(int8)', function(x)\n"
        "  local good, value = pcall(call, inner, x)\n"
        "  return good and value or -1\n"
        "end)\n"
        "assert(call(outer, 1) == 2 and call(outer, 5) == -1 and call(outer, 6) == 7)\n"
        "local co = coroutine.wrap(function(x)\n"
        "  while true do x = coroutine.yield(call(outer, x)) end\n"
        "end)\n"
        "assert(co(1) == 2 and co(5) == -1 and call(outer, 9) == 10 and co(9) == 10)\n"
        "refused('yield', call, rill.ffi.callback('int8(int8)', function(x) return coroutine.yield(x) end), 3)\n"
        "local deep\n"
        "deep = rill.ffi.callback('int8(int8)', function(x) return call(deep, x) end)\n"
        "refused('overflow', call, deep, 1)\n"
        "refused('cannot return a string', rill.ffi.callback, 'string(int)', print)\n"
        "refused('argument 2 is candidates*', rill.ffi.callback, 'void(int, candidates*)', print)\n"
        "refused('column 6', rill.ffi.callback, 'void(x)', print)\n"
        "refused('function expected', rill.ffi.callback, 'void()', 3)\n"
        "refused('a script may have at most 1000 callbacks: is this call in a loop?', function()"
        " while true do rill.ffi.callback('void()', print) end end)\n");
}

/* An endless loop in a callback ends the enclosing call, whatever catches errors in between. */
static void endless_callback(void **state)
{
    (void)state;
    static const char text[] = NATIVE_PRELUDE
        "local endless = rill.ffi.callback('int8(int8)', function() while true do end end)\n"
        "local call = bind('through_i8', 'int8(void*, int8)')\n"
        "while true do pcall(call, endless, 1) end\n";
    rill_script_options options = {.struct_size = sizeof options, .unsafe = 1, .instructions = 200000};
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    assert_int_equal(rill_script_load_text(&script, ctx, "test.lua", text, sizeof text - 1, &options), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "endless loop"));
    rill_context_destroy(ctx);
}

/* --- out of memory ------------------------------------------------------------------------------------------------ */

static const char ample[] = NATIVE_PRELUDE
    "local f = bind('many', 'int(int, int, int, int, int, int, int, int, int, int, int, int)'):with(9, 10, 11, 12)\n"
    "local g = rill.ffi.callback('int(string)', function(x) return #(x .. x) end)\n"
    "local longer = bind('longer', 'string(string, string)'):with('x')\n"
    "assert(bind('through_string', 'int(void*, string)')(g, 'some text to be copied') == 44)\n"
    "assert(longer('some text') == 'some text' and f(1, 2, 3, 4, 5, 6, 7, 8) == 650)\n"
    "assert(#rill.ffi.array('int32', 3) == 3 and rill.ffi.open('libm.so.6'))\n";

/* Load once with a failing allocator or a memory limit: out of memory is reported or does not occur, and nothing
 * leaks. */
static rill_status load_short(int64_t failing_request, size_t limit)
{
    harness_memory memory;
    rill_script_options how = {.struct_size = sizeof how, .unsafe = 1, .memory = limit};
    rill_context *ctx = harness_begin(&memory);
    rill_script *script;
    if (failing_request > 0) memory.failing_request = memory.requests + failing_request;
    rill_status status = rill_script_load_text(&script, ctx, "test.lua", ample, sizeof ample - 1, &how);
    if (status != RILL_OK && strstr(rill_error(ctx), "memory") == NULL) fail_msg("%s", rill_error(ctx));
    memory.failing_request = 0;
    harness_end(ctx, &memory);
    return status;
}

static void memory_fails(void **state)
{
    (void)state;
    enum { STEP = 512, BASE = 16 << 10 };
    int64_t n = 1, steps = 0;
    while (load_short(n, 0) != RILL_OK) n++;
    /* blocks of Lua, a closure and the bound function; far more with the address sanitizer, where each small block is
     * an allocation */
    assert_in_range(n, 4, INT32_MAX);
    while (load_short(0, BASE + (size_t)steps * STEP) != RILL_OK) steps++;
    assert_true(steps > 20);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(unsigned_64),
        cmocka_unit_test(floats_and_booleans),
        cmocka_unit_test(many_arguments),
        cmocka_unit_test(texts_and_pointers),
        cmocka_unit_test(arrays),
        cmocka_unit_test(fixed_arguments),
        cmocka_unit_test(opening_and_binding),
        cmocka_unit_test(sandboxed),
        cmocka_unit_test(callbacks),
        cmocka_unit_test(sorting),
        cmocka_unit_test(failing_callbacks),
        cmocka_unit_test(endless_callback),
        cmocka_unit_test(memory_fails),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
