-- A search of one's own instead of a grid: the smallest threshold that loses nothing.
--
--   rill tune examples/lua/search.lua --dev DEV.tsv --tokenized --metric oracle
--
-- try{...} decodes the development set with the parameters given and returns what came of it. Quality falls with the
-- threshold, so eight halvings find where.

return {
  model = "../models/geo",
  options = { method = "stream-all", k = 10, n = 10, budget = 100, max_candidates = 3 },
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
