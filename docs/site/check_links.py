# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Checks the links of the built site: check_links.py FOLDER. Each that stays inside leads to a page, and to a
place on it, that exist.
"""
import html.parser
import os
import sys
import urllib.parse

site = sys.argv[1]
wrong = []


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for name in ("id", "name"):
            if attrs.get(name):
                self.places.add(attrs[name])
        for name in ("href", "src"):
            if attrs.get(name):
                self.links.append(attrs[name])


def check_links():
    pages = {os.path.normpath(os.path.join(folder, name)): None
             for folder, _, names in os.walk(site) for name in names if name.endswith(".html")}
    for path in pages:
        pages[path] = Page(path)
    count = 0
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlparse(link)
            if url.scheme or url.netloc:
                continue
            count += 1
            to = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path))) \
                if url.path else path
            if not os.path.exists(to):
                wrong.append("%s: there is no %s" % (path, link))
            elif url.fragment and to in pages and url.fragment not in pages[to].places:
                wrong.append("%s: there is no such place: %s" % (path, link))
    return len(pages), count


counts = check_links()
for line in wrong:
    print(line)
print("%d pages, %d links, %d of which lead nowhere" % (counts + (len(wrong),)))
sys.exit(bool(wrong))
