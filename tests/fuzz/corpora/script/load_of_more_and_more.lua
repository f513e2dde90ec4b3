-- fails: stopped after
local s = 'x=x+x'
while true do s = s .. ';' .. s load(s) end
