-- A parameter grid: every combination of a threshold and a number of children per hypothesis.
--
--   rill run examples/lua/sweep.lua < examples/questions/geo.txt
--   rill tune examples/lua/sweep.lua --dev DEV.tsv --tokenized --metric oracle
--
-- The first command decodes once per grid point and writes a table of the costs; with references, also of the quality.

return {
  model = "../models/geo",
  input = "../questions/geo.txt",
  options = { method = "stream-all", beam_size = 10, batch_size = 10, max_batch_hypotheses = 100 },
  heuristics = { "absolute:10" },
  sweep = rill.sweep{ delta = { 0.5, 2.5, 10 }, M = { 3, 10 } },
}
