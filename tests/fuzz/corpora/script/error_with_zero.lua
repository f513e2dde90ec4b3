-- fails: before
error('before\0behind')
