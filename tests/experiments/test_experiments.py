"""repeat and plan: what rows they give, that they are the same however they are run, and that they are true."""

import gzip
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest

from pgcpe import CCPE, LUCB, AdmissibleSequence, SimulatedEnvironment, SuccessiveRejects, do, expected_rewards
from pgcpe.experiments import grid_search, plan, read_rows, repeat, summarise
from pgcpe.experiments.rows import KEY
from pgcpe.experiments.running import _described, takes_budget
from pgcpe.experiments.summary import _median_interval
from pgcpe.paper import experiment_2, parallel

POLICIES = {"LUCB": partial(LUCB, epsilon=0.1), "SR": SuccessiveRejects}


def instance(seed):
    question = parallel([0.5, 0.4], [0.4, 0.1], 0.2)
    return question.bandit, question.environment(seed)


RUN_HERE: list[int] = []


def recorded(seed):
    """The instance of a seed, which is noted in the process that runs it."""
    RUN_HERE.append(seed)
    return instance(seed)


def run_here():
    return len(RUN_HERE)


@pytest.fixture(scope="module")
def rows():
    return repeat(POLICIES, instance, seeds=range(8), budgets=[200, 50, 3_000], progress=False)


def test_one_row_for_each_seed_policy_and_budget(rows):
    assert len(rows) == 8 * 2 * 3
    assert rows.groupby(["seed", "policy"])["budget"].apply(list).tolist() == [[50, 200, 3_000]] * 16
    assert (rows["plays"] <= rows["budget"]).all()
    assert rows["seed"].is_monotonic_increasing
    assert set(rows["arms"]) == {5}


def test_a_policy_that_stopped_stays_as_it_is(rows):
    lucb = rows[rows["policy"] == "LUCB"]
    last = lucb[lucb["budget"] == 3_000]
    assert last["stopped"].all()
    assert (last["plays"] < 3_000).all()
    assert (last["certificate"] == "exact").all()
    assert not lucb[lucb["budget"] == 50]["stopped"].any()


def test_each_row_is_a_run_of_its_own(rows):
    """What a row says comes again from the policy alone, in one go."""
    for budget in (50, 200):
        bandit, environment = instance(5)
        rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(0,)))
        alone = LUCB(bandit, epsilon=0.1, seed=rng)
        alone.run(environment, budget=budget, progress=False)
        row = rows[(rows["seed"] == 5) & (rows["policy"] == "LUCB") & (rows["budget"] == budget)].iloc[0]
        assert (row["plays"], row["recommendation"]) == (alone.n_plays, str(alone.recommendation))


def test_regret_is_measured_by_the_truth(rows):
    bandit, environment = instance(0)
    truth = expected_rewards(environment.network, bandit, progress=False)
    worth = {str(arm): mu for arm, mu in truth.items()}
    for row in rows.itertuples():
        assert row.regret == pytest.approx(truth.max() - worth[row.recommendation], abs=1e-8)
        assert row.correct == (row.regret < 1e-8)


def test_parallel_runs_give_the_same_rows(rows):
    again = repeat(POLICIES, instance, seeds=range(8), budgets=[50, 200, 3_000], n_jobs=2, progress=False)
    pd.testing.assert_frame_equal(again, rows)


def test_an_environment_that_does_not_know_the_truth():
    class Laboratory:
        def __init__(self, seed):
            self.real = instance(seed)[1]

        def perform(self, actions):
            return self.real.perform(actions).to_frame()

    rows = repeat(POLICIES, lambda seed: (instance(seed)[0], Laboratory(seed)), seeds=[0], budgets=[20], progress=False)
    assert len(rows) == 2
    assert "correct" not in rows


def test_the_copies_of_an_environment_do_not_disturb_each_other():
    alone = repeat({"LUCB": POLICIES["LUCB"]}, instance, seeds=[3], budgets=[40], progress=False)
    both = repeat({"SR": POLICIES["SR"], **POLICIES}, instance, seeds=[3], budgets=[40], progress=False)
    assert both[both["policy"] == "LUCB"].to_dict("records") == alone.to_dict("records")


