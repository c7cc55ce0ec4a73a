"""Binary generalised linear models: expected rewards from the equations of the nodes (Algorithm 2 of the paper)."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np

from pgcpe._checks import one_of
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.paper_radii import BGLM_RADII, paper_bglm_radius
from pgcpe.estimators.base import IntervalEstimator, check_samples, started
from pgcpe.estimators.binary_model import BinaryModel
from pgcpe.estimators.node_equations import modelled_graph
from pgcpe.estimators.schedule import Observations
from pgcpe.graphs.identification import nodes_on_paths
from pgcpe.graphs.states import shown
from pgcpe.plays.encoding import check_question
from pgcpe.plays.samples import Samples

__all__ = ["BGLM"]

RARE = 0.05
"""kappa is by default the smallest slope where probabilities lie in [RARE, 1 - RARE]."""


class BGLM(BinaryModel, IntervalEstimator):
    """Every node is 1 with probability f(theta . parents): fitted node by node, then followed through the graph.

    The model is the user's assertion, like the graph: no hidden common cause, two states a node and this link. Hidden
    causes of a single node are its noise and are left out; for all else there is `AdmissibleSequence`. Only the
    ancestors of the reward matter to a policy, and only they have to fit.

    A node is 1 in the state called 1, true or yes, else in its second; `ones_` says which. (``states=`` of
    `fit` and of `CausalBandit` gives the order.)

    Parameters
    ----------
    link
        ``"identity"``, ``"logit"``, ``"probit"`` or ``"cloglog"``.
    method
        ``"mle"``: maximum likelihood. ``"estimating_equation"``: the paper's ``sum (X - f(V theta)) V = 0``, which is
        the same for the logit link; for the identity it is least squares and needs a quarter more plays.
    constant
        The paper's global parent X_0: a root of the graph that is always 1. The equations then hold what the graph
        says and need no column for it. Without it every node has an intercept.
    radius
        How beta_O of Eq. (6) is read in a policy: ``"proved"``, ``"printed"``, ``"ell_D"``, ``"ell"`` or ``"plain"``;
        `paper_bglm_radius` says what each is worth. All are heuristic. At the constants of the
        theorem the first two say nothing before millions of plays; ``radius="ell", alpha=0.05`` is what fits the
        paper's Experiment 1, and is too narrow elsewhere.
    alpha
        The factor of the radius, by default 6 sqrt(2), the constant of the theorem.
    eta
        The probability of Assumption 3: every parent takes either value with at least this probability, whatever the
        other parents are. A policy reads no tables, so the user has to say it.
    kappa
        The smallest slope of f (Assumption 2), by default that where probabilities lie in [.05, .95].
    burn_in
        The constant c of Algorithm 1. Observational intervals are [0, 1] until its number of observations is reached
        (line 5; direct plays alone may stop before that). By default there is no burn-in.
    refresh
        The model is fitted anew at every `refresh`-th play told, of whatever action (50 in Experiment 1). By default
        at every play up to a hundred, then whenever their number has grown by a hundredth.
    draws
        Size of the simulation where the graph is too wide for an exact computation.

    Attributes
    ----------
    coef_ : pandas.DataFrame
        Columns node, parent, theta: one row a coefficient, parent ``"(intercept)"`` for the intercepts. A parent that
        never varied, or is a linear function of those before it, has the coefficient 0. After `fit`.
    ones_ : dict
        The state of each node that counts as 1.
    dropped_ : dict
        How many rows ``missing="drop"`` left out, by the variable that was missing. After `fit`.

    Examples
    --------
    >>> from pgcpe import SimulatedEnvironment, do, load_network
    >>> network = load_network("cancer")
    >>> data = SimulatedEnvironment(network, seed=0).sample(do(), 20_000)
    >>> model = BGLM("logit").fit(network, data)
    >>> model.coef_[model.coef_.node == "Dyspnoea"].round(2)
           node       parent  theta
    7  Dyspnoea  (intercept)  -0.88
    8  Dyspnoea       Cancer   1.66
    >>> estimate = model.expected_reward(do(Smoker="True"), "Dyspnoea", {"True": 1, "False": 0})
    >>> round(estimate.value, 3), round(estimate.se, 3)
    (0.304, 0.003)
    """

    event: ClassVar[str] = "observational intervals"

    def __init__(
        self,
        link: str = "logit",
        *,
        method: str = "mle",
        constant: str | None = None,
        radius: str = "proved",
        alpha: float | None = None,
        eta: float = 0.05,
        kappa: float | None = None,
        burn_in: float | None = None,
        refresh: int | None = None,
        draws: int = 20_000,
    ) -> None:
        super().__init__(link, method=method, constant=constant, draws=draws)
        self.radius = radius
        self.alpha = alpha
        self.eta = eta
        self.kappa = kappa
        self.burn_in = burn_in
        self.refresh = refresh

    @property
    def certificate(self) -> str:
        """``"heuristic"``: no reading of the paper's radius has a full guarantee."""
        return "heuristic"

    def required(self, bandit: CausalBandit) -> tuple[str, ...]:
        """Return the ancestors of the reward, but for its noise and the constant."""
        graph = modelled_graph(bandit.graph, bandit.states, bandit.reward, self.constant)
        return tuple(v for v in graph if v not in (self.constant, bandit.reward))

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit that records the ancestors of the reward.

        Raises
        ------
        ValueError
            If the model does not fit the graph, a variable it needs is not recorded (`CausalBandit.recording`), or
            an option is out of range.
        """
        check_question(bandit)
        graph = modelled_graph(bandit.graph, bandit.states, bandit.reward, self.constant)
        self._prepare(graph, bandit.states)
        self._check_options()
        nodes = self._equations.regressions.nodes
        if missing := [v for v in nodes if v not in (*bandit.required, bandit.reward)]:
            needed = list(self.required(bandit))
            raise ValueError(f"the bandit must record {', '.join(missing)}: use bandit.recording({needed})")
        self._columns = np.array([bandit.coding.variables.index(v) for v in nodes])
        self._sigma = self._sigma_of(bandit)
        if barred := [str(action) for action in bandit.playable if self.constant in action]:
            raise ValueError(f"{self.constant} is always 1 and cannot be set, but {barred[0]} is playable")
        on_paths = [nodes_on_paths(graph, arm, bandit.reward) for arm in bandit.canonical]
        self._on_paths = np.array([[v in some for v in nodes] for some in on_paths])  # N_{S,Y}, arms x nodes
        self._observations = Observations(self.refresh, every_play=True)
        self.bandit_ = bandit
        self._counted, self._level = 0, math.nan
        self._current: Intervals | None = None
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play of ``do()`` (Algorithm 1, line 9), which fits passive observations alone."""
        check_samples(samples)
        started(self)
        due = self._observations.add(samples)
        if due is not None and len(due[0]):
            self._equations.count(due[0][:, self._columns])
            self._counted += len(due[0])
            self._current = None
        return self

    @property
    def n_events_(self) -> int:
        """1: beta_O has no union over the arms, for their intervals are functions of one estimate."""
        return 1

    def intervals(self, level: float) -> Intervals:
        """Return ``sigma(theta, a) -+ beta_O``, not cut off at 0 and 1.

        It is infinite during the burn-in, and for an arm as long as the observations do not determine the equations on
        its paths to the reward.
        """
        started(self)
        if self._current is None or level != self._level:
            self._level = probability("level", level)
            self._current = self._work_out(level)
        return self._current

    def _work_out(self, delta: float) -> Intervals:
        if self._counted == 0 or self._counted < self._burn_in(delta):
            return Intervals.unbounded(len(self._on_paths))
        self._equations.fit()  # Algorithm 1, line 10: BGLM-estimate (Algorithm 2)
        mean = self._reward(self.bandit_, self._sigma(self._equations.theta))
        radius = paper_bglm_radius(
            self._counted,
            self._on_paths.sum(axis=1),
            self._equations.regressions.most_columns,
            len(self._equations.regressions.nodes),
            delta,
            reading=self.radius,
            alpha=6.0 * math.sqrt(2.0) if self.alpha is None else self.alpha,
            slope_ratio=self._equations.link.largest_slope / self._kappa,
            eta=self.eta,
        )
        radius[(self._on_paths & ~self._equations.determined).any(axis=1)] = math.inf
        # Algorithm 1, line 11: sigma(theta, S) -+ beta_O
        return Intervals(mean - radius, mean + radius)

    def _burn_in(self, delta: float) -> float:
        """Return how many observations Algorithm 1, line 5 asks for by now."""
        if self.burn_in is None:
            return 0.0
        t, n = float(self._counted), len(self._equations.regressions.nodes)
        d = float(self._equations.regressions.most_columns)
        first = self.burn_in * d / self.eta**2 * math.log(n * t**2 / delta)
        curved = 1024 * self._equations.link.largest_curvature**2 * (4 * d**2 - 3) * d / (self._kappa**4 * self.eta)
        return max(first, curved * (d**2 + math.log(3 * n * t**2 / delta)))

    @property
    def _kappa(self) -> float:
        return self._equations.link.smallest_slope(RARE) if self.kappa is None else self.kappa

    def _check_options(self) -> None:
        one_of("radius", self.radius, BGLM_RADII)
        for name in ("alpha", "kappa", "burn_in", "eta"):
            value = getattr(self, name)
            if value is None and name != "eta":
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, but got {shown(value)}")
        if self.eta > 0.5:
            raise ValueError(f"eta must be above 0 and at most .5, but got {self.eta}")
