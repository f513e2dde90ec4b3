-- fails: stopped after
pcall(string.gsub, ('a'):rep(10000), '.-.-.-.-b', '')
print('went on')
