-- ok
for _, f in ipairs{"i17", "!17", "s17", "z", "s1", "!3i4", "Xz", "X", "c", "c-1", "i16", "d", "n", "j", "=<>!", "b", "B"} do
  for _, v in ipairs{"x\0y", 1e15, -1, ("x"):rep(300), math.mininteger} do
    pcall(string.pack, f, v)
    pcall(string.unpack, f, v)
    pcall(string.unpack, f, v, 5)
    pcall(string.unpack, f, v, math.maxinteger)
    pcall(string.unpack, f, v, math.mininteger)
  end
  pcall(string.packsize, f)
end
