-- Two scorers that look at the last action of each hypothesis.
--
--   repeat_penalty:P   subtracts P from the score of repeating the last action
--   bigram:W           adds W times a bonus from the table below, for pairs of actions by name
--
-- Both add to all rows at once, with an array of actions and an array of values, one element per row. Action -1 skips a
-- row.

rill.scorer{
  name = "repeat_penalty", arguments = "P", summary = "subtract P from the score of repeating the last action",
  create = function(text) return tonumber(text) or error("P must be a number, not \"" .. text .. "\"", 0) end,
  score = function(rows, p) rows:add(nil, rows.last, -p) end, -- rows.last is -1 before the first action
}

-- { first action, second action, bonus }. Such bonuses are learned or set by hand: by how much the model underestimates
-- (or, if negative, overestimates) the log-probability of the second action after the first.
local pairs_of_names = {
  { "lambda", "$0", 0.5 },
  { "count", "$0", 0.25 },
  { "(", "(", -4 },
}

rill.scorer{
  name = "bigram", arguments = "W", summary = "add W times the bonus of a pair of actions, by name",
  create = function(text) return { weight = tonumber(text) or error("W must be a number, not \"" .. text .. "\"", 0) } end,
  score = function(rows, self)
    if not self.pairs then -- at the first call, convert names to actions; leave out pairs with names that the model lacks
      self.pairs = {}
      for _, pair in ipairs(pairs_of_names) do
        local first, second = rows:find(pair[1]), rows:find(pair[2])
        if first and second then table.insert(self.pairs, { first, second, pair[3] * self.weight }) end
      end
    end
    for _, pair in ipairs(self.pairs) do
      rows:add(nil, rill.where(rows.last:eq(pair[1]), pair[2], -1), pair[3])
    end
  end,
}
