-- fails: stopped after
::again:: goto again
