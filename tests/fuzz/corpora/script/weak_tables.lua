-- ok
local weak = setmetatable({}, {__mode = "kv"})
for i = 1, 20000 do weak[{}] = {} weak[i] = {} end
local ephemeron = setmetatable({}, {__mode = "k"})
for i = 1, 20000 do local k = {} ephemeron[k] = {k} end
local n = 0
for _ in pairs(ephemeron) do n = n + 1 end
assert(n < 20000)
