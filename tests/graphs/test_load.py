"""Every file gives the whole network or an error that names the trouble."""

import bz2
import gzip
import json
import lzma
import pickle
import re
import tracemalloc
import warnings

import networkx as nx
import numpy as np
import pytest
from helpers import CASES, ROOT, dag
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgcpe import Action, SimulatedEnvironment, do, expected_reward, load_network, shipped_networks
from pgcpe.graphs.states import find_state
from pgcpe.graphs.structure import latents_of, states_of, structure_of

BIF = CASES / "bif"
EXPECTED = json.loads((BIF / "expected.json").read_text())
PLAIN = (BIF / "plain.bif").read_text()

NODES_AND_ARCS = {
    "alarm": (37, 46), "andes": (223, 338), "asia": (8, 8), "barley": (48, 84), "cancer": (5, 4), "child": (20, 25),
    "diabetes": (413, 602), "earthquake": (5, 4), "hailfinder": (56, 66), "hepar2": (70, 123), "insurance": (27, 52),
    "link": (724, 1125), "mildew": (35, 46), "munin": (1041, 1397), "munin1": (186, 273), "munin2": (1003, 1244),
    "munin3": (1041, 1306), "munin4": (1038, 1388), "pathfinder": (109, 195), "pigs": (441, 592), "sachs": (11, 17),
    "survey": (6, 6), "water": (32, 66), "win95pts": (76, 112),
}  # fmt: skip
"""As the bnlearn repository lists them."""


def is_the_network_of_the_cases(network, first="A"):
    assert {tuple(e) for e in network.edges} == {(first, "B"), (first, "Y"), ("B", "Y")}
    for variable, states in EXPECTED["states"].items():
        name = first if variable == "A" else variable
        assert network.states[name] == states
    for text, value in EXPECTED["expected_reward_good"].items():
        action = Action({first if v == "A" else v: s for v, s in Action.parse(text).items()})
        found = expected_reward(network, action, reward="Y", reward_values={"bad": 0, "good": 1})
        assert found == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("entry", EXPECTED["right"])
def test_files_that_must_load(entry):
    name = entry.split()[0]
    network = load_network(BIF / name)
    is_the_network_of_the_cases(network, "Größe" if name.startswith("non_ascii") else "A")


@pytest.mark.parametrize("name", EXPECTED["refused"])
def test_files_that_must_be_refused(name):
    variable = {"missing_table.bif": "Y", "bad_sum.bif": "Y", "unknown_parent.bif": "Q"}[name]
    with pytest.raises(ValueError, match=f"{name}: .*{variable}"):
        load_network(str(BIF / name))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: "\ufeff" + t,
        lambda t: t.replace("variable A {", "variable A\n{"),
        lambda t: t.replace("probability ( B | A ) {", "probability\n( B\n | A )\n{"),
        lambda t: t.replace("(yes, low)", "( yes,low )").replace("|", ""),
        lambda t: t.replace("yes, no", '"yes", "no"').replace("(yes", '("yes"'),
        lambda t: t.replace("0.3, 0.7", ".3 7e-1"),
        lambda t: t.replace("table 0.3, 0.7;", 'table 0.3, 0.7; // seen\n /* twice;\n */ property note = "a; b }" ;'),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("network unknown", 'network "my { network"'),
        lambda t: t.replace(
            "(yes) 0.2, 0.3, 0.5;\n  (no) 0.6, 0.3, 0.1;", "table 0.2, 0.6, 0.3, 0.3, 0.5, 0.1;"
        ),  # BIF: the variable itself slowest
    ],
)
def test_the_same_network_written_otherwise(change, tmp_path):
    text = change(PLAIN)
    assert text != PLAIN
    is_the_network_of_the_cases(load_network(text))
    path = tmp_path / "written.bif"
    path.write_bytes(text.encode())
    is_the_network_of_the_cases(load_network(path))


