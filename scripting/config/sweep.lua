-- Grids of parameters: rill.sweep{ delta = {0.5, 1.5}, M = {3, 5} }, and what a point of one makes of a configuration.
--
-- A grid is checked once, where it is written. Scripts get an object that stands for it; what they cannot reach is
-- {names = {...}, values = {{...}, ...}, edit = function or nil}. A point is a table of names and values. Applying one changes a copy
-- of the script's own table, which is then read like any configuration: there is one way to say what a run is. read.lua has the rules
-- of this code.
local own = ...
local format = string.format
local MOST_AXES <const>, MOST_POINTS <const>, COPY_DEPTH <const> = 16, 1000000, 3
local fail, append, text_of = own.fail, own.append, own.text_of

-- --- names ---------------------------------------------------------------------------------------------------------------

-- Parameters that are no settings: the heuristic whose argument each is; and short names of settings.
local PARAMETERS <const>, SHORT <const> = own.parameters()

-- The setting that a parameter sets, or nil.
local function setting_of(name)
  return own.setting_of(SHORT[name] or name)
end

local function check_name(name, call)
  if PARAMETERS[name] or setting_of(name) then return end
  local near = own.nearest("sweep", name) or own.nearest("options", name)
  local hint = near and format("; did you mean \"%s\"?", near) or ""
  fail(false, "%s: nothing is called \"%s\"%s; a parameter of your own needs a function that applies it: " ..
    "%s({ %s = ... }, function(config, point) ... end)", call, name, hint, call, name)
end

-- Texts go on to C, which a zero byte would end.
local function is_scalar(value)
  local is = type(value)
  return is == "number" or is == "string" and text_of(value) or is == "boolean"
end

-- The names in a table, which has no order of its own, in that of the alphabet.
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

local function add_axis(grid, name, list)
  if #grid.names == MOST_AXES then fail(false, "rill.sweep: more than %d parameters", MOST_AXES) end
  if not grid.edit then check_name(name, "rill.sweep") end
  for _, other in ipairs(grid.names) do
    if other == name then fail(false, "rill.sweep: \"%s\" stands twice in the grid", name) end
  end
  append(grid.names, name)
  append(grid.values, values_of(list, name))
end

local function refuse() error("a sweep is closed", 2) end

own.GRIDS = setmetatable({}, { __mode = "k" }) -- by the objects
local OBJECT <const> = { __metatable = "a sweep", __index = refuse, __newindex = refuse }

-- The list form keeps its order: { {"delta", {...}}, {"M", {...}} }.
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

-- The grid as texts: a list for each parameter, its name first. A value that a setting can never have is refused before anything is
-- decoded, wherever in the grid it stands; a function may make something else of it.
function own.axes(grid)
  local axes = {}
  for i, name in ipairs(grid.names) do
    local setting = not grid.edit and setting_of(name)
    axes[i] = { name }
    for j, value in ipairs(grid.values[i]) do
      if setting then own.setting_value(value, "sweep." .. name, setting, j) end
      axes[i][j + 1] = text_of(value) or "not finite" -- whatever it is for will say so
    end
  end
  return axes
end

-- --- points --------------------------------------------------------------------------------------------------------------

-- The point at an index of the configuration's sweep, what edits it, and the order of its names: digits of a number, the last parameter
-- the fastest.
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

-- A copy of a table, and of the tables in it. What a script has declared is no table.
local function copy(value, depth)
  if depth == 0 or type(value) ~= "table" then return value end
  local new = {}
  for name, part in next, value do new[name] = copy(part, depth - 1) end
  return new
end

-- config[name] = {...}, made if it is not there; nil if something else is, which reading the configuration will refuse.
local function part_of(config, name)
  if config[name] == nil then config[name] = {} end
  return type(config[name]) == "table" and config[name] or nil
end

-- Give the heuristic its argument where it stands in the chain ("absolute", "absolute:10", {"absolute", 10}), or put it at the end.
local function apply_heuristic(config, name, value)
  local chain, at = part_of(config, "heuristics"), 1
  if not chain then return end
  while at <= #chain do
    local who = type(chain[at]) == "table" and chain[at][1] or chain[at]
    if type(who) == "string" and string.match(who, "^[^:]*") == name then break end
    at = at + 1
  end
  chain[at] = { name, value }
end

-- A copy of the configuration with the point's parameters applied, the point, the order of its names, and a copy for the function that
-- edits, which may change what it gets. With one the chains are its business: it may well mean something of its own by "delta".
function own.apply(config, point, edit, names)
  local a_point <const> = "a point is a table of names with numbers, strings, true or false: { delta = 1.5, M = 3 }"
  names = names or sorted_names(point, a_point)
  config, point = copy(config, COPY_DEPTH), copy(point, 1)
  config.sweep, config.tune, config.plugins = nil, nil, nil -- not its own
  for _, name in ipairs(names) do
    local heuristic, setting, value = not edit and PARAMETERS[name], setting_of(name), point[name]
    if not is_scalar(value) then fail(false, a_point) end
    if not edit then check_name(name, "try") end
    if heuristic then apply_heuristic(config, heuristic, value) end
    local options = setting and part_of(config, "options")
    if options then
      for _, spelling in ipairs(setting.spellings) do options[spelling] = nil end
      options[own.setting_of(name) and name or setting.spelt] = value -- a function of the script reads it by that name
    end
  end
  return config, point, names, copy(point, 1)
end
