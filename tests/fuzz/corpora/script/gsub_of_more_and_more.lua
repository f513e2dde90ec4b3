-- fails: stopped after
local s = 'x'
while true do s = #s < 1e6 and s:gsub('.', '%0%0') or 'x' end
