-- fails: stopped after
while true do end
