"""BIF and XMLBIF texts as users write them: read as declared, or refused with a message that names the trouble."""

import contextlib
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pgcpe.graphs.bif import parse_bif, parse_xmlbif

A = "variable A { type discrete [ 2 ] { yes, no }; }\n"
B = "variable B { type discrete [ 3 ] { low, mid, high }; }\n"
P_A = "probability ( A ) { table 0.3, 0.7; }\n"
P_B = "probability ( B | A ) { (yes) 0.2, 0.3, 0.5; (no) 0.6, 0.3, 0.1; }\n"
PLAIN = A + B + P_A + P_B
VALUES_A = np.array([0.3, 0.7])
VALUES_B = np.array([[0.2, 0.6], [0.3, 0.3], [0.5, 0.1]])  # [state of B, state of A]


def states_in(listed, count):
    """The states of a variable whose type line lists them so."""
    numbers = " ".join([str(1 / count)] * count)
    text = f"variable A {{ type discrete [ {count} ] {{ {listed} }}; }} probability ( A ) {{ table {numbers}; }}"
    return list(parse_bif(text)[0]["A"])


def assert_plain(states, tables):
    assert states == {"A": ("yes", "no"), "B": ("low", "mid", "high")}
    assert (tables["A"].parents, tables["B"].parents) == ([], ["A"])
    assert_allclose(tables["A"].values, VALUES_A, atol=1e-15)
    assert_allclose(tables["B"].values, VALUES_B, atol=1e-15)


# ------------------------------------------------------------------------------------------------- BIF: the same text


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.rstrip(),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", " "),
        PLAIN.replace("\n", " \n\n\t"),
        PLAIN.replace(" ", "\n"),
        "network x { }\n" + PLAIN,
        'network "a { b" { property author = "x; } y" ; }\n' + PLAIN,
        P_B + P_A + A + B,
        PLAIN.replace(",", " "),
        PLAIN.replace("0.3, 0.7", "3e-1,7.E-1"),
        PLAIN.replace("0.3, 0.7", ".3 ,\t.7"),
        PLAIN.replace(" [ 2 ] ", "[2]").replace("};", "}"),
        PLAIN.replace("A", '"A"').replace("yes", '"yes"'),
        PLAIN.replace("B | A", "B|A").replace("( ", "(").replace(" )", ")").replace(" {", "{"),
        PLAIN.replace("B | A", "B |\n   A\n"),
        PLAIN.replace("B | A", "B A"),
        PLAIN.replace("B | A", "B, A"),
        PLAIN.replace("{ (yes) 0.2, 0.3, 0.5;", "{ default 0.2 0.3 0.5;"),
        PLAIN.replace("(no) 0.6, 0.3, 0.1;", "(no) 0.6, 0.3, 0.1; default 1, 0, 0;"),
        PLAIN.replace("table 0.3, 0.7", "default 0.3, 0.7"),
        PLAIN.replace("table 0.3, 0.7", "() 0.3, 0.7"),
        PLAIN.replace("(yes) 0.2, 0.3, 0.5; (no) 0.6, 0.3, 0.1;", "table 0.2 0.6 0.3 0.3 0.5 0.1;"),
        PLAIN.replace("(yes)", "property x = y;\n(yes)").replace("{ type", "{ property position = (1, 2);\ntype"),
    ],
)
def test_ways_to_write_the_same_network(text):
    assert_plain(*parse_bif(text))


@pytest.mark.parametrize(
    "comment",
    [
        "// variable Q { }\n",
        "/* variable Q { } */",
        "/* two\n lines { */",
        '// an odd " quote\n',
        '/* an odd " quote */',
        "//\n",
        "/**/",
        "// http://x.org/*\n",
    ],
)
def test_comments_may_stand_wherever_a_blank_may(comment):
    assert_plain(*parse_bif(re.sub(r"(?<=[;{}])", lambda _: comment, PLAIN)))
    assert_plain(*parse_bif(comment + PLAIN + comment))


def test_what_looks_like_a_comment_inside_a_name_or_quotes_is_none():
    assert states_in('1//2, "//x", "/*"', 3) == ["1//2", "//x", "/*"]
    assert_plain(*parse_bif(PLAIN.replace("{ type", "{ property url = http://x.org ; type")))


