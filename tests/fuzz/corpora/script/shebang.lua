#!/usr/bin/env rill
return 1
