-- Two scorers that look at the last action of each hypothesis.
--
--   repeat_penalty:P   subtracts P from repeating the last action
--   bigram:W           adds W times a bonus from the table below, for pairs of actions by name
--
-- Both add to all rows at once, with an array of one action per row and an array of values; action -1 skips a row.

rill.scorer{
  name = "repeat_penalty", arguments = "P", summary = "take P off the score of repeating the last action",
  create = function(text) return tonumber(text) or error("P is a number, not \"" .. text .. "\"", 0) end,
  score = function(rows, p) rows:add(nil, rows.last, -p) end, -- rows.last is -1 at the start: nothing to repeat
}

-- Learned elsewhere, or set by hand: how much more (or less) probable the second action is after the first than the
-- model thinks.
local pairs_of_names = {
  { "lambda", "$0", 0.5 },
  { "count", "$0", 0.25 },
  { "(", "(", -4 },
}

rill.scorer{
  name = "bigram", arguments = "W", summary = "add W times the bonus of a pair of actions, by name",
  create = function(text) return { weight = tonumber(text) or error("W is a number, not \"" .. text .. "\"", 0) } end,
  score = function(rows, self)
    if not self.pairs then -- names are resolved to ids once; a pair that this model lacks is left out
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
