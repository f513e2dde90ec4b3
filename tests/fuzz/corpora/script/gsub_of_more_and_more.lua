-- fails: stopped after
local s = 'x'
while true do s = s:gsub('.', '%0%0') end
