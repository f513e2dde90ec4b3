-- The built-in heuristics absolute, relative and relative_local and the settings patience and max_candidates, rewritten
-- in Lua, with results identical to the last bit. Each rule is one or two operations on whole arrays.
--
--   rill decode -m MODEL --plugin examples/lua/builtin.lua --heuristic lua-absolute:10 --scorer lua-max_candidates:3
--
-- b.best is s_1 of docs/algorithms.md: the best score of the item's candidates and outputs. Arrays per item (b.best,
-- b.k, b.outputs) are broadcast over the item's candidates when combined with arrays per candidate (b.path_score,
-- b.keep).

local function number(wanted, good)
  return function(text)
    local value = tonumber(text)
    if not value or not good(value) then error(("%s was expected, not \"%s\""):format(wanted, text), 0) end
    return value
  end
end

local difference = number("a number of at least 0", function(x) return x >= 0 end)
local above_zero = number("a number above 0", function(x) return x > 0 end)
local whole = number("a whole number of at least 1", function(x) return x >= 1 and x == math.floor(x) end)
local probability = number("a ratio of probabilities, above 0 and at most 1", function(x) return x > 0 and x <= 1 end)
local function ratio(text) return -math.log(probability(text)) end

rill.heuristic{
  name = "lua-absolute", arguments = "DELTA", summary = "drop candidates more than DELTA below the best score",
  create = difference,
  apply = function(b, delta) b.keep = b.path_score:ge(b.best - delta) end,
}

-- The same rule, with the logarithm of the ratio as the threshold.
rill.heuristic{
  name = "lua-relative", arguments = "R", summary = "drop candidates less than R times as probable as the best",
  create = ratio,
  apply = function(b, delta) b.keep = b.path_score:ge(b.best - delta) end,
}

rill.heuristic{
  name = "lua-relative_local", arguments = "R",
  summary = "drop candidates whose last action is less than R times as probable as the item's best last action",
  create = ratio,
  apply = function(b, delta) b.keep = b.action_logp:ge(b.action_logp:max() - delta) end,
}

-- Outputs leave the beam before heuristics run. When an item has enough outputs, this stops it and drops all candidates
-- in its beam, so that none of them becomes another output.
rill.heuristic{
  name = "lua-patience", arguments = "P", summary = "stop after round(k*P) outputs",
  create = above_zero,
  apply = function(b, p)
    local enough = b.outputs:ge((b.k * p + 0.5):floor():clamp(1, 1e9))
    b:drop(enough)
    b:halt(enough)
  end,
}

-- Step 2 of the search limits the children of a hypothesis before they are merged, so this is a scorer, not a
-- heuristic. Leave the option max-candidates at its default, k, so that only this scorer limits them.
rill.scorer{
  name = "lua-max_candidates", arguments = "M", summary = "keep the M best children of every parent",
  create = whole,
  score = function(rows, m) rows:limit(nil, m) end,
}
