# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Lays the site's pages out for Sphinx: prepare.py FOLDER. Pages of Markdown are copied, headers and
examples become X.src, and links between them are made to fit. Run in the root of the sources.
"""
import glob
import os
import re
import shutil
import sys

out = sys.argv[1]
shutil.rmtree(out, ignore_errors=True)


def write(path, text):
    os.makedirs(os.path.dirname(os.path.join(out, path)), exist_ok=True)
    with open(os.path.join(out, path), "w") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


sources = sorted(glob.glob("include/acuda/**/*.h", recursive=True) + [
    "include/acuda/acuda.hpp", "include/acuda/device.cuh"] + [
    path for kind in ("c", "cu", "h", "py") for path in glob.glob("examples/**/*." + kind, recursive=True)
    if not path.startswith("examples/data/")])
pages = sorted(glob.glob("*.md") + glob.glob("docs/*.md") + ["bench/RESULTS.md", "examples/data/README.md"])
folders = sorted({os.path.dirname(path) for path in sources if path.startswith("examples/")})


def relink(page):
    """Of the links on the page, those to sources lead to their pages; see headers.py."""
    def fit(match):
        target = os.path.normpath(os.path.join(os.path.dirname(page), match.group(1)))
        return "](%s.src%s" % (match.group(1), match.group(2)) if target in sources + folders else match.group(0)
    return lambda text: re.sub(r"\]\(([^)#:\s]+)([)#])", fit, text)


for page in pages:
    write(page, relink(page)(read(page)))
for path in sources:
    write(path + ".src", read(path))
for path in folders:
    inside = [p[len(path) + 1:] for p in sources if os.path.dirname(p) == path]
    write(path + ".src", "folder\n" + "\n".join(inside) + "\n")
for picture in "pi.svg", "plan.svg":
    shutil.copy(os.path.join("docs", picture), os.path.join(out, "docs"))

# The first page is the README, with the list of all others behind it.
headers = [path for path in sources if path.startswith("include/")]
headers.sort(key=lambda path: (path != "include/acuda/acuda.h", path.count("/"), path))
contents = read("docs/site/index.md").replace("@HEADERS@", "\n".join(headers))
others = [page[:-3] for page in pages if page.startswith("docs/") and page[:-3] not in contents]
contents = contents.replace("@OTHERS@", "\n".join(others))
contents = contents.replace("@EXAMPLES@", "\n".join(folders + [p for p in sources if p not in headers]))
write("index.md", relink("README.md")(read("README.md")) + contents)
os.remove(os.path.join(out, "README.md"))
