-- ok
rill.domain{
  name = "echo", summary = "spells its input",
  open = function(options) return {}, {actions = 257, max_length = 40, end_action = 256} end,
  start = function(self, input) return {text = input.text, at = 0} end,
  advance = function(self, state, action) return {text = state.text, at = state.at + 1} end,
  choices = function(self, state)
    local byte = state.text:byte(state.at + 1)
    if not byte then return {[256] = -0.1} end
    return {[byte] = -0.5, [(byte + 1) % 256] = -1.5}
  end,
}
