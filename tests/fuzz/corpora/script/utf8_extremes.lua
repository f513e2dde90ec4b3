-- ok
for _, s in ipairs{"", "\xff", "\xc3", "\xe2\x82", "\xf4\x90\x80\x80", "\x80\x80", "a\0b", "\u{7fffffff}", "ä€😀"} do
  for _, i in ipairs{1, 0, -1, 2, 100, -100, math.maxinteger, math.mininteger} do
    pcall(utf8.len, s, i)
    pcall(utf8.codepoint, s, i, -1)
    pcall(utf8.offset, s, i)
    pcall(utf8.offset, s, 1, i)
  end
  pcall(function() for _ in utf8.codes(s) do end end)
  pcall(function() for _ in utf8.codes(s, true) do end end)
end
assert(not pcall(utf8.char, -1) and not pcall(utf8.char, 1 << 40))
