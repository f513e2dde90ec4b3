#!/usr/bin/env python3
"""A release, in dist/: sdist, wheel, Debian packages, checksums, and a list of components (SBOM, CycloneDX).

usage: release.py --check [--sources]    build and check everything; --sources: only what needs no build
"""

import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SYSTEMS = ("debian12", "debian13")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def version():
    numbers = re.findall(r"^#define RILL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", read("framework/include/rill/version.h"), re.M)
    return ".".join(numbers)


def check_sources():
    """What the files say of the version, and that the changelog has it. Yields complaints."""
    wanted = version()
    found = re.match(r"rill \(([^-)]*)", read("debian/changelog")).group(1)
    if found != wanted:
        yield "debian/changelog has version %s, version.h %s" % (found, wanted)
    if 'dynamic = ["version"]' not in read("pyproject.toml"):
        yield "pyproject.toml does not take the version from meson.build"
    for name in ("CITATION.cff", "meson.build", "pyproject.toml", "packaging/Dockerfile"):
        if re.search(r"(?<![\d.])%s(?![\d.])" % re.escape(wanted), read(name)):
            yield "%s repeats the version" % name
    headings = re.findall(r"^## (.*)$", read("CHANGELOG.md"), re.M)
    if not headings or not re.match(r"(Unreleased \()?\d+\.\d+\.\d+", headings[0]):
        yield "CHANGELOG.md does not begin with a version's changes"
    references = re.findall(r"^  - type: ", read("CITATION.cff"), re.M)
    if len(references) != 4:
        yield "CITATION.cff cites %d sources, not 4" % len(references)


def check_release():
    """What only a release needs: a dated entry of this version, and a clean tree."""
    if not re.search(r"^## %s \(\d{4}-\d\d-\d\d\)$" % re.escape(version()), read("CHANGELOG.md"), re.M):
        yield "CHANGELOG.md has no entry `## %s (YEAR-MONTH-DAY)`" % version()
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout:
        yield "the tree has changes that are not committed"


def run(*command):
    print("==", *command, flush=True)
    subprocess.run(command, cwd=ROOT, check=True)


def metadata():
    """PKG-INFO, without which PyPI refuses an sdist."""
    project = read("pyproject.toml")
    fields = {key: re.search('^%s = "(.*?)"' % key, project, re.M).group(1) for key in ("name", "description", "requires-python")}
    return ("Metadata-Version: 2.1\nName: %(name)s\nVersion: {}\nSummary: %(description)s\nRequires-Python: %(requires-python)s\n"
            "Description-Content-Type: text/markdown\n\n{}" % fields).format(version(), read("python/README.md"))


def make_sdist():
    """The files of HEAD and PKG-INFO, with times of its commit: the same bytes every time."""
    name = "rill_decoder-" + version()
    path = os.path.join(ROOT, "dist", name + ".tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        info = os.path.join(folder, "PKG-INFO")
        with open(info, "w", encoding="utf-8") as file:
            file.write(metadata())
        raw = subprocess.run(["git", "archive", "--format=tar", "--prefix=%s/" % name, "--add-file=" + info, "HEAD"], cwd=ROOT,
                             stdout=subprocess.PIPE, check=True).stdout
    with open(path, "wb") as file:
        subprocess.run(["gzip", "-9n"], input=raw, stdout=file, check=True)
    with tarfile.open(path) as archive:
        for wanted in ("pyproject.toml", "PKG-INFO"):
            if "%s/%s" % (name, wanted) not in archive.getnames():
                raise SystemExit("release: the sdist has no " + wanted)


def write_components(wheels):
    """The libraries in the wheel, by the licences that it holds; their versions are those of Debian's sources."""
    components = []
    with zipfile.ZipFile(wheels[0]) as archive:
        for name in sorted(archive.namelist()):
            if "/licenses/" in name and name.endswith(".txt"):
                library, _, number = os.path.basename(name)[:-len(".txt")].rpartition("-")
                components.append({"type": "library", "name": library, "version": number})
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                "metadata": {"component": {"type": "application", "name": "rill-decoder", "version": version(),
                                           "licenses": [{"license": {"id": "MIT"}}]}},
                "components": components}
    with open(os.path.join(ROOT, "dist/rill-%s.cdx.json" % version()), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
        file.write("\n")
    if not components:
        raise SystemExit("release: the wheel holds no licences of its libraries")


def write_checksums():
    lines = []
    for path in sorted(glob.glob(os.path.join(ROOT, "dist/**"), recursive=True)):
        if os.path.isfile(path) and not path.endswith("SHA256SUMS"):
            with open(path, "rb") as file:
                lines.append("%s  %s\n" % (hashlib.sha256(file.read()).hexdigest(), os.path.relpath(path, os.path.join(ROOT, "dist"))))
    with open(os.path.join(ROOT, "dist/SHA256SUMS"), "w", encoding="utf-8") as file:
        file.writelines(lines)
    print("".join(lines), end="")


def main():
    arguments = sys.argv[1:]
    if arguments not in (["--check"], ["--check", "--sources"]):
        sys.exit(__doc__)
    complaints = list(check_sources())
    if len(arguments) == 1:
        complaints += check_release()
    for complaint in complaints:
        print("release:", complaint, file=sys.stderr)
    if complaints:
        sys.exit(1)
    print("release: the sources agree on version", version())
    if len(arguments) == 2:
        return
    os.makedirs(os.path.join(ROOT, "dist"), exist_ok=True)
    make_sdist()
    run("./dev", "fresh", SYSTEMS[0], "wheel", "deb", "image")
    run("./dev", "fresh", SYSTEMS[1], "install", "deb")
    wheels = glob.glob(os.path.join(ROOT, "dist/rill_decoder-%s-*.whl" % version()))
    write_components(wheels)
    write_checksums()


if __name__ == "__main__":
    main()
