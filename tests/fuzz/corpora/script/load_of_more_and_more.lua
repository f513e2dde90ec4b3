-- fails: stopped after
local s = 'x=x+x'
while true do
  if #s < 1e6 then s = s .. ';' .. s end
  load(s)
end
