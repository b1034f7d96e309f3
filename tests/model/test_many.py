"""The integration tests of the model brain at full size, on the endpoint that is made for tests."""

import pytest

from tests.integration.test_model import closes_through_every_fault, nats
from tests.integration.test_model_sharing import share_one_budget

__all__ = ["nats"]

DEBATES = 200


@pytest.mark.timeout(300)
async def test_two_hundred_debates_close_through_every_fault(nats):
    await closes_through_every_fault(nats, DEBATES)


@pytest.mark.timeout(300)
async def test_two_hundred_debates_share_one_budget(nats):
    await share_one_budget(nats, DEBATES)
