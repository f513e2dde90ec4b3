-- fails: stopped after
load("repeat until false")()
