"""Four arms and their rewards, for the policies of a fixed budget."""

from pgmpy.base import DAG

from pgcpe import CausalBandit, do

GRAPH = DAG([("X", "Y")])


ARMS = [do(X=x) for x in range(4)]


def question(n=4):
    return CausalBandit(GRAPH, reward="Y", arms=ARMS[:n], states={"X": list(range(n))})


def play(policy, reward_of, n=None):
    """Perform what is asked, one by one; the k-th play of an arm gives the k-th entry of its rewards, over and over."""
    performed, count = [], dict.fromkeys(ARMS, 0)
    while not policy.stopped and (n is None or len(performed) < n):
        action = policy.ask()[0]
        rewards = reward_of[action["X"]]
        policy.tell(action, {"X": action["X"], "Y": rewards[count[action] % len(rewards)]})
        count[action] += 1
        performed.append(action["X"])
    return performed
