-- settled:N: drop candidates that cannot be among the N best outputs any more.
--
-- Idea. Scores never rise. When a candidate has ended, lower-ranked candidates can only become outputs ranked after it.
-- So an item that still needs m outputs can drop all candidates after the m-th ended candidate of its beam. An item
-- whose beam is empty stops with the outputs that it has.
-- The first N outputs are exactly those of the search without this heuristic, provided that outputs are ordered by
-- score (length-penalty 0) and no scorer adds a positive value: otherwise a lower-ranked candidate may still get ahead.
-- When it helps: if few outputs of a wide beam are needed. With N = k, the default of stop-after, it changes little.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   absolute:10, stop-after 1                 86.52      70,622
--   absolute:10, settled:1                    86.06      60,921
--   absolute:10, stop-after 3                 89.29      77,083
--   absolute:10, settled:3                    89.06      74,100
--   absolute:10                               90.32      80,840
-- The best output, and so exact match, is the same in each pair of rows. The oracle falls because stop-after N also
-- returns all outputs that end in the same timestep as the N-th.

rill.heuristic{
  name = "settled", arguments = "N", summary = "drop candidates that cannot be among the N best outputs",
  create = function(text)
    return math.tointeger(tonumber(text)) or error("N must be a whole number, not \"" .. text .. "\"", 0)
  end,
  apply = function(b, n)
    local ended_before = b.ended:cumsum() - b.ended
    b.keep = ended_before:lt(n - b.outputs)
  end,
}
