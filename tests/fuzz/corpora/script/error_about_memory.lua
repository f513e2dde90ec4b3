-- fails: not enough memory
error("not enough memory")
