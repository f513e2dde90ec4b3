-- entropy_width:A[,T]: a beam whose width follows the model's uncertainty.
--
-- Idea. exp(H), the perplexity of the item's candidates and its best output, is the number of equally probable
-- hypotheses with the same uncertainty; the beam keeps A times as many, rounded up. T is a temperature (default 1):
-- above 1 it flattens the distribution, so that low-ranked candidates count for more.
-- When it helps: if combined with a threshold, for a model that is at times unsure among many. Alone it keeps a second
-- candidate however far behind it is.
--
-- Measured on the test sets of GEO, JOBS and ATIS together (k = n = 10, M = 3; bench/scripting_quality.sh):
--                                          oracle %  expansions
--   absolute:7.5                              89.40      45,211
--   entropy_width:1,3 and absolute:10         89.06      47,023
--   absolute:9                                89.86      63,316
--   entropy_width:1.5,3 and absolute:10       89.52      68,096
--   absolute:10                               90.32      80,840
--   entropy_width:1.5,3                       89.75      93,840
--   entropy_width:2,3                         90.78     119,653
--   absolute:12                               90.90     123,804
-- Worse than `absolute`, and worst alone, since a beam of two is expanded where one would suffice. With A = 2 there is
-- little difference left, and little saved. T = 3 was chosen on development data.

rill.heuristic{
  name = "entropy_width", arguments = "A[,T]", summary = "keep A times as many candidates as the beam's perplexity",
  create = function(text)
    local a, t = text:match("^([^,]+),?(.*)$")
    a, t = tonumber(a), t == "" and 1 or tonumber(t)
    if not a or not t or a <= 0 or t <= 0 then error("A and T must be numbers above 0, not \"" .. text .. "\"", 0) end
    return { a = a, t = t }
  end,
  apply = function(b, self)
    local score = (b.path_score - b.best) / self.t
    local output = rill.max((b.best_output - b.best) / self.t, -700) -- exp(-700) is practically 0
    local p, q = score:exp(), output:exp()
    local whole = p:sum() + q
    local entropy = whole:log() - ((p * score):sum() + q * output) / whole
    b.width = (self.a * entropy:exp()):ceil():clamp(1, 65536)
  end,
}
