-- ok
assert(select('#', table.unpack({}, 1, 30000)) == 30000)
assert(select('#', ('x'):rep(30000):byte(1, -1)) == 30000)
local function fails(words, ...)
  local good, message = pcall(...)
  assert(not good and message:find(words), message)
end
fails('too many results to unpack', table.unpack, {}, 1, 1e5)
fails('string slice too long', string.byte, ('x'):rep(100000), 1, -1)
fails('string slice too long', utf8.codepoint, ('x'):rep(100000), 1, -1)
local function more(...) return more(1, ...) end
fails('stack overflow', more)
local function wide(n) return n == 0 and 0 or 1 + wide(n - 1) end
fails('stack overflow', wide, 1e6)
assert(wide(3000) == 3000)
local co = coroutine.wrap(function(...) return coroutine.yield(...) end)
assert(select('#', co(table.unpack({}, 1, 8000))) == 8000)
