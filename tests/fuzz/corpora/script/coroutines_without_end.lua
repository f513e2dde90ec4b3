-- fails: C stack overflow
local function deeper()
  local good, message = coroutine.resume(coroutine.create(deeper))
  error(message, 0)
end
deeper()