def test_comments_do_not_shift_the_line_an_error_names():
    with pytest.raises(ValueError, match="line 6 cannot be read as BIF: 'nonsense'"):
        parse_bif("/* one\ntwo\nthree */\n" + A + "// five\nnonsense\n" + P_A)


# ------------------------------------------------------------------------------------------------------ BIF: the names


@pytest.mark.parametrize(
    "name",
    [
        "age group",
        "age (years)",
        "dose, in mg",
        'a 5" nail',
        "a|b",
        "B or not",
        "B, C",
        "x = y",
        "(B)",
        "a  b",
    ],
)
def test_names_of_variables_need_no_quotes(name):
    """As pgmpy writes them: whatever stands before the brace. In a head the longest declared name is taken."""
    text = PLAIN.replace("variable A", f"variable {name}")
    states, tables = parse_bif(text.replace("( A )", f"( {name} )").replace("| A", f"| {name}"))
    assert list(states) == [name, "B"]
    assert tables["B"].parents == [name]
    assert_allclose(tables["B"].values, VALUES_B)


def test_heads_with_names_within_names():
    names = ["dose", "dose in mg", "in", "mg"]
    declared = "".join(A.replace("A", v) + P_A.replace("A", v) for v in names)
    last = "variable Y { type discrete [2] { 0, 1 }; }"
    for head, parents in {
        "Y | dose in mg, dose": ["dose in mg", "dose"],
        "Y | dose, in": ["dose", "in"],
        "Y dose in mg in": ["dose in mg", "in"],
        'Y | "dose" "in" mg': ["dose", "in", "mg"],
    }.items():
        table = f"probability ({head}) {{ default .5 .5; }}"
        assert parse_bif(declared + last + table)[1]["Y"].parents == parents


# ----------------------------------------------------------------------------------------------------- BIF: odd quotes


@pytest.mark.parametrize(
    "value",
    ['n = 5"', '5"', 'n = "', 'n = "5', 'n = it"s', 'n = "a" 5"', 'n = "a; b" 7"', 'n = 5"x"'],
)
@pytest.mark.parametrize("other", ['m = 7"', 'm = "', 'm = "b"', "m", 'm = "c; d"', 'url = "// x"', 'note = "/* x"'])
def test_odd_quotes_in_properties_hide_no_row(value, other):
    """The row between two of them vanished, and 'default' took its place."""
    rows = f"{{ property {value} ; (yes) 0.2, 0.3, 0.5; property {other} ; (no) 0.6, 0.3, 0.1; default 1, 0, 0; }}"
    text = PLAIN.replace("{ (yes) 0.2, 0.3, 0.5; (no) 0.6, 0.3, 0.1; }", rows)
    assert text != PLAIN
    try:
        states, tables = parse_bif(text)
    except ValueError as error:
        assert "odd quote" in str(error) or "cannot be read as BIF" in str(error)  # noqa: PT017
    else:
        assert_plain(states, tables)


def test_odd_quotes_that_are_characters_are_read():
    assert states_in('5", 7"', 2) == ['5"', '7"']
    assert states_in('5", "a, b", 7"', 3) == ['5"', "a, b", '7"']
    text = PLAIN.replace("yes", '5"').replace("no", '7"')
    states, tables = parse_bif(text)
    assert states["A"] == ('5"', '7"')
    assert_allclose(tables["B"].values, VALUES_B)
    assert_plain(
        *parse_bif(PLAIN.replace("(yes)", 'property n = 5" ; (yes)').replace("(no)", 'property m = 7" ; (no)'))
    )
    assert_plain(*parse_bif('network 5" { }\n' + PLAIN))


def test_a_quote_that_hides_a_row_is_named():
    text = PLAIN.replace("(yes)", 'property n = " ; (yes)').replace("(no)", 'property m = 7" ; (no)')
    with pytest.raises(ValueError, match="odd quote"):
        parse_bif(text)


# ------------------------------------------------------------------------------------------------------- BIF: the rest


