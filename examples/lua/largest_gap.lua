-- largest_gap:D: cut the beam at its largest gap, if that is at least D wide.
--
-- Idea. If a beam has split into two groups of scores, there is a gap between two neighbours. `absolute` compares each
-- candidate with the best; this heuristic looks for the end of the better group.
-- When it helps: it keeps a group of similar candidates complete, however wide the group is. It does not bound the
-- width: a beam without gaps stays whole.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   absolute:5.5                              88.82      32,754
--   largest_gap:3 and absolute:10             87.90      33,114
--   absolute:8                                89.40      49,855
--   largest_gap:6 and absolute:10             89.17      51,507
-- Worse than `absolute` here: gaps inside a beam say little about how far behind its tail is.

rill.heuristic{
  name = "largest_gap", arguments = "D", summary = "cut the beam at its largest gap of at least D",
  create = function(text) return tonumber(text) or error("D must be a number, not \"" .. text .. "\"", 0) end,
  apply = function(b, d)
    local gap = -b.path_score:diff() -- distance of a candidate from the one ranked before it; 0 for the first
    b:narrow(rill.where(gap:max():ge(d), gap:argmax() - 1, b.k))
  end,
}