def test_odd_names_survive():
    text = """network n { } variable a { type discrete [ 3 ] { low(1), [2 3), "x, y" }; }
    variable A { type discrete [ 2 ] { no answer, yes }; }
    probability ( a ) { table 0.2 0.3 0.5; }
    probability ( A | a ) { (low(1)) 1 0; ([2 3)) 0 1; ("x, y") 0.5 0.5; }"""
    network = load_network(text)
    assert network.states == {"a": ["low(1)", "[2 3)", "x, y"], "A": ["no answer", "yes"]}
    assert network.get_cpds("A").values.tolist() == [[1, 0, 0.5], [0, 1, 0.5]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("low, mid, high }", "low, mid }", "B declares 3 states, but lists 2"),
        ("bad, good }", "bad, go, od }", "Y declares 2 states, but lists 3"),
        ("yes, no }", "yes, yes }", "A must have distinct states"),
        ("variable B", "variable A", "A is declared twice"),
        ("probability ( B | A )", "probability ( A )", "A has two tables"),
        ("probability ( B | A )", "probability ( B | A, A )", "B must have distinct parents"),
        ("probability ( B | A )", "probability ( C | A )", "a table for C, which is not declared"),
        ("(yes, low)", "(yes, lo)", "Y has a row for B=lo"),
        ("(yes, low)", "(yes)", r"Y has a row \(yes\) for the parents"),
        ("(yes, low)", "(yes, mid)", "Y has two rows"),
        ("  (yes, low) 0.9, 0.1;\n", "", r"Y has no row \(yes, low\) and no default"),
        ("0.9, 0.1", "0.9, 0.05, 0.05", "Y must have 2 numbers in a row, but has 3"),
        ("0.9, 0.1", "0.9, x", "Y has a row that is not made of numbers"),
        ("0.9, 0.1", "1.1, -0.1", "Y has entries that are no probabilities"),
        ("0.9, 0.1", "nan, 0.1", "Y has entries that are no probabilities"),
        ("0.9, 0.1", "0.9, 0.2", "a row of Y sums to 1.1"),
        ("type discrete [ 2 ] { yes, no };", "type continuous;", "A must have one line 'type discrete"),
        ("type discrete [ 2 ] { yes, no };", "", "A must have one line 'type discrete"),
        ("table 0.3, 0.7;", "table 0.3, 0.7; table 0.3, 0.7;", "A has a 'table' beside other rows"),
        ("(yes) 0.2, 0.3, 0.5;", "default 1 0 0; default 0 1 0;", "B has two default rows"),
        ("probability ( A ) {\n  table 0.3, 0.7;", "probability ( A | Y ) {\n default 0.5, 0.5;", "has the cycle"),
        ("variable B {", "variable B (", "line 6 cannot be read as BIF"),
    ],
)
def test_what_is_wrong_is_named(old, new, message):
    assert old in PLAIN
    with pytest.raises(ValueError, match=f"<text>: .*{message}"):
        load_network(PLAIN.replace(old, new, 1))


def test_small_errors_of_rounding_are_mended_and_told():
    with pytest.warns(UserWarning, match=r"do not sum to 1 \(worst: Y, off by 0.004\); they were renormalised"):
        network = load_network(PLAIN.replace("0.9, 0.1", "0.9, 0.096"))
    assert network.get_cpds("Y").values[:, 0, 0] == pytest.approx([0.9 / 0.996, 0.096 / 0.996])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_network(PLAIN.replace("0.9, 0.1", "0.9, 0.1000005"))


