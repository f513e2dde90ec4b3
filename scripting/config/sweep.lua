-- Parameter grids: rill.sweep{ delta = {0.5, 1.5}, M = {3, 5} }, and how a grid point changes a configuration.
-- A point is a table of parameter names and values. It is applied to a copy of the script's table, which is then read like any
-- configuration. read.lua states the rules for this code.
local own = ...
local format, gsub = string.format, string.gsub
local MOST_AXES <const>, MOST_POINTS <const>, COPY_DEPTH <const> = 16, 1000000, 3
local fail, append, text_of = own.fail, own.append, own.text_of

-- --- names ---------------------------------------------------------------------------------------------------------------

-- PARAMETERS: for a parameter that is a heuristic's argument, the heuristic. SHORT: for a short name, the setting.
local PARAMETERS <const>, SHORT <const> = own.parameters()

-- Returns the setting that a parameter sets, or nil.
local function setting_of(name)
  return own.setting_of(SHORT[name] or name)
end

local function check_name(name, call)
  if PARAMETERS[name] or setting_of(name) then return end
  local near = own.nearest("sweep", name) or own.nearest("options", name)
  local hint = near and format("; did you mean \"%s\"?", near) or ""
  fail(false, "%s: unknown parameter \"%s\"%s; a parameter of your own needs a function that applies it: " ..
    "%s({ %s = ... }, function(config, point) ... end)", call, name, hint, call, name)
end

-- Returns true for values that a parameter may have. Strings become C strings, so zero bytes are invalid.
local function is_scalar(value)
  local is = type(value)
  return is == "number" or is == "string" and text_of(value) or is == "boolean"
end

-- Returns the keys of a table in alphabetical order. `why`: the message if a key is not a string.
local function sorted_names(t, why)
  local names = {}
  for name in next, t do append(names, type(name) == "string" and text_of(name) or fail(false, why)) end
  table.sort(names)
  return names
end

-- --- rill.sweep ----------------------------------------------------------------------------------------------------------

local A_GRID <const> = "rill.sweep: a grid is { name = {values} } or a list of pairs { {\"name\", {values}} }"

local function values_of(list, name)
  local values = {}
  for i = 1, type(list) == "table" and rawlen(list) or 0 do
    values[i] = rawget(list, i)
    if not is_scalar(values[i]) then
      fail(false, "rill.sweep: %s[%d]: a number, a string without zero bytes, true or false was expected, not %s", name,
        i, type(values[i]))
    end
  end
  if #values == 0 then fail(false, "rill.sweep: %s: a list of values was expected, such as {1, 2, 3}", name) end
  return values
end

-- Returns true if two names set the same option, or the same argument of a heuristic.
local function is_same(a, b)
  if PARAMETERS[a] or PARAMETERS[b] then return PARAMETERS[a] == PARAMETERS[b] end
  return setting_of(a).spelt == setting_of(b).spelt
end

local function add_axis(grid, name, list)
  if #grid.names == MOST_AXES then fail(false, "rill.sweep: more than %d parameters", MOST_AXES) end
  if not grid.edit then check_name(name, "rill.sweep") end
  for _, other in ipairs(grid.names) do
    if other == name then fail(false, "rill.sweep: \"%s\" occurs twice in the grid", name) end
    if not grid.edit and is_same(other, name) then
      fail(false, "rill.sweep: \"%s\" and \"%s\" are the same option: name it once", other, name)
    end
  end
  append(grid.names, name)
  append(grid.values, values_of(list, name))
end

local function refuse() error("the fields of a sweep cannot be accessed", 2) end

own.GRIDS = setmetatable({}, { __mode = "k" }) -- maps the objects that scripts get to their grids; weak keys
local OBJECT <const> = { __metatable = "a sweep", __index = refuse, __newindex = refuse }

