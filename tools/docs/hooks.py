"""Hooks that change the pages before mkdocs builds them.

The pages are written for GitHub, so this
- adds the generated pages and files of build/docs/generated (made by tools/docs/build);
- adds files of the project that pages link to, such as ../CHANGELOG.md, below outside/;
- replaces a block that is marked "picture" with its picture, if there is one;
- puts the title of a page, as the menu has it, in place of its file name in the text of a link;
- leads from the list of JSON schemas to their generated pages;
- shows the version of the project next to its name, on every page;
- formats lists and headings for Python-Markdown: an empty line before, four spaces per level.
"""
import os
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATED = os.environ.get("PINFOLD_DOCS_GENERATED", os.path.join(ROOT, "build", "docs", "generated"))
OUTSIDE = "outside"
PAGES_OUTSIDE = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
NOT_FOR_READERS = ("dashboard/",)  # programs that draw pictures
LINK = re.compile(r"(\]\()([^)#:\s]+)(#[^)]*)?(\))")
SCHEMA = ".schema.json"
PROJECT_VERSION = re.compile(r"^project\(pinfold VERSION ([\d.]+)", re.M)
NAMED_BY_FILE = re.compile(r"\[`?([\w./-]+\.md)`?\]\(([^)#:\s]*\1)(#[^)]*)?\)")
TITLE = re.compile(r"^# (.+)$", re.M)
FENCE = re.compile(r"^\s*(```|~~~)")
PICTURE = re.compile(r"<!-- picture: (\S+) -->\n+(```console\n.*?\n```)", re.S)
ITEM = re.compile(r"^( *)([-*]|\d+\.) +")
IMAGE_ALONE = re.compile(r"^!\[[^\]]*\]\([^)\s]+\)$", re.M)
menu = {}  # page: its title


def path_outside(page, target):
    """Returns the path in the project of a link that leaves docs/, or None."""
    path = os.path.normpath(os.path.join("docs", os.path.dirname(page), target))
    if page.startswith(OUTSIDE + "/"):
        path = os.path.normpath(os.path.join(os.path.dirname(page)[len(OUTSIDE) + 1:], target))
    return path if not path.startswith(("docs/", "..")) else None


def linked_files():
    """Returns the files outside docs/ that pages link to; for a directory, each file in it."""
    found = set(PAGES_OUTSIDE)
    for directory, _, names in os.walk(os.path.join(ROOT, "docs")):
        for name in names:
            if not name.endswith(".md"):
                continue
            page = os.path.relpath(os.path.join(directory, name), os.path.join(ROOT, "docs"))
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                for link in LINK.finditer(file.read()):
                    path = path_outside(page, link.group(2))
                    if path and os.path.isdir(os.path.join(ROOT, path)):
                        found.update(os.path.join(path, below) for below in os.listdir(os.path.join(ROOT, path)))
                    elif path:
                        found.add(path)
    return found


def titles_in(nav):
    """Yields (page, title) of each entry of the menu."""
    for entry in nav:
        for title, below in entry.items():
            if isinstance(below, list):
                yield from titles_in(below)
            else:
                yield below, title


def on_config(config):
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        config["site_name"] += " " + PROJECT_VERSION.search(file.read()).group(1)
    menu.update(titles_in(config["nav"]))
    return config


def on_files(files, config):
    for file in list(files):
        if file.src_path.startswith(NOT_FOR_READERS):
            files.remove(file)
    for directory, _, names in os.walk(GENERATED):
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), GENERATED)
            files.append(File(path, GENERATED, config["site_dir"], config["use_directory_urls"]))
    for path in sorted(linked_files()):
        file = File(os.path.join(OUTSIDE, path), ROOT, config["site_dir"], config["use_directory_urls"])
        file.abs_src_path = os.path.join(ROOT, path)
        files.append(file)
    return files


def new_link(page, target):
    """Returns the location of a link's target in the site, relative to the page."""
    outside = path_outside(page, target)
    if outside and os.path.isdir(os.path.join(ROOT, outside)):
        outside = os.path.join(outside, sorted(os.listdir(os.path.join(ROOT, outside)))[0])
    here = os.path.dirname(page)
    if page == "schema/README.md" and target.endswith(SCHEMA):
        return target[:-len(SCHEMA)] + ".md"
    if outside:
        return os.path.relpath(os.path.join(OUTSIDE, outside), here or ".")
    if page.startswith(OUTSIDE + "/"):  # to docs/
        path = os.path.normpath(os.path.join(here[len(OUTSIDE) + 1:], target))
        return os.path.relpath(path[len("docs/"):], here)
    return target


def title_of(page, target):
    """Returns the title of the page that a link leads to, or None."""
    leads_to = os.path.normpath(os.path.join(os.path.dirname(page), new_link(page, target)))
    if leads_to in menu:
        return menu[leads_to]
    path = os.path.join(ROOT, leads_to[len(OUTSIDE) + 1:] if leads_to.startswith(OUTSIDE + "/") else "docs/" + leads_to)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        title = TITLE.search(file.read())
    return title.group(1) if title else None


def fix_link_texts(text, page):
    def fixed(link):
        name, target, anchor = link.groups()
        return f"[{title_of(page, target) or name}]({target}{anchor or ''})"
    return NAMED_BY_FILE.sub(fixed, text)


def fix_links(text, page):
    def fixed(link):
        return link.group(1) + new_link(page, link.group(2)) + (link.group(3) or "") + link.group(4)
    return LINK.sub(fixed, text)


def fix_layout(text):
    """Indents nested items by four spaces per level; adds empty lines before lists and headings."""
    out, levels, in_fence, before = [], [], False, ""
    for line in text.split("\n"):
        if FENCE.match(line):
            in_fence = not in_fence
        indent = len(line) - len(line.lstrip(" "))
        item = None if in_fence else ITEM.match(line)
        if not in_fence and line.startswith("#") and before.strip():
            out.append("")
        if item:
            while levels and indent < levels[-1]:
                levels.pop()
            if not levels and before.strip() and not ITEM.match(before):
                out.append("")
            line = "    " * len(levels) + line[indent:]
            levels.append(indent + len(item.group(0)) - len(item.group(1)))
        elif line.strip() and levels:
            while levels and indent < levels[-1]:
                levels.pop()
            if levels:
                line = "    " * len(levels) + line[levels[-1]:]
        out.append(line)
        before = line
    return "\n".join(out)


def add_pictures(text, page):
    def picture(found):
        name, block = found.groups()
        if not os.path.exists(os.path.join(GENERATED, "pictures", name + ".svg")):
            return block
        path = os.path.relpath(os.path.join("pictures", name + ".svg"), os.path.dirname(page) or ".")
        command = [line for line in block.split("\n") if line.startswith("$ ")][-1][2:]
        return f"![What `{command}` shows]({path})\n\n{block}"
    return PICTURE.sub(picture, text)


def mark_pictures(text):
    """Gives images that stand alone the class by which a phone scrolls them."""
    return IMAGE_ALONE.sub(lambda image: image.group(0) + "\n{: .picture }", text)


def on_page_markdown(markdown, page, config, files):
    path = page.file.src_path
    return fix_layout(mark_pictures(add_pictures(fix_links(fix_link_texts(markdown, path), path), path)))
