-- ok
assert(not pcall(coroutine.yield))
assert(not coroutine.resume(coroutine.running()))
assert(not pcall(coroutine.close, coroutine.running()))
assert(not pcall(coroutine.create, 1) and not pcall(coroutine.wrap) and not pcall(coroutine.resume, print))
local co
co = coroutine.create(function() return coroutine.resume(co) end)
local _, good = coroutine.resume(co)
assert(good == false)
local done = coroutine.wrap(function() end)
done()
assert(not pcall(done))
local outer
outer = coroutine.create(function() coroutine.wrap(function() assert(not pcall(coroutine.close, outer)) end)() end)
assert(coroutine.resume(outer))
assert(coroutine.close(coroutine.create(print)))
assert(coroutine.status(outer) == "dead" and coroutine.close(outer))
local many = coroutine.wrap(function(...) return select("#", ...) end)
assert(many(table.unpack({}, 1, 10000)) == 10000)