XML = """<?xml version="1.0"?><BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>A</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>B</NAME><OUTCOME>low</OUTCOME><OUTCOME>mid</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>Y</NAME><OUTCOME>bad</OUTCOME><OUTCOME>good</OUTCOME></VARIABLE>
<DEFINITION><FOR>A</FOR><TABLE>0.3 0.7</TABLE></DEFINITION>
<DEFINITION><FOR>B</FOR><GIVEN>A</GIVEN><TABLE>0.2 0.3 0.5 <!-- no --> 0.6 0.3 0.1</TABLE></DEFINITION>
<DEFINITION><FOR>Y</FOR><GIVEN>A</GIVEN><GIVEN>B</GIVEN>
<TABLE>0.9 0.1 0.6 0.4 0.2 0.8 0.7 0.3 0.5 0.5 0.4 0.6</TABLE></DEFINITION></NETWORK></BIF>"""


def test_xmlbif(tmp_path):
    is_the_network_of_the_cases(load_network(XML))
    path = tmp_path / "net.xmlbif"
    path.write_text(XML, encoding="utf-8")
    is_the_network_of_the_cases(load_network(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</NETWORK>", "", "cannot be read as XML"),
        ("<GIVEN>A</GIVEN><TABLE>", "<GIVEN>Q</GIVEN><TABLE>", "B has the parent Q, which is not declared"),
        ("0.3 0.7", "0.3", "A must have 2 numbers"),
        ("<DEFINITION><FOR>A</FOR><TABLE>0.3 0.7</TABLE></DEFINITION>", "", "A has no table"),
        ("<OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME>", "", "A must have distinct states"),
    ],
)
def test_bad_xmlbif(old, new, message):
    assert old in XML
    with pytest.raises(ValueError, match=message):
        load_network(XML.replace(old, new, 1))


