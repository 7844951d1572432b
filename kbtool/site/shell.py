"""The frame around every page: header, navigation and footer, made once by MkDocs.

MkDocs with Material renders the hand-written pages and one page of placeholders, the *shell*
(`site/theme/shell.html`). `build_shell` takes that page apart; `Shell.page` then makes any page by
joining strings, which costs microseconds. Nothing else in kbtool knows MkDocs or Material: whatever
can render one page with these placeholders can take their place.

How a page of kbtool is made::

    shell = build_shell(project_root, project_root / "build" / "shell")
    document = shell.page(PageParts(path="benchmarks/b-17.html", title=..., body=...))

The body is the content of `<main>`: one element `<div class="kb-page md-typeset">` with an `<h1>`.
Its classes are listed at the top of `site/assets/kb.css`. Links inside it are relative: put
`root_of(path)` in front of a path from the root of the site. Inline scripts, `style` attributes,
event attributes and other origins do not work, by the Content-Security-Policy of every page.

Scripts are modules in `site/assets/`. `kb.js` runs everywhere and loads `tables.js` and `search.js`
where a page needs them; another module is named in `PageParts.scripts`. A new file in
`site/assets/` is published by being there; a new entry of the header goes into `nav` in mkdocs.yml.

The same sources give the same bytes, whatever the folder, the clock or the locale.
"""

import hashlib
import html
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from markupsafe import Markup

from kbtool.errors import KbtoolError
from kbtool.escape import html_attribute, html_text
from kbtool.site import material_css

__all__ = ["Crumb", "PageParts", "Shell", "build_shell", "root_of"]

# Classes of Material that bodies may use although no hand-written page happens to.
_MATERIAL_CLASSES: Final = frozenset({
    "md-typeset", "admonition", "admonition-title", "note", "warning", "tip", "headerlink", "highlight",
})  # fmt: skip
_MARK: Final = re.compile(r"@@kb:(\w+)(?: ([^@]*))?@@")
_BLOCKS: Final = ("title", "description", "canonical", "head", "page_class", "crumbs", "body")
_BLANK_LINES: Final = re.compile(r"\n\s*\n+")


@dataclass(frozen=True, slots=True)
class Crumb:
    """One step of the way to a page."""

    label: str
    path: str
    """From the root of the site, such as `benchmarks/index.html`."""


@dataclass(frozen=True, slots=True)
class PageParts:
    """What differs from page to page. Text is escaped by the shell; `Markup` is taken as it is."""

    path: str
    """Where the page will be, from the root of the site: `benchmarks/b-17.html`."""
    title: str
    """Name of the page; the name of the site is added in the `<title>`."""
    body: Markup
    """Content of `<main>`. A plain `str` given by mistake is shown, not trusted."""
    description: str = ""
    """One sentence for search engines and link previews."""
    nav: str = ""
    """Entry of `nav` in mkdocs.yml that the page belongs to: `benchmarks/index.html`."""
    crumbs: tuple[Crumb, ...] = ()
    """The way to the page, without the page itself."""
    page_class: str = ""
    """Classes of the `<body>` element."""
    scripts: tuple[str, ...] = ()
    """Modules that only this page needs: `assets/explore.js`."""
    head: Markup = field(default_factory=Markup)
    """More for the `<head>`: JSON-LD (see `kbtool.escape.script_json`), a feed."""
    listed: bool = True
    """False keeps the page out of search engines."""


def root_of(path: str) -> str:
    """Return what leads from the page at `path` to the root of the site: `./`, `../`."""
    return "../" * path.count("/") or "./"


