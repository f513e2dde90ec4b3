-- fails: stopped after 4.0 seconds in one call
local a, b
local other = coroutine.create(function()
  coroutine.yield()
  while true do local _ = a < b end
end)
coroutine.resume(other)
a = ("\0"):rep((1 << 21) - 99)
b = a .. "\1"
coroutine.resume(other)