def test_files_that_are_no_text(tmp_path):
    latin = tmp_path / "latin.bif"
    latin.write_bytes(PLAIN.replace("unknown", "größe").encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.bif: the file must be in UTF-8"):
        load_network(latin)
    cut = tmp_path / "cut.bif.gz"
    cut.write_bytes(gzip.compress(PLAIN.encode())[:-20])
    with pytest.raises(ValueError, match=r"cut\.bif\.gz: the compressed file cannot be unpacked"):
        load_network(cut)
    empty = tmp_path / "empty.bif"
    empty.write_text("")
    with pytest.raises(ValueError, match=r"empty\.bif: no variable is declared"):
        load_network(empty)
    with pytest.raises(FileNotFoundError, match=r"no file 'nowhere\.bif'.*asia"):
        load_network("nowhere.bif")


def test_latents_are_set_and_checked():
    network = load_network(PLAIN, latents=["A"])
    assert network.latents == latents_of(network) == {"A"}
    assert load_network(PLAIN, latents="A").latents == {"A"}
    with pytest.raises(ValueError, match="latents must be variables"):
        load_network(PLAIN, latents=["U"])


@pytest.mark.parametrize("name", NODES_AND_ARCS)
def test_shipped_networks_are_whole(name):
    network = load_network(name)
    assert (len(network.nodes), len(network.edges)) == NODES_AND_ARCS[name]
    for table in network.cpds:
        assert set(table.variables[1:]) == set(network.predecessors(table.variable))
        assert np.abs(table.values.sum(axis=0) - 1).max() < 1e-9
    assert len(network.cpds) == len(network.nodes)


def test_all_that_is_shipped_was_looked_at():
    assert set(shipped_networks()) == set(NODES_AND_ARCS)


@pytest.mark.parametrize("name", ["asia", "survey", "sachs", "child"])
def test_as_pgmpy_reads_it_where_it_reads_right(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.utils import get_example_model

        theirs = get_example_model(name)
    ours = load_network(name)
    for table in theirs.cpds:
        mine = ours.get_cpds(table.variable)
        assert (mine.variables, mine.state_names) == (table.variables, table.state_names)
        assert np.abs(mine.values - table.values).max() < 1e-6


# ---------------------------------------------------------------------------------------------- states and structure


def test_states_of_networks_and_bare_graphs():
    assert states_of(DAG([("A", "B")])) == {"A": (0, 1), "B": (0, 1)}
    assert states_of(DAG([("A", "B")]), {"B": ["x", "y", "z"]})["B"] == ("x", "y", "z")
    network = load_network(PLAIN)
    assert states_of(network)["B"] == ("low", "mid", "high")
    assert states_of(network, {"B": ["high", "mid", "low"]})["B"] == ("high", "mid", "low")
    with pytest.raises(ValueError, match="B has the states"):
        states_of(network, {"B": ["high", "low"]})
    with pytest.raises(ValueError, match="two or more distinct states"):
        states_of(DAG([("A", "B")]), {"A": ["only"]})


@pytest.mark.parametrize(
    ("states", "value", "code"),
    [
        (("0", "1"), 1, 1),
        (("0", "1"), 1.0, 1),
        (("0", "1"), np.int64(0), 0),
        ((0, 1), "1", 1),
        ((0, 1), True, 1),
        (("false", "true"), True, 1),
        (("False", "True"), False, 0),
        ((False, True), "True", 1),
        (("a", 1, "1"), "1", 2),
        (("a", 1, "1"), 1, 1),
        ((0.5, 1.5), 1.5, 1),
    ],
)
def test_states_are_found_by_name(states, value, code):
    assert find_state(states, value, "X") == code


@pytest.mark.parametrize("value", ["2", 2, 0.5, None, "", "yes"])
def test_other_values_are_no_states(value):
    with pytest.raises(ValueError, match="X has the states '0', '1', but got"):
        find_state(("0", "1"), value, "X")


def test_structure_is_a_copy_with_its_latents():
    graph = dag([("U", "X"), ("U", "Y")], {"U"})
    copy = structure_of(graph)
    copy.add_node("Z")
    copy.latents = {"Z"}
    assert (set(graph.nodes), graph.latents) == ({"U", "X", "Y"}, {"U"})


def test_data_of_the_project_loads():
    for path in (ROOT / "data").glob("*.bif"):
        assert len(load_network(path).nodes) > 1


def test_graphs_of_networkx_have_a_structure_and_no_latents():
    graph = nx.DiGraph([("A", "Y")])
    assert latents_of(graph) == frozenset()
    assert set(structure_of(graph).edges) == {("A", "Y")}
    assert not hasattr(structure_of(load_network(PLAIN)), "cpds")
    with pytest.raises(ValueError, match="acyclic, but has the cycle"):
        structure_of(nx.DiGraph([("A", "B"), ("B", "C"), ("C", "A")]))


# ----------------------------------------------------------------------------------------------- bytes and small print


def test_every_file_of_the_cases_is_expected():
    files = {path.name for path in BIF.iterdir()} - {"expected.json"}
    assert files == {*(entry.split()[0] for entry in EXPECTED["right"]), *EXPECTED["refused"]}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_encodings_that_are_read(tmp_path, encoding, pack):
    path = tmp_path / "study.bif"
    path.write_bytes(pack(PLAIN.replace("A", "Ä").encode(encoding)))
    assert set(load_network(path).nodes) == {"Ä", "B", "Y"}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_refused(tmp_path, encoding):
    path = tmp_path / "study.bif"
    path.write_bytes(PLAIN.replace("A", "Ä").encode(encoding))
    with pytest.raises(ValueError, match=r"study\.bif: the file must be in UTF-8"):
        load_network(path)


@pytest.mark.parametrize("thing", [None, 3, load_network(PLAIN)], ids=["None", "number", "network"])
def test_what_is_no_name_is_refused_by_its_kind(thing):
    with pytest.raises(TypeError, match=rf"string or a path, but got {type(thing).__name__}; a network object"):
        load_network(thing)


def test_damaged_gzip_is_refused(tmp_path):
    """Every byte in turn: one message whichever layer of the format notices it; and every length."""
    path, packed = tmp_path / "study.bif.gz", gzip.compress(PLAIN.encode())
    for position in range(10, len(packed)):
        damaged = bytearray(packed)
        damaged[position] ^= 0xFF
        for content in (bytes(damaged), packed[:position]):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=r"study\.bif\.gz: the compressed file cannot be unpacked"):
                load_network(path)


@pytest.mark.parametrize("content", ["", "\n \n", "// nothing\n", "network x { }", "<BIF></BIF>"])
def test_files_without_a_variable_are_refused(tmp_path, content):
    path = tmp_path / "empty.bif"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"empty\.bif: no variable is declared"):
        load_network(path)