def test_rows_say_what_was_run(rows):
    lucb, rejects = (rows[rows["policy"] == name].iloc[0] for name in POLICIES)
    assert (lucb["radius"], lucb["epsilon"], lucb["delta"]) == ("kt", 0.1, 0.05)
    assert (lucb["parameters"], rejects["parameters"]) == ("LUCB(epsilon=0.1)", "SuccessiveRejects()")
    ccpe = partial(CCPE, estimator=AdmissibleSequence("paper", 0.25), delta=0.1)
    named = repeat({"CCPE": ccpe}, instance, seeds=[0], budgets=[5], experiment="parallel", progress=False).iloc[0]
    assert named["experiment"] == "parallel"
    assert named["parameters"] == "CCPE(delta=0.1, estimator=AdmissibleSequence(alpha=0.25, radius='paper'))"
    assert named["radius"] == "kt, paper"


def test_each_policy_may_have_its_own_budgets():
    rows = repeat(POLICIES, instance, seeds=[0], budgets={"LUCB": [10, 30], "SR": [20]}, progress=False)
    assert list(zip(rows["policy"], rows["budget"], strict=True)) == [("LUCB", 10), ("LUCB", 30), ("SR", 20)]
    with pytest.raises(ValueError, match="budgets must name every policy, but lack SR"):
        repeat(POLICIES, instance, seeds=[0], budgets={"LUCB": [10]}, progress=False)


class Cut(Exception):
    """The power fails."""


def counted(seeds, cut=None):
    """An instance that notes which seeds were run, and fails at one."""

    def make(seed):
        seeds.append(seed)
        if seed == cut:
            raise Cut
        return instance(seed)

    return make


FILED = {"seeds": range(6), "budgets": [20, 60], "progress": False, "experiment": "two causes"}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rows.csv"


def test_a_cut_run_goes_on_where_it_stopped(file):
    whole = repeat(POLICIES, instance, **FILED)
    seen = []
    with pytest.raises(Cut):
        repeat(POLICIES, counted(seen, cut=3), **FILED, file=file)
    assert seen == [0, 1, 2, 3]
    assert set(read_rows(file)["seed"]) == {0, 1, 2}
    again = []
    rows = repeat(POLICIES, counted(again), **FILED, file=file)
    assert again == [3, 4, 5]
    pd.testing.assert_frame_equal(rows, whole)
    pd.testing.assert_frame_equal(read_rows(file), whole)
    pd.testing.assert_frame_equal(repeat(POLICIES, counted(again), **FILED, file=file), whole)
    assert again == [3, 4, 5]  # nothing was left to do


def test_a_run_may_be_cut_anywhere(file):
    """At every byte of the last seed, and at some before it: nothing is lost, and the rest is run again."""
    whole = repeat(POLICIES, instance, **FILED, file=file)
    text = file.read_bytes()
    last = text.rindex(b"two causes,LUCB", 0, text.rindex(b"two causes,LUCB"))  # of its two rows there
    few = FILED | {"seeds": [0, 5]}
    expected = whole[whole["seed"].isin([0, 5])].reset_index(drop=True)
    for length in [0, 5, 300, 800, *range(last, len(text), 7), *range(len(text) - 12, len(text))]:
        file.write_bytes(text[:length])
        pd.testing.assert_frame_equal(repeat(POLICIES, instance, **few, file=file), expected)
        pd.testing.assert_frame_equal(read_rows(file).query("seed in [0, 5]").reset_index(drop=True), expected)


def test_only_what_was_cut_is_taken_off(file):
    repeat(POLICIES, instance, **FILED, file=file)
    text = file.read_bytes()
    again = []
    for cut in (text[:-1], text):  # an editor may leave out the last end of line
        file.write_bytes(cut)
        repeat(POLICIES, counted(again), **FILED, file=file)
        assert file.read_bytes() == text
    assert again == []


