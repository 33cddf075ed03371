# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sphinx's configuration of the documentation site; tools/site builds it."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))

project = "acuda"
html_title = "acuda"
extensions = ["myst_parser", "headers"]
root_doc = "index"
suppress_warnings = ["myst.header"]  # a page may begin with a heading of any level
html_theme = "furo"
html_static_path = ["static"]
html_js_files = ["search.js"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4  # the same anchors as on a page of Markdown elsewhere
myst_linkify_fuzzy_links = False
pygments_style = "friendly"
highlight_language = "none"  # of blocks that name none


def version_of_headers():
    with open(os.path.join(os.environ["ACUDA_ROOT"], "include/acuda/base.h")) as file:
        parts = re.findall(r"#define ACU_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read())
    return ".".join(parts)


version = release = version_of_headers()