@pytest.mark.parametrize(
    "source", ["", "asiatic", "no/such/file.bif", "x" * 5000], ids=["empty", "name", "path", "long"]
)
def test_no_such_file(source):
    with pytest.raises(FileNotFoundError, match="alarm, andes, asia"):
        load_network(source)


@pytest.mark.parametrize("name", ["a.xmlbif", "b.xml", "c.bif"])
def test_xml_is_known_by_its_content(tmp_path, name):
    path = tmp_path / name
    path.write_text(XML.replace("?>", " encoding='UTF-8'?>", 1).replace(">A<", ">Ä<"), encoding="utf-8-sig")
    is_the_network_of_the_cases(load_network(path), "Ä")
    path.write_text(XML.replace("0.9 0.1", "0.9 0.2"), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{name}: a row of Y sums to 1\.1, not 1 \(at A=yes, B=low\)"):
        load_network(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("probability ( A ) {\n  table 0.3, 0.7;\n}", "", "A has no table"),
        ("0.3, 0.7", "nan, 0.7", "A has entries that are no probabilities"),
        ("0.3, 0.7", "0.3, inf", "A has entries that are no probabilities"),
        ("0.3, 0.7", "0, 0", "a row of A sums to 0, not 1$"),
        ("0.3, 0.7", "0.3, 0.68", r"a row of A sums to 0\.98, not 1$"),
        ("0.6, 0.3, 0.1", "6, 3, 1", r"a row of B sums to 10, not 1 \(at A=no\)$"),
        ("B | A", "B | B", "B must have distinct parents"),
    ],
)
def test_file_and_variable_are_named(tmp_path, old, new, message):
    path = tmp_path / "study.bif"
    path.write_text(PLAIN.replace(old, new))
    with pytest.raises(ValueError, match=rf"^study\.bif: .*{message}"):
        load_network(path)


def test_the_warning_of_rounding_points_at_the_caller():
    with pytest.warns(UserWarning, match="renormalised") as caught:
        load_network(PLAIN.replace("0.9, 0.1", "0.9, 0.104"))
    assert caught[0].filename == __file__


def test_zeros_and_single_states_are_kept():
    text = (
        PLAIN.replace("0.3, 0.7", "0, 1") + "variable C { type discrete [ 1 ] { only }; } probability (C) { table 1; }"
    )
    network = load_network(text)
    assert network.get_cpds("A").values.tolist() == [0, 1]
    assert states_of(network)["C"] == ("only",)
    never_seen = expected_reward(network, do(A="yes"), reward="Y", reward_values={"bad": 0, "good": 1})
    assert never_seen == pytest.approx(EXPECTED["expected_reward_good"]["do(A=yes)"], abs=1e-12)


# ------------------------------------------------------------------------------------------------------- other formats

