"""What a browser made of a page: whether a text of a record became markup, a link or a script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Page

__all__ = ["LOOK", "Parsed", "look_at", "look_at_all"]

LOOK: Final = """
function kbLook(root, base) {
  const found = [];
  const urls = ["href", "src", "action", "formaction", "data", "poster", "xlink:href", "srcset", "background", "ping"];
  const forbidden = "iframe, frame, object, embed, base, form, applet, style, portal, math, template, audio, video," +
    " meta[http-equiv='refresh' i], script:not([src]):not([type='application/ld+json']), [srcdoc], [style]";
  for (const element of root.querySelectorAll(forbidden)) found.push("element " + element.outerHTML.slice(0, 200));
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith("on")) found.push("handler " + name + "=" + value.slice(0, 100));
      if (!urls.includes(name)) continue;
      let url = null;
      try { url = new URL(value, base); } catch { found.push("no address " + name + "=" + value.slice(0, 100)); continue; }
      const link = element.localName === "a";
      if (!["http:", "https:"].includes(url.protocol)) found.push("scheme " + name + "=" + value.slice(0, 100));
      else if (!link && !element.matches("link[rel=canonical]") && url.origin !== new URL(base).origin) found.push("loads " + value);
      else if (link && url.origin !== new URL(base).origin && !/nofollow/.test(element.rel)) found.push("follows " + value);
    }
  }
  return found;
}
"""
"""Lists what no page of ours has: handlers, foreign elements and origins, schemes that run something."""


@dataclass(frozen=True)
class Parsed:
    """A page as the browser parsed it; runs of white space are one blank."""

    title: str
    heading: str
    missing: list[str]
    """Which of the texts that had to be there are not."""
    faults: list[str]
    """What no page of ours has."""


def look_at(page: Page) -> list[str]:
    """Return what is wrong with the page that is open."""
    found: list[str] = page.evaluate(f"() => {{ {LOOK} return kbLook(document, location.href); }}")
    return found


def look_at_all(page: Page, wanted: Mapping[str, Sequence[str]]) -> dict[str, Parsed]:
    """Return what the browser makes of pages that it parses and does not run.

    The open page must be in the root of the site.

    Args:
        page: The open page, from which the others are fetched.
        wanted: Path of a page -> texts that have to be in it, white space aside.
    """
    found = page.evaluate(
        f"""async (wanted) => {{
          {LOOK}
          const plain = (text) => text.split(/\\s+/).filter(Boolean).join(" ");
          const found = {{}};
          for (const [path, texts] of Object.entries(wanted)) {{
            const response = await fetch(path);
            const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
            const text = plain(parsed.querySelector("main")?.textContent ?? "");
            found[path] = {{
              title: plain(parsed.title),
              heading: plain(parsed.querySelector("h1")?.textContent ?? ""),
              missing: texts.filter((each) => !text.includes(plain(each))),
              faults: kbLook(parsed, new URL(path, location.href).href),
            }};
          }}
          return found;
        }}""",
        wanted,
    )
    return {path: Parsed(**each) for path, each in found.items()}
