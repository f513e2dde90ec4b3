-- fails: stopped after
for i = 1, math.huge do end