OTHERS = {
    "GeNIe": '<?xml version="1.0"?><smile version="1.0" id="N"><nodes><cpt id="A"/></nodes></smile>',
    "Tetrad": "<bayesNet><bnVariables><discreteVariable name='X1' index='0'/></bnVariables></bayesNet>",
    "Tetrad, in a namespace": '<t:bayesNet xmlns:t="http://x.org"/>',
    "GraphML": '<!-- a graph --><graphml xmlns="http://graphml.graphdrawing.org/xmlns"></graphml>',
    "HTML": "<!DOCTYPE html>\n<html><body>404 {not found}</body></html>",
    "XML with the root <table>": "<table></table>",
    "Hugin": 'net { node_size = (80 40); }\nnode A { states = ("y" "n"); }',
    "Hugin, with a comment": '% drawn by hand\nnet\n{\n}\nnode A\n{\n  states = ("y" "n");\n}',
    "Hugin, as a class": "class study\n{\n  inputs = ();\n}",
    "Microsoft": 'belief network "ba"\nnode A { type : discrete [ 2 ] = { "0", "1" }; }',
    "Netica": "// ~->[DNET-1]->~\n\n// File created by somebody\nbnet study {\n",
    "Netica, without its mark": "bnet study {\n  node A { };\n};",
    "UAI": "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n .3 .7\n",
    "DOT": "digraph { A -> B; }",
    "dagitty": "dag { A -> B }",
    "JSON": '{"nodes": []}',
    "a graph of Tetrad": "Graph Nodes:\nX;Y\n\nGraph Edges:\n1. X --> Y\n",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_files_of_other_formats_are_named_for_what_they_are(kind, tmp_path):
    message = f"^FILE: the file must be BIF or XMLBIF, but is {re.escape(kind.split(',')[0])}.*: "
    path = tmp_path / "network.bif"
    path.write_text(OTHERS[kind])
    with pytest.raises(ValueError, match=message.replace("FILE", r"network\.bif")):
        load_network(path)
    with pytest.raises(ValueError, match=message.replace("FILE", "<text>")):
        load_network(OTHERS[kind])


@pytest.mark.parametrize(
    ("kind", "content"),
    {
        "a ZIP archive": b"PK\x03\x04\x14\x00\xff",
        "compressed by bzip2": bz2.compress(PLAIN.encode()),
        "compressed by bzip2 or xz": lzma.compress(PLAIN.encode()),
        "data of R": gzip.compress(b"RDX3\nX\n\x00\x00\x00\x03\xff\xfe"),
        "PDF": b"%PDF-1.4\n%\xe2\xe3",
        "a Python pickle": pickle.dumps(np.array([1.0])),
    }.items(),
    ids=["zip", "bz2", "xz", "rda", "pdf", "pickle"],
)
def test_bytes_of_other_formats_are_named(kind, content, tmp_path):
    path = tmp_path / "network.bif"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^network\.bif: the file must be BIF or XMLBIF, but is {kind}"):
        load_network(path)


@pytest.mark.parametrize(("writer", "suffix"), [("XDSL", "xdsl"), ("NET", "net"), ("UAI", "uai")])
def test_the_way_out_by_pgmpy_works(writer, suffix, tmp_path):
    """What pgmpy writes is refused by its name, and the call that the message names gives the network."""
    import pgmpy.readwrite

    path, network = tmp_path / f"cancer.{suffix}", load_network("cancer")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(getattr(pgmpy.readwrite, f"{writer}Writer")(network), f"write_{writer.lower()}")(str(path))
        with pytest.raises(ValueError, match=rf"pgmpy\.readwrite\.{writer}Reader\(file\)\.get_model\(\)"):
            load_network(path)
        again = getattr(pgmpy.readwrite, f"{writer}Reader")(str(path)).get_model()
    assert (len(again.nodes), len(again.edges)) == (5, 4)


def test_a_large_file_that_is_no_network_is_hardly_read(tmp_path):
    """100 MB on one line: the message has the first hundred characters, and some 64 KB were read."""
    path = tmp_path / "log.bif"
    with path.open("wb") as file:
        file.write(b"x" * 1000)
        file.truncate(100 * 2**20)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"^log\.bif: line 1 cannot be read as BIF: 'x{100}\.\.\. \(") as caught:
        load_network(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(str(caught.value)) < 200
    assert peak < 4 * 2**20


def test_a_file_too_large_for_a_network_is_refused(tmp_path):
    path = tmp_path / "endless.bif.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"network n { }\n")
        for _ in range(65):
            file.write(b" " * 2**20)
    with pytest.raises(ValueError, match="files of up to 64 MB are read, unpacked"):
        load_network(path)


LONG = "z" * 5000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("table 0.3, 0.7;", f"table {LONG};"),
        ("table 0.3, 0.7;", f"table {'0.1 ' * 3000};"),
        ("(yes, low) 0.9", f"({LONG}, low) 0.9"),
        ("(yes, low) 0.9", f"({'a, ' * 3000}, low) 0.9"),
        ("yes, no", ", ".join(f"s{i}" for i in range(3000))),
        ("variable A {", f"variable A {{ {LONG}"),
        ("network unknown", f"{LONG} unknown"),
        ("variable A {", f"variable {LONG} {{"),
        ("probability ( B | A )", f"probability ( B | {LONG} )"),
    ],
)
def test_messages_stay_short(old, new):
    text = PLAIN.replace(old, new, 1)
    assert text != PLAIN
    with pytest.raises(ValueError, match="<text>") as caught:
        load_network(text)
    assert len(str(caught.value)) < 600


