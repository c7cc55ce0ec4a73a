"""Which estimator speaks for an arm."""

import numpy as np
import pytest
from policies.confounded import Fixed, question, state


def test_who_says_how_far_an_arm_is_below_the_leader():
    """The last that knows; to stop, where it may be off by more than its standard error, the smallest sum."""
    first = Fixed([0.0, 0.1, 0.1, 0.1, 0.1], [0.0, 1e-3, 1e-3, 4e-3, 9e-3], off=0.02)
    last = Fixed([0.0, 0.2, 0.2, 0.2, 0.2], [0.0, np.inf, 4e-3, 1e-3, 1e-3], off=0.05)  # off by .05^2 = 2.5e-3
    now = state(question(), models=[first, last])
    assert now.smoothed.by.tolist() == [1, 0, 1, 1, 1]
    assert now.smoothed.gap.tolist() == [0.0, 0.1, 0.2, 0.2, 0.2]
    # sums of the first 1.4e-3, 1.4e-3, 4.4e-3, 9.4e-3; of the last infinite, 6.5e-3 (not in doubt), 3.5e-3, 3.5e-3
    assert now.cautious.by[1:].tolist() == [0, 1, 1, 1]
    assert now.cautious.variance[1:] == pytest.approx([1.4e-3, 6.5e-3, 3.5e-3, 3.5e-3])
    last.bias_bound[:] = 0.1
    now = state(question(), models=[first, last])
    assert now.cautious.by[1:].tolist() == [0, 0, 0, 0]  # 9.4e-3 against 1.1e-2
    assert now.cautious.gap[1:].tolist() == [0.1] * 4
    assert now.smoothed.by.tolist() == [1, 0, 1, 1, 1]
