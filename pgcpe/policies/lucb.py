"""Direct plays alone: LUCB and its relatives, top-two."""

from __future__ import annotations

from pgcpe._checks import flag
from pgcpe.bandit import CausalBandit
from pgcpe.estimators.empirical_means import EmpiricalMeans
from pgcpe.policies.base import Policy
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.rules.base import Seed, n_arms_of
from pgcpe.policies.rules.direct_evidence import PairLevels
from pgcpe.policies.rules.most_played import MostPlayed
from pgcpe.policies.rules.recommendation import HighestMean, HighestMidpoint
from pgcpe.policies.rules.sampling import EachOnce, HighestIndex, TwoCandidates
from pgcpe.policies.rules.sampling import TopTwo as TopTwoRule
from pgcpe.policies.rules.stopping import PairwiseGLR, SeparatedIntervals

__all__ = ["KLLUCB", "LUCB", "LilUCB", "TopTwo"]


NAMED = {"pairs since naming": 0.9, "pairwise GLR": 0.1}
"""How delta is split where the leader is named beforehand."""


class LUCB(Policy):
    """Lower and upper confidence bounds on direct plays; the graph serves only to merge equal arms.

    Guarantee: with ``radius="kt"``, and with LUCB1's own at ``alpha=1``, the arm returned is within epsilon of the best
    with probability at least 1 - delta, for rewards of any distribution on their range. With ``radius="paper"``
    (beta_I of Eq. 12 at the overall delta) and with smaller alphas it is heuristic.

    ``radius="lucb1"`` is the algorithm of Kalyanakrishnan et al. 2012 as published: every arm once, in random order,
    then the arm of the highest mean and the one of the highest upper bound among the rest. The other radii rank by the
    midpoint of the interval within [0, 1], as the paper does, and begin with whatever arm is highest then.

    Parameters
    ----------
    bandit
        The question.
    radius, alpha
        As for `EmpiricalMeans`.
    epsilon, delta, seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        radius: str = "kt",
        alpha: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        self.radius, self.alpha = radius, alpha
        published, two = isinstance(radius, str) and radius == "lucb1", TwoCandidates()
        super().__init__(
            bandit,
            direct=EmpiricalMeans(radius, alpha),
            sampling=EachOnce(two) if published else two,
            recommendation=HighestMean() if published else HighestMidpoint(),
            stopping=SeparatedIntervals(),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
        )


class KLLUCB(Policy):
    """LUCB with Chernoff bounds in place of Hoeffding's (Kaufmann and Kalyanakrishnan 2013).

    Every arm once, then the arm of the highest mean and the one of the highest upper bound among the rest.

    Guarantee: the arm returned is within epsilon of the best with probability at least 1 - delta, for rewards of any
    distribution on their range (`pgcpe.confidence.sequences.kl_intervals`). The graph serves only to merge equal arms.

    Parameters
    ----------
    bandit
        The question.
    epsilon, delta, seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        epsilon: float | None = None,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        super().__init__(
            bandit,
            direct=EmpiricalMeans("kl"),
            sampling=EachOnce(TwoCandidates()),
            recommendation=HighestMean(),
            stopping=SeparatedIntervals(),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
        )


class LilUCB(Policy):
    """The lil'UCB heuristic (Jamieson et al. 2014): always the arm of the highest upper bound.

    Every arm once first. It recommends the highest mean until one arm has 1 + 10/K times the plays of all others
    together: then it stops, and returns that arm.

    No guarantee: the heuristic's constants are not those that are proved, and smaller alphas still less. There is no
    epsilon. The graph serves only to merge equal arms.

    Parameters
    ----------
    bandit
        The question.
    alpha
        The factor of the radius; 1 is the published one.
    delta, seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        alpha: float | None = None,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        self.alpha = alpha
        super().__init__(
            bandit,
            direct=EmpiricalMeans("lil", alpha),
            sampling=EachOnce(HighestIndex()),
            recommendation=HighestMean(),
            stopping=MostPlayed(1.0 + 10.0 / n_arms_of(bandit)),
            epsilon=0.0,
            delta=delta,
            seed=seed,
        )


class TopTwo(Policy):
    """Every arm once, then the leader or its closest challenger, until direct plays rule out every other arm.

    Guarantee: the arm returned is within epsilon of the best with probability at least 1 - delta, for rewards of any
    distribution on their range. The graph serves only to merge equal arms. The intervals it reports are those of
    `EmpiricalMeans`, at the same delta but apart from the stop.

    Source: You, Qin, Wang and Yang 2023, top-two sampling by transport costs with information-directed selection, and
    the stop of Kaufmann and Koolen 2021 with Beta(1/2, 1/2) mixtures. Left out: the asymptotically optimal threshold,
    which is not proved at finite times.

    Parameters
    ----------
    bandit
        The question.
    named_leader
        Whether nine tenths of delta go to pairs with a leader that was named before the plays that rule the other arm
        out (`pairwise_glr_since`), which need no union over the arms. Ours; the published rule has none.
    epsilon, delta, seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        named_leader: bool = False,
        epsilon: float | None = None,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        self.named_leader = flag("named_leader", named_leader)
        pairs = max(n_arms_of(bandit) - 1, 1)
        budget = ErrorBudget(NAMED if named_leader else {"pairwise GLR": 1.0}, delta)
        since = budget.spend("pairs since naming", by="PairwiseGLR") if named_leader else 0.0
        each = budget.spend("pairwise GLR", over=pairs, by="PairwiseGLR")
        super().__init__(
            bandit,
            sampling=EachOnce(TopTwoRule()),
            recommendation=HighestMean(),
            stopping=PairwiseGLR(PairLevels(each, since)),
            error_budget=budget,
            shown=ErrorBudget({"direct intervals": 1.0}, delta),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
        )
