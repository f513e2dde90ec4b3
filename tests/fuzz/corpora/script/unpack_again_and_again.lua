-- fails: stopped after
while true do select('#', table.unpack({}, 1, 1e5)) end
