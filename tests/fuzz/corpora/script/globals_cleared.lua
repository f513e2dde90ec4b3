-- fails: global 'print'
local all = _G
for name in next, all do all[name] = nil end
print('x')
