-- ok
for _, name in ipairs{"io", "os", "debug", "package", "require", "dofile", "loadfile"} do
  local good, message = pcall(function() return _G[name] end)
  assert(not good and message:find(name, 1, true), name)
  assert(rawget(_G, name) == nil)
end
for _, name in ipairs{"warn", "loadstring", "setfenv", "getfenv", "newproxy", "module", "unpack", "bit32", "jit"} do
  assert(_G[name] == nil, name)
end
assert(math.randomseed and not math.pow and not string.dump and not table.getn)
for _, what in ipairs{"collect", "stop", "restart", "step", "setpause", "incremental", "generational", "isrunning", "x"} do
  assert(not pcall(collectgarbage, what))
end
assert(collectgarbage("count") > 10)
