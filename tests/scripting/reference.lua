-- Prints "KIND NAME" for everything that docs/scripting.md has to list: rill.names, the fields of tables that scripts
-- can traverse, and of the tables that callbacks get. reference.sh compares the names with the page. Run by `rill run`
-- and `rill tune`.
local function keys(kind, t)
  for name in pairs(t) do print(kind .. " " .. name) end
end

keys("rill", rill)
for kind, list in pairs(rill.names) do
  for _, name in pairs(list) do print(kind .. " " .. name) end
end

rill.domain{
  name = "plain", actions = { "end" }, end_action = "end",
  open = function(options)
    keys("options", options)
    print("options path") -- path is nil without a model, so it is not traversed
    return options
  end,
  start = function(self, input)
    keys("input", input)
    return {}
  end,
  choices = function() return { ["end"] = 0 } end,
  advance = function() return {} end,
  finalize = function(self, hypothesis)
    keys("hypothesis", hypothesis)
    return ""
  end,
}

rill.domain{
  name = "rows", actions = 2, end_action = 0, state = "path",
  encode = function() end,
  step = function(self, rows) keys("domain_rows", rows) end,
  score = function(self, rows)
    for r = 1, rows.n do rows:answer(r, { [rows.depth[r] == 0 and 1 or 0] = 0 }) end
  end,
  finalize = function(self, hypothesis)
    keys("hypothesis", hypothesis)
    return "x"
  end,
}

return {
  domain = "rows",
  options = { method = "var-stream" },
  tune = function(try)
    keys("try", try{})
    keys("try", try{ patience = 0.5, stop_after = 3 }) -- an invalid combination
  end,
}
