-- fails: stopped after
local text = ""
for i = 1, 40 do text = text .. "local a" .. i .. " " end
text = ("local function f() " .. text):rep(100)
local s = text .. ("x = y "):rep(100000) .. ("end "):rep(100)
while true do load(s) end
