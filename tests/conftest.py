"""What holds for every test: reproducible properties, and no blocked event loop."""

import inspect
import os
from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck, settings

# No deadlines: how long an example takes says more of the machine than of the code.
settings.register_profile("dev", deadline=None)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def nothing_blocks_the_event_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail an async test in which code of ours blocks the event loop."""
    if not inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        yield
        return
    with blockbuster_ctx("langchain_ctxfetch"):
        yield
