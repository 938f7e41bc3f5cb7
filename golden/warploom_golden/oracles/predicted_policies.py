"""Placement policies that a prediction does not know are refused.

Predictions are apart from the dispatcher's models on purpose: each has the policies in its own
code, and its own list of those that it knows.
"""

from collections.abc import Collection

from warploom_spec import WarploomError


def check_predicted(policy: str, known: Collection[str], file: str) -> None:
    """Refuse a policy that a prediction does not know.

    Parameters
    ----------
    policy : str
        The configuration's placement policy.
    known : collection of str
        The policies that the prediction knows.
    file : str
        The prediction's file below ``golden/warploom_golden``, where a policy is added.

    Raises
    ------
    WarploomError
        If the policy is not known.
    """
    if policy not in known:
        raise WarploomError(
            f"policy is {policy!r}, which is not predicted; legal: {', '.join(known)}"
            f" (a prediction is added in golden/warploom_golden/{file})"
        )
