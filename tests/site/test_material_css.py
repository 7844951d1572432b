"""What is left of Material's sheet is what the pages can use."""

import pytest

from kbtool.site.material_css import classes_of, compact, trim


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".a{x:1}.b{x:2}", ".a{x:1}"),
        (".a .b{x:1}", ""),
        (".a,.b{x:1}", ".a{x:1}"),
        ("p{x:1}", "p{x:1}"),
        (".a:not(.b){x:1}", ".a:not(.b){x:1}"),
        ("[dir=rtl] .a{x:1}[dir=ltr] .a{x:2}", "[dir=ltr] .a{x:2}"),
        ("[data-md-color-scheme=slate] .a{x:1}", ""),
        ("@media print{.a{x:1}.b{x:2}}", "@media print{.a{x:1}}"),
        ("@media print{.b{x:2}}", ""),
        ('@charset "UTF-8";.a{x:1}', ".a{x:1}"),
        ("@keyframes k{0%{x:1}to{x:2}}.a{animation:k 1s}", "@keyframes k{0%{x:1}to{x:2}}.a{animation:k 1s}"),
        ("@keyframes k{0%{x:1}to{x:2}}.a{x:1}", ".a{x:1}"),
        ('.a{b:url("data:x,{;}")}.b{c:url(data:y,})}', '.a{b:url("data:x,{;}")}'),
        (":root{--used:1;--unused:2}.a{x:var(--used)}", ":root{--used:1}.a{x:var(--used)}"),
        (":root{--one:var(--two);--two:2}.a{x:1}", ".a{x:1}"),
        (":root{--other:1}", ":root{--other:1}"),
        (".a{-moz-x:1;x:2}", ".a{x:2}"),
    ],
)
def test_trim(css: str, kept: str) -> None:
    """Rules for classes that never occur and properties that nothing reads are gone."""
    assert trim(css, {"a"}, also_read="p{x:var(--other)}") == kept


def test_classes_of() -> None:
    """Every class of every element is found."""
    assert classes_of('<a class="x y"><b id="z" class="w">') == {"x", "y", "w"}


@pytest.mark.parametrize(
    ("css", "short"),
    [
        (".a > .b ,\n.c :is( p ) { x : 1px  2px; }", ".a > .b,.c :is( p ){x :1px 2px}"),
        ('/* x */ .a { content: " ; }  : " }', '.a{content:" ; }  : "}'),
        ("a:hover { width: calc(1px + 2px); }", "a:hover{width:calc(1px + 2px)}"),
        ("@media screen and (max-width: 4em) { a { x: 1 } }", "@media screen and (max-width:4em){a{x:1}}"),
        (".a { --b: 1; }\n\n.c { }", ".a{--b:1}.c{}"),
    ],
)
def test_compact(css: str, short: str) -> None:
    """Comments and idle blanks go; strings and the blanks between selectors and operators stay."""
    assert compact(css) == short
