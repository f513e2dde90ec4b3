-- fails: stopped after 4.0 seconds in one call
local a = ("\0"):rep((1 << 21) - 99)
local b = a .. "\1"
while true do local _ = a < b end
