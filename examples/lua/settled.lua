-- settled:N: stop working for what cannot be among the N best outputs any more.
--
-- Idea. Scores never rise. When a candidate has ended, whatever ranks behind it can at best become an output behind
-- it; so an item that still wants m outputs needs nothing behind the m-th ended candidate of its beam. An item whose
-- beam is empty stops with the outputs it has.
-- The first N outputs are those of the search without this heuristic, exactly, as long as outputs are ordered by score
-- (length-penalty 0) and no scorer adds a positive value: with either, a candidate behind may still get ahead.
-- When it helps: when few outputs are wanted of a wide beam. With N = k, the default of stop-after, it changes little.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   absolute:10, stop-after 1                 86.52      70,622
--   absolute:10, settled:1                    86.06      60,921
--   absolute:10, stop-after 3                 89.29      77,083
--   absolute:10, settled:3                    89.06      74,100
--   absolute:10                               90.32      80,840
-- The best output, and so exact match, is the same in each pair; the oracle falls because fewer outputs are made than
-- with stop-after N, which gives those that happen to leave together.

rill.heuristic{
  name = "settled", arguments = "N", summary = "drop candidates that cannot be among the N best outputs",
  create = function(text)
    return math.tointeger(tonumber(text)) or error("N is a whole number, not \"" .. text .. "\"", 0)
  end,
  apply = function(b, n)
    local ended_before = b.ended:cumsum() - b.ended
    b.keep = ended_before:lt(n - b.outputs)
  end,
}
