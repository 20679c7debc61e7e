"""make_sbom.py DIST_FOLDER NAME VERSION BUNDLED TIME OUT: what a distribution consists of, as SPDX 2.3 in JSON.

BUNDLED has a line for each library that was packed: its name and the file it came from. Packages and versions are those of
dpkg; libraries of headers only, which are compiled in, are named with the version that is installed. TIME is that of the
commit, so that the same sources give the same bytes."""

import hashlib
import json
import pathlib
import subprocess
import sys
import time

# Compiled in: headers, and the charts of the dashboard.
COMPILED_IN = ("nlohmann-json3-dev", "libcli11-dev", "libboost-dev", "libjs-chart.js")


def package_of(file):
    """A file of /usr/lib may be known by its name from before /lib became a link to it."""
    for name in (file, file.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return None


def version_of(package):
    found = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", package], capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else None


def entry(package, version, comment):
    return {"SPDXID": "SPDXRef-Package-" + package.replace("+", "-").replace("_", "-"), "name": package,
            "versionInfo": version, "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", "comment": comment,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{package}@{version}"}]}


def packages(bundled):
    libraries = {}
    for line in pathlib.Path(bundled).read_text(encoding="utf-8").splitlines():
        library, file = line.split(" ", 1)
        package = package_of(file)
        if package is None:
            raise SystemExit(f"make_sbom: no package has {file}")
        libraries.setdefault(package, []).append(library)
    found = [entry(package, version_of(package), "packed as lib/" + ", lib/".join(sorted(names)))
             for package, names in sorted(libraries.items())]
    for package in COMPILED_IN:
        version = version_of(package)
        if version:
            found.append(entry(package, version, "compiled in"))
    return found


def files(root):
    for path in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        name = str(path.relative_to(root))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield {"SPDXID": "SPDXRef-File-" + hashlib.sha256(name.encode()).hexdigest()[:16], "fileName": "./" + name,
               "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "licenseConcluded": "NOASSERTION",
               "copyrightText": "NOASSERTION"}


def main(root, name, version, bundled, created, out):
    root = pathlib.Path(root)
    parts, contents = packages(bundled), list(files(root))
    product = {"SPDXID": "SPDXRef-warpmark", "name": "warpmark", "versionInfo": version, "downloadLocation": "NOASSERTION",
               "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
               "copyrightText": "NOASSERTION"}
    whole = hashlib.sha256("".join(file["checksums"][0]["checksumValue"] for file in contents).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{whole[:32]}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(created))),
                         "creators": ["Tool: warpmark-make_sbom"]},
        "packages": [product, *parts], "files": contents,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-warpmark"},
            *({"spdxElementId": "SPDXRef-warpmark", "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
              for part in [*parts, *contents])]}
    pathlib.Path(out).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