-- rill.sweep: checks a grid and returns its object. A list keeps its order: { {"delta", {...}}, {"M", {...}} }.
function own.sweep(said, edit)
  local grid, points = { names = {}, values = {}, edit = edit }, 1
  for i = 1, rawlen(said) do
    local pair = rawget(said, i)
    local name = type(pair) == "table" and rawget(pair, 1)
    if type(name) ~= "string" or not text_of(name) then fail(false, A_GRID) end
    add_axis(grid, name, rawget(pair, 2))
  end
  local names = rawlen(said) == 0 and sorted_names(said, A_GRID) or {}
  for _, name in ipairs(names) do add_axis(grid, name, rawget(said, name)) end
  if #grid.names == 0 then
    fail(false, "rill.sweep: the grid is empty; name a parameter: rill.sweep{ delta = {0.5, 1.5} }")
  end
  for _, values in ipairs(grid.values) do
    points = points * #values
    if points > MOST_POINTS then fail(false, "rill.sweep: more than %d points", MOST_POINTS) end
  end
  local object = setmetatable({}, OBJECT)
  own.GRIDS[object] = grid
  return object
end

-- Returns the grid as strings: for each parameter a list of its name and its values. Invalid values are an error before anything is
-- decoded, unless an edit function may convert them.
function own.axes(grid)
  local axes = {}
  for i, name in ipairs(grid.names) do
    local setting = not grid.edit and setting_of(name)
    axes[i] = { name }
    for j, value in ipairs(grid.values[i]) do
      if setting then own.setting_value(value, "sweep." .. name, setting, j) end
      axes[i][j + 1] = text_of(value) or "not finite" -- a number that is not finite; its setting raises an error later
    end
  end
  return axes
end

-- --- points --------------------------------------------------------------------------------------------------------------

-- Returns a point of the sweep, its edit function, and the order of its names. The last parameter varies fastest.
function own.point(config, index)
  local grid = type(config) == "table" and own.GRIDS[rawget(config, "sweep")] or fail(false, "the script has no sweep")
  local point = {}
  for i = #grid.names, 1, -1 do
    local values = grid.values[i]
    point[grid.names[i]] = values[index % #values + 1]
    index = index // #values
  end
  return point, grid.edit, grid.names
end

-- Returns a deep copy of tables. Declared objects are userdata and are shared.
local function copy(value, depth)
  if depth == 0 or type(value) ~= "table" then return value end
  local new = {}
  for name, part in next, value do new[name] = copy(part, depth - 1) end
  return new
end

-- Returns config[name], created as {} if it is missing; nil if it is no table, which own.read() will report.
local function part_of(config, name)
  if config[name] == nil then config[name] = {} end
  return type(config[name]) == "table" and config[name] or nil
end

-- Sets the heuristic's argument where the list of heuristics has it, else appends the heuristic. The list may be in `options`, where the
-- argument may be an option: prune_absolute = 10.
local function apply_heuristic(config, name, value)
  local options = type(config.options) == "table" and config.options or {}
  for _, option in ipairs({ "prune_" .. name, (gsub("prune-" .. name, "_", "-")), name, (gsub(name, "_", "-")) }) do
    if options[option] ~= nil then
      options[option] = value
      return
    end
  end
  local chain, at = part_of(options.heuristics ~= nil and options or config, "heuristics"), 1
  if not chain then return end
  while at <= #chain do
    local who = type(chain[at]) == "table" and chain[at][1] or chain[at]
    if type(who) == "string" and string.match(who, "^[^:]*") == name then break end
    at = at + 1
  end
  chain[at] = { name, value }
end

-- Returns four values: a copy of the configuration with the point applied, the point, the order of its names, and a copy of the point for
-- the edit function. With an edit function heuristics' parameters are left to it, because it may use "delta" otherwise.
function own.apply(config, point, edit, names)
  local a_point <const> = "a point is a table of names with numbers, strings, true or false: { delta = 1.5, M = 3 }"
  names = names or sorted_names(point, a_point)
  config, point = copy(config, COPY_DEPTH), copy(point, 1)
  config.sweep, config.tune, config.plugins = nil, nil, nil -- keys that concern the whole script, not one point
  for _, name in ipairs(names) do
    local heuristic, setting, value = not edit and PARAMETERS[name], setting_of(name), point[name]
    if not is_scalar(value) then fail(false, a_point) end
    if not edit then check_name(name, "try") end
    if heuristic then apply_heuristic(config, heuristic, value) end
    local options = setting and part_of(config, "options")
    if options then
      for _, spelling in ipairs(setting.spellings) do options[spelling] = nil end
      -- Keep the name as the script wrote it, since the edit function reads the option by that name.
      options[own.setting_of(name) and name or setting.spelt] = value
    end
  end
  return config, point, names, copy(point, 1)
end
