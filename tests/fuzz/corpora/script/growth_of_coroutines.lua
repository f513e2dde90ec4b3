-- memory
local t = {}
for i = 1, math.huge do
  t[i] = coroutine.create(function() local s = ("x"):rep(100000) .. i coroutine.yield(s) end)
  assert(coroutine.resume(t[i]))
end
