-- A search that the script defines instead of a grid: it finds the smallest threshold that loses no quality.
--
--   rill tune examples/lua/search.lua --dev DEV.tsv --tokenized --metric oracle
--
-- try{...} decodes the development set with these parameters and returns the measurements. Quality falls
-- as the threshold gets smaller, so eight bisections find the smallest sufficient one.

return {
  model = "../models/geo",
  options = { method = "stream-all", beam_size = 10, batch_size = 10, max_batch_hypotheses = 100, max_children = 3 },
  heuristics = { "absolute:10" },
  tune = function(try)
    local low, high = 0, 16
    local wanted = try{ delta = high }.oracle
    for _ = 1, 8 do
      local middle = (low + high) / 2
      if try{ delta = middle }.oracle < wanted then low = middle else high = middle end
    end
    print(("delta %g is enough for an oracle of %.2f %%"):format(high, wanted))
  end,
}
