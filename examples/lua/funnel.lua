-- funnel:DECAY,LEAST: a beam that narrows with depth.
--
-- Idea. Early actions decide the content, later ones spell it out. The beam starts k wide and is multiplied by DECAY in
-- every timestep, down to LEAST. Together with a budget that shrinks in the same way (examples/lua/run.lua), the whole
-- batch gets smaller.
-- When it helps: long outputs whose alternatives are all near the beginning, as in parsing. Unlike a threshold, it
-- bounds the cost of an input.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   absolute:7.5                              89.40      45,211
--   funnel:0.9,3 and absolute:10              88.82      46,716
--   absolute:8.5                              89.52      56,405
--   funnel:0.9,5 and absolute:10              89.29      61,465
-- Worse than `absolute` on GEO and ATIS: a candidate cut by rank late in a parse is often an alternative that matters.

rill.heuristic{
  name = "funnel", arguments = "DECAY,LEAST", summary = "narrow the beam to k * DECAY^t, not below LEAST",
  create = function(text)
    local decay, least = text:match("^([^,]+),([^,]+)$")
    decay, least = tonumber(decay), tonumber(least)
    if not decay or not least or decay <= 0 or decay > 1 or least < 1 then
      error("DECAY must be above 0 and at most 1, LEAST at least 1, not \"" .. text .. "\"", 0)
    end
    return { decay = decay, least = least }
  end,
  apply = function(b, self) b:narrow(rill.max((b.k * self.decay ^ b.timestep):ceil(), self.least)) end,
}
