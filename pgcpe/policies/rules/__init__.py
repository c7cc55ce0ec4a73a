"""The rules of a policy: what to play, what to recommend, when to stop."""

from pgcpe.policies.rules.asymptotic import PairwiseAsymptotic
from pgcpe.policies.rules.base import Progress, RecommendationRule, RuledOut, SamplingRule, StoppingRule, Verdict
from pgcpe.policies.rules.direct_evidence import DirectEnds, PairLevels
from pgcpe.policies.rules.leader_bounds import LeaderBounds
from pgcpe.policies.rules.monitored import MonitoredRules
from pgcpe.policies.rules.most_played import MostPlayed
from pgcpe.policies.rules.phases import BudgetSpent, HighestRemaining, Phases
from pgcpe.policies.rules.recommendation import HighestMean, HighestMidpoint, MostSpecificEstimate
from pgcpe.policies.rules.sampling import EachOnce, HighestIndex, ObserveAndTwoCandidates, TopTwo, TwoCandidates
from pgcpe.policies.rules.state import Differences, NamedLeader, PolicyState, best_arm
from pgcpe.policies.rules.stopping import (
    DirectPairs,
    PairwiseGLR,
    SeparatedIntervals,
    SeparatedOrRuledOut,
    merging_assumed,
)
from pgcpe.policies.rules.tilted import TiltedMartingale
from pgcpe.policies.rules.variance_reduction import GreatestProgress, HighestChallenger, ObserveLeaderAndOpen

__all__ = [
    "BudgetSpent",
    "Differences",
    "DirectEnds",
    "DirectPairs",
    "EachOnce",
    "GreatestProgress",
    "HighestChallenger",
    "HighestIndex",
    "HighestMean",
    "HighestMidpoint",
    "HighestRemaining",
    "LeaderBounds",
    "MonitoredRules",
    "MostPlayed",
    "MostSpecificEstimate",
    "NamedLeader",
    "ObserveAndTwoCandidates",
    "ObserveLeaderAndOpen",
    "PairLevels",
    "PairwiseAsymptotic",
    "PairwiseGLR",
    "Phases",
    "PolicyState",
    "Progress",
    "RecommendationRule",
    "RuledOut",
    "SamplingRule",
    "SeparatedIntervals",
    "SeparatedOrRuledOut",
    "StoppingRule",
    "TiltedMartingale",
    "TopTwo",
    "TwoCandidates",
    "Verdict",
    "best_arm",
    "merging_assumed",
]
