-- fails: %s%n%d
error('%s%n%d%99999s')
