"""Check the packaging, without building a package.

usage: test_packaging.py ROOT lists|release|unit
  lists    the libraries that meson.build requires are those of debian/control, the Dockerfile, ./dev and the install page
  release  release.py finds a version that disagrees, and a source that is missing; PKG-INFO is as PyPI requires it
  unit     systemd accepts rill.service and rates it as well guarded
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "packaging"))
import release  # noqa: E402


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def libraries(text):
    """Return the Debian packages of libraries that a text names."""
    return set(re.findall(r"\blib[a-z0-9.]+(?:-[a-z]+)*-dev\b", text)) - {"libc6-dev", "libcmocka-dev", "librill-dev"}


def test_lists():
    meson = read("meson.build")
    meson = meson[meson.index("needs = {}"):meson.index("missing = []")]
    required = libraries(meson)
    assert len(required) == 7, required
    with_server = required | {"libmicrohttpd-dev"}
    page = read("docs/guides/use-the-library.md")
    dev = read("dev")
    places = {
        "debian/control": read("debian/control"),
        "packaging/Dockerfile": read("packaging/Dockerfile"),
        "./dev": dev[dev.index("missing_packages() {"):dev.index("install_missing() {")],
        "docs/guides/use-the-library.md, Ubuntu": re.search(r"^apt-get install gcc (?:.*\\\n)*.*$", page, re.M).group(),
    }
    for place, text in places.items():
        found = libraries(text)
        assert found == with_server, "%s lacks %s and has %s" % (place, with_server - found, found - with_server)
    fedora = set(re.search(r"^dnf install ((?:.*\\\n)*.*)$", page, re.M).group(1).replace("\\\n", " ").split())
    named = {name for names in re.findall(r", '([a-z0-9+ -]+)'\],?$", meson, re.M) for name in names.split()}
    assert "jansson-devel" in named and named <= fedora, named - fedora


def complaints(**changed):
    """Return the complaints of release.py about the sources with these files changed."""
    names = ["framework/include/rill/version.h", "debian/changelog", "pyproject.toml", "CITATION.cff", "meson.build",
             "packaging/Dockerfile", "packaging/release.py", "CHANGELOG.md"]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(changed.get(os.path.basename(name).split(".")[0], lambda text: text)(read(name)))
        done = subprocess.run([sys.executable, os.path.join(folder, "packaging/release.py"), "--check", "--sources"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == (1 if done.stderr else 0), done
    return done.stderr


def test_release():
    assert complaints() == ""
    assert "debian/changelog has version 9.9.9" in complaints(changelog=lambda text: re.sub(r"\([^-]*-", "(9.9.9-", text, count=1))
    assert "not 4" in complaints(CITATION=lambda text: text.replace("  - type: unpublished", "  - kind: unpublished"))
    assert "CHANGELOG.md" in complaints(CHANGELOG=lambda text: "# Changelog\n\n## Soon\n")
    head, _, text = release.metadata().partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["Metadata-Version"] and fields["Name"] == "rill-decoder" and fields["Version"] == release.version(), fields
    assert text == read("python/README.md")


def test_unit():
    if not shutil.which("systemd-analyze"):
        print("skipped: there is no systemd-analyze")
        sys.exit(77)
    unit = read("debian/rill.service")
    assert "DynamicUser=yes" in unit and "ExecReload=" in unit
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rill.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit.replace("/usr/bin/rill", sys.executable))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        ours = [line for line in done.stdout.splitlines() if "rill.service" in line]
        assert not ours, "\n".join(ours)
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if "unrecognized option" in done.stdout:  # systemd before 250 lacks the option
            return
        assert done.returncode == 0, done.stdout[-300:]


if __name__ == "__main__":
    {"lists": test_lists, "release": test_release, "unit": test_unit}[sys.argv[2]]()
