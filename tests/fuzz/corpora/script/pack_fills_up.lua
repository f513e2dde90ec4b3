-- fails: stopped after 20000000 instructions
while true do pcall(string.pack, "c1000000c1000000", "", "") end