@pytest.mark.parametrize(
    ("listed", "states"),
    [
        ("a, b", ["a", "b"]),
        ("a b", ["a", "b"]),
        ("a,b", ["a", "b"]),
        ("very low, very high", ["very low", "very high"]),
        ('"very low" "very high"', ["very low", "very high"]),
        ('"a, b", c', ["a, b", "c"]),
        ('"{a}", "b;c", "d(e)"', ["{a}", "b;c", "d(e)"]),
        ("a(1), b[2]", ["a(1)", "b[2]"]),
        ("<5, >=10", ["<5", ">=10"]),
        ('"<5", "[5,10)", ">=10"', ["<5", "[5,10)", ">=10"]),
        ("it's, 5%, -1, 0.5, x=y, ja|nein", ["it's", "5%", "-1", "0.5", "x=y", "ja|nein"]),
        ("größer, 小", ["größer", "小"]),
        ("Yes, yes, YES", ["Yes", "yes", "YES"]),
    ],
)
def test_state_names(listed, states):
    assert states_in(listed, len(states)) == states


@pytest.mark.parametrize(
    ("listed", "states"),
    [("<5, [5,10), >=10", ["<5", "[5,10)", ">=10"]), ("a b, c", ["a", "b", "c"])],
)
def test_state_names_with_unquoted_commas_are_read_right_or_refused(listed, states):
    """Never with the commas of the list in the names."""
    found = None
    with contextlib.suppress(ValueError):
        found = states_in(listed, len(states))
    assert found is None or found == states


@pytest.mark.parametrize("quote", ['"', ""])
def test_rows_are_found_by_names_with_brackets_blanks_and_commas(quote):
    def q(name):
        return f"{quote}{name}{quote}"

    a, c = ["a(1)", "b [2]"], ["x", "y;z" if quote else "y z"]
    rows = "".join(f"({q(s)}, {q(t)}) 0.{i}{j} 0.{9 - i}{9 - j} ;\n" for i, s in enumerate(a) for j, t in enumerate(c))
    text = (
        f"variable A {{ type discrete [2] {{ {q(a[0])}, {q(a[1])} }}; }}"
        f"variable C {{ type discrete [2] {{ {q(c[0])}, {q(c[1])} }}; }} {B.replace('B', 'Y').replace('3', '2')}"
    ).replace("low, mid, high", "no, yes")
    roots = "probability (A) { table 0.5 0.5; } probability (C) { table 0.5 0.5; }"
    states, tables = parse_bif(f"{text} {roots} probability (Y | A, C) {{ {rows} }}")
    assert (states["A"], states["C"]) == (tuple(a), tuple(c))
    assert_allclose(tables["Y"].values[0], [[0.00, 0.01], [0.10, 0.11]], atol=1e-15)


def test_quoted_names_of_variables_may_hold_anything():
    name = "the A, (or {B} | C);"
    states, tables = parse_bif(PLAIN.replace("A", f'"{name}"'))
    assert list(states) == [name, "B"]
    assert tables["B"].parents == [name]


def test_names_that_differ_only_in_case_are_different():
    states, tables = parse_bif(PLAIN + (A + P_A).replace("A", "a").replace("0.3, 0.7", "1, 0"))
    assert list(states) == ["A", "B", "a"]
    assert_allclose(tables["A"].values, VALUES_A)
    assert_allclose(tables["a"].values, [1, 0])


@pytest.mark.parametrize("word", ["table", "default", "property", "variable", "probability", "network", "type"])
def test_words_of_the_format_may_be_names(word):
    states, tables = parse_bif(PLAIN.replace("A", word).replace("mid", word))
    assert list(states) == [word, "B"]
    assert states["B"] == ("low", word, "high")
    assert tables["B"].parents == [word]


# ----------------------------------------------------------------------------------------------------- BIF: the tables


