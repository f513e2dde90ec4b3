-- Two scorers that look at the last action of each hypothesis.
--
--   repeat_penalty:P   P less for saying the last action again
--   bigram:W           W times a bonus from the table below, for pairs of actions by name
--
-- Both speak about all rows at once: an action array with one action per row, and values alike; -1 skips a row.

rill.scorer{
  name = "repeat_penalty", arguments = "P", summary = "take P off the score of repeating the last action",
  create = function(text) return tonumber(text) or error("P is a number, not \"" .. text .. "\"", 0) end,
  score = function(rows, p) rows:add(nil, rows.last, -p) end, -- rows.last is -1 at the start: nothing to repeat
}

-- Learned elsewhere, or set by hand: after the first, the second is more (or less) probable than the model thinks.
local pairs_of_names = {
  { "lambda", "$0", 0.5 },
  { "count", "$0", 0.25 },
  { "(", "(", -4 },
}

rill.scorer{
  name = "bigram", arguments = "W", summary = "add W times the bonus of a pair of actions, by name",
  create = function(text) return { weight = tonumber(text) or error("W is a number, not \"" .. text .. "\"", 0) } end,
  score = function(rows, self)
    if not self.pairs then -- names become numbers once; a pair that this model lacks is left out
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
