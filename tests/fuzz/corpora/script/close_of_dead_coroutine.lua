-- fails: stopped after
local function slow() while true do end end
local co = coroutine.create(function()
  local x <close> = setmetatable({}, {__close = slow})
  while true do end
end)
coroutine.resume(co)
coroutine.close(co)
print("went on")