def test_flat_table_of_the_format_s_own_example():
    """The dog problem as JavaBayes ships it: P(light-on | family-out) = .6 and P(light-on | family in) = .05."""
    states, tables = parse_bif("""// Bayesian network in the interchange format
        network "Dog-Problem" { //5 variables and 5 probability distributions
            property "credal-set constant-density-bounded 1.1" ;
        }
        variable  "light-on" { //2 values
            type discrete[2] {  "true"  "false" };
            property "position = (218, 195)" ;
        }
        variable  "family-out" { type discrete[2] {  "true"  "false" }; }
        probability (  "light-on"  "family-out" ) { //2 variable(s) and 4 values
            table 0.6 0.05 0.4 0.95 ;
        }
        probability (  "family-out" ) { table 0.15 0.85 ; }""")
    assert states == {"light-on": ("true", "false"), "family-out": ("true", "false")}
    assert tables["light-on"].parents == ["family-out"]
    assert_allclose(tables["light-on"].values, [[0.6, 0.05], [0.4, 0.95]])
    assert_allclose(tables["family-out"].values, [0.15, 0.85])


def test_rows_and_flat_tables_say_the_same():
    """Three parents of 2, 3 and 2 states: rows by name in a shuffled order against the format's order of numbers."""
    rng = np.random.default_rng(0)
    sizes = {"P": 2, "Q": 3, "R": 2}
    values = rng.dirichlet(np.ones(3), size=(2, 3, 2))
    head = "".join(
        f"variable {v} {{ type discrete [{n}] {{ {', '.join(f'{v}{i}' for i in range(n))} }}; }}\n"
        f"probability ({v}) {{ table {' '.join([str(1 / n)] * n)}; }}\n"
        for v, n in sizes.items()
    )
    head += "variable X { type discrete [3] { a, b, c }; }\n"
    cells = list(np.ndindex(2, 3, 2))
    rows = "".join(
        f"(P{i}, Q{j}, R{k}) {', '.join(map(repr, map(float, values[i, j, k])))};\n"
        for i, j, k in (cells[n] for n in rng.permutation(len(cells)))
    )
    flat = " ".join(repr(float(x)) for x in np.moveaxis(values, -1, 0).ravel())
    by_rows = parse_bif(f"{head} probability (X | P, Q, R) {{ {rows} }}")[1]["X"]
    by_table = parse_bif(f"{head} probability (X | P, Q, R) {{ table {flat}; }}")[1]["X"]
    assert by_rows.parents == by_table.parents == ["P", "Q", "R"]
    assert np.array_equal(np.moveaxis(by_rows.values, 0, -1), values)
    assert np.array_equal(by_rows.values, by_table.values)


