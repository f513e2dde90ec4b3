-- fails: stopped after
while true do select('#', table.unpack({}, 1, 3e4)) end
