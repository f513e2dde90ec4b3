#!/usr/bin/env python3
"""Checks `rill serve` against its OpenAPI description: openapi-spec-validator reads the
description, schemathesis makes requests from it and validates the responses. Needs these two packages.

usage: check_serve.py [--rill build/rill] [--examples 200]
"""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rill", default="build/rill")
parser.add_argument("--examples", default="200")
args = parser.parse_args()
server = subprocess.Popen([args.rill, "serve", "--port", "0", "-m", "examples/models/de-en", "-m", "examples/models/geo"],
                          stderr=subprocess.PIPE, text=True)
address = re.search(r"http://\S+", server.stderr.readline()).group()
try:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(urllib.request.urlopen(address + "/openapi.json").read())
        file.flush()
        codes = [subprocess.run([sys.executable, "-m", "openapi_spec_validator", file.name]).returncode]
        # Status 400 is allowed: settings may contradict each other, and only the models' languages are accepted.
        codes.append(subprocess.run([sys.executable, "-m", "schemathesis.cli", "run", file.name, "--url", address, "--max-examples",
                                     args.examples, "--exclude-checks", "positive_data_acceptance"]).returncode)
finally:
    server.send_signal(signal.SIGTERM)
    codes.append(server.wait())
sys.exit(any(codes))