# ------------------------------------------------------------------------------------------------------- BIF: refusals


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # blocks
        (P_B, "", None),  # that a table is missing is for load_network to say
        (P_A, P_A + P_A, "A has two tables"),
        (A, A + A, "A is declared twice"),
        (P_A, P_A + P_A.replace("A", "Q"), "a table for Q, which is not declared"),
        ("B | A", "B | Q", "B has the parent Q, which is not declared"),
        ("B | A", "B | a", "B has the parent a, which is not declared"),
        ("B | A", "B | B", "B must have distinct parents"),
        ("B | A", "B | A, A", "B must have distinct parents"),
        # states
        ("discrete [ 2 ] { yes, no }", "continuous", "A must have one line 'type discrete"),
        ("discrete [ 2 ] { yes, no }", "discrete [ 2 ]", "A must declare its states"),
        ("discrete [ 2 ] { yes, no }", "discrete { yes, no }", "A must declare its states"),
        ("type discrete [ 2 ] { yes, no };", "", "A must have one line 'type discrete"),
        ("yes, no };", "yes, no }; type discrete [ 2 ] { yes, no };", "A must have one line 'type discrete"),
        ("yes, no }", "yes, no, maybe }", "A declares 2 states, but lists 3.*with commas is written in quotes"),
        ("yes, no }", "yes }", "A declares 2 states, but lists 1"),
        ("yes, no }", "yes, yes }", "A must have distinct states"),
        ("yes, no }", 'yes, "" }', "A must have distinct states"),
        ("[ 2 ] { yes, no }", "[ 0 ] { }", "A must have distinct states"),
        # rows
        ("(no) 0.6, 0.3, 0.1;", "", r"B has no row \(no\) and no default"),
        ("(no) 0.6, 0.3, 0.1;", "(no) 0.6, 0.3, 0.1; (no) 0.6, 0.3, 0.1;", r"B has two rows \(no\)"),
        ("(no)", "(yes)", r"B has two rows \(yes\)"),
        ("(no)", "(No)", "B has a row for A=No, which is no state declared"),
        ("(no)", "(no, no)", r"B has a row \(no, no\) for the parents \['A'\]"),
        ("(no)", "()", "B has a row"),
        ("(yes)", "table 1; (yes)", "B has a 'table' beside other rows"),
        ("(yes)", "default 1 0 0; default 0 1 0; (yes)", "B has two default rows"),
        ("table 0.3, 0.7;", "", "A is empty"),
        # numbers
        ("0.2, 0.3, 0.5", "0.2, 0.3", "B must have 3 numbers in a row, but has 2"),
        ("0.2, 0.3, 0.5", "0.2, 0.3, 0.4, 0.1", "B must have 3 numbers in a row, but has 4"),
        ("0.3, 0.7", "0,3, 0,7", "A must have 2 numbers in a row, but has 4"),
        ("0.3, 0.7", "", "A must have 2 numbers in a row, but has 0"),
        ("0.3, 0.7", "0.3, much", "A has a row that is not made of numbers: '0.3, much'"),
        # syntax
        ("0.3, 0.7;", "0.3, 0.7", "line 3 cannot be read as BIF"),
        ("yes, no }; }", "yes, no };", "line 1 cannot be read as BIF"),
        (P_B, P_B + "}", "line 5 cannot be read as BIF: '}'"),
        (P_B, P_B[:-20], "line 4 cannot be read as BIF"),
        (P_A, "table 0.3, 0.7;", "line 3 cannot be read as BIF: 'table 0.3, 0.7;"),
        ("probability ( A )", "probability A", "line 3 cannot be read as BIF"),
        (P_B, P_B + "/* never closed", "line 5 cannot be read as BIF"),
    ],
)
def test_refused(old, new, message):
    assert old in PLAIN
    if message is None:
        assert set(parse_bif(PLAIN.replace(old, new))[1]) == {"A"}
        return
    with pytest.raises(ValueError, match=message):
        parse_bif(PLAIN.replace(old, new))


def test_a_variable_must_have_a_name():
    with pytest.raises(ValueError, match="name"):
        parse_bif(PLAIN.replace("A", '""'))


@pytest.mark.parametrize("cut", range(2, len(PLAIN) - 1, 7))
def test_a_truncated_text_never_gives_a_whole_network(cut):
    """What is left reads without the last table, or not at all."""
    try:
        _, tables = parse_bif(PLAIN[:-cut].rstrip())
    except ValueError:
        return
    assert len(tables) < 2


# -------------------------------------------------------------------------------------------------------------- XMLBIF

HEADER = """<?xml version="1.0" encoding="US-ASCII"?>
<!-- the format's own declaration -->
<!DOCTYPE BIF [
    <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED>
    <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
]>
"""
X_A = '<VARIABLE TYPE="nature"><NAME>A</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>\n'
X_B = (
    '<VARIABLE TYPE="nature"><NAME> B </NAME><PROPERTY>position = (1, 2)</PROPERTY>'
    "<OUTCOME>low</OUTCOME><OUTCOME>mid</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>\n"
)
D_A = "<DEFINITION><FOR>A</FOR><TABLE>0.3 0.7</TABLE></DEFINITION>\n"
D_B = (
    "<DEFINITION><FOR>B</FOR><GIVEN>A</GIVEN>"
    "<TABLE>0.2 0.3 0.5 <!-- A = yes -->\n 0.6 0.3 0.1 <!-- A = no --></TABLE></DEFINITION>\n"
)
XML = f'{HEADER}<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>\n{X_A}{X_B}{D_A}{D_B}</NETWORK></BIF>\n'


@pytest.mark.parametrize(
    "text",
    [
        XML,
        XML.removeprefix(HEADER),
        "\n  " + XML.removeprefix(HEADER),
        XML.replace("\n", "\r\n"),
        XML.replace(X_A + X_B + D_A + D_B, D_B + D_A + X_A + X_B),
        XML.replace("0.3 0.7", "\n3e-1,\n.7\n"),
        XML.replace("<NAME>A<", "<NAME><![CDATA[A]]><"),
    ],
)
def test_ways_to_write_the_same_xml(text):
    assert_plain(*parse_xmlbif(text))