@dataclass(frozen=True, slots=True, repr=False)
class Shell:
    """The frame, taken apart, and the files that come with it."""

    site_name: str
    site_url: str
    """Address of the published site, with a slash at the end, or empty."""
    files: Mapping[str, bytes]
    """Hand-written pages and assets by their path from the root of the site."""
    fingerprint: str
    """Changes when any page has to be made anew."""
    _template: str
    _not_found: str
    _frames: dict[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict)

    def page(self, parts: PageParts) -> str:
        """Return the whole document for `parts`."""
        root = root_of(parts.path)
        key = (root, parts.nav, parts.path if parts.path == parts.nav else "")
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = _frame(self._template, root, parts.nav, parts.path)
        start, to_description, to_canonical, to_head, to_class, to_crumbs, to_body, end = frame
        title = html_text(parts.title)
        return "".join((
            start,
            f"{title} \u00b7 {html_text(self.site_name)}" if parts.title else html_text(self.site_name),
            to_description,
            html_attribute(parts.description or parts.title),
            to_canonical,
            self._canonical(parts.path),
            to_head,
            _head(parts, root),
            to_class,
            html_attribute(parts.page_class),
            to_crumbs,
            _crumbs(parts, root, title),
            to_body,
            str(Markup.escape(parts.body)),
            end,
        ))  # fmt: skip

    def not_found(self, base: str) -> bytes:
        """Return the page for paths that do not exist, with links that start with `base`.

        A host serves it at any depth, so only a path from the root of the host is right everywhere.
        `files` has it with the path of `site_url`, or, where that is unknown, with `./`: then it is
        right for missing pages beside the home page alone. A server that knows its root asks anew.
        """
        return "".join(_frame(self._not_found, base, "", "")).encode()

    def _canonical(self, path: str) -> str:
        if not self.site_url:
            return ""
        address = self.site_url + ("" if path == "index.html" else path)
        return f'<link rel="canonical" href="{html_attribute(address)}">'


def _head(parts: PageParts, root: str) -> str:
    lines = [
        f'<script type="module" src="{root}{html_attribute(script)}"></script>' for script in parts.scripts
    ]
    if not parts.listed:
        lines.append('<meta name="robots" content="noindex">')
    lines.append(str(Markup.escape(parts.head)))
    return "\n".join(lines)


def _crumbs(parts: PageParts, root: str, title: str) -> str:
    if not parts.crumbs:
        return ""
    steps = [
        f'<li><a href="{root}{html_attribute(crumb.path)}">{html_text(crumb.label)}</a></li>'
        for crumb in parts.crumbs
    ]
    steps.append(f'<li aria-current="page">{title}</li>')
    return f'<nav class="kb-crumbs" aria-label="Breadcrumb"><ol>{"".join(steps)}</ol></nav>'


# --- taking the shell apart -------------------------------------------------------------------


def _frame(template: str, root: str, nav: str, path: str) -> tuple[str, ...]:
    """Return the text between the placeholders, for one depth and one entry of the navigation."""
    pieces: list[str] = []
    current: list[str] = []
    hidden = False
    end = 0
    for match in _MARK.finditer(template):
        if not hidden:
            current.append(template[end : match.start()])
        end = match.end()
        name, argument = match[1], (match[2] or "").split()
        if name == "group":
            hidden = nav not in argument
        elif name == "end":
            hidden = False
        elif name == "root" and not hidden:
            current.append(root)
        elif name == "current" and not hidden and nav in argument:
            current.append(f' aria-current="{"page" if argument == [path] else "true"}"')
        elif name in _BLOCKS:
            pieces.append("".join(current))
            current = []
    pieces.append("".join(current) + template[end:])
    return tuple(pieces)


def _checked_template(page: str) -> str:
    """Return the shell page without blank lines, or fail where a placeholder is missing."""
    found = tuple(match[1] for match in _MARK.finditer(page) if match[1] in _BLOCKS)
    if found != _BLOCKS:
        raise KbtoolError(
            f"site/theme: the shell page has the placeholders {', '.join(found) or 'none'}; "
            f"expected exactly {', '.join(_BLOCKS)}, in this order"
        )
    return _BLANK_LINES.sub("\n", page)


# --- building it ------------------------------------------------------------------------------


