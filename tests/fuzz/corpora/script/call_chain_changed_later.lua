-- fails: stack overflow
local t = function() end
for i = 1, 100000 do
  local m = {}
  local next = setmetatable({}, m)
  m.__call = t
  t = next
end
coroutine.wrap(function() t() end)()