FOREIGN = {
    "notes": b"my precious notes",
    "another table": b"a,b\n1,2\n",
    "other columns": b"policy,experiment,seed\nLUCB,x,1\n",
    "an end of line": b"\n",
    "old Mac": None,
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_something_else_is_not_touched(name, file):
    content = FOREIGN[name]
    if content is None:
        repeat(POLICIES, instance, **FILED, file=file)
        content = file.read_bytes().replace(b"\n", b"\r")
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.csv must be empty or have the rows of `repeat`, but begins with"):
        repeat(POLICIES, instance, **FILED, file=file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("seed", "zz", "seed must be an integer, but row 3 of .* has 'zz'"),
        ("plays", "1.5", "plays must be an integer"),
        ("regret", "much", "regret must be a number"),
        ("correct", "no", "correct must be True or False, but row 3 of .* has 'no'"),
        ("stopped", "", "stopped must be True or False"),
    ],
)
def test_a_file_that_was_spoilt(column, value, message, file):
    repeat(POLICIES, instance, **FILED, file=file)
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    table.loc[3, column] = value
    table.to_csv(file, index=False)
    before = file.read_bytes()
    for use in (lambda: read_rows(file), lambda: repeat(POLICIES, instance, **FILED, file=file)):
        with pytest.raises(ValueError, match=message):
            use()
    assert file.read_bytes() == before


def test_files_that_cannot_be_read(tmp_path, file):
    repeat(POLICIES, instance, **FILED, file=file)
    packed = gzip.compress(file.read_bytes())
    for name, content in {"a.csv.gz": packed[:200], "b.csv.zip": b"none", "c.csv.xz": packed, "d.csv": b'a\n"'}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            read_rows(tmp_path / name)
    (tmp_path / "e.csv.gz").write_bytes(packed)
    pd.testing.assert_frame_equal(read_rows(tmp_path / "e.csv.gz"), read_rows(file))


def test_rows_that_come_twice_count_once(file):
    rows = repeat(POLICIES, instance, **FILED | {"budgets": [20]}, file=file)
    both = repeat(POLICIES, instance, **FILED, file=file)
    assert file.read_text().count("\n") == 1 + len(rows) + len(both)
    pd.testing.assert_frame_equal(
        read_rows(file).sort_values(KEY, ignore_index=True), both.sort_values(KEY, ignore_index=True)
    )


def test_texts_of_any_kind(file):
    names = ['comma, "quoted"', "NA", "1", "1e5", "True", "ünïcode", "'", "None"]
    policies = dict.fromkeys(names, SuccessiveRejects)
    rows = repeat(policies, instance, **FILED | {"seeds": [0], "experiment": "NA"}, file=file)
    pd.testing.assert_frame_equal(read_rows(file), rows)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))  # as another system writes it
    pd.testing.assert_frame_equal(
        repeat(policies, instance, **FILED | {"seeds": [0], "experiment": "NA"}, file=file), rows
    )


def test_another_policy_or_experiment_joins_the_file(file):
    repeat({"SR": POLICIES["SR"]}, instance, **FILED, file=file)
    repeat(POLICIES, instance, **FILED | {"experiment": "other"}, file=file)
    rows = repeat(POLICIES, instance, **FILED, file=file)
    pd.testing.assert_frame_equal(rows, repeat(POLICIES, instance, **FILED))
    assert set(read_rows(file)["experiment"]) == {"two causes", "other"}
    pd.testing.assert_frame_equal(
        repeat(POLICIES, instance, **FILED | {"seeds": [4, 1]}, file=file),
        repeat(POLICIES, instance, **FILED | {"seeds": [4, 1]}),
    )


def test_rows_of_other_parameters_are_not_taken_for_these(file):
    repeat(POLICIES, instance, **FILED, file=file)
    before = file.read_bytes()
    for other, text in (
        (partial(LUCB, epsilon=0.2), r"LUCB\(epsilon=0.2\)"),
        (SuccessiveRejects, r"SuccessiveRejects\(\)"),
    ):
        with pytest.raises(ValueError, match=rf"has rows of LUCB as LUCB\(epsilon=0.1\), not as {text}"):
            repeat({"LUCB": other}, instance, **FILED, file=file)
    assert file.read_bytes() == before


def test_parameters_as_text():
    grid = np.zeros(3_000)
    other = grid.copy()
    other[1_500] = 1e-12
    assert _described(partial(LUCB, w=grid)) != _described(partial(LUCB, w=other))
    assert _described(partial(LUCB, alpha=np.float64(0.1))) == _described(partial(LUCB, alpha=0.1))
    assert _described(partial(LUCB, a=object(), f=np.mean)) == "LUCB(a=<object object>, f=mean)"