def build_shell(project_root: Path, work_dir: Path, *, site_url: str | None = None) -> Shell:
    """Run MkDocs where its sources changed and return the shell and the files that go with it.

    Args:
        project_root: Folder with `mkdocs.yml` and `site/`.
        work_dir: Folder of our own for what MkDocs writes; made if missing, kept between builds.
        site_url: Address the site is published under. Without it pages have no canonical link, and
            404.html cannot serve every depth (see `Shell.not_found`).

    Raises:
        KbtoolError: If MkDocs fails; its own message is part of ours.
    """
    address = _with_slash(site_url or "")
    key = _key_of_sources(project_root, address)
    done, made = work_dir / "key", work_dir / "html"
    if not done.is_file() or done.read_text("ascii") != key:
        work_dir.mkdir(parents=True, exist_ok=True)
        done.unlink(missing_ok=True)
        _run_mkdocs(project_root, made, address)
        done.write_text(key, "ascii")
    pages = {file.relative_to(made).as_posix(): file.read_bytes() for file in _files_below(made)}
    template = _checked_template(pages.pop("shell.html").decode("utf-8"))
    not_found = pages.pop("404.html").decode("utf-8")
    files = {name: data for name, data in pages.items() if name.endswith(".html")}
    files |= _assets(project_root, "".join(data.decode("utf-8") for data in files.values()) + template)
    files["404.html"] = "".join(_frame(not_found, urlsplit(address).path or "./", "", "")).encode()
    return Shell(
        site_name=_site_name(template),
        site_url=address,
        files=dict(sorted(files.items())),
        fingerprint=hashlib.sha256(f"{address}\n{template}".encode()).hexdigest(),
        _template=template,
        _not_found=not_found,
    )


def _with_slash(address: str) -> str:
    if address and urlsplit(address).scheme not in ("http", "https"):
        raise KbtoolError(f"the address of the site is {address!r}; expected one that starts with https://")
    return address if not address or address.endswith("/") else f"{address}/"


def _site_name(template: str) -> str:
    """Read the name back from the shell, so that mkdocs.yml is its only home."""
    match = re.search(r'class="kb-brand".*?<span>(.*?)</span>', template, re.DOTALL)
    if match is None:
        raise KbtoolError("site/theme/partials/header.html: no site name in .kb-brand; expected a span")
    return html.unescape(match[1])


def _assets(project_root: Path, pages: str) -> dict[str, bytes]:
    """Return the published files of site/ that are not pages, with one style sheet for everything."""
    source = project_root / "site"
    assets = {
        name: file.read_bytes()
        for file in _files_below(source)
        if not (name := file.relative_to(source).as_posix()).startswith("theme/") and file.suffix != ".md"
    }
    own = material_css.compact(assets["assets/kb.css"].decode("utf-8"))
    classes = material_css.classes_of(pages) | _MATERIAL_CLASSES
    material = material_css.trim(_material_sheet(), classes, also_read=own)
    assets["assets/kb.css"] = f"{material}\n{own}\n".encode()
    return assets


def _material_sheet() -> str:
    spec = importlib.util.find_spec("material")
    if spec is None or spec.origin is None:
        raise KbtoolError('Material for MkDocs is not installed: pip install ".[site]"')
    folder = Path(spec.origin).parent / "templates" / "assets" / "stylesheets"
    sheets = sorted(folder.glob("main.*.min.css"))
    if len(sheets) != 1:
        raise KbtoolError(f"{len(sheets)} files main.*.min.css in the installed Material; expected one")
    return sheets[0].read_text("utf-8")


def _files_below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _key_of_sources(project_root: Path, address: str) -> str:
    """Return a hash of all that MkDocs reads: its settings, our pages and theme, its own version."""
    digest = hashlib.sha256(address.encode())
    for package in ("mkdocs", "mkdocs-material", "pymdown-extensions", "markdown", "pygments"):
        digest.update(f"\n{package} {importlib.metadata.version(package)}".encode())
    for file in (project_root / "mkdocs.yml", *_files_below(project_root / "site")):
        data = file.read_bytes()
        name = PurePosixPath(file.relative_to(project_root)).as_posix()
        digest.update(f"\n{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _run_mkdocs(project_root: Path, out: Path, address: str) -> None:
    environment = os.environ | {
        "KBTOOL_SITE_URL": address,
        "NO_MKDOCS_2_WARNING": "true",  # Material's notice of its own end, at every start
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "SOURCE_DATE_EPOCH": "0",
        "TZ": "UTC",
    }
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--clean",
        "--site-dir",
        str(out.resolve()),
    ]
    result = subprocess.run(
        command,
        cwd=project_root,
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    if result.returncode != 0:
        raise KbtoolError(f"MkDocs could not build the pages under site/:\n{result.stdout.strip()}")
