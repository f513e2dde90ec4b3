-- Scorers of actions that the model may rank anywhere, so that their log-probabilities must be looked up by id. The
-- actions depend only on the timestep and the last action, so that no schedule changes them.

local function hash(rows, r, salt) return (rows.timestep[r] * 7919 + (rows.last[r] + 1) * 104729 + salt * 31337) % rows.actions end

-- lifted:BONUS: five random actions of each row get BONUS, and up to 5/8 more.
rill.scorer{
  name = "lifted", arguments = "BONUS", summary = "lift five actions of each row, wherever the model ranks them",
  create = function(text) return tonumber(text) end,
  score = function(rows, bonus)
    for r = 1, rows.size do
      for salt = 1, 5 do rows:add(r, hash(rows, r, salt), bonus + salt / 8) end
    end
  end,
}

-- among:SHARE: one action in SHARE is allowed, besides the first three, which every domain needs to go on.
rill.scorer{
  name = "among", arguments = "SHARE", summary = "allow one action in SHARE",
  create = function(text) return tonumber(text) end,
  score = function(rows, share)
    for r = 1, rows.size do
      local allowed = { 0, 1, 2 }
      for action = 3 + rows.timestep[r] % share, rows.actions - 1, share do allowed[#allowed + 1] = action end
      rows:allow(r, allowed)
    end
  end,
}

-- ruled: bans, end rules, rewards and limits combined.
rill.scorer{
  name = "ruled", summary = "every other kind of statement at once",
  score = function(rows)
    rows:reward(nil, 0.25)
    rows:end_reward(nil, -0.5)
    local ends = rows:find("</s>") -- parsers have no end action: their outputs end by themselves
    for r = 1, rows.size do
      if rows.last[r] > 2 then rows:ban(r, rows.last[r]) end
      rows:ban(r, 3 + hash(rows, r, 9) % (rows.actions - 3))
      if rows.timestep[r] < 6 + rows.rank[r] % 4 then rows:forbid_end(r) end
      if ends and rows.timestep[r] == 24 then rows:require_end(r) end
      if (rows.timestep[r] + rows.rank[r]) % 2 == 1 then rows:limit(r, 1 + rows.rank[r] % 2) end
    end
  end,
}