def test_a_file_that_rows_cannot_go_to(tmp_path):
    for place in (tmp_path / "rows.csv.gz", tmp_path / "nowhere" / "rows.csv", tmp_path):
        with pytest.raises(ValueError, match=r"rows are appended to a \.csv file in an existing folder, but got"):
            repeat(POLICIES, counted([], cut=0), **FILED, file=place)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(ValueError, match="must have rows, but is empty"):
        read_rows(tmp_path / "empty.csv")


def test_rows_without_a_truth_come_back_without_it(file):
    class Laboratory:
        def __init__(self, seed):
            self.perform = instance(seed)[1].perform

    rows = repeat(POLICIES, lambda seed: (instance(seed)[0], Laboratory(seed)), **FILED | {"seeds": [0]}, file=file)
    assert "correct" not in rows
    pd.testing.assert_frame_equal(read_rows(file), rows)
    known = repeat(POLICIES, instance, **FILED | {"experiment": "known"}, file=file)
    for name, expected in (("known", known), ("two causes", rows)):
        mine = read_rows(file).query("experiment == @name").reset_index(drop=True)
        pd.testing.assert_frame_equal(mine[list(rows)], expected[list(rows)])
        assert mine["correct"].isna().all() == (name == "two causes")
    pd.testing.assert_frame_equal(repeat(POLICIES, instance, **FILED | {"experiment": "known"}, file=file), known)
    with pytest.raises(ValueError, match="rows must say which recommendations are correct"):
        summarise(read_rows(file))
    with pytest.raises(ValueError, match="rows must be those of `repeat` where the truth is known, but lack correct"):
        summarise(rows)


def test_a_context_of_joblib_chooses_where(rows):
    with joblib.parallel_config("loky", n_jobs=2):
        again = repeat(POLICIES, instance, seeds=range(8), budgets=[50, 200, 3_000], progress=False)
    pd.testing.assert_frame_equal(again, rows)


def test_a_dask_cluster_gives_the_rows_of_a_serial_run(rows):
    from dask.distributed import Client, LocalCluster

    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers, silence_logs=50) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        with joblib.parallel_config("dask"):
            again = repeat(POLICIES, recorded, seeds=range(8), budgets=[50, 200, 3_000], progress=False)
        here = client.run(run_here)
    assert sum(here.values()) == 8  # all seeds ran on the workers
    assert not RUN_HERE
    pd.testing.assert_frame_equal(again, rows)


def test_a_grid_is_searched(file):
    grid = {"alpha": [0.1, 1.0], "radius": ["lucb1", "paper"]}
    table = grid_search(LUCB, instance, grid, seeds=range(12), budgets=[30, 90], file=file, progress=False)
    rows = read_rows(file)
    assert len(table) == rows["policy"].nunique() == 4
    assert table["error"].is_monotonic_increasing
    for line in table.itertuples():
        mine = rows[rows["policy"] == f"alpha={line.alpha}, radius={line.radius!r}"]
        assert line.error == pytest.approx(1 - mine["correct"].mean())
        assert line.runs == 12
    assert table["error at 90"].mean() < table["error at 30"].mean()


def test_the_interval_of_a_median_holds():
    """A 95 % interval fails in more than 35 of 400 samples with probability below .001 (binomial)."""
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(400, 40))
    inside = [low <= np.log(2) <= high for low, high in map(_median_interval, samples)]
    assert 400 - 35 <= sum(inside) < 400  # nor is it far too wide


def test_which_makers_want_a_budget():
    assert not takes_budget(LUCB)
    assert takes_budget(SuccessiveRejects)
    assert not takes_budget(partial(SuccessiveRejects, budget=30))
    assert takes_budget(lambda bandit, seed, budget: None)


def test_a_summary_counts():
    rows = pd.DataFrame(
        {
            "policy": ["A"] * 4,
            "budget": [10] * 4,
            "plays": [4, 10, 10, 10],
            "stopped": [True, True, False, False],
            "correct": [True, False, False, True],
        }
    )
    summed = summarise(rows).iloc[0]
    assert (summed["runs"], summed["error"], summed["stopped"], summed["wrong"]) == (4, 0.5, 0.5, 1)
    assert summed["error_low"] == pytest.approx(0.15, abs=0.005)  # Wilson's interval for 2 of 4
    assert summed["error_high"] == pytest.approx(0.85, abs=0.005)
    assert summed["plays"] == 10
    assert np.isnan(summed["plays_low"])  # no interval of order statistics holds with 95 % in 4 runs


