#!/usr/bin/env python3
"""How far a script can exceed its limits: operations that run long in C during one Lua instruction, with the largest arguments.

usage: script_limits.py [--rill build/rill] [--only WORD] [--jobs 2]
Each script runs twice, with rill's 256 MiB of memory. With half a second of processor time and no instruction limit: seconds,
resident MiB and the error. With ten million instructions, a twentieth of rill's limit: seconds until these, or two seconds, were
used up. The cost of an empty script is subtracted.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import tempfile

LONG = "local a = ('x'):rep((1 << 24) - 99) local b = a:sub(1, -2) .. 'y' "
ZEROS = "local a = ('\\0'):rep((1 << 24) - 99) local b = a:sub(1, -2) .. '\\1' "
DIGITS = "local d = ('0'):rep((1 << 24) - 99) .. '7' "
LIST = "local t = {} for i = 1, 2000000 do t[i] = i end "
SHORT = "local t = {} for i = 1, 30000 do t[i] = i end "


def endless(body, before=""):
    return f"{before} while true do {body} end"


def chain(field, use, links=1999, end="{}"):
    """Return a script with a chain of tables through metamethods, which is used again and again."""
    return (f"local t = {end} for i = 1, {links} do t = setmetatable({{}}, {{{field} = t}}) end local x = t "
            f"while true do local _ = pcall(function() {use} end) end")


def called(field, use, body="return x"):
    return (f"local m = {{}} m.{field} = function(x, y) {body} end local a, b = setmetatable({{}}, m), setmetatable({{}}, m) "
            f"while true do {use} end")


SCRIPTS = {
    "an empty loop": "while true do end",
    "__call chain of 900,000": "local t = setmetatable({}, {}) for i = 1, 900000 do t = setmetatable({}, {__call = t}) end t()",
    "__call chain of 20,000 again": chain("__call", "x()", 19000, "setmetatable({}, {})"),
    "__call chain of 19,000 in coroutines": "local t = function() end for i = 1, 19000 do t = setmetatable({}, {__call = t}) end\n"
                                            "while true do coroutine.wrap(function() pcall(t) end)() end",
    "__call chain from pcall, sort, gsub": "local t = function() end for i = 1, 9000 do t = setmetatable({}, {__call = t}) end\n"
                                           "while true do pcall(t) pcall(string.gsub, 'aaaa', 'a', function() t() end) end",
    "__index chain": chain("__index", "for i = 1, 1000 do local _ = x.a end"),
    "__index chain of a method": chain("__index", "for i = 1, 1000 do pcall(x.a) end"),
    "__index function": called("__index", "local _ = a.x"),
    "__newindex chain": chain("__newindex", "for i = 1, 1000 do x.a = 1 x.a = nil end"),
    "__lt": called("__lt", "local _ = a < b"), "__le": called("__le", "local _ = a <= b"),
    "__eq": called("__eq", "local _ = a == b"), "__concat": called("__concat", "local _ = a .. b .. a"),
    "__concat that grows": called("__concat", "local _ = a .. b .. a", "return ('x'):rep(1000)"),
    "__len": called("__len", "local _ = #a", "return 1"), "__unm": called("__unm", "local _ = -a"),
    "__close": endless("do local v <close> = setmetatable({}, {__close = function() end}) end"),
    "__close of 150 at once": endless("do " + " ".join(f"local v{i} <close> = c" for i in range(150)) + " end",
                                      "local c = setmetatable({}, {__close = function() end})"),
    "__close of coroutines": endless("local co = coroutine.create(function() local v <close> = c coroutine.yield() end)\n"
                                     "coroutine.resume(co) coroutine.close(co)", "local c = setmetatable({}, {__close = function() end})"),
    "__gc (refused)": endless("pcall(setmetatable, {}, {__gc = print})"),
    "__tostring": called("__tostring", "tostring(a)", "return 'x'"),
    "__pairs": called("__pairs", "for _ in pairs(a) do break end", "return next, {}"),
    "a < b of long texts": endless("local _ = a < b", LONG), "a <= b of long texts": endless("local _ = a <= b", LONG),
    "a == b of long texts": endless("local _ = a == b", LONG),
    "a < b of long texts of zero bytes": endless("local _ = a < b", ZEROS),
    "a <= b of long texts of zero bytes": endless("local _ = a <= b", ZEROS),
    "a < b of zero bytes, in sort": endless("table.sort{a, b, a, b}", ZEROS),
    "long text as a key": endless("local _ = t[a .. #t]", LONG.replace("24", "23") + "local t = {} "),
    "a .. b of long texts": endless("local _ = a .. b", LONG.replace("24", "22")),
    "find, plain": endless("a:find(c, 1, true)", LONG + "local c = ('x'):rep(4096) .. 'y'"),
    "find, a set": endless("a:find('[^x]')", LONG), "find, a balance": endless("a:find('%bxy')", LONG),
    "match, backtracking": endless("a:match('.-.-.-.-z')", "local a = ('x'):rep(3000)"),
    "match, captures": endless("a:match('^' .. ('(x?)'):rep(30) .. ('x'):rep(40))", "local a = ('x'):rep(35)"),
    "gmatch": endless("for _ in a:gmatch('.') do end", LONG), "gsub": endless("a:gsub('x', 'yy')", LONG.replace("24", "22")),
    "gsub with a function": endless("a:gsub('x', function() end)", LONG),
    "rep": endless("('x'):rep((1 << 24) - 99)"), "rep of nothing": endless("(''):rep(1 << 62)"),
    "format %s": endless("('%s'):format(a)", LONG), "format %q": endless("('%q'):format(a)", ZEROS.replace("24", "21")),
    "format %99.99f": endless("('%99.99f'):format(1e308)"), "format %a": endless("('%a'):format(1e-308)"),
    "byte": endless("a:byte(1, 15000)", LONG),
    "char": endless("string.char(table.unpack(t, 1, 15000))", SHORT.replace("= i end", "= 65 end")),
    "reverse": endless("a:reverse()", LONG), "upper": endless("a:upper()", LONG), "sub": endless("a:sub(2)", LONG),
    "pack": endless("string.pack('s8', a)", LONG.replace("24", "23")),
    "unpack of a text": endless("string.unpack('z', a .. '\\0')", LONG.replace("24", "23")),
    "tonumber of digits": endless("tonumber(d)", DIGITS), "tonumber of digits, base 36": endless("tonumber(d, 36)", DIGITS),
    "d + 1 of digits": endless("local _ = d + 1", DIGITS), "d | 1 of digits": endless("local _ = d | 1", DIGITS),
    "~d of hexadecimal digits": endless("local _ = ~d", DIGITS.replace("('0')", "'0x' .. ('0')")),
    "math.floor of digits": endless("math.floor(d)", DIGITS), "t[1]:rep(d)": endless("pcall(string.rep, 'x', d)", DIGITS),
    "sort": endless("for i = 1, #t do t[i] = -i * 7919 % 100003 end table.sort(t)", LIST),
    "sort, an order that lies": endless("pcall(table.sort, t, function() return true end)", SHORT),
    "concat": endless("table.concat(t, ',')", LIST), "unpack": endless("table.unpack(t, 1, 19000)", SHORT),
    "pack and select": endless("select(-1, table.unpack(t, 1, 19000))", SHORT), "move": endless("table.move(t, 1, #t, 2)", LIST),
    "insert at the front": endless("table.insert(t, 1, 0)", LIST), "remove at the front": endless("table.remove(t, 1) t[#t + 1] = 0", LIST),
    "move over __index": "local t = {} for i = 1, 1999 do t = setmetatable({}, {__index = t}) end\n while true do\n"
            "table.move(t, 1, 1 << 40, 2, {}) end",
    "next over emptied slots": endless("next(t)",
            "local t = {} for i = 1, 1 << 21 do t[i + .5] = 1 end for i = 1, 1 << 21 do t[i + .5] = nil end"),
    "# of a table": endless("local _ = #t", LIST + "for i = 1, #t, 2 do t[i] = nil end"),
    "a full table of other keys": endless("t[i + .5] = nil i = i + 1 t[i + (1 << 20) + .5] = 1",
                                          "local t, i = {}, 1 for i = 1, 1 << 20 do t[i + .5] = 1 end"),
    "utf8.len": endless("utf8.len(a)", LONG), "utf8.offset": endless("utf8.offset(a, #a)", LONG),
    "utf8.codes": endless("for _ in utf8.codes(a) do end", LONG), "utf8.codepoint": endless("utf8.codepoint(a, 1, 15000)", LONG),
    "utf8.char": endless("utf8.char(table.unpack(t, 1, 15000))", SHORT),
    "load of a long text": endless("load(a)", "local a = ('x = 1 '):rep(2000000)"),
    "load of a long text in quotes": endless("load(a)", "local a = 'return \"' .. ('x'):rep(1 << 23) .. '\"'"),
    "load of many names": endless("load(a)",
            "local p = {} for i = 1, 180000 do p[i] = 'g' .. i .. '=1' end local a = table.concat(p, ' ')"),
    "load of gotos": endless("load(a)", "local a = ('goto x '):rep(30000)"),
    "load of many functions": endless("load(a)",
            "local a = 'local x ' .. ('x = function() '):rep(150) .. ('x = x '):rep(100000) .. ('end '):rep(150)"),
    "load of concatenations": endless("load(a)", "local a = 'return ' .. ('x .. '):rep(180) .. 'x'"),
    "pcall(error)": endless("pcall(error)"), "xpcall": endless("xpcall(error, function() end)"),
    "coroutines": endless("coroutine.wrap(function() coroutine.yield() end)()"),
    "coroutines that stay": endless("t[#t + 1] = coroutine.create(print)", "local t = {}"),
    "weak tables": endless("setmetatable({}, {__mode = 'k'})[{}] = {}"),
    "weak keys in a chain": "local all, k = {}, {} for i = 1, 60000 do local n = {} local w = setmetatable({}, {__mode\n"
            "= 'k'}) w[n] = k all[i] = w k = n end\n"
                            "while true do local _ = {k} end",
    "arrays": endless("a:exp()", "local a = rill.zeros(1000000)"),
    "order of an array": endless("a:order()", "local a = rill.zeros(1000000)"),
    "array of a table": endless("rill.array(t)", LIST), "print": endless("print(a)", "local a = ('x'):rep(1000)"),
    "growth of a list": endless("t[#t + 1] = {}", "local t = {}"), "growth of numbers": endless("t[#t + 1] = 1", "local t = {}"),
    "growth of keys": endless("i = i + 1 t[i + .5] = 1", "local t, i = {}, 0"),
    "growth of texts": endless("t[#t + 1] = ('x'):rep(1 << 20) .. #t", "local t = {}"),
    "growth of texts of all sizes": endless("i = i % 14 + 1 t[#t + 1] = ('x'):rep(7 << i) .. #t if #t % 3 == 0 then t[#t // 2] = false end",
            "local t, i = {}, 0"),
    "growth of arrays": endless("t[#t + 1] = rill.zeros(#t * 100)", "local t = {}"),
    "growth and letting go": endless("local t = {} for i = 1, 1 << 21 do t[i] = i end"),
}


def run(rill, text, *limits):
    """Load the script; return the CPU seconds, the MiB and the message."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file, tempfile.TemporaryFile("w+") as errors:
        file.write(text)
        file.flush()
        child = subprocess.Popen([rill, "list", "schedulers", "--plugin", file.name, *limits], stdout=subprocess.DEVNULL, stderr=errors)
        _, _, used = os.wait4(child.pid, 0)
        errors.seek(max(0, errors.seek(0, 2) - 4000))
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, errors.read()


def end_of(message):
    for words, short in (("instructions in one call", "instructions"), ("seconds in one call", "seconds"), ("stack overflow", "stack"),
                         ("a text of", "text"), ("out of memory", "memory")):
        if words in message:
            return short
    error = re.search(r"lua:\d+: (.{1,40})", message)
    return error.group(1) if error else "its end"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/rill")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    seconds, mib, _ = run(args.rill, "")
    print(f"{'script':40}  {'s of 0.5':>8}  {'MiB':>5}  {'ended by':12}  {'s of 10M':>8}")

    def measure(name):
        text = SCRIPTS[name]
        used, held, message = run(args.rill, text, "--script-steps", "0", "--script-seconds", "0.5")
        counted = run(args.rill, text, "--script-steps", "10000000", "--script-seconds", "2")[0]
        return f"{name:40}  {used - seconds:8.2f}  {held - mib:5.0f}  {end_of(message):12.12}  {counted - seconds:8.2f}"

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for line in pool.map(measure, [name for name in SCRIPTS if args.only in name]):
            print(line, flush=True)


if __name__ == "__main__":
    main()
