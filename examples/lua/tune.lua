-- A grid over a user-defined parameter: which share of the probability may a beam lose?
--
--   rill tune examples/lua/tune.lua --dev DEV.tsv --tokenized --metric oracle --plot front.html
--
-- A parameter that is not an option needs a function that changes the configuration for a point of the grid.

return {
  model = "../models/geo",
  plugins = { "nucleus.lua" },
  options = { method = "stream-all", beam_size = 10, batch_size = 10, max_batch_hypotheses = 100, max_children = 3 },
  heuristics = { { "nucleus", 1e-3 } },
  sweep = rill.sweep({ epsilon = { 1e-5, 1e-4, 1e-3, 1e-2, 1e-1 } }, function(config, point)
    config.heuristics = { { "nucleus", point.epsilon } }
  end),
}
