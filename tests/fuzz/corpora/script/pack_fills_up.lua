-- fails: stopped after
while true do pcall(string.pack, "c1000000c1000000", "", "") end
