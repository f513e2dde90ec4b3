-- ok
for _, f in ipairs{"%", "%1", "%1000d", "%.1000f", "%y", "%", "%-+ #0", "%q", "%c", "%s", "%99.99f", "%.99d", "%a", "%p", "%i%i"} do
  pcall(string.format, f)
  pcall(string.format, f, 1e308)
  pcall(string.format, f, "x\0y")
  pcall(string.format, f, {})
  pcall(string.format, f, math.mininteger)
end
assert(#string.format("%99.99f", -1e308) > 300)
