-- ok
rill.scorer{
  name = "wish", arguments = "B", create = function(text) return {bonus = tonumber(text)} end,
  score = function(rows, self)
    rows:reward(nil, self.bonus)
    rows:add(nil, rows.last, -0.5)
    for r = 1, rows.size do
      if #rows:history(r, 2) > 1 then rows:ban(r, 1) end
      rows:limit(r, 2)
    end
    rows:end_reward(nil, rows:previous(1):ge(0):copy() * 0.1)
  end,
}
