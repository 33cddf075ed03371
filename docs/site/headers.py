# SPDX-License-Identifier: MIT OR Apache-2.0
"""
A Sphinx extension: a page from each public header and each example.

A header is shown as it is written, but each declaration above its comment, which becomes text. What it
declares (functions, macros, types, constants) can be searched by name, and every mention of such a name
on any page is a link to it. An example is shown as code.
"""
import os
import re

from docutils import nodes
from sphinx.domains import Domain, ObjType
from sphinx.parsers import Parser
from sphinx.util.nodes import make_refnode

# ---- what stands in a header ----


def without_cxx(text):
    """Only C's branch of what differs in C++; no include guard, no includes, no frame."""
    out, skipping, depth = [], [], 0
    for line in text.split("\n"):
        word = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        word = (word.group(1), word.group(2)) if word else ("", "")
        if word[0] in ("if", "ifdef", "ifndef"):
            skipping.append({"__cplusplus": "yes", "!__cplusplus": "no"}.get(
                ("!" if word[0] == "ifndef" else "") + word[1], ""))
            if skipping[-1] or word[1].endswith(("_H", "_HPP", "_CUH")):
                continue
        elif word[0] == "else" and skipping and skipping[-1]:
            skipping[-1] = "no" if skipping[-1] == "yes" else "yes"
            continue
        elif word[0] == "endif" and skipping:
            if skipping.pop() or not skipping:
                continue
        if "yes" in skipping or word[0] == "include" or re.match(r"#define ACUDA_\w+_(H|HPP|CUH)$", line):
            continue
        if line in ("ACU_BEGIN", "ACU_END"):
            continue
        out.append(line)
    return out


def blocks_of(text):
    """(section, None), or (comment's lines, code's lines), in the order of the header."""
    comment, code, inside = [], [], False
    for line in without_cxx(text) + [""]:
        open_code = code and (sum(c.count("{") - c.count("}") for c in code) > 0
                              or code[-1].endswith("\\"))
        rule = re.match(r"/\* ---- (.*?) -+ \*/", line)
        starts = line.lstrip().startswith("/*") and not open_code and not inside
        if (starts and code) or rule or (not line.strip() and not open_code and not inside):
            if comment or code:
                yield comment, code
            comment, code = [], []
            if rule:
                yield rule.group(1), None
        if rule or "SPDX-License-Identifier" in line:
            continue
        if starts or inside:
            comment.append(re.sub(r"^\s?\*( |$)", "", re.sub(r"\s*\*/\s*$", "", re.sub(
                r"^\s*/\* ?", "", line))))
            inside = "*/" not in line
        elif line.strip() or open_code:
            code.append(re.sub(r"\s*\\$", " \\\\", line.replace("ACU_API ", "")))


NAMES = [
    ("macro", re.compile(r"^#define (ACU_[A-Z]\w*|acu_\w+)", re.M)),
    ("function", re.compile(r"^(?:static inline )?[\w \*]+?\b(acu_[a-z0-9_]+)\(", re.M)),
    ("type", re.compile(r"^\}\s*(acu_\w+);", re.M)),
    ("type", re.compile(r"^typedef .*?\b(acu_\w+);", re.M)),
    ("type", re.compile(r"^typedef .*?\(\*(acu_\w+)\)", re.M)),
    ("constant", re.compile(r"^    (ACU_[A-Z]\w*)(?:\s*=[^,]*)?(?:,|\s*/\*|$)", re.M)),
]


def names_in(code):
    text, seen = "\n".join(code), {}
    for kind, pattern in NAMES:
        for name in pattern.findall(text):
            seen.setdefault(name, kind)
    return seen


# ---- comments as text ----

WORD = re.compile(r"`([^`\n]+)`|\b(acu_\w+|ACU_\w+)\b(?:\(\))?|(?<![\w/])((?:adapters/)?[a-z_]+\.(?:cuh|h))\b"
                  r"|\b(docs/[a-z0-9-]+\.md)\b|\b(examples/[\w/]+(?:\.c)?)|(https?://[^\s,)]+)")


