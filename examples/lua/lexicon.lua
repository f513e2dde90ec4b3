-- lexicon:BONUS,NAME NAME ...: a bonus for actions that are in a list, by name.
--
-- An example is a list of the predicates that an application can answer. Names that the model lacks are ignored. If it
-- lacks all of them, that is an error: the list was made for another model.
--
--   rill decode -m examples/models/geo --plugin examples/lua/lexicon.lua --scorer "lexicon:0.5,river:t state:t"

rill.scorer{
  name = "lexicon", arguments = "BONUS,NAMES", summary = "add BONUS to actions named in a list",
  create = function(text)
    local bonus, list = text:match("^([^,]+),(.+)$")
    bonus = tonumber(bonus)
    if not bonus then error("a number, a comma and names were expected, not \"" .. text .. "\"", 0) end
    return { bonus = bonus, list = list }
  end,
  score = function(rows, self)
    if not self.actions then
      self.actions = {}
      for name in self.list:gmatch("%S+") do table.insert(self.actions, rows:find(name)) end
      if #self.actions == 0 then error("the model has no action named " .. self.list, 0) end
    end
    for _, action in ipairs(self.actions) do rows:add(nil, action, self.bonus) end
  end,
}
