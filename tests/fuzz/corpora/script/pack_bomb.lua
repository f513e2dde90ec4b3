-- memory
return string.pack("c99999999999999999999", "x")
