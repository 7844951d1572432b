"""What a browser made of a page: whether a text of a record became markup, a link or a script."""

from typing import Any, Final

from playwright.sync_api import Page

__all__ = ["LOOK", "look_at", "look_at_all"]

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


def look_at(page: Page) -> list[str]:
    """Return what is wrong with the page that is open."""
    found: list[str] = page.evaluate(f"() => {{ {LOOK} return kbLook(document, location.href); }}")
    return found


def look_at_all(page: Page, paths: list[str]) -> dict[str, list[Any]]:
    """Return title, heading, text and faults of pages, parsed by the browser and not run.

    The open page must be the home page of the site.
    """
    found: dict[str, list[Any]] = page.evaluate(
        f"""async (paths) => {{
          {LOOK}
          const found = {{}};
          for (const path of paths) {{
            const response = await fetch(path);
            const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
            const texts = ["h1", "main"].map((name) => parsed.querySelector(name)?.textContent ?? "");
            found[path] = [parsed.title, ...texts, kbLook(parsed, new URL(path, location.href).href)];
          }}
          return found;
        }}""",
        paths,
    )
    return found
