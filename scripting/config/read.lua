-- Checks the table that a script returned and converts it to flat lists, which run_config.c stores in a C struct.
-- Keys are visited in the order of own.keys() and own.rows(), because Lua's own order changes from run to run. Errors are raised as
-- {key, why}; config_lua.c adds the position.
-- A script cannot affect how its table is read. Globals are copies made before the script ran, and tables are read only through next,
-- rawget and rawlen.
local own = ...
local find, format, gsub, match, sub = string.find, string.format, string.gsub, string.match, string.sub

local MOST_ENTRIES <const>, MOST_MODELS <const>, MOST_THREADS <const> = 32, 17, 1024
local BUDGET <const> = "max-batch-hypotheses" -- its value may be a function
local LONGEST_NAME <const>, LONGEST_ARGUMENTS <const> = 47, 1023

-- --- mistakes and texts --------------------------------------------------------------------------------------------------

-- Raises an error that names the configuration key `key`. If `key` is false, the error names no key: the script called a function.
-- Replaces zero bytes, which would end the message.
local function fail(key, why, ...)
  error({ key, (gsub(format(why, ...), "\0", "?")) })
end

local WORDS = { string = "a string", number = "a number", table = "a table", ["function"] = "a function" }

local function what(value)
  if value == nil then return "nil" end
  return value == true and "true" or value == false and "false" or WORDS[type(value)] or "an object"
end

local function expected(key, wanted, value)
  fail(key, "%s was expected, not %s", wanted, what(value))
end

local function place_of(key, i)
  return i and format("%s[%d]", key, i) or key
end

