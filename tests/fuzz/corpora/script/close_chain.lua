-- ok
-- each suspended coroutine closes the one before it: Lua itself does not bound how deep that goes
local previous
for i = 1, 5000 do
  local before = previous
  previous = coroutine.create(function()
    local x <close> = setmetatable({}, {__close = function() if before then assert(coroutine.close(before)) end end})
    coroutine.yield()
  end)
  coroutine.resume(previous)
end
local good, message = coroutine.close(previous)
assert(not good and message:find("too many nested calls of"), message)