def test_xml_counts_with_the_variable_itself_fastest_and_the_last_parent_next():
    """The order of XMLBIF 0.3: P(X = x | P = i, Q = j) is number (3 i + j) 2 + x of the table."""
    outcomes = "".join(f"<OUTCOME>{i}</OUTCOME>" for i in range(3))
    more = X_A.replace(">A<", ">X<") + f"<VARIABLE><NAME>Q</NAME>{outcomes}</VARIABLE>"
    more += "<DEFINITION><FOR>Q</FOR><TABLE>.2 .3 .5</TABLE></DEFINITION>"
    ones = np.arange(1, 7) / 10
    numbers = " ".join(f"{p} {1 - p}" for p in ones)
    more += f"<DEFINITION><FOR>X</FOR><GIVEN>A</GIVEN><GIVEN>Q</GIVEN><TABLE>{numbers}</TABLE></DEFINITION>"
    table = parse_xmlbif(XML.replace("</NETWORK>", more + "</NETWORK>"))[1]["X"]
    assert table.parents == ["A", "Q"]
    assert_allclose(table.values[0], ones.reshape(2, 3))


def test_xml_names_may_hold_anything():
    text = XML.replace(">A<", ">a &lt; b, (c)<").replace(">yes<", '>{x; "y"} | &amp;<')
    states, tables = parse_xmlbif(text)
    assert states["a < b, (c)"] == ('{x; "y"} | &', "no")
    assert tables["B"].parents == ["a < b, (c)"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (D_A, D_A + D_A, "A has two tables"),
        (X_A, X_A + X_A, "A is declared twice"),
        ("<FOR>A<", "<FOR>Q<", "a table for Q, which is not declared"),
        ("<GIVEN>A<", "<GIVEN>Q<", "B has the parent Q, which is not declared"),
        ("<GIVEN>A<", "<GIVEN>B<", "B must have distinct parents"),
        ("<OUTCOME>no</OUTCOME>", "", "A must have 2 numbers|A must have 1 numbers"),
        ("<OUTCOME>no</OUTCOME>", "<OUTCOME>yes</OUTCOME>", "A must have distinct states"),
        ("<OUTCOME>no</OUTCOME>", "<OUTCOME/>", "A must have distinct states"),
        ("<OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME>", "", "A must have distinct states"),
        ("0.3 0.7", "0.3", "A must have 2 numbers"),
        ("0.3 0.7", "0.3 0.7 0", "A must have 2 numbers"),
        ("0.3 0.7", "", "A must have 2 numbers"),
        ("0.3 0.7", "x y", "A has a row that is not made of numbers"),
        ("</NETWORK>", "", "cannot be read as XML"),
        (XML, "<BIF><NETWORK>", "cannot be read as XML"),
    ],
)
def test_xml_refused(old, new, message):
    assert old in XML
    with pytest.raises(ValueError, match=message):
        parse_xmlbif(XML.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<NAME>A</NAME>", ""),
        ("<NAME>A</NAME>", "<NAME>A</NAME><NAME>Q</NAME>"),
        ("<FOR>A</FOR>", "<FOR>A</FOR><FOR>B</FOR>"),
    ],
    ids=["no name", "two names", "table for two variables"],
)
def test_xml_a_variable_has_one_name_and_a_table_one_variable(old, new):
    with pytest.raises(ValueError, match=r"A\b|B\b|<NAME>") as caught:
        parse_xmlbif(XML.replace(old, new))
    assert "unpack" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["", "bif:"])
def test_xml_of_a_namespace(prefix):
    """As the AIspace tools write it; a prefix says the same."""
    place = "http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3"
    text = re.sub(r"<(/?)(?=[A-Z])", rf"<\g<1>{prefix}", XML.removeprefix(HEADER))
    attribute = f"xmlns:{prefix[:-1]}" if prefix else "xmlns"
    text = text.replace("BIF VERSION", f'BIF {attribute}="{place}" VERSION')
    assert place in text
    assert_plain(*parse_xmlbif(text))
