-- A test domain whose outputs show when their inputs were encoded: "3.2" is the second input of the third group. A
-- group is all inputs that are encoded between two timesteps. An input is a number, and its output has that many
-- actions more.

local actions = { "end", "." }
for digit = 0, 9 do actions[#actions + 1] = tostring(digit) end

rill.domain{
  name = "encode_order", summary = "outputs that tell when their inputs were encoded",
  actions = actions, end_action = "end", separator = "",
  open = function() return { group = 0, place = 0, decoding = true } end,
  start = function(self, input)
    if self.decoding then self.group, self.place, self.decoding = self.group + 1, 0, false end
    self.place = self.place + 1
    return { rest = self.group .. "." .. self.place .. ("."):rep(tonumber(input.text)) }, { size = 1 + tonumber(input.text) }
  end,
  choices = function(self, state)
    self.decoding = true
    return { [state.rest == "" and "end" or state.rest:sub(1, 1)] = -0.125 }
  end,
  advance = function(_, state) return { rest = state.rest:sub(2) } end,
}
