-- ok
local n = 0
rill.heuristic{name = "fails", apply = function(b) n = n + 1 if n > 2 then error({}) end end}
rill.heuristic{name = "loops", apply = function(b) pcall(function() while true do end end) end}
rill.heuristic{name = "grows", apply = function(b) local t = {} while true do t[#t + 1] = {} end end}
rill.scorer{name = "yields", score = function(rows) coroutine.yield() end}
rill.scorer{name = "in-coroutine", score = function(rows) coroutine.wrap(function() rows:reward(nil, 1) end)() end}
rill.scheduler{name = "loops", choose = function(f) while true do end end}
