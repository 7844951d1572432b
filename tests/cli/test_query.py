"""`kbtool query` answers from the tables of the data files, and can reach nothing else."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from kbtool.analysis.tables import TABLES, table_of
from kbtool.errors import UsageError
from kbtool.site.data.sql import answer, check, tables_in
from kbtool.site.data.sqlite import VIEWS
from kbtool.site.state import State, state_path
from tests.cli.conftest import Run


def empty(sql: str) -> list[tuple[object, ...]]:
    """Return what a question gives where every table is empty."""
    with answer(sql, lambda name: table_of(name, [])) as found:
        return list(found.rows)


def test_rows_are_those_of_find(kbtool: Run, project: Path) -> None:
    """Both read the same columns of the same records."""
    found = kbtool("find", "--format", "json", "--withdrawn", "--columns", "ref,result,metric,value,with")
    asked = kbtool("query", 'SELECT ref, result, metric, value, "with" FROM results', "--format", "json")
    assert (asked.code, asked.err) == (0, "")
    assert json.loads(asked.out) == json.loads(found.out)
    assert project.is_dir()


@pytest.mark.usefixtures("project")
def test_every_table_and_view_is_there(kbtool: Run) -> None:
    """SHOW TABLES names them all, and each answers."""
    names = {row["name"] for row in json.loads(kbtool("query", "SHOW TABLES", "--format", "json").out)}
    assert names == set(TABLES) | {view.name for view in VIEWS}
    for name in names:
        assert kbtool("query", f"SELECT count(*) AS n FROM {name}").code == 0


@pytest.mark.usefixtures("project")
def test_forms_of_output(kbtool: Run) -> None:
    """A table for people, CSV that no spreadsheet runs, JSON that is strict and loses no column."""
    sql = "SELECT '=1+1' AS a, 'x' AS a, 'nan'::DOUBLE AS n, [1.5, NULL] AS l, DATE '2026-01-02' AS d, NULL AS z"
    table = kbtool("query", sql)
    assert table.out.splitlines()[0].split() == ["a", "a", "n", "l", "d", "z"]
    read = list(csv.reader(io.StringIO(kbtool("query", sql, "--format", "csv").out)))
    assert read == [["a", "a", "n", "l", "d", "z"], ["'=1+1", "x", "nan", "[1.5, null]", "2026-01-02", ""]]
    assert json.loads(kbtool("query", sql, "--format", "json").out) == [
        {"a": "=1+1", "a_2": "x", "n": None, "l": [1.5, None], "d": "2026-01-02", "z": None}
    ]


@pytest.mark.usefixtures("project")
def test_a_terminal_gets_no_control_characters(kbtool: Run) -> None:
    """A cell moves no cursor, and a name of a column does not either."""
    done = kbtool("query", "SELECT chr(27) || '[2J' AS \"x\x1b[2J\"")
    assert "\x1b" not in done.out
    assert "\\x1b[2J" in done.out


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELEC 1", 'SQL, line 1, column 1: Parser Error: syntax error at or near "SELEC"'),
        (
            "SELECT\n  reff\nFROM results",
            'SQL, line 2, column 3: Binder Error: Referenced column "reff" not found',
        ),
        (
            "SELECT * FROM resultz",
            "SQL, line 1, column 15: Catalog Error: Table with name resultz does not exist",
        ),
        (
            "SELECT r.vlaue FROM results r",
            'SQL, line 1, column 8: Binder Error: Table "r" does not have a column named "vlaue"; Candidate bindings: "value"',
        ),
        (
            "SELECT group FROM results",
            'SQL, line 1, column 14: Parser Error: syntax error at or near "FROM"; `group` is a word of SQL too: write the column as "group"',
        ),
        (
            "SELECT metric, With FROM results",
            'SQL, line 1, column 16: Parser Error: syntax error at or near "With"; `with` is a word of SQL too: write the column as "with"',
        ),
        (
            "SELECT title::INT FROM results",
            "SQL, line 1, column 13: Conversion Error: Could not convert string",
        ),
        ("SELECT 1; SELECT 2", "2 SQL statements; expected one"),
        ("", "0 SQL statements; expected one"),
        ("DROP TABLE results", "the SQL statement is DROP; expected one that reads"),
        ("UPDATE results SET value = 1", "the SQL statement is UPDATE; expected one that reads"),
        ("SET threads = 1", "the SQL statement is SET; expected one that reads"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(kbtool: Run, sql: str, said: str) -> None:
    """With exit code 2, and nothing on stdout."""
    done = kbtool("query", sql)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"kbtool: {said}")
    assert done.err.count("\n") == 1


def test_no_advice_on_words_that_are_no_columns() -> None:
    """A clause is not taken for a column."""
    for sql in ("WITH a AS (SELECT 1) SELEC 1", "SELECT metric, FROM FROM results GROUP BY metric"):
        with pytest.raises(UsageError) as refused:
            check(sql)
        assert "syntax error" in str(refused.value)
        assert "is a word of SQL" not in str(refused.value)


@pytest.mark.usefixtures("project")
def test_a_long_answer_is_cut_in_a_table_alone(kbtool: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table says so; CSV and JSON have every row, whatever number of them is printed at a time."""
    monkeypatch.setattr("kbtool.cli.query._MOST_CELLS", 10)
    monkeypatch.setattr("kbtool.cli.query._ROWS_AT_A_TIME", 2)
    sql = "SELECT range AS a, NULL AS b FROM range({})"
    table = kbtool("query", sql.format(7))
    assert [line.strip() for line in table.out.splitlines()] == ["a  b", "0", "1", "2", "3", "4", "5"]
    assert table.err == "kbtool: the first 6 rows are shown; --format csv and --format json give all\n"
    assert kbtool("query", sql.format(6)).err == ""
    for count in (2, 3, 7):
        read = kbtool("query", sql.format(count), "--format", "csv")
        assert (read.out, read.err) == ("a,b\n" + "".join(f"{each},\n" for each in range(count)), "")
        told = kbtool("query", sql.format(count), "--format", "json")
        rows = [{"a": each, "b": None} for each in range(count)]
        assert (told.out, told.err) == (json.dumps(rows, indent=2) + "\n", "")


