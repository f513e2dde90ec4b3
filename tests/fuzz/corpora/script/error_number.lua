-- fails: 42
error(42)
