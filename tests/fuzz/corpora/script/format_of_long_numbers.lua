-- fails: stopped after
while true do string.format("%99.99f", 1e308) end
