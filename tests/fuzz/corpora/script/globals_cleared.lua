-- fails: 
for name in pairs(_G) do _G[name] = nil end
print('x')
