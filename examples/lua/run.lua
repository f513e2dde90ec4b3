-- A run configuration: decodes questions about American geography from standard input.
--
--   rill run examples/lua/run.lua < examples/questions/geo.txt
--   rill decode --config examples/lua/run.lua -k 5 --n-best 3 < examples/questions/geo.txt
--
-- Paths are relative to this file. Options on the command line override this table.

return {
  model = "../models/geo",
  options = {
    method = "stream-all",
    beam_size = 10,
    batch_size = 10,
    max_children = 3,
    -- The budget of a timestep (maximum number of hypotheses that it expands, n * k) as a function of the items in
    -- flight `f`: the full budget while inputs are waiting, then less, in proportion to the number of items in flight.
    -- A budget never changes a result. It may also be a constant: max_batch_hypotheses = 100.
    max_batch_hypotheses = function(f)
      local full = f.batch * 10
      if f.waiting > 0 then return full end
      return math.max(20, full * f.n // f.max_items)
    end,
  },
  heuristics = {
    { "absolute", 10 },
    -- A function is a heuristic, too: after 60 timesteps it keeps three candidates.
    function(b) b:narrow(rill.where(b.timestep:gt(60), 3, b.k)) end,
  },
}