@pytest.mark.usefixtures("project")
def test_a_fault_behind_the_first_rows_is_an_error(kbtool: Run) -> None:
    """With its place and exit code 2, although rows were printed."""
    done = kbtool(
        "query", "SELECT CASE range WHEN 9999 THEN 'x' ELSE '1' END::INT FROM range(10000)", "--format", "csv"
    )
    assert done.code == 2
    assert done.err.startswith(
        "kbtool: SQL, line 1, column 50: Conversion Error: Could not convert string 'x' to INT32"
    )


@pytest.mark.usefixtures("project")
def test_a_table_shows_every_digit_of_a_figure(kbtool: Run) -> None:
    """Of a count of parameters as of a share, and no noise of the arithmetic."""
    done = kbtool(
        "query", "SELECT 1026408232448::DOUBLE AS a, 0.1::DOUBLE + 0.2::DOUBLE AS b, 0.0825891::DOUBLE AS c"
    )
    assert done.out.split() == ["a", "b", "c", "1026408232448", "0.3", "0.0825891"]


@pytest.mark.usefixtures("project")
def test_no_row_is_a_finding(kbtool: Run) -> None:
    """As for `kbtool find`."""
    done = kbtool("query", "SELECT * FROM results WHERE ref = 'x'")
    assert (done.code, done.err) == (1, "kbtool: no row matches\n")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM sniff_csv('{file}')",
        "SELECT * FROM parquet_metadata('{file}')",
        "SELECT * FROM read_parquet('https://127.0.0.1:9/x')",
        "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM glob('.tmp/*')",
        "FROM names",
    ],
)
def test_sql_reaches_no_file_and_no_address(tmp_path: Path, sql: str) -> None:
    """Neither files nor variables of this program can be read, whatever function is asked."""
    file = tmp_path / "secret.csv"
    file.write_text("canary\n", encoding="utf-8")
    names = [("canary",)]
    with pytest.raises(UsageError) as refused:
        empty(sql.format(file=file, folder=tmp_path))
    assert "canary" not in str(refused.value)
    assert names
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "sql",
    ["COPY (SELECT 1) TO '{file}'", "ATTACH '{file}'", "EXPORT DATABASE '{file}'", "INSTALL httpfs", "LOAD httpfs",
     "SET enable_external_access = true", "PRAGMA database_list", "CALL pragma_version()", "CREATE TABLE x (a INT)",
     "WITH a AS (SELECT 1) INSERT INTO results SELECT * FROM results"],
)  # fmt: skip
def test_sql_changes_nothing(tmp_path: Path, sql: str) -> None:
    """What does more than read is refused before it runs."""
    file = tmp_path / "made"
    with pytest.raises(UsageError, match="expected one that reads"):
        check(sql.format(file=file))
    assert not file.exists()


def test_only_tables_that_are_named_are_made() -> None:
    """With those behind a view; all of them where the text does not tell."""
    assert tables_in("SELECT * FROM Results") == ("results",)
    assert tables_in("SELECT * FROM open_results") == ("results",)
    assert tables_in("FROM gap_counts") == ("gaps",)
    assert set(tables_in("FROM results_with_things")) == {"results", "accelerators", "models", "sources"}
    assert tables_in("SHOW TABLES") == tuple(TABLES)
    assert tables_in("SELECT 'results', * FROM query_table('li' || 'nks')") == tuple(TABLES)


def test_what_was_worked_out_is_kept(kbtool: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second question works out nothing; one that finds a build at work answers all the same."""
    sql = "SELECT count(*) AS n FROM results"
    monkeypatch.delenv("KBTOOL_CACHE", raising=False)
    with State.open(state_path(project), tool="a build at work", out=None):
        assert kbtool("query", sql).code == 0
    first = kbtool("query", sql)
    monkeypatch.setattr("kbtool.site.library.card_of", None)
    monkeypatch.setattr("kbtool.site.record_rows.rows_of", None)
    again = kbtool("query", sql)
    assert (again.code, again.out, again.err) == (0, first.out, "")


@pytest.mark.usefixtures("project")
def test_without_duckdb_the_message_says_what_to_install(
    kbtool: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no part of the site's extra."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = kbtool("query", "SELECT 1")
    assert (done.code, done.out) == (2, "")
    assert done.err == 'kbtool: DuckDB is missing, which answers questions: pip install ".[site,query]"\n'


@pytest.mark.usefixtures("project")
def test_the_line_of_a_closed_family_stands_below(kbtool: Run) -> None:
    """Whatever column names it."""
    done = kbtool("query", "SELECT 'MLPerf Inference v5.0' AS title")
    assert "See www.mlcommons.org" in done.err
    assert kbtool("query", "SELECT 'other' AS title").err == ""
