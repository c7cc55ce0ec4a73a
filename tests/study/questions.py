"""Small questions for tests of studies, and how their plays are performed."""

from pgmpy.base import DAG

from pgcpe import KLLUCB, LUCB, CausalBandit, PooledCCPE, SimulatedEnvironment, Study, do, interventions, load_network
from pgcpe.paper import parallel


def dosage(**options):
    """Four arms of named states that KL-LUCB tells apart by their rewards alone."""
    graph = DAG([("dose", "cured"), ("diet", "cured")])
    states = {"dose": ["low", "high"], "diet": ["none", "strict"], "cured": ["no", "yes"]}
    arms = [do(dose=a, diet=b) for a in states["dose"] for b in states["diet"]]
    bandit = CausalBandit(graph, reward="cured", arms=arms, states=states, reward_values={"no": 0, "yes": 1})
    return KLLUCB(bandit, **{"epsilon": 0.2, **options})


def cancer(**options):
    """A network whose policy needs other variables recorded, and its environment."""
    network = load_network("cancer")
    arms = interventions(network, reward="Dyspnoea", max_size=1)
    bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    policy = PooledCCPE(bandit, **{"guarantee": "asymptotic", "epsilon": 0.05, **options})
    return policy, SimulatedEnvironment(network, seed=0)


def two_arms(seed=0):
    """Parallel causes, one of which is clearly the best, and its environment."""
    question = parallel([0.5, 0.5], [0.5, 0.1], 0.2)
    return LUCB(question.bandit, epsilon=0.2), question.environment(seed)


def rows(plays, environment):
    """The rows of plays that were performed."""
    frame = environment.perform([play.action for play in plays]).to_frame().reset_index(drop=True)
    frame.insert(0, "id", [play.id for play in plays])
    return frame


def run(study: Study, environment, n=None, most=10**6):
    """Ask, perform and tell until nothing is asked for; return how many plays were told."""
    told = 0
    while told < most and (plays := study.ask(n)):
        told += study.tell(rows(plays, environment))
    return told
