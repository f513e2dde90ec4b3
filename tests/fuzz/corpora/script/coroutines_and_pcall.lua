-- ok
local co = coroutine.wrap(function(...)
  local good, a = pcall(function(x) local y = coroutine.yield(x + 1) error({y}) end, ...)
  assert(not good and a[1] == "in")
  local fine, b, c = xpcall(function() return coroutine.yield("two"), 3 end, print)
  assert(fine and b == "back" and c == 3)
  return "end"
end)
assert(co(1) == 2 and co("in") == "two" and co("back") == "end")
