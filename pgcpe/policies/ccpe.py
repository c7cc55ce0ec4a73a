"""CCPE: the paper's algorithm."""

from __future__ import annotations

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.estimators.base import IntervalEstimator
from pgcpe.estimators.empirical_means import DirectEstimator
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import Seed
from pgcpe.policies.rules.recommendation import HighestMidpoint
from pgcpe.policies.rules.sampling import ObserveAndTwoCandidates
from pgcpe.policies.rules.stopping import SeparatedIntervals

__all__ = ["CCPE"]


class CCPE(Policy):
    """Causal combinatorial pure exploration: observe, play the two candidates, intersect the two intervals.

    With the default estimators it is CCPE-General (Algorithm 3) with exact intervals in place of the paper's: the arm
    returned is within epsilon of the best with probability at least 1 - delta, if the graph is right. With the
    paper's radii it is the algorithm as printed, and heuristic: for tuned constants there is no proof, and that for the
    constants of the theorem has gaps. Intervals are not cut off at 0 and 1 then, the midpoint is that of crossed ends
    too, and an arm without data is below all others.

    The lines of Algorithm 3, those of Algorithm 1 in brackets where they differ, and where they are:

    ==========================  ====================================================================================
    4: a_h, a_l                 `HighestMidpoint`, `PolicyState.challenger`
    5-7: stop, return           `SeparatedIntervals.check`; the condition on t: ``BGLM(burn_in=)``
    9: observe                  `ObserveAndTwoCandidates.choose`; counted by the estimators' ``update``
    10-12 (10, 11): mu_O        `AdmissibleSequence.intervals` (`BGLM.intervals`)
    14 (13): play a_l, a_h      `ObserveAndTwoCandidates.choose`
    15-17 (14-16): mu_I         `EmpiricalMeans.update`, `EmpiricalMeans.intervals`
    19 (18): intersect          ``Knowledge._intersection``; the midpoint: `HighestMidpoint.estimates`
    ==========================  ====================================================================================

    Parameters
    ----------
    bandit
        The question.
    estimator
        The observational estimator, by default ``AdmissibleSequence()``. The paper's:
        ``AdmissibleSequence(radius="paper", alpha=8)``. With ``BGLM(...)`` it is CCPE-BGLM (Algorithm 1), which needs
        all ancestors of the reward recorded: ``policy.bandit.required`` lists them.
    direct
        The interventional one, by default ``EmpiricalMeans()``. The paper's:
        ``EmpiricalMeans(radius="paper", alpha=2)``.
    epsilon, delta, seed
        As for `Policy`. Half of delta goes to the direct intervals, half to the observational ones; an arm without an
        observational interval keeps its direct one.

    Examples
    --------
    >>> from pgcpe import CausalBandit, SimulatedEnvironment, interventions, load_network
    >>> network = load_network("cancer")
    >>> arms = interventions(network, reward="Dyspnoea", max_size=2)
    >>> bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    >>> result = CCPE(bandit, epsilon=0.2).run(SimulatedEnvironment(network, seed=0), progress=False)
    >>> result.certified
    True
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        estimator: IntervalEstimator | None = None,
        direct: DirectEstimator | None = None,
        epsilon: float | None = None,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        self.estimator, self.direct = estimator, direct
        super().__init__(
            bandit,
            direct=direct,  # step 2 of the algorithm
            models=[AdmissibleSequence() if estimator is None else estimator],  # step 1
            sampling=ObserveAndTwoCandidates(),
            recommendation=HighestMidpoint(),
            stopping=SeparatedIntervals(),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
        )