local function append(list, ...)
  for _, value in ipairs({ ... }) do list[#list + 1] = value end
end

-- Returns the shortest decimal that reads back as the same number. Usually this is the result of tostring, which
-- costs much less than format.
local function digits_of(number)
  local short = tostring(number)
  if tonumber(short) == number and not find(short, ".0", -2, true) then return short end
  for width = 15, 16 do
    local text = format("%." .. width .. "g", number)
    if tonumber(text) == number then return text end
  end
  return format("%.17g", number)
end

-- Returns a string, number or boolean as on a command line: 10.0 is "10". Returns nil for other values.
local function text_of(value)
  if value == true then return "true" elseif value == false then return "false" end
  if type(value) == "string" then return not find(value, "\0", 1, true) and value or nil end
  if type(value) ~= "number" or value ~= value or value == math.huge or value == -math.huge then return nil end
  local whole = math.tointeger(value)
  return whole and format("%d", whole) or digits_of(value)
end

-- --- single values -------------------------------------------------------------------------------------------------------

local function text(value, key)
  if type(value) ~= "string" then expected(key, "a string", value) end
  if find(value, "\0", 1, true) then fail(key, "the string has a NUL byte") end
  if value == "" then fail(key, "the string is empty; leave the key out instead") end
  return value
end

-- Paths are relative to the script's directory. If the script's own path has none, the result begins with `plain`.
local function path(value, key, _, _, plain)
  text(value, key)
  if value == "-" or find(value, "^/") then return value end
  return (match(own.path, "^.*/") or plain or "") .. value
end

local function flag(value, key)
  if value ~= true and value ~= false then expected(key, "true or false", value) end
  return value
end

local function threads(value, key)
  if type(value) ~= "number" then expected(key, "a number", value) end
  local n = math.tointeger(value)
  if not n or n < 1 or n > MOST_THREADS then fail(key, "a whole number from 1 to %d was expected", MOST_THREADS) end
  return n
end

-- Reads an option whose argument is optional: true means "without an argument".
local function form(value, key)
  if value == true then return "" elseif value == false then return nil end
  return text_of(value) or expected(key, "true, false, a string or a number", value)
end

-- Returns the value of the option `name` as text.
local function value_of(value, key, name)
  local said, why = own.value(name, value)
  return said or fail(key, "%s", why)
end

-- --- lists ---------------------------------------------------------------------------------------------------------------

-- Reads a list by calling read(value, key) for each element. A table with string keys is an error.
local function list_of(list, key, wanted, read)
  if type(list) ~= "table" then expected(key, wanted, list) end
  local n, out = rawlen(list), {}
  for name in next, list do
    if type(name) == "string" then fail(key, "%s was expected, not a table with the key \"%s\"", wanted, name) end
    if math.type(name) ~= "integer" or name < 1 or name > n then fail(key, "%s was expected, without gaps", wanted) end
  end
  if n > MOST_ENTRIES then fail(key, "a list of at most %d entries was expected", MOST_ENTRIES) end
  for i = 1, n do append(out, read(rawget(list, i), place_of(key, i))) end
  return out
end

-- --- entries -------------------------------------------------------------------------------------------------------------

local function argument(value, key, name)
  if math.type(value) == "float" then return digits_of(value) end
  return type(value) == "string" and value or text_of(value) or
    fail(key, "arguments of %s: a number, a string or a boolean was expected, not a %s", name, type(value))
end

-- Splits "NAME:ARGUMENTS" into name and arguments.
local function split(text, kind, key)
  local name, arguments = match(text, "^([^:]*):?(.*)$")
  if name == "" or find(name, "\0", 1, true) then
    fail(key, "\"%s\" has no name of a %s: NAME or NAME:ARGUMENTS was expected", text, kind)
  end
  if #name > LONGEST_NAME then fail(key, "\"%s\": the name of a %s has at most %d bytes", name, kind, LONGEST_NAME) end
  return name, arguments
end

-- Reads a heuristic, scorer, scheduler or domain. Returns its name and its arguments as on the command line:
--   "absolute"  "absolute:10"  {"absolute", 10}     by name
--   object  {object, 10}                            object: the result of rill.heuristic{}, rill.scorer{} ...
--   function(b) ... end                             a bare function: declared when first read
--   lib:bind(...)                                   a native function: registered when first read
local function entry(value, key, kind)
  local who, n, keys = value, 1, 0
  if type(value) == "table" then
    n, who = rawlen(value), rawget(value, 1)
    for _ in next, value do keys = keys + 1 end
    if n == 0 or keys ~= n then
      fail(key, "write a %s with arguments as {\"NAME\", ARGUMENTS...}, without keys", kind)
    end
    if type(who) == "table" then fail(key, "the name of a %s was expected, not a table", kind) end
  end
  local name, said = (type(who) == "string" and split or own.who)(who, kind, key)
  if not name then fail(key, "%s", said) end
  local list = said and said ~= "" and { said } or {}
  for i = 2, n do append(list, argument(rawget(value, i), key, name)) end
  local arguments = table.concat(list, ",")
  if find(arguments, "\0", 1, true) then fail(key, "arguments of %s contain a zero byte", name) end
  if #arguments > LONGEST_ARGUMENTS then fail(key, "arguments of %s have more than %d bytes", name, LONGEST_ARGUMENTS) end
  return name, arguments
end

local function chain(kind, wanted)
  return function(value, key)
    return list_of(value, key, wanted, function(element, place) return entry(element, place, kind) end)
  end
end

-- --- keys ----------------------------------------------------------------------------------------------------------------

-- Functions that read a value, by the names that own.keys() and own.rows() use. `out` receives additional results.
local READ = { text = text, path = path, flag = flag, threads = threads, form = form, value = value_of }
READ.heuristic = chain("heuristic", "a list such as { {\"absolute\", 10} }")
READ.scorer = chain("scorer", "a list such as { {\"word_reward\", 0.5} }")

function READ.scheduler(value, key)
  return { entry(value, key, "scheduler") }
end

function READ.domain(value, key, _, out)
  if type(value) == "string" then return text(value, key) end
  local name, arguments = entry(value, key, "domain")
  if arguments ~= "" then out.domain_args = arguments end
  return name
end

-- Without a slash, the loader would search the file along its path; "./" prevents that.
function READ.plugins(value, key)
  return list_of(value, key, "a list of files", function(element, place) return path(element, place, nil, nil, "./") end)
end

function READ.model(value, key, _, out)
  if type(value) == "string" then return path(value, key) end
  local models = list_of(value, key, "a path, or a list of them for an ensemble,", path)
  if #models < 1 or #models > MOST_MODELS then fail(key, "1 to %d models were expected", MOST_MODELS) end
  out.also = { table.unpack(models, 2) }
  return models[1]
end

function READ.sweep(value, key)
  local grid = own.GRIDS[value]
  return grid and own.axes(grid) or expected(key, "a grid such as rill.sweep{ delta = {0.5, 1.5} }", value)
end

function READ.tune(value, key)
  if type(value) ~= "function" then expected(key, "a function(try)", value) end
  return true
end

-- --- keys and options ----------------------------------------------------------------------------------------------------

-- Keys of a configuration, each followed by the name of its function in READ; "": an option, which may also be in `options`.
local KEYS <const> = own.keys()
local key_reader = {}
for i = 1, #KEYS, 2 do key_reader[KEYS[i]] = KEYS[i + 1] end

-- Options that are lists of entries, and the key for the same list.
local CHAINS <const> = { heuristic = "heuristics", scorer = "scorers", scheduler = "scheduler" }

-- All options, as own.rows() describes them, and the option that each name and alias means.
local ROWS, row_called, domains_known = {}, {}, -1
local clash -- an option of a domain with the name of a configuration key: { domain, name }; nil: none

-- Adds the options of domains that plugins registered since the last call. Domains may share an option.
local function learn_rows()
  if own.domains() == domains_known then return end
  ROWS, row_called, domains_known, clash = {}, {}, own.domains(), nil
  for _, row in ipairs(own.rows()) do
    for _, name in ipairs(row.kind == "domain" and row.spellings or {}) do
      if key_reader[name] then clash = clash or { row.domain, name } end
    end
    local known = row_called[row.spelt] or row
    if known == row then append(ROWS, row) end
    append(row.spellings, CHAINS[row.name])
    for _, spelling in ipairs(row.spellings) do
      row_called[spelling] = row_called[spelling] or known
      if known ~= row then append(known.spellings, spelling) end
    end
  end
end
learn_rows()

local function setting_of(name)
  local row = row_called[name]
  return row and row.kind == "setting" and row or nil
end

-- Short words that users may write, too different from rill's names for the nearest-name search.
local OTHER_WORDS = { M = "max_children", refs = "references" }

-- Returns the alphabetically first name that known(name) rejects; nil if there is none.
local function unknown_in(t, key, known)
  local first
  for name in next, t do
    if type(name) ~= "string" then fail(key, "a value without a name; write name = value") end
    if not known(name) and (not first or name < first) then first = name end
  end
  return first
end

-- Returns true for names that may be keys of the configuration: those of own.keys(), and options of outputs and domains; in each spelling.
local function is_key(name)
  local row = row_called[name]
  return key_reader[name] or row and (row.kind == "output" or row.kind == "domain" or key_reader[row.spelt] == "")
end

local function check_keys(config)
  if clash then
    fail("", "domain \"%s\": its option \"%s\" has the name of a configuration key: it needs another name", clash[1], clash[2])
  end
  local name = unknown_in(config, "", is_key)
  if not name then return end
  if own.is_options_key(name) then fail(name, "unknown key; the options are in \"options\": options = { ... }") end
  if own.gone(name) then fail(name, "unknown key: %s", own.gone(name)) end
  local word = OTHER_WORDS[name]
  local option = row_called[name] and name or row_called[word] and word
  if option and not CHAINS[option] then fail(name, "unknown key; it is one of \"options\": options = { %s = ... }", option) end
  local near = word or own.nearest("config", name)
  if near then fail(name, "unknown key; did you mean \"%s\"?", near) end
  fail(name, "unknown key; docs/scripting.md lists them all")
end

-- --- options -------------------------------------------------------------------------------------------------------------

local function check_options(options)
  local name = unknown_in(options, "options", function(name) return name == "cube_key" or row_called[name] end)
  if not name then return end
  local key, near = "options." .. name, OTHER_WORDS[name] or own.nearest("options", name)
  if own.gone(name) then fail(key, "unknown key: %s", own.gone(name)) end
  if name == "delta" then name = "absolute" end -- the argument of the heuristic "absolute"
  if key_reader[name] then fail(key, "unknown key; write \"%s\" beside \"options\", not inside it", name) end
  if own.is_heuristic(name) then
    fail(key, "unknown key; write a heuristic in the list of heuristics: heuristics = { {\"%s\", ...} }", name)
  end
  if near then fail(key, "unknown key; did you mean \"%s\"?", near) end
  fail(key, "unknown key; the keys of \"options\" are the settings of `rill decode --help`")
end

-- Checks a setting's value and returns it as text. `place`: its index in a list of values, or nil.
local function setting_value(value, key, setting, place)
  return value_of(value, place_of(key, place), setting.name)
end

-- Returns the option's value in a table, and the name that has it; nil if none does. Two names of one option with different values are an
-- error.
local function value_in(t, row, place)
  local value, name
  for _, spelling in ipairs(row.spellings) do
    local other = rawget(t, spelling)
    if other ~= nil and value ~= nil and other ~= value then
      fail(place .. spelling, "%s is the same option, with another value", name)
    end
    if other ~= nil and value == nil then value, name = other, spelling end
  end
  return value, name
end

-- Reads the value of the option `row`, which has the name `name` at `place`: "options." or "" (top level). In `options` a list may be a
-- single entry.
local function read_option(row, value, place, name, out)
  local list, is_setting = CHAINS[row.name], row.kind == "setting"
  if row.name == BUDGET and type(value) == "function" then
    out.budget = value
    return
  end
  if list and list ~= "scheduler" and place ~= "" and (type(value) ~= "table" or name == row.name and
    type(rawget(value, 1)) == "string" and type(rawget(value, 2)) == "number") then value = { value } end
  local said = READ[list and row.name or row.read](value, place .. name, row.name, out)
  if list then
    out[list] = said
  elseif said then
    append(is_setting and out.settings or out.domain_options, is_setting and row.name or name, said)
  end
end

-- Reads the options. They are in `options`; some may also be at the top level.
local function read_options(config, out)
  local options = rawget(config, "options")
  if options == nil then options = {} end
  if type(options) ~= "table" then expected("options", "a table of options", options) end
  out.cube_key = rawget(options, "cube_key")
  if out.cube_key ~= nil and type(out.cube_key) ~= "function" then
    expected("options.cube_key", "a function", out.cube_key)
  end
  check_options(options)
  for _, row in ipairs(ROWS) do
    local beside, key = value_in(config, row, "")
    local value, name = value_in(options, row, "options.")
    if value ~= nil and beside ~= nil then fail("options." .. name, "%s is also set beside \"options\"", key) end
    if beside ~= nil then read_option(row, beside, "", key, out) end
    if value ~= nil then read_option(row, value, "options.", name, out) end
  end
end

-- --- the table -----------------------------------------------------------------------------------------------------------

-- Reads the configuration. `point`: the sweep point (combination of parameter values) for which it was made, recorded in the order of
-- `names`.
function own.read(config, point, names)
  local ending = "a configuration ends with: return { model = \"DIR\" }"
  if config == nil then fail("", "the script returns nothing; %s", ending) end
  if type(config) ~= "table" then fail("", "the script returns %s, not a table; %s", what(config), ending) end
  local out = { settings = {}, domain_options = {}, point = {} }
  learn_rows()
  check_keys(config)
  for i = 1, #KEYS, 2 do
    local value, read = rawget(config, KEYS[i]), READ[KEYS[i + 1]]
    if read and value ~= nil then out[KEYS[i]] = read(value, KEYS[i], nil, out) end
  end
  read_options(config, out)
  for _, name in ipairs(names or {}) do append(out.point, name, text_of(point[name]) or "not finite") end
  return out
end

-- Reads only the key `plugins`. Plugins must be loaded before the rest can be read.
function own.read_plugins(config)
  local list = type(config) == "table" and rawget(config, "plugins")
  return { settings = {}, domain_options = {}, point = {}, plugins = list and READ.plugins(list, "plugins") or nil }
end

own.fail, own.append, own.text_of, own.entry = fail, append, text_of, entry
own.setting_of, own.setting_value = setting_of, setting_value

-- --- lines of keys: tokens --------------------------------------------------------------------------------------------

-- Finds the line of a configuration key. Lua stores no line numbers for tables, so the source text is scanned.
-- If the script ends with `return {`, keys are found at their depth inside these braces. Otherwise the first assignment to a variable or
-- field of that name counts.
local BLOCKS = { ["function"] = 1, ["do"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1, ["until"] = -1 }
local BRACES = { ["{"] = 1, ["}"] = -1 }

-- Returns the contents of the long bracket [[...]] at a position, and the position after it; nil: there is none.
local function long_text(text, at)
  local level = match(text, "^%[(=*)%[", at)
  if not level then return nil end
  local first = at + #level + 2
  local stop, last = find(text, "]" .. level .. "]", first, true)
  return sub(text, first, (stop or 0) - 1), (last or #text) + 1
end

local function quoted_text(text, at)
  local ends, from = "[\\\n" .. sub(text, at, at) .. "]", at + 1
  local stop = find(text, ends, from)
  while stop and sub(text, stop, stop) == "\\" do stop = find(text, ends, stop + 2) end
  return sub(text, from, (stop or 0) - 1), (stop or #text) + 1
end

local function skip_blank(text, at)
  at = find(text, "%S", at)
  while at and sub(text, at, at + 1) == "--" do
    local _, behind = long_text(text, at + 2)
    at = find(text, "%S", behind or find(text, "\n", at, true) or #text + 1)
  end
  return at
end

-- Advances the scanner `s` to the next token. Returns false at the end. s.kind: "word", "text" or "sign"; s.word: the
-- token; s.at: the position after it; s.blocks, s.braces: numbers of open blocks and braces.
local function step(s)
  local text = s.text
  local at = skip_blank(text, s.at)
  s.at, s.kind = at or #text + 1, nil
  if not at then return false end
  local word, behind = long_text(text, at)
  if not word and find(text, "^[\"']", at) then word, behind = quoted_text(text, at) end
  s.kind, s.word, s.at = "text", word, behind
  if word then return true end
  word = match(text, "^[%w_]+", at)
  s.kind = word and "word" or "sign"
  s.word = word or match(text, "^[=<>~]=", at) or sub(text, at, at)
  s.at = at + #s.word
  s.blocks = s.blocks + (word and BLOCKS[word] or 0)
  s.braces = s.braces + (BRACES[s.word] or 0)
  return true
end

local function copy(s)
  return { text = s.text, at = s.at, kind = s.kind, word = s.word, blocks = s.blocks, braces = s.braces }
end

local function is_sign(s, sign)
  return s.kind == "sign" and s.word == sign
end

-- --- lines of keys ----------------------------------------------------------------------------------------------------

local function line_of(s)
  local _, newlines = string.gsub(sub(s.text, 1, s.at - 1), "\n", "")
  return newlines + 1
end

-- Returns a scanner after the script's final return, which is outside all blocks; nil if there is none.
local function find_return(start)
  local s, found = copy(start), nil
  while step(s) do
    if s.kind == "word" and s.word == "return" and s.blocks == 0 then found = copy(s) end
  end
  return found
end

-- Returns true if the scanner is after NAME or after "NAME" in ["NAME"], and a single "=" follows.
local function is_assigned(s)
  local ahead = copy(s)
  if step(ahead) and s.kind == "text" and is_sign(ahead, "]") then step(ahead) end
  return is_sign(ahead, "=")
end

-- Advances to the next assignment to `name`, at this depth of braces if given. Returns false if there is none.
local function find_key(s, name, depth)
  while step(s) and (not depth or s.braces >= depth) do
    local here = not depth or s.braces == depth and s.blocks == 0
    if here and s.kind ~= "sign" and s.word == name and is_assigned(s) then return true end
  end
  return false
end

-- Advances into the braces of the current key's value: {...} or rill.sweep{...}. Returns false if it has none.
local function enter(s)
  step(s) -- the "="
  repeat step(s) until s.kind ~= "word" and not is_sign(s, ".") and not is_sign(s, "(")
  return is_sign(s, "{")
end

-- Returns the probable line of the key at `path` ("options.k", "heuristics[2]") of the returned table. Else it is the line of an outer key
-- or the return statement, or 0.
function own.line(text, path)
  local s, depth = { text = text, at = 1, blocks = 0, braces = 0 }, nil
  local behind = find_return(s)
  local line, ahead = behind and line_of(behind) or 0, behind and copy(behind)
  if ahead and step(ahead) and is_sign(ahead, "{") then s, depth = ahead, behind.braces end
  local outer = false
  for name in string.gmatch(path, "([^.%[]+)[^.]*%.?") do
    if outer and depth and not enter(s) then break end
    depth = depth and depth + 1
    if not find_key(s, name, depth) then break end
    line, outer = line_of(s), true
  end
  return line
end
