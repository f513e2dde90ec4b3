-- fails: stopped after
-- Many empty texts make no long text, yet each takes its time.
local t = {}
for i = 1, 500000 do t[i] = "" end
while true do pcall(table.concat, t) end
