-- nucleus:EPSILON: drop the tail of the beam that holds less than a share EPSILON of the probability.
--
-- Idea. Nucleus sampling (Holtzman et al. 2020) keeps the smallest set of actions with a share 1 - EPSILON of the
-- probability. This heuristic does the same with an item's hypotheses; probabilities are normalised over the item's
-- candidates and its best output. A threshold on single candidates keeps either all or none of ten equal candidates;
-- this heuristic sums their probability.
-- When it helps: if the number of nearly equal alternatives varies. EPSILON is the share of the probability that may be
-- lost in a timestep.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   absolute:3                                87.21      24,635
--   nucleus:0.03                              87.90      25,143
--   absolute:3.5                              87.90      25,945
--   nucleus:1e-3                              89.29      40,645
--   absolute:7                                89.40      41,584
--   absolute:9                                89.86      63,316
--   nucleus:1e-4                              89.86      66,676
-- As good as `absolute`: a little better at few expansions, a little worse at many. The differences are a few inputs.

rill.heuristic{
  name = "nucleus", arguments = "EPSILON", summary = "drop the tail that holds less than EPSILON of the probability",
  create = function(text)
    local epsilon = tonumber(text)
    if epsilon and epsilon >= 0 and epsilon < 1 then return epsilon end
    error("EPSILON must be at least 0 and below 1, not \"" .. text .. "\"", 0)
  end,
  apply = function(b, epsilon)
    local mass = (b.path_score - b.best):exp()
    local whole = mass:sum() + (b.best_output - b.best):exp()
    local behind = mass:sum() - mass:cumsum() + mass -- probability of a candidate and of all ranked below it
    b.keep = behind:ge(whole * epsilon)
  end,
}
