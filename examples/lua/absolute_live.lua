-- absolute_live:DELTA: absolute pruning that spares ended candidates.
--
-- Idea. A live candidate costs an expansion in every later timestep; an ended one only counts towards the beam size. So
-- the threshold applies to live candidates only. Ended candidates beyond the threshold rank below every live one that
-- stays, so they displace none (unless the best candidate later loses as much). When the item stops, they become
-- outputs.
-- When it helps: if more outputs than the best one are needed (n-best lists, reranking), above all with a narrow
-- threshold.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   absolute:1                                85.48      20,570
--   absolute_live:1                           85.71      20,570
--   absolute:6                                88.82      35,150
--   absolute_live:6                           88.94      35,150
--   absolute:10                               90.32      80,840
--   absolute_live:10                          90.32      80,840
-- Expansions are equal and the oracle is never lower here; the gain is on JOBS alone, whose hypotheses end early.

rill.heuristic{
  name = "absolute_live", arguments = "DELTA",
  summary = "drop live candidates more than DELTA below the best score; ended ones stay",
  create = function(text) return tonumber(text) or error("DELTA must be a number, not \"" .. text .. "\"", 0) end,
  apply = function(b, delta) b.keep = b.ended | b.path_score:ge(b.best - delta) end,
}
