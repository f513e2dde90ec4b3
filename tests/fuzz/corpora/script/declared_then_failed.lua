-- fails: after all
rill.heuristic{name = "gone", apply = function(b) end}
rill.scorer{name = "gone", score = function(rows) end}
error("after all")
