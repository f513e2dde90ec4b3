-- fails: stopped after
while true do print('x', 1, nil, {}, 'line\nline') end
