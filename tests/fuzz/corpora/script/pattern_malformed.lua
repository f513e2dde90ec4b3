-- ok
for _, p in ipairs{"%", "[", "[^", "[a", "[a-", "[%", "[]", "[^]",
  "%b", "%bx", "%f", "%fx", "(", ")", "%1", "(%1", "()%2", "((", "[[]", "%f[",
  "[%a-z", "(()", "%0", "[a%", "*", "+?", "^*", "$", "^$", "(.", "%f[%"} do
  for _, s in ipairs{"", "a", "]", "[", "%", "aaa", "(a)", "\0"} do
    pcall(string.find, s, p)
    pcall(string.match, s, p)
    pcall(string.gsub, s, p, "%1")
    pcall(function() for _ in s:gmatch(p) do end end)
  end
end
