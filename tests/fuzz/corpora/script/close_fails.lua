-- ok
local log = {}
local function fails(n) return setmetatable({}, {__close = function(_, e) log[#log + 1] = n error("close " .. n, 0) end}) end
local good, message = pcall(function()
  local a <close> = fails(1)
  local b <close> = fails(2)
  error("first", 0)
end)
assert(not good and message == "close 1" and log[1] == 2 and log[2] == 1)
local good = pcall(function() local x <close> = 42 end)
assert(not good)