@pytest.mark.parametrize("grid", [{}, {"seed": [1]}, {"error": [1]}, {"alpha": [1.0, 1.0]}])
def test_a_grid_that_makes_no_sense(grid):
    with pytest.raises(ValueError, match="grid must have parameters"):
        grid_search(LUCB, instance, grid, seeds=[0], budgets=[10], progress=False)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"policies": {}}, ValueError, "there must be at least one policy"),
        ({"policies": {"a": 3}}, TypeError, "a must be callable"),
        ({"policies": {1: LUCB}}, ValueError, "must be named by a line of text, but got 1"),
        ({"policies": {"a\nb": LUCB}}, ValueError, "must be named by a line of text"),
        ({"experiment": None}, ValueError, "must be named by a line of text, but got None"),
        ({"policies": {"a": partial(LUCB, seed=3)}}, ValueError, "a must not fix its seed"),
        ({"policies": {"a": lambda bandit, seed: None}}, TypeError, "must make a policy, but made None"),
        ({"seeds": []}, ValueError, "seeds must be distinct and at least one"),
        ({"seeds": [0, 0]}, ValueError, "seeds must be distinct"),
        ({"seeds": [0, None]}, ValueError, "seeds must be integers from 0"),
        ({"seeds": [-1]}, ValueError, "seeds must be integers from 0"),
        ({"seeds": [2**63]}, ValueError, "seeds must be integers from 0"),
        ({"budgets": []}, ValueError, "budgets must be positive integers"),
        ({"budgets": [0, 5]}, ValueError, "budgets must be positive integers"),
        ({"budgets": [20.7]}, ValueError, "budgets must be positive integers"),
        ({"budgets": {"LUCB": "12", "SR": [7]}}, TypeError, "budgets must be a sequence of integers, but got '12'"),
        ({"budgets": 20}, TypeError, "budgets must be a sequence of integers, but got 20"),
    ],
)
def test_bad_arguments(bad, error, message):
    given = {"policies": POLICIES, "instance": instance, "seeds": [0], "budgets": [5], "progress": False} | bad
    with pytest.raises(error, match=message):
        repeat(**given)


def test_a_policy_that_was_told_of_plays_before():
    def informed(bandit, seed):
        policy = LUCB(bandit, epsilon=0.1, seed=seed)
        return policy.tell(do(), instance(9)[1].sample(do(), 30))

    rows = repeat({"informed": informed}, instance, seeds=[0], budgets=[20, 40], progress=False)
    assert rows["plays"].tolist() == [30, 40]


def test_a_plan_is_what_happens():
    """Planned from 30 studies, performed in 30 others on the same truth: the medians of such small samples of one
    distribution differ by less than a third here (quartiles .8 and 1.25 of the median, as measured)."""
    question = experiment_2(0)
    planned = plan(
        question.bandit, question.network, policies={"LUCB": LUCB}, epsilon=0.2, runs=30, progress=False
    ).iloc[0]
    plays = []
    for seed in range(100, 130):
        policy = LUCB(question.bandit, epsilon=0.2, seed=seed)
        policy.run(SimulatedEnvironment(question.network, seed=seed), progress=False)
        plays.append(policy.n_plays)
    assert np.median(plays) == pytest.approx(planned.plays, rel=1 / 3)
    assert planned.plays_low <= planned.plays <= planned.plays_high
    assert (planned.stopped, planned.wrong, planned.cost) == (1.0, 0.0, planned.plays)


def test_a_plan_that_cannot_be_afforded_says_so():
    question = experiment_2(0)
    table = plan(
        question.bandit,
        question.network,
        policies={"LUCB": LUCB, "CCPE": CCPE},
        epsilon=0.0,
        runs=2,
        budget=100,
        progress=False,
    )
    assert table["stopped"].tolist() == [0, 0]
    assert table["plays"].tolist() == [100, 100]
