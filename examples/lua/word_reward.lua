-- lua-word_reward:W: the built-in scorer word_reward in Lua, with identical scores to the last bit.
--
-- Every action except the end action gains W: a positive W favours longer outputs (He et al. 2016).

rill.scorer{
  name = "lua-word_reward", arguments = "W", summary = "add W to the score of every action but the end action",
  create = function(text) return tonumber(text) or error("W must be a number, not \"" .. text .. "\"", 0) end,
  score = function(rows, w) rows:reward(nil, w) end,
}
