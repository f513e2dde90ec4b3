-- A run as a table: questions about American geography, from standard input.
--
--   rill run examples/lua/run.lua < examples/questions/geo.txt
--   rill decode --config examples/lua/run.lua -k 5 --n-best 3 < examples/questions/geo.txt
--
-- Paths are relative to this file. Options of the command line go before what is said here.

return {
  model = "../models/geo",
  options = {
    method = "stream-all",
    k = 10,
    n = 10,
    max_candidates = 3,
    -- The n*k of a timestep as a function of its state: all of it while there is input, then in proportion to what is
    -- in flight, so that the last inputs are not expanded in batches made for many. A budget never changes an answer.
    -- A constant is as good: budget = 100.
    budget = function(f)
      local full = f.batch * 10
      if f.waiting > 0 then return full end
      return math.max(20, full * f.n // f.max_items)
    end,
  },
  heuristics = {
    { "absolute", 10 },
    -- A function is a heuristic, too: after 60 timesteps three candidates are enough.
    function(b) b:narrow(rill.where(b.timestep:gt(60), 3, b.k)) end,
  },
}