# ------------------------------------------------------------------------------------------- one rule for sums of rows


def third(p, as_file):
    """Y of three states given A: a row of three rounded thirds, from a file or as an object of pgmpy."""
    if as_file:
        return load_network(
            "variable A { type discrete [2] { 0, 1 }; } variable Y { type discrete [3] { 0, 1, 2 }; }"
            f"probability (A) {{ table .5 .5; }} probability (Y | A) {{ (0) {p}, {p}, {p}; (1) .2 .3 .5; }}"
        )
    network = DiscreteBayesianNetwork([("A", "Y")])
    names = {"A": ["0", "1"], "Y": ["0", "1", "2"]}
    network.add_cpds(
        TabularCPD("A", 2, [[0.5], [0.5]], state_names={"A": names["A"]}),
        TabularCPD("Y", 3, [[p, 0.2], [p, 0.3], [p, 0.5]], ["A"], [2], state_names=names),
    )
    return network


@pytest.mark.parametrize("as_file", [True, False], ids=["file", "object"])
def test_rounded_rows_from_a_file_and_from_an_object_are_treated_alike(as_file):
    worth = {"0": 0, "1": 0.5, "2": 1}
    for p in (0.33, 0.333, 0.33333):
        with pytest.warns(UserWarning, match=r"rows of 1 variables do not sum to 1 \(worst: Y, off by") as caught:
            mean = expected_reward(third(p, as_file), do(A="0"), reward="Y", reward_values=worth)
        assert mean == pytest.approx(0.5, abs=1e-12)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulated = SimulatedEnvironment(third(p, as_file), seed=0).sample(do(A="0"), 30_000)
        counts = np.bincount(simulated.codes[:, 1], minlength=3)
        assert counts.max() - counts.min() < 600  # five standard errors of a difference: 5 sqrt(2/3 * 30,000) = 707
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network = third(0.3333333333, as_file)
        assert expected_reward(network, do(A="0"), reward="Y", reward_values=worth) == pytest.approx(0.5, abs=1e-9)
    for p, message in ((0.32, r"a row of Y sums to 0\.96, not 1 \(at A=0\)"), (np.nan, r"nan for 0 \(at A=0\)")):
        with pytest.raises(ValueError, match=message):
            expected_reward(third(p, as_file), do(A="0"), reward="Y", reward_values=worth)


def test_rows_off_by_a_hundredth_are_within_it():
    """.33 + .33 + .33 is off by .01 and 9e-18 in floating point; .34 + .34 + .33 and .1 in a sum as well."""
    for row in (".33, .33, .33", ".34, .34, .33", ".1, .2, .69"):
        with pytest.warns(UserWarning, match=r"worst: B, off by 0\.01"):
            load_network(PLAIN.replace("0.6, 0.3, 0.1", row))


def test_a_folder_is_called_one(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        load_network(tmp_path)
