"""The same with a log in four streams: a login reaches its part of each of them."""

from tests.deploy.test_real_work import *  # noqa: F403

STREAMS = 4