def end_of_call(text, at):
    """Where the call ends whose parenthesis would be here; `at` if there is none."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if not depth:
            return end + 1 if end > at else at
    return at


def inline(text):
    """Names and calls as code, which become links later (link_names)."""
    out, at = [], 0
    while True:
        match = WORD.search(text, at)
        if not match:
            return out + [nodes.Text(text[at:])]
        end = match.end()
        out.append(nodes.Text(text[at:match.start()]))
        if match.group(6):
            out.append(nodes.reference("", match.group(6), refuri=match.group(6)))
        else:
            if match.group(2) and not match.group(0).endswith(")"):
                end = end_of_call(text, end)
            out.append(nodes.literal("", match.group(1) or text[match.start():end]))
        at = end


def paragraph(lines):
    return nodes.paragraph("", "", *inline(" ".join(line.strip() for line in lines)))


def indent(line):
    return len(line) - len(line.lstrip())


TERM = re.compile(r"^( {0,4})(\S(?:.{0,30}?\S)?)(  +)(?=\S)")


def taken(lines, start, column):
    """The lines that belong to an item whose text begins in that column."""
    end = start + 1
    while end < len(lines) and lines[end].strip() and indent(lines[end]) >= column:
        end += 1
    return end


def text_of(lines):
    """A comment as nodes: paragraphs, lists, lists of terms, and code, which is indented."""
    out, i = [], 0
    while i < len(lines):
        line = lines[i]
        term = TERM.match(line)
        bullet = re.match(r"^ {0,4}- ", line)
        if not line.strip():
            i += 1
        elif bullet:
            end = taken(lines, i, bullet.end())
            item = nodes.list_item("", paragraph([line[bullet.end():]] + lines[i + 1:end]))
            if not (out and isinstance(out[-1], nodes.bullet_list)):
                out.append(nodes.bullet_list())
            out[-1] += item
            i = end
        elif term and not re.search(r"[={}]|//|;$", line):
            end = taken(lines, i, min(term.end(), indent(lines[i + 1]) or 99)
                        if i + 1 < len(lines) and indent(lines[i + 1]) >= 4 else term.end())
            item = nodes.definition_list_item(
                "", nodes.term("", "", *inline(term.group(2))),
                nodes.definition("", paragraph([line[term.end():]] + lines[i + 1:end])))
            if not (out and isinstance(out[-1], nodes.definition_list)):
                out.append(nodes.definition_list())
            out[-1] += item
            i = end
        elif indent(line) >= 2:
            end = taken(lines, i, 2)
            text = "\n".join(lines[i:end])
            out.append(code_block(text))
            i = end
        else:
            end = i + 1
            while end < len(lines) and lines[end].strip() and indent(lines[end]) == 0 \
                    and not re.match(r"- ", lines[end]) and not TERM.match(lines[end]):
                end += 1
            out.append(paragraph(lines[i:end]))
            i = end
    return out


def code_block(text, language="c"):
    lines = text.split("\n")
    cut = min((indent(line) for line in lines if line.strip()), default=0)
    text = "\n".join(line[cut:] for line in lines)
    return nodes.literal_block(text, text, language=language, force=True)


# ---- pages ----


class SourceParser(Parser):
    """Pages of headers, of other files of source, and of folders of those."""

    supported = ("acuda-source",)

    def parse(self, inputstring, document):
        self.setup_parse(inputstring, document)
        name = self.env.docname
        page = nodes.section(ids=[nodes.make_id(name)], names=[name])
        document += page
        short = name.replace("include/", "", 1)
        page += nodes.title(short, short)
        if name.startswith("include/"):
            self.header(page, inputstring, name)
        elif inputstring.startswith("folder\n"):
            self.folder(page, inputstring.split()[1:], name)
        else:
            page += code_block(inputstring.rstrip("\n"), "python" if name.endswith(".py") else "c")
        self.finish_parse()

    def folder(self, page, files, name):
        items = nodes.bullet_list()
        for file in files:
            link = nodes.reference("", file, internal=True, refuri=os.path.basename(name) + "/" + file + ".html")
            items += nodes.list_item("", nodes.paragraph("", "", link))
        page += items

    def header(self, page, text, name):
        domain = self.env.get_domain("acuda")
        at = page
        page += nodes.paragraph("", "", nodes.literal("", "#include <%s>" % name.replace("include/", "", 1)))
        for comment, code in blocks_of(text):
            if code is None:
                at = nodes.section(ids=[nodes.make_id(comment)], names=[comment])
                at += nodes.title(comment, "", *inline(comment[0].upper() + comment[1:]))
                page += at
                continue
            names = names_in(code)
            if code and not names and all(re.match(r"#|acui|ACUI", c.strip()) for c in code) and not comment:
                continue  # machinery
            ids = []
            for symbol, kind in names.items():
                if domain.add(symbol, kind, name):
                    ids.append(symbol)
            if ids:
                at += nodes.target("", "", ids=ids)
            if code:
                at += code_block("\n".join(code))
                at[-1]["classes"].append("declaration")
            at.extend(text_of(comment))


class AcudaDomain(Domain):
    """What the headers declare, for the search and for links."""

    name, label = "acuda", "acuda"
    object_types = {kind: ObjType(kind) for kind in ("function", "macro", "type", "constant")}
    initial_data = {"names": {}}

    def add(self, name, kind, docname):
        return self.data["names"].setdefault(name, (kind, docname)) == (kind, docname)

    def clear_doc(self, docname):
        self.data["names"] = {n: v for n, v in self.data["names"].items() if v[1] != docname}

    def resolve_any_xref(self, env, fromdocname, builder, target, node, contnode):
        return []  # names are found by link_names

    def get_objects(self):
        for name, (kind, docname) in self.data["names"].items():
            yield name, name, kind, docname, name, 1


# What headers declare in lists that macros expand.
LISTS = [(re.compile(r"ACU_OK|ACU_ERR_\w+"), "include/acuda/status.h"),
         (re.compile(r"ACU_(BOOL|C?B?[FIU]\d+\w*)"), "include/acuda/dtype.h")]


def target_of(app, name, text):
    """(page, anchor) of what a piece of code names; None."""
    symbol = re.match(r"(acu_\w+|ACU_\w+)", text)
    names = app.env.get_domain("acuda").data["names"]
    if symbol and symbol.group(1) in names:
        return names[symbol.group(1)][1], symbol.group(1)
    for pattern, page in LISTS:
        if pattern.fullmatch(text) and page != name:
            return page, ""
    found = app.env.found_docs
    for page in (text, "include/acuda/" + text, "include/" + text.strip("<>"), text[:-3],
                 os.path.join(os.path.dirname(name), text)):
        if text and page in found and page != name:
            return page, ""
    return None


def link_names(app, doctree, name):
    for literal in list(doctree.findall(nodes.literal)):
        if isinstance(literal.parent, (nodes.reference, nodes.title)):
            continue
        target = target_of(app, name, literal.astext())
        if target:
            link = make_refnode(app.builder, name, target[0], target[1], literal.deepcopy())
            literal.replace_self(link)


def setup(app):
    app.add_source_suffix(".src", "acuda-source")
    app.add_source_parser(SourceParser)
    app.add_domain(AcudaDomain)
    app.connect("doctree-resolved", link_names)
    return {"version": "1", "parallel_read_safe": False}
