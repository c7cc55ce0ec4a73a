"""The networks of the package are the published ones: the same as pgmpy's files, as long as pgmpy has them."""

import gzip
import itertools
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import pgcpe
from pgcpe import expected_reward, load_network, shipped_networks
from pgcpe.graphs import shipped
from pgcpe.graphs.bif import parse_bif
from pgcpe.plays.actions import do

OURS = Path(pgcpe.__file__).parent / "data" / "networks"
THEIRS = Path(find_spec("pgmpy").origin).parent / "utils" / "example_models"

PUBLISHED = {
    "alarm": "I. A. Beinlich, H. J. Suermondt, R. M. Chavez and G. F. Cooper, The ALARM monitoring system: a case "
    "study with two probabilistic inference techniques for belief networks, Proc. 2nd European Conference on "
    "Artificial Intelligence in Medicine, 1989, 247-256",
    "andes": "C. Conati, A. S. Gertner, K. VanLehn and M. J. Druzdzel, On-line student modeling for coached problem "
    "solving using Bayesian networks, Proc. 6th International Conference on User Modeling, 1997, 231-242",
    "asia": "S. L. Lauritzen and D. J. Spiegelhalter, Local computations with probabilities on graphical structures "
    "and their application to expert systems, Journal of the Royal Statistical Society B 50, 1988, 157-224",
    "cancer": "K. B. Korb and A. E. Nicholson, Bayesian Artificial Intelligence, 2nd edition, CRC Press, 2010",
    "child": "D. J. Spiegelhalter, A. P. Dawid, S. L. Lauritzen and R. G. Cowell, Bayesian analysis in expert systems, "
    "Statistical Science 8, 1993, 219-247",
    "earthquake": "K. B. Korb and A. E. Nicholson, Bayesian Artificial Intelligence, 2nd edition, CRC Press, 2010",
    "insurance": "J. Binder, D. Koller, S. Russell and K. Kanazawa, Adaptive probabilistic networks with hidden "
    "variables, Machine Learning 29, 1997, 213-244",
    "sachs": "K. Sachs, O. Perez, D. Pe'er, D. A. Lauffenburger and G. P. Nolan, Causal protein-signaling networks "
    "derived from multiparameter single-cell data, Science 308, 2005, 523-529",
    "survey": "M. Scutari and J.-B. Denis, Bayesian Networks: With Examples in R, Chapman & Hall, 2014",
}


def text_of(name, states, tables):
    """BIF of the tables, a row for each combination of parents, numbers as they were printed, the source on top."""

    def quoted(text):
        return text if text.isidentifier() else json.dumps(text, ensure_ascii=False)

    lines = [f"// {PUBLISHED[name]}.", f"network {name} {{ }}"]
    for variable, names in states.items():
        listed = ", ".join(map(quoted, names))
        lines.append(f"variable {quoted(variable)} {{ type discrete [ {len(names)} ] {{ {listed} }}; }}")
    for variable, (parents, values) in ((v, tables[v]) for v in states):
        head = " | ".join([quoted(variable), ", ".join(map(quoted, parents))]) if parents else quoted(variable)
        lines.append(f"probability ( {head} ) {{")
        for column in itertools.product(*(range(n) for n in values.shape[1:])):
            label = ", ".join(quoted(states[p][j]) for p, j in zip(parents, column, strict=True))
            numbers = ", ".join(repr(float(p)).removesuffix(".0") for p in values[:, *column])
            lines.append(f"  ({label}) {numbers};" if parents else f"  table {numbers};")
        lines.append("}")
    return "\n".join([*lines, ""])


def published_tables(name):
    return parse_bif(gzip.decompress((THEIRS / f"{name}.bif.gz").read_bytes()).decode())


def test_the_networks_of_the_package():
    assert {path.name for path in OURS.iterdir()} == {f"{name}.bif.gz" for name in PUBLISHED}
    assert sum(path.stat().st_size for path in OURS.iterdir()) < 50_000
    assert set(PUBLISHED) <= set(shipped_networks())


@pytest.mark.parametrize("name", PUBLISHED)
def test_ours_say_where_they_were_published_and_are_taken_first(name):
    text = gzip.decompress(shipped.shipped_file(name).read_bytes()).decode()
    assert shipped.shipped_file(name).parent == OURS
    assert text.startswith(f"// {PUBLISHED[name]}.\n")
    states, tables = parse_bif(text)
    assert text == text_of(name, states, tables)


@pytest.mark.skipif(not THEIRS.is_dir(), reason="this pgmpy ships no networks")
@pytest.mark.parametrize("name", PUBLISHED)
def test_ours_are_the_networks_of_pgmpy(name, tmp_path):
    theirs = load_network(THEIRS / f"{name}.bif.gz")
    ours = load_network(name)
    assert list(ours.nodes) == list(theirs.nodes)
    assert set(ours.edges) == set(theirs.edges)
    for variable in ours.nodes:
        mine, other = ours.get_cpds(variable), theirs.get_cpds(variable)
        assert (mine.variables, mine.state_names) == (other.variables, other.state_names)
        assert np.array_equal(mine.values, other.values)
    assert gzip.decompress((OURS / f"{name}.bif.gz").read_bytes()).decode() == text_of(name, *published_tables(name))


def test_without_the_folder_of_pgmpy_ours_are_left(monkeypatch):
    """As from the version on that drops it."""
    monkeypatch.setattr(shipped, "find_spec", lambda name: None)
    assert shipped_networks() == sorted(PUBLISHED)
    assert len(load_network("alarm").nodes) == 37
    with pytest.raises(FileNotFoundError, match=r"no network of that name is shipped.*alarm, andes, asia"):
        load_network("munin")


def test_asia_as_published():
    """P(dyspnoea) = .4360 (Lauritzen and Spiegelhalter 1988, Section 3)."""
    assert expected_reward(load_network("asia"), do(), reward="dysp", reward_values={"yes": 1, "no": 0}) == (
        pytest.approx(0.4360, abs=5e-5)
    )
