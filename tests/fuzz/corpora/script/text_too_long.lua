-- memory
local s = ("x"):rep(3 << 20)
