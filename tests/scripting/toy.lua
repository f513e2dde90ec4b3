-- The toy domain of tests/support/toy_model.c in Lua, in both styles of domains. The engine's results with either must
-- equal those of the naive search with the C toy, to the last bit. Every decision is a hash of the input and the
-- actions.

-- One step of the 64-bit hash of tests/support/dice.h; Lua's integers wrap as C's unsigned ones do.
local function mix(a, b)
  local z = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return z ~ (z >> 31)
end

-- x % n as if x were unsigned.
local function modulo(x, n) return ((x >> 1) % n * 2 + (x & 1)) % n end

local function unit(hash) return (hash >> 11) * 0x1p-53 end

local function below(state, what, percent) return modulo(mix(state, what), 100) < percent end

local function extend(state, action) return mix(state, action + 17) end

-- Parse "seed=3 actions=5 ..." as toy_model_parse() does.
local function parse(arguments)
  local model = {seed = 0, actions = 5, depth = 5, phases = 1, state = "path", terminal = "end", ending = 40, legal = 70, flat = 1,
                 early = 0, dead_ends = 0, ties = 0, mask = 0, bound = 0, own_bound = 0, dead = 0}
  for key, value in arguments:gmatch("(%S+)=(%S+)") do model[key] = tonumber(value) or value end
  if model.phases > 1 then model.terminal = "last" end
  model.last = model.terminal == "last"
  model.end_action = model.last and -1 or modulo(mix(model.seed, 5), model.actions)
  return model
end

local function read_input(model, text)
  if text:sub(1, 4) == "!bad" then return nil, "this one is bad" end
  local hash = mix(model.seed, #text)
  for i = 1, #text do hash = mix(hash, text:byte(i)) end
  return {hash = hash, depth = 1 + modulo(mix(hash, 11), model.depth), dead = text:sub(1, 5) == "!dead"}
end

-- List the legal actions in order, and which of them are terminal.
local function list_actions(model, input, state, depth)
  local list, lasts, over, final = {}, {}, depth >= input.depth, depth == input.depth - 1
  for a = 0, model.actions - 1 do
    local h = mix(state, 100 + a)
    if a == model.end_action then
      if over or below(h, 1, model.ending) then list[#list + 1] = a end
    elseif not over and below(h, 2, model.legal) then
      list[#list + 1] = a
      lasts[a] = model.last and (final or model.phases == 1 and below(h, 4, model.early))
    end
  end
  return list, lasts
end

local function list_structure(state)
  local list, forced = {}, modulo(mix(state, 3), 6)
  for a = 0, 2 do
    if forced >= 3 or forced == a then list[#list + 1] = a end
  end
  return list, {}
end

local function expand(model, input, state, depth, phase)
  local structure = phase < model.phases - 1
  if input.dead or model.last and depth >= input.depth then return {} end
  if not structure and below(state, 6, model.dead_ends) then return {} end
  local list, lasts
  if structure then list, lasts = list_structure(state) else list, lasts = list_actions(model, input, state, depth) end
  if #list == 0 and model.dead_ends == 0 then
    local a = model.last and modulo(state, model.actions) or model.end_action
    list[1] = a
    lasts[a] = model.last and depth == input.depth - 1
  end
  local scores = {}
  if model.dead == 1 then
    for a = 0, model.actions - 1 do scores[a] = -math.huge end
  end
  if structure and #list == 1 then
    scores[list[1]] = 0
    return scores, lasts
  end
  local logits, sum = {}, 0.0
  for i, a in ipairs(list) do
    local h = mix(state, 1000 + a)
    logits[i] = model.flat * (6 * unit(h) - 3)
    sum = sum + math.exp(logits[i])
    if model.ties > 0 then scores[a] = -0.25 * (1 + modulo(h, model.ties)) end
  end
  if model.ties == 0 then
    for i, a in ipairs(list) do scores[a] = logits[i] - math.log(sum) end
  end
  return scores, lasts
end

local function info_of(model)
  local limited = {}
  for phase = 0, model.phases - 1 do
    if model.mask >> phase & 1 == 1 then limited[#limited + 1] = phase end
  end
  return {actions = model.actions, phases = model.phases, max_length = model.bound > 0 and model.bound or model.depth,
          end_action = not model.last and model.end_action or nil, limited_phases = limited}
end

local function details(model, input) return model.own_bound == 1 and {max_length = input.depth} or nil end

local function finalize(model, hypothesis)
  local words = hypothesis.actions
  if hypothesis.ended then words[#words + 1] = model.end_action end
  return table.concat(words, " ")
end

-- Row by row: a state is a table with the hash and the input.
rill.domain{
  name = "toy-plain",
  open = function(options)
    local model = parse(options.arguments)
    return model, info_of(model)
  end,
  start = function(model, input)
    local read, message = read_input(model, input.text)
    if not read then return nil, message end
    return {hash = read.hash, input = read}, details(model, read)
  end,
  advance = function(model, state, action) return {hash = extend(state.hash, action), input = state.input} end,
  choices = function(model, state, depth, phase) return expand(model, state.input, state.hash, depth, phase) end,
  finalize = finalize,
}

-- Whole timesteps: the domain has its own tables by node. With state=path a node holds only one action, and the actions
-- are read along the path.
rill.domain{
  name = "toy-rows",
  open = function(options)
    local model = parse(options.arguments)
    model.inputs, model.hash, model.parent, model.action = {}, {}, {}, {}
    local info = info_of(model)
    info.state = model.state
    return model, info
  end,
  encode = function(model, input)
    local read, message = read_input(model, input.text)
    if not read then return nil, message end
    model.inputs[input.slot] = read
    return details(model, read)
  end,
  step = function(model, rows)
    for r = 1, rows.n do
      local node, parent, action = rows.node[r], rows.state_parent[r], rows.action[r]
      assert(model.action[node] == nil, "a node is made twice")
      assert(parent == -1 or model.action[parent], "a parent is gone")
      model.parent[node], model.action[node] = parent, action
      if model.state == "parent" then
        model.hash[node] = action == -1 and model.inputs[rows.slot[r]].hash or extend(model.hash[parent], action)
      end
    end
  end,
  score = function(model, rows)
    local function hash_of(node, input)
      if model.state == "parent" then return model.hash[node] end
      if model.action[node] == -1 then return input.hash end
      return extend(hash_of(model.parent[node], input), model.action[node])
    end
    for r = rows.n, 1, -1 do -- any order is valid
      local input = model.inputs[rows.slot[r]]
      rows:answer(r, expand(model, input, hash_of(rows.node[r], input), rows.depth[r], rows.phase))
    end
  end,
  finalize = function(model, hypothesis)
    if model.state == "path" then
      for i = 1, #hypothesis.actions - 1 do
        assert(model.action[hypothesis.nodes[i]] == hypothesis.actions[i], "a row of the path is gone")
      end
    end
    return finalize(model, hypothesis)
  end,
  drop = function(model, slot)
    assert(model.inputs[slot], "nothing to drop")
    model.inputs[slot] = nil
  end,
  free = function(model, nodes)
    for i = 1, #nodes do
      assert(model.action[nodes[i]], "nothing to free")
      model.action[nodes[i]], model.parent[nodes[i]], model.hash[nodes[i]] = nil, nil, nil
    end
  end,
  close = function(model)
    assert(next(model.inputs) == nil and next(model.action) == nil, "something is left")
  end,
}
