-- fails: stopped after 20000000 instructions
while true do string.format("%99.99f", 1e308) end
