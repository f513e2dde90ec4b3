-- ok
-- The library refuses this one; a matcher without recursion need not.
assert((("a"):rep(1000)):find(("a?"):rep(1000)) == 1)
