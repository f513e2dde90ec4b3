-- length_aware:DELTA,SLOPE: a threshold that changes with the length of the hypotheses.
--
-- Idea. The score of a hypothesis is a sum over its actions, so differences between hypotheses grow with length. The
-- threshold is DELTA + SLOPE * timestep, never below 0. With SLOPE > 0 it grows with these differences; SLOPE < 0 saves
-- work on long hypotheses, where a wide beam is expensive.
-- When it helps: if one setting must serve outputs of very different lengths.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   length_aware:6,-0.05                      88.02      29,866
--   absolute:5                                88.48      30,599
--   absolute:6.5                              88.94      37,915
--   length_aware:8,-0.05                      88.94      40,756
--   length_aware:8,0.1                        90.32      70,187
--   absolute:9.5                              90.32      71,054
-- Not better than `absolute`: a little worse with most settings, and equally good only with 8,0.1. So differences
-- hardly grow with length in these models. -0.05 looked best on development data.

rill.heuristic{
  name = "length_aware", arguments = "DELTA,SLOPE",
  summary = "drop candidates more than DELTA + SLOPE * t below the best",
  create = function(text)
    local delta, slope = text:match("^([^,]+),([^,]+)$")
    delta, slope = tonumber(delta), tonumber(slope)
    if not delta or not slope then error("DELTA,SLOPE must be two numbers, not \"" .. text .. "\"", 0) end
    return { delta = delta, slope = slope }
  end,
  apply = function(b, self)
    local threshold = rill.max(self.delta + self.slope * b.timestep, 0)
    b.keep = b.path_score:ge(b.best - threshold)
  end,
}
